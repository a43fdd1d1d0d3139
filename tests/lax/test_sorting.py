"""How NumPy sorts for the impl rules: as np.lexsort would, in less time."""

import ml_dtypes
import numpy as np
import pytest

from tinyjax import lax
from tinyjax.core.bind import impl_rules

DTYPES = ["bool", "int8", "int32", "uint32", "int64", "float16", "float32", "float64", "bfloat16"]


def values(dtype):
    """Few different numbers, with all special ones that the dtype has."""
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.round(np.random.default_rng(0).standard_normal((3, 40, 20)) * 3)
    if dtype.kind == "u":
        return (abs(x) * 3e8).astype(dtype)
    x = x.astype(dtype)
    if dtype.kind in "fV":
        x[0, 0, :5], x[:, 3], x[:, 4], x[1, 1, 2] = np.nan, -0.0, np.inf, -np.nan
    return x


def by_lexsort(operands, axis, num_keys):
    keys = [x.astype(np.float32) if x.dtype.kind == "V" else x for x in operands[:num_keys]]
    order = np.lexsort(keys[::-1], axis=axis)
    return [np.take_along_axis(x, order, axis) for x in operands]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sorting_is_stable_with_nan_last_and_zeros_equal(dtype, axis):
    x = values(dtype)
    for operands in ((x,), (x, np.arange(x.size).reshape(x.shape)), (x, x[::-1], x)):
        for num_keys in range(1, len(operands) + 1):
            found = impl_rules[lax.sort_p](
                *operands, dimension=axis, is_stable=True, num_keys=num_keys
            )
            for left, right in zip(found, by_lexsort(operands, axis, num_keys)):
                assert left.dtype == right.dtype
                left, right = left.astype(np.float64), right.astype(np.float64)
                np.testing.assert_array_equal(left, right)
                is_number = ~np.isnan(left)
                np.testing.assert_array_equal(
                    np.signbit(left[is_number]), np.signbit(right[is_number])
                )


@pytest.mark.parametrize("k", [0, 1, 7, 20])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_greatest_are_the_first_of_all_in_order(dtype, k):
    x = values(dtype)
    (found, places), (every, order) = (
        impl_rules[lax.top_k_p](x, k=count, axis=2, is_stable=True) for count in (k, 20)
    )
    np.testing.assert_array_equal(places, order[..., :k])
    np.testing.assert_array_equal(found.astype(np.float64), every[..., :k].astype(np.float64))
