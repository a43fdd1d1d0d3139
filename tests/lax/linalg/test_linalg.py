"""Systems of equations and decompositions: what must hold whatever JAX says."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
import tinyjax.scipy.linalg as sl
from tinyjax.lax import linalg

A = np.random.default_rng(0).standard_normal((5, 5)).astype(np.float32)


def adjugate(a):
    """By its definition: the determinants that are left without a row and a column."""
    n = len(a)
    left = lambda i, j: np.linalg.det(np.delete(np.delete(a, i, 0), j, 1))  # noqa: E731
    return np.array([[(-1) ** (i + j) * left(j, i) for j in range(n)] for i in range(n)])


SINGULAR = {
    "zero at the start": np.diag([0.0, 2, 3, 1]),
    "zero at the end": np.diag([1.0, 2, 3, 0]),
    "nilpotent": np.eye(4, k=1),
    "nilpotent, of other numbers": np.triu(A[:4, :4], 1),
    "nilpotent in part": np.diag([0.0, 0, 3, 1]) + np.eye(4, k=1),
    "of rank 2": np.diag([0.0, 0, 3, 1]),
    "of rank 0": np.zeros((4, 4)),
    "a column of zeros": A[:4, :4] * [1, 1, 0, 1],
}


@pytest.mark.parametrize("name", SINGULAR)
def test_the_gradient_of_a_determinant_is_the_adjugate_of_singular_matrices_too(name):
    a = SINGULAR[name].astype(np.float32)
    for gradient in jax.grad(jnp.linalg.det), jax.jit(jax.grad(jnp.linalg.det)):
        np.testing.assert_allclose(gradient(a), adjugate(a).T, atol=1e-5)


def test_one_matrix_that_is_not_positive_definite_does_not_spoil_the_others():
    good, bad = jnp.linalg.cholesky(np.stack([np.eye(2), -np.eye(2)]))
    assert np.array_equal(good, np.eye(2)) and np.isnan(bad[1, 1])


def test_decompositions_of_no_matrices_have_the_shapes_of_one():
    assert linalg.lu(np.zeros((0, 3, 2)))[0].shape == (0, 3, 2)
    assert linalg.lu(np.zeros((9, 0, 2)))[0].shape == (9, 0, 2)
    assert jnp.linalg.solve(np.zeros((0, 3, 3)), np.zeros((0, 3, 2))).shape == (0, 3, 2)
    assert jnp.linalg.eigvals(np.zeros((0, 3, 3))).shape == (0, 3)


@pytest.mark.parametrize("shape", [(0, 2), (0,)])
def test_a_system_without_equations_has_a_solution_without_elements(shape):
    assert sl.lu_solve(sl.lu_factor(jnp.eye(0)), jnp.ones(shape)).shape == shape


def test_polar_takes_lists():
    np.testing.assert_allclose(sl.polar([[2.0, 1.0], [1.0, 3.0]])[1], [[2, 1], [1, 3]], rtol=1e-5)


def test_qr_with_pivots_of_nan_is_nan():
    _, r, _ = linalg.qr(np.full((2, 3, 2), np.nan, np.float32), pivoting=True, full_matrices=False)
    assert r.shape == (2, 2, 2) and np.isnan(np.triu(r)[0, 0, 0])


def test_the_gradient_of_a_positive_definite_complex_system():
    z = (A + 1j * A[::-1]).astype(np.complex64)
    a = z @ z.conj().T + 5 * np.eye(5)
    solve = lambda how: jax.grad(  # noqa: E731
        lambda b: jnp.abs(sl.solve(a, b, assume_a=how)).sum(), holomorphic=False
    )
    np.testing.assert_allclose(solve("pos")(z[0]), solve("gen")(z[0]), rtol=1e-4)


def test_a_decomposition_is_a_host_step_with_its_reason():
    text = jax.jit(jnp.linalg.cholesky).lower(np.eye(80, dtype=np.float32)).as_text()
    assert "host    cholesky" in text and "LAPACK" in text


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2)])
def test_many_small_matrices_are_decomposed_as_each_of_them(shape, dtype):
    many = np.random.default_rng(1).standard_normal((40, *shape)).astype(dtype)
    many[3] = 0
    many[4, 1] = many[4, 0]
    together, one_by_one = linalg.lu(many), [linalg.lu(a) for a in many]
    for got, wanted in zip(together, zip(*one_by_one)):
        np.testing.assert_allclose(got, np.stack(wanted), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("left_side", [True, False])
@pytest.mark.parametrize("transpose_a", [True, False])
@pytest.mark.parametrize("lower", [True, False])
def test_many_small_systems_are_solved_as_each_of_them(left_side, transpose_a, lower):
    rng = np.random.default_rng(1)
    a = (rng.standard_normal((40, 3, 3)) + 3 * np.eye(3)).astype(np.complex64) * (1 + 0.5j)
    b = rng.standard_normal((40, 3, 2) if left_side else (40, 2, 3)).astype(np.complex64)
    options = {"left_side": left_side, "lower": lower, "transpose_a": transpose_a}
    for more in {}, {"unit_diagonal": True}, {"conjugate_a": True}:
        solve = lambda a, b: linalg.triangular_solve(a, b, **options, **more)  # noqa: E731,B023
        wanted = np.stack([solve(*each) for each in zip(a, b)])
        np.testing.assert_allclose(solve(a, b), wanted, rtol=1e-4, atol=1e-5)


def test_the_derivative_of_a_solution_of_sylvesters_equation():
    """JAX has none. A X + X B = C moves as A dX + dX B = dC - dA X - X dB."""
    a, b, c = A, A[:3, :3], A[:, 2:]
    x, x_dot = jax.jvp(sl.solve_sylvester, (a, b, c), (a.T, b.T, c[::-1]))
    moved = c[::-1] - a.T @ x - x @ b.T
    np.testing.assert_allclose(x_dot, sl.solve_sylvester(a, b, moved), rtol=1e-3, atol=1e-3)
    gradient = jax.grad(lambda c: sl.solve_sylvester(a, b, c).sum())(c)
    np.testing.assert_allclose(a.T @ gradient + gradient @ b.T, np.ones((5, 3)), rtol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_svd_of_a_matrix_with_inf_is_nan(dtype):
    x = np.stack([np.eye(3), np.diag([np.inf, 1, 2])]).astype(dtype)
    s = linalg.svd(x, compute_uv=False)
    np.testing.assert_array_equal(s, [[1, 1, 1], [np.nan] * 3])
