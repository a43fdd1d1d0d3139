"""A Jacobian, there and back, that is never made."""

import math

import numpy as np
from practice.gauss_newton import gauss_newton_product

import tinyjax as jax
import tinyjax.numpy as jnp

matrix = np.arange(12, dtype=np.float32).reshape(4, 3) - 5.0


def apply(x):
    return jnp.sum(matrix * x, axis=1)


def test_a_linear_function_is_its_own_jacobian():
    x, direction = np.ones(3, np.float32), np.array([1.0, -2.0, 0.5], np.float32)
    found = gauss_newton_product(apply, x, direction)
    np.testing.assert_allclose(found, matrix.T @ (matrix @ direction), rtol=1e-5)


def test_the_jacobian_is_that_of_the_point():
    x, direction = np.array([0.5, 2.0], np.float32), np.array([1.0, 1.0], np.float32)
    slopes = np.array([[2.0, 0.5], [np.cos(0.5), 0.0]])
    found = gauss_newton_product(lambda x: jnp.stack([x[0] * x[1], jnp.sin(x[0])]), x, direction)
    np.testing.assert_allclose(found, slopes.T @ slopes @ direction, rtol=1e-5)


def test_second_derivatives_of_the_function_are_left_out():
    """It is not the Hessian of sum(fun(x) ** 2) / 2, which would be 6 x**2 here."""
    assert float(gauss_newton_product(lambda x: x * x, 3.0, 1.0)) == (2 * 3.0) ** 2


def test_trees_go_in_and_a_tree_comes_out():
    x = {"a": 2.0, "b": np.arange(3, dtype=np.float32)}
    direction = {"a": 1.0, "b": np.ones(3, np.float32)}

    def fun(x):
        return {"product": x["a"] * x["b"]}, jnp.sum(x["b"])

    # moved: product = 1 * b + 2 * 1, and the sum by 3
    moved = np.arange(3) + 2.0
    found = gauss_newton_product(fun, x, direction)
    assert sorted(found) == ["a", "b"]
    np.testing.assert_allclose(found["a"], moved @ np.arange(3), rtol=1e-5)
    np.testing.assert_allclose(found["b"], 2.0 * moved + 3.0, rtol=1e-5)


def test_no_table_is_made():
    def fun(x):
        return jnp.sin(x[:20]) * jnp.sum(x)  # from 30 numbers to 20

    x = np.ones(30, np.float32)
    jaxpr = jax.make_jaxpr(lambda x, d: gauss_newton_product(fun, x, d))(x, x).jaxpr
    largest = max(math.prod(v.aval.shape) for eqn in jaxpr.eqns for v in eqn.outvars)
    assert largest <= 30, f"an array of {largest} numbers is made"
