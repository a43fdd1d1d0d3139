"""Many rows added at once: the same sums as of one after the other."""

import subprocess
import sys

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.fast import row_sums
from tinyjax.fast.row_sums import WORTH_IT, add_rows, are_many_rows

RNG = np.random.RandomState(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize(("places", "row"), [((7,), (3, 2)), ((3, 4), (5,)), ((6,), ())])
def test_the_sums_are_those_of_one_after_the_other(dtype, places, row):
    target, updates = (RNG.randn(*s, *row).astype(dtype) for s in (places, (50,)))
    index = tuple(RNG.randint(0, n, 50) for n in places)
    expected = target.copy()
    np.add.at(expected, index, updates)
    add_rows(target, index, updates)
    np.testing.assert_array_equal(target, expected)


def test_few_rows_and_other_dtypes_are_left_to_numpy():
    target, index = np.zeros((9, 10), np.float32), (np.zeros(WORTH_IT // 10, int),)
    updates = np.ones((WORTH_IT // 10, 10), np.float32)
    assert are_many_rows(target, index, updates)
    assert not are_many_rows(target, (index[0][1:],), updates[1:])
    assert not are_many_rows(np.zeros((10, 9), np.float32).T, index, updates)
    assert not are_many_rows(target.astype(np.float16), index, updates.astype(np.float16))


def test_segment_sum_and_its_gradient_add_many_rows():
    values, places = RNG.randn(6000, 10).astype(np.float32), RNG.randint(0, 40, 6000)
    sums = jax.jit(lambda v: jax.ops.segment_sum(v, places, num_segments=30))(values)
    expected = np.zeros((40, 10), np.float32)
    np.add.at(expected, places, values)
    np.testing.assert_array_equal(sums, expected[:30])  # places from 30 on are dropped
    gradient = jax.grad(lambda x: jnp.sum(x[places] * values))(np.zeros((40, 10), np.float32))
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)


def test_a_small_scatter_does_not_import_scipy():
    code = "import sys, tinyjax.numpy as jnp; jnp.ones(3).at[jnp.array([0, 0])].add(1.0)"
    code += "; print('scipy.sparse' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def test_scipy_is_imported_when_as_much_was_added_as_takes_as_long(monkeypatch):
    monkeypatch.setattr(row_sums, "_elements", 0)
    monkeypatch.delitem(sys.modules, "scipy.sparse", raising=False)
    assert not row_sums.pays_off(row_sums.IMPORT_ELEMENTS)
    assert row_sums.pays_off(1)
