"""Products of sparse arrays: of dense arrays alone, and of axes that there are not."""

import pytest

import tinyjax.numpy as jnp
from tinyjax import sparse

M = jnp.ones((2, 3))
S = sparse.BCOO.fromdense(M)
ROWS = (((1,), (1,)), ((), ()))


def test_a_product_of_dense_arrays_is_that_of_lax():
    assert jnp.array_equal(sparse.bcoo_dot_general(M, M, dimension_numbers=ROWS), M @ M.T)


def test_a_product_along_an_axis_that_there_is_not_is_refused():
    with pytest.raises(TypeError, match="dot_general requires lhs dimension numbers"):
        sparse.bcoo_dot_general(S, M, dimension_numbers=(((5,), (1,)), ((), ())))


def test_a_product_of_arrays_that_store_nothing_stores_nothing():
    nothing = sparse.BCOO.fromdense(jnp.zeros((2, 3)))
    assert sparse.bcoo_dot_general(nothing, nothing, dimension_numbers=ROWS).nse == 0
    assert (nothing * nothing).nse == 0
