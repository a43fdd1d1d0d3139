"""associative_scan: running combinations by an associative function, in parallel."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def f32(values):
    return jnp.array(np.array(values, np.float32))


@pytest.mark.parametrize("length", range(10))
def test_each_element_is_combined_with_all_before_it(length):
    x = np.arange(1, length + 1, dtype=np.int32)
    np.testing.assert_array_equal(lax.associative_scan(jnp.add, x), np.cumsum(x))


def test_in_reverse_with_all_behind_it():
    out = lax.associative_scan(jnp.add, f32([1, 2, 3, 4, 5]), reverse=True)
    np.testing.assert_array_equal(out, [15, 14, 12, 9, 5])


def test_along_any_axis():
    out = lax.associative_scan(jnp.maximum, f32([[1, 3, 2], [5, 4, 6]]), axis=1)
    np.testing.assert_array_equal(out, [[1, 3, 3], [5, 5, 6]])


def test_the_elements_may_be_trees():
    pairs = (f32([1, 2, 3, 4]), f32([1, 1, 1, 1]))  # x -> a x + b, composed

    def compose(f, g):
        return f[0] * g[0], g[0] * f[1] + g[1]

    a, b = lax.associative_scan(compose, pairs)
    np.testing.assert_array_equal(a, [1, 2, 6, 24])
    np.testing.assert_array_equal(b, [1, 3, 10, 41])


def test_the_order_of_what_is_combined_is_kept():
    """Matrix products are associative, but do not commute."""
    rng = np.random.default_rng(0)
    matrices = rng.standard_normal((7, 3, 3)).astype(np.float32)
    got = lax.associative_scan(lambda a, b: a @ b, matrices)
    product = np.eye(3)
    for matrix, partial_product in zip(matrices, got):
        product = product @ matrix
        np.testing.assert_allclose(partial_product, product, rtol=1e-5, atol=1e-5)


def test_it_takes_rounds_that_grow_with_the_logarithm_of_the_length():
    def products(length):
        jaxpr = jax.make_jaxpr(lambda x: lax.associative_scan(lax.mul, x))(np.ones(length, "f"))
        return sum(eqn.primitive.name == "mul" for eqn in jaxpr.eqns)

    assert [products(n) for n in (2, 4, 8, 1024)] == [2, 4, 6, 20]


def test_it_has_derivatives():
    jacobian = jax.jacrev(lambda x: lax.associative_scan(jnp.multiply, x))(f32([2, 3, 4]))
    np.testing.assert_array_equal(jacobian, [[1, 0, 0], [3, 2, 0], [12, 8, 6]])


def test_sizes_that_differ_are_named():
    with pytest.raises(ValueError, match=r"\(3,\), \(2,\)"):
        lax.associative_scan(lambda a, b: a, (f32([1, 2, 3]), f32([1, 2])))


def test_what_cannot_be_called_is_named():
    with pytest.raises(TypeError, match="callable, got 1"):
        lax.associative_scan(1, f32([1, 2, 3]))
