"""Other layouts and orders of sparse arrays: of those that store nothing, and what is refused."""

import pytest

import tinyjax.numpy as jnp
from tinyjax import sparse

S = sparse.BCOO.fromdense(jnp.arange(6.0).reshape(2, 3))
WHOLE = sparse.BCOO.fromdense(jnp.arange(6).reshape(2, 3))


def test_batches_that_store_nothing_become_sparse():
    nothing = sparse.BCOO.fromdense(jnp.zeros((2, 3)), n_batch=1)
    assert nothing.update_layout(n_batch=0).nse == 0


def test_dense_rows_that_store_nothing_become_sparse():
    nothing = sparse.BCOO.fromdense(jnp.zeros((2, 3)), n_dense=1)
    assert nothing.update_layout(n_dense=0).nse == 0


@pytest.mark.parametrize(
    ("dimension", "other", "message"),
    [
        (2, S, "dimension out of bounds"),
        (-1, S, "dimension out of bounds"),
        (0, WHOLE, "same dtypes"),
        (0, S.T, "differ in dimensions"),
    ],
)
def test_concatenate_refuses_what_it_refuses_of_dense_arrays(dimension, other, message):
    with pytest.raises(TypeError, match=message):
        sparse.bcoo_concatenate([S, other], dimension=dimension)


@pytest.mark.parametrize("dimensions", [(5,), (0, 0), (-1,)])
def test_rev_refuses_what_it_refuses_of_dense_arrays(dimensions):
    with pytest.raises(TypeError, match="rev dimensions must"):
        sparse.bcoo_rev(S, dimensions=dimensions)
