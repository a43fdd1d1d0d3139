"""Reductions of arrays whose last axis is short: the same bits as NumPy's."""

import numpy as np
import pytest

from tinyjax.core.bind import impl_rules
from tinyjax.core.config import config
from tinyjax.core.primitives import reduce_sum_p
from tinyjax.fast.short_axes import WORTH_IT, with_first_axis
from tinyjax.lax.reductions import reduce_max_p, reduce_min_p, reduce_prod_p, reduce_xor_p


@pytest.mark.parametrize("size", range(2, 9))
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(
    "primitive", [reduce_sum_p, reduce_max_p, reduce_min_p, reduce_prod_p, reduce_xor_p]
)
def test_the_bits_are_those_of_the_plain_rule(primitive, axis, size):
    x = np.random.default_rng(0).normal(size=(20, 30, size)).astype(np.float32)
    x[::3] = np.where(x[::3] > 1, np.nan, np.copysign(0, x[::3]))
    x = x.view(np.int32) if primitive is reduce_xor_p else x
    got = impl_rules[primitive](x, axes=(axis,))
    with config.set("tinyjax_fast", False):
        expected = impl_rules[primitive](x, axes=(axis,))
    np.testing.assert_array_equal(got, expected)
    if primitive is reduce_sum_p:
        np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(expected[got == 0]))


def reduced_axes(x, *axes):
    """The axes that the plain rule gets to reduce."""
    return with_first_axis(lambda x, axes: axes)(x, axes=axes)


def test_only_short_last_axes_of_large_arrays_move():
    assert reduced_axes(np.zeros((30, 40, 3)), 1) == (0,)
    assert reduced_axes(np.zeros((30, 40, 8)), 1) == (1,)
    assert reduced_axes(np.zeros((30, 40, 1)), 1) == (1,)
    assert reduced_axes(np.zeros((3, 40, 30)).T, 1) == (1,)
    assert reduced_axes(np.zeros((30, 40, 3)), 1, 2) == (1, 2)
    assert reduced_axes(np.zeros((WORTH_IT // 4, 3)), 1) == (1,)
