"""clamp and select_n."""

import functools

import numpy as np

from tinyjax import lax
from tinyjax.core import primitives
from tinyjax.transform.vjp import grad

f32 = functools.partial(np.array, dtype=np.float32)
i32 = functools.partial(np.array, dtype=np.int32)


def test_clamp_differentiates_by_a_scalar_bound():
    x = f32([0, 1, 5, 6])
    clamped_sum = lambda high: primitives.reduce_sum(lax.clamp(f32(-1), x, high), (0,))  # noqa: E731
    assert float(grad(clamped_sum)(f32(3))) == 2


def test_select_n_takes_the_nearest_case_for_an_index_out_of_range():
    cases = [np.full(4, k, np.float32) for k in range(3)]
    np.testing.assert_array_equal(lax.select_n(i32([-1, 1, 2, 7]), *cases), [0, 1, 2, 2])
