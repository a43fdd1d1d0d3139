"""Choices by bits: to the bit what np.where gives."""

import numpy as np
import pytest

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.fast.blended_bits import WORTH_IT, blend

RNG = np.random.RandomState(0)


def unused(*operands):
    raise AssertionError("NumPy was to be left out")


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool", "float16", jnp.bfloat16])
def test_the_bits_are_those_of_where(dtype):
    which = RNG.rand(WORTH_IT) < 0.5
    x, y = (RNG.randint(0, 256, (WORTH_IT, np.dtype(dtype).itemsize), np.uint8) for _ in range(2))
    if dtype == "bool":
        x, y = x % 2, y % 2
    x, y = (a.view(dtype)[:, 0] for a in (x, y))
    blended = blend(unused, which, x, y)
    assert blended.dtype == np.dtype(dtype)
    assert blended.tobytes() == np.where(which, x, y).tobytes()


def test_strides_are_those_that_the_operands_have():
    x = RNG.randn(2 * WORTH_IT, 2).astype("float32")
    which, x, y = x[:, 0] > 0, x[:, 1], np.broadcast_to(np.float32(7), 2 * WORTH_IT)
    np.testing.assert_array_equal(blend(unused, which, x, y), np.where(which, x, y))


@pytest.mark.parametrize(
    ("size", "dtype"), [(10, "float32"), (WORTH_IT, "float64"), (WORTH_IT, "complex64")]
)
def test_few_and_long_elements_are_left_to_numpy(size, dtype):
    which, x = np.ones(size, bool), np.ones(size, dtype)
    assert blend(lambda *operands: "plain", which, x, x) == "plain"


def test_nans_and_infinities_that_are_not_chosen_leave_no_trace():
    x = jnp.linspace(-1, 1, WORTH_IT)
    chosen = lax.select(x > 0, x, jnp.full_like(x, np.nan))
    np.testing.assert_array_equal(chosen[x > 0], x[x > 0])
    assert jnp.isnan(chosen[x <= 0]).all()
