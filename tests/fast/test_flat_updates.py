"""Many updates combined at once: the same bits as of one after the other."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.dtypes import bfloat16
from tinyjax.fast import flat_updates
from tinyjax.fast.flat_updates import combine_flat, has_fast_loop

RNG = np.random.RandomState(0)


@pytest.mark.parametrize("combine", [np.add, np.multiply, np.maximum])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.int8])
@pytest.mark.parametrize(("places", "row"), [((7,), (3, 2)), ((3, 4), (5,)), ((6,), ())])
def test_the_results_are_those_of_one_after_the_other(monkeypatch, combine, dtype, places, row):
    monkeypatch.setattr(flat_updates, "WORTH_IT", 0)
    monkeypatch.setattr(flat_updates, "AT_ONCE", 20)
    target, updates = (3 * RNG.randn(*s, *row) for s in (places, (50,)))
    target, updates = target.astype(dtype), updates.astype(dtype)
    index = tuple(RNG.randint(0, n, 50) for n in places)
    expected = target.copy()
    with np.errstate(all="ignore"):
        combine.at(expected, index, updates)
        combine_flat(None, combine, target, index, updates)
    np.testing.assert_array_equal(target, expected)


def test_an_index_for_each_axis_of_windows_is_broadcast(monkeypatch):
    monkeypatch.setattr(flat_updates, "WORTH_IT", 0)
    index = np.array([[0], [2], [0]]), np.arange(2)[None] + np.array([[1], [0], [1]])
    target, updates = np.zeros((3, 4, 2)), RNG.randn(3, 2, 2)
    expected = target.copy()
    np.add.at(expected, index, updates)
    combine_flat(None, np.add, target, index, updates)
    np.testing.assert_array_equal(target, expected)


def test_other_dtypes_and_transposed_arrays_are_left_to_numpy():
    assert has_fast_loop(np.zeros((9, 10), np.float32))
    assert not has_fast_loop(np.zeros((10, 9), np.float32).T)
    assert not any(has_fast_loop(np.zeros(9, dtype)) for dtype in (np.float16, bfloat16, bool))


def test_segment_sum_and_its_gradient_add_many_rows():
    values, places = RNG.randn(6000, 10).astype(np.float32), RNG.randint(0, 40, 6000)
    sums = jax.jit(lambda v: jax.ops.segment_sum(v, places, num_segments=30))(values)
    expected = np.zeros((40, 10), np.float32)
    np.add.at(expected, places, values)
    np.testing.assert_array_equal(sums, expected[:30])  # places from 30 on are dropped
    gradient = jax.grad(lambda x: jnp.sum(x[places] * values))(np.zeros((40, 10), np.float32))
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)
