"""The total order of floats."""

import functools

import numpy as np

from tinyjax import lax

f32 = functools.partial(np.array, dtype=np.float32)


def test_total_order_has_a_place_for_nan_and_negative_zero():
    x = f32([-np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan])
    assert np.asarray(lax.lt_to_p.bind(x[:-1], x[1:])).all()
