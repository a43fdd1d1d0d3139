"""The line search and the minimizer, where JAX's gives up and in their parts."""

import pytest

import tinyjax.numpy as jnp
from tinyjax.scipy.optimize import minimize
from tinyjax.scipy.optimize.line_search import line_search


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@pytest.mark.parametrize("start", [[0.0, 0.0], [-1.2, 1.0, 0.5]])
def test_the_banana_valley_is_followed_to_its_end(start):
    """JAX 0.12 stops with status 3: its bracket counts as empty when its ends are in descending order."""
    found = minimize(rosenbrock, jnp.array(start), method="BFGS")
    assert found.success and found.status == 0
    assert jnp.allclose(found.x, 1, atol=1e-3)


def test_the_inverse_hessian_of_a_quadratic_function_is_found():
    matrix = jnp.array([[3.0, 1], [1, 2]])
    found = minimize(lambda x: x @ matrix @ x / 2, jnp.array([5.0, -3]), method="BFGS")
    assert jnp.allclose(found.hess_inv @ matrix, jnp.eye(2), atol=2e-2)


@pytest.mark.parametrize("direction", [0.01, 1.0, 100.0])
def test_a_step_fulfils_both_of_wolfes_conditions(direction):
    fun = lambda x: jnp.sum(x**4 - 3 * x**2 + x)  # noqa: E731
    x, p = jnp.array([2.0]), jnp.array([-direction])
    slope = 4 * 8.0 - 12 + 1
    found = line_search(fun, x, p, fun(x), jnp.array([slope]), fun(x) + 1, 20)
    a, value, new_slope, _ = found.point
    assert found.status == 0
    assert value <= fun(x) - 1e-4 * a * slope * direction
    assert abs(new_slope) <= 0.9 * slope * direction


def test_a_function_without_a_least_value_has_no_good_step():
    found = minimize(lambda x: -jnp.sum(x), jnp.ones(2), method="BFGS")
    assert not found.success and found.status == 5
    assert found.x.tolist() == [1, 1]


def test_l_bfgs_follows_the_valley_in_many_dimensions():
    method = "l-bfgs-experimental-do-not-rely-on-this"
    found = minimize(rosenbrock, jnp.zeros(8), method=method, options={"maxcor": 3})
    assert jnp.allclose(found.x, 1, atol=1e-3)
    assert found.hess_inv is None
