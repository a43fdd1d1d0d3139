"""What works element by element needs no rule for sparse arrays: the elements that are stored are enough."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax.experimental import sparse

DENSE = np.array([[0, 1.5], [-0.5, 0]], np.float32)


@pytest.mark.parametrize("f", [lax.sin, lax.bessel_i1e, lax.neg, lax.floor, lax.square])
def test_what_gives_0_for_0_is_applied_to_the_elements(f):
    got = jax.jit(sparse.sparsify(f))(sparse.BCOO.fromdense(DENSE))
    assert got.nse == 2
    np.testing.assert_allclose(got.todense(), f(DENSE), rtol=1e-6)


def test_a_linear_operation_leaves_elements_in_parts():
    parts = sparse.BCOO((np.float32([1, 2]), np.array([[1, 0], [1, 0]])), shape=(2, 2))
    assert sparse.sparsify(lax.neg)(parts).data.tolist() == [-1, -2]
    assert sparse.sparsify(lax.square)(parts).todense().tolist() == [[0, 0], [9, 0]]


def test_what_gives_something_else_is_refused():
    with pytest.raises(NotImplementedError, match="rule for bessel_i0e .* dense output"):
        sparse.sparsify(lax.bessel_i0e)(sparse.BCOO.fromdense(DENSE))
