"""Division of vectors of integers is exact, at the ends of their range too."""

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.transform.jit.api import jit


def pairs(dtype):
    """All pairs of numbers near 0, near powers of two and at the ends, and random ones."""
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    powers = np.concatenate(
        [sign * 2 ** np.arange(32) + near for sign in (1, -1) for near in (-1, 0, 1)]
    )
    some = np.unique(np.clip(np.concatenate([powers, [0, info.min, info.max]]), info.min, info.max))
    grid = [values.ravel() for values in np.meshgrid(some, some)]
    wide = rng.integers(info.min, info.max, (2, 20_000), endpoint=True)
    near_whole = wide[0] // 1000 * 1000 + rng.integers(-1, 2, 20_000)
    x = np.concatenate([grid[0], wide[0], near_whole]).clip(info.min, info.max)
    y = np.concatenate([grid[1], wide[1], np.full(20_000, 1000)])
    return x.astype(dtype), y.astype(dtype)


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_quotient_and_remainder_are_exact(dtype):
    x, y = pairs(dtype)
    f = jit(lambda x, y: (lax.div(x, y), lax.rem(x, y)))
    assert "tj_div_" in f.lower(x, y).as_text("opencl")
    quotient, remainder = map(np.asarray, f(x, y))
    a, b = x.astype(np.int64), y.astype(np.int64)
    exact = np.where(b == 0, -1, np.sign(a) * np.sign(b) * (abs(a) // np.maximum(abs(b), 1)))
    np.testing.assert_array_equal(quotient, exact.astype(dtype))  # 2**31 becomes -2**31
    np.testing.assert_array_equal(remainder, (a - exact * b).astype(dtype))
