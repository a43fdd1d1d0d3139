"""The remainder of float32s is C's fmod, to the bit, however large the quotient is; 0 where that is below
the smallest normal float, as all is in kernels."""

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.transform.jit.api import jit

LEAST = np.finfo(np.float32).tiny  # that is normal
SPECIAL = np.float32(
    [
        0,
        -0.0,
        1,
        -1,
        3,
        6,
        LEAST,
        -LEAST,
        2e-38,
        3e38,
        -3e38,
        np.inf,
        -np.inf,
        np.nan,
        2**29,
        7.5,
    ]
)


def pairs():
    """All pairs of special values, random ones of all sizes, and multiples of the divisor and beside them."""
    rng = np.random.default_rng(0)
    grid = [values.ravel() for values in np.meshgrid(SPECIAL, SPECIAL)]
    bits = rng.integers(0, 2**32, (2, 20_000), dtype=np.uint32).view(np.float32)
    y = rng.uniform(0.1, 10, 20_000).astype(np.float32)
    x = np.nextafter(y * rng.integers(0, 2**28, 20_000).astype(np.float32), np.float32(np.inf))
    return [without_least(np.concatenate(parts)) for parts in zip(grid, bits, (x, y))]


def without_least(x):
    return np.where(np.abs(x) < LEAST, np.copysign(np.float32(0), x), x)


@pytest.mark.parametrize("is_vector", [True, False])
def test_a_remainder_is_that_of_c(is_vector):
    with np.errstate(all="ignore"):
        x, y = pairs()
        wanted = without_least(np.fmod(x, y))
    f = jit(
        lax.rem if is_vector else lambda x, y: lax.rev(lax.rem(lax.rev(x, (0,)), y[::-1]), (0,))
    )
    found = np.asarray(f(x, y))
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(
        np.signbit(found) & (found == 0), np.signbit(wanted) & (wanted == 0)
    )
