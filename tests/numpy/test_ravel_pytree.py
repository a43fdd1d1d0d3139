"""ravel_pytree: a tree of arrays as one vector, and back."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.numpy.ravel_pytree import ravel_pytree

v = np.arange(3, dtype=np.float32)


def test_the_vector_holds_all_leaves_in_order():
    flat, unravel = ravel_pytree({"b": np.ones((2, 2), np.float32), "a": v})
    np.testing.assert_array_equal(flat, [0, 1, 2, 1, 1, 1, 1])
    tree = unravel(flat * 2)
    np.testing.assert_array_equal(tree["a"], 2 * v)
    assert tree["b"].shape == (2, 2)


def test_leaves_of_different_dtypes_are_promoted_and_get_theirs_back():
    flat, unravel = ravel_pytree([v, np.int32(7), np.complex64(1j)])
    assert flat.dtype == np.complex64
    assert [x.dtype for x in unravel(flat)] == [np.float32, np.int32, np.complex64]
    np.testing.assert_array_equal(unravel(flat)[1], 7)


def test_leaves_of_one_dtype_take_the_dtype_of_the_vector():
    _, unravel = ravel_pytree([v, v])
    assert unravel(jnp.arange(6))[1].dtype == np.int32


def test_another_dtype_is_refused_where_it_would_be_lost():
    flat, unravel = ravel_pytree([v, np.int32(7)])
    with pytest.raises(TypeError, match="dtype int32, but expected dtype float32"):
        unravel(flat.astype(int))


def test_another_length_is_refused():
    flat, unravel = ravel_pytree([v, v])
    with pytest.raises(ValueError, match="6"):
        unravel(flat[:3])


def test_what_is_no_vector_is_refused():
    with pytest.raises(TypeError):
        ravel_pytree([v])[1]([1.0, 2.0, 3.0])
    with pytest.raises(TypeError):
        ravel_pytree("a")


def test_a_tree_without_leaves_is_an_empty_vector():
    flat, unravel = ravel_pytree({"a": []})
    assert (flat.shape, flat.dtype) == ((0,), np.float32)
    assert unravel(flat) == {"a": []}


def test_the_way_back_is_transformed_like_any_function():
    flat, unravel = ravel_pytree([v, {"w": v}])
    loss = lambda flat: (unravel(flat)[0] ** 2).sum()  # noqa: E731
    np.testing.assert_array_equal(jax.grad(loss)(flat), [0, 2, 4, 0, 0, 0])
    assert jax.vmap(unravel)(jnp.ones((2, 6)))[1]["w"].shape == (2, 3)


def test_equal_trees_have_equal_ways_back():
    assert ravel_pytree([v, v])[1] == ravel_pytree([v + 1, v])[1]
    assert ravel_pytree([v, v])[1] != ravel_pytree([v, v[:2]])[1]
    f = jax.jit(lambda flat, unravel: unravel(flat), static_argnums=1)
    np.testing.assert_array_equal(f(*ravel_pytree([v]))[0], v)
