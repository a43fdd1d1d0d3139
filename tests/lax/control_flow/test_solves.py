"""custom_root and custom_linear_solve: derivatives from the equation, not from the solver's steps."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def newton(f, x):
    """A root of f: a while_loop, which has no reverse mode."""
    step = lambda x: x - f(x) / jax.jvp(f, (x,), (1.0,))[1]  # noqa: E731
    return lax.while_loop(lambda x: abs(f(x)) > 1e-5, step, x)


def sqrt(a):
    return lax.custom_root(lambda x: x * x - a, a, newton, lambda g, y: y / g(1.0))


def jacobi(f, b):
    """x with f(x) = b, for a matrix near 5 times the identity."""
    return lax.while_loop(lambda x: jnp.abs(f(x) - b).max() > 1e-6, lambda x: x - (f(x) - b) / 5, b)


def solve(a, b, **options):
    return lax.custom_linear_solve(lambda x: a @ x, b, jacobi, **options)


A = jnp.array([[5.0, 1.0], [0.5, 4.0]])
b = jnp.array([1.0, 2.0])


def test_a_root_has_a_gradient_though_the_search_has_none():
    np.testing.assert_allclose(sqrt(2.0), 2**0.5, rtol=1e-5)
    np.testing.assert_allclose(jax.grad(sqrt)(2.0), 0.5 / 2**0.5, rtol=1e-5)


def test_second_derivative_of_a_root():
    np.testing.assert_allclose(jax.grad(jax.grad(sqrt))(2.0), -0.25 / 2**1.5, rtol=1e-5)


def test_a_batch_of_roots_and_gradients():
    a = jnp.array([1.0, 4.0, 9.0])
    np.testing.assert_allclose(jax.vmap(jax.grad(sqrt))(a), [1 / 2, 1 / 4, 1 / 6], rtol=1e-5)


def test_what_a_search_tells_besides_the_root_is_not_differentiated():
    def root(a):
        search = lambda f, x: (newton(f, x), x)  # noqa: E731
        tangent_solve = lambda g, y: y / g(1.0)  # noqa: E731
        return lax.custom_root(lambda x: x - 2 * a, a, search, tangent_solve, has_aux=True)

    gradient, guess = jax.grad(root, has_aux=True)(3.0)
    assert (gradient, guess) == (2.0, 3.0)


def test_a_linear_solve_moves_with_the_right_hand_side_and_with_the_matrix():
    _, moved = jax.jvp(solve, (A, b), (jnp.ones((2, 2)), b))
    inverse = np.linalg.inv(A)
    want = inverse @ (np.asarray(b) - np.ones((2, 2)) @ inverse @ b)
    np.testing.assert_allclose(moved, want, rtol=1e-4)


def test_its_transpose_is_a_solve_with_the_transposed_matrix():
    gradient = jax.grad(lambda b: solve(A, b, transpose_solve=jacobi)[0])(b)
    np.testing.assert_allclose(gradient, np.linalg.inv(A)[0], rtol=1e-4)


def test_a_symmetric_system_is_its_own_transpose():
    symmetric = A + A.T
    gradient = jax.grad(lambda b: solve(symmetric / 2, b, symmetric=True)[0])(b)
    np.testing.assert_allclose(gradient, np.linalg.inv(symmetric / 2)[0], rtol=1e-4)


def test_reverse_mode_needs_a_transpose_solve():
    with pytest.raises(TypeError, match="transpose_solve"):
        jax.grad(lambda b: solve(A, b)[0])(b)


def test_a_batch_of_systems():
    matrices = jnp.stack([A, A.T])
    np.testing.assert_allclose(
        jax.vmap(solve, (0, None))(matrices, b), np.linalg.solve(matrices, b[:, None])[..., 0], 1e-4
    )


def test_functions_must_give_what_they_take():
    with pytest.raises(ValueError, match=r"matvec\(\) output shapes .*\(1,\).*\(2,\)"):
        lax.custom_linear_solve(lambda x: x[:1], b, jacobi)
