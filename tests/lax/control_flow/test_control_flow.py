"""Control flow under every transformation: gradients by numbers.

Values against recorded JAX stand in golden_cases/lax/control_flow/control_flow.py; here nothing is recorded.
"""

import numpy as np
import pytest
from golden_cases.lax.control_flow import control_flow as matrix

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

ROWS = matrix.rows(jax, jnp, lax)
COLUMNS = matrix.columns(jax, jnp, lax)
TRUE_RULES = [row for row in matrix.REVERSIBLE if not row.startswith("a_custom")]
POINT, STEP = 0.7, 1e-2


def slope(f):
    """The derivative by finite differences, in doubles where that is possible."""
    return (f(POINT + STEP) - f(POINT - STEP)) / (2 * STEP)


@pytest.mark.parametrize("row", TRUE_RULES)
def test_a_gradient_is_the_slope(row):
    f = ROWS[row]
    np.testing.assert_allclose(jax.grad(f)(POINT), slope(f), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("row", TRUE_RULES + matrix.FORWARD_ONLY)
def test_a_tangent_is_the_slope(row):
    f = ROWS[row]
    _, tangent = jax.jvp(f, (POINT,), (1.0,))
    np.testing.assert_allclose(tangent, slope(f), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("row", ["a_custom_jvp", "a_custom_vjp"])
def test_a_rule_of_ones_own_is_what_counts(row):
    factor = {"a_custom_jvp": 2, "a_custom_vjp": 3}[row]
    np.testing.assert_allclose(jax.grad(ROWS[row])(POINT), factor * np.cos(POINT), rtol=1e-6)
