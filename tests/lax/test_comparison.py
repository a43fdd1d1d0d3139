"""The total order of floats."""

import functools

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax

f32 = functools.partial(np.array, dtype=np.float32)


def test_total_order_has_a_place_for_nan_and_negative_zero():
    x = f32([-np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan])
    assert np.asarray(lax.lt_to_p.bind(x[:-1], x[1:])).all()


@pytest.mark.parametrize("primitive", [lax.eq_to_p, lax.le_to_p, lax.lt_to_p], ids=str)
def test_the_total_order_is_the_same_in_kernels(primitive):
    special = f32([-np.nan, -np.inf, -1, -1e-40, -0.0, 0.0, 1, np.inf, np.nan])
    for values in (special, np.array([-(2**31), -1, 0, 2**31 - 1], np.int32)):
        x, y = np.repeat(values, len(values)), np.tile(values, len(values))
        compiled = jax.jit(primitive.bind)
        assert "host" not in compiled.lower(x, y).as_text("schedule")
        np.testing.assert_array_equal(compiled(x, y), primitive.bind(x, y))
