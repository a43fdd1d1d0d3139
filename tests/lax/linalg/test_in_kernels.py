"""Small matrices in kernels: the results of LAPACK."""

import functools
import itertools

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.lax import linalg


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def agree(f, *args, tolerance=2e-5):
    """Compiled without a host step, and eager."""
    compiled = jax.jit(f)
    assert ": host" not in compiled.lower(*args).as_text("schedule")
    for x, y in zip(jax.tree.leaves(compiled(*args)), jax.tree.leaves(f(*args)), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "shape",
    [(1, 1), (4, 4), (3, 5), (5, 3), (16, 16), (40, 33), (7, 3, 3), (2, 20, 4, 2), (2, 3, 20, 18)],
)
def test_lu_has_the_pivots_of_lapack(shape):
    agree(linalg.lu, floats(*shape))


def test_a_singular_matrix_has_a_zero_on_the_diagonal_and_no_nan():
    a = floats(3, 4, 4)
    a[0, :, 1] = 0
    a[1, 2] = a[1, 0]
    a[2] = 0
    agree(linalg.lu, a)
    agree(jnp.linalg.det, a)


def test_cholesky_gives_nan_for_what_is_not_positive_definite():
    a = floats(40, 5, 5)
    a = a @ a.swapaxes(1, 2) + np.eye(5, dtype=np.float32)
    a[3, 2, 2], a[7] = -1, np.nan
    agree(linalg.cholesky, a)
    agree(linalg.cholesky, a[0])
    lower = lambda a: linalg.cholesky(a, symmetrize_input=False)  # noqa: E731
    agree(lower, np.tril(a) + 7 * np.triu(np.ones((5, 5), np.float32), 1))
    larger = np.eye(20, dtype=np.float32) + floats(6, 20, 20) / 30
    larger[2, 11, 11] = -1
    agree(linalg.cholesky, larger)


@pytest.mark.parametrize("row, column, value", [(2, 3, np.nan), (1, 3, np.nan), (3, 1, np.inf)])
def test_nan_and_inf_spread_as_in_lapack(row, column, value):
    a = floats(4, 4, seed=3)
    a[row, column] = value
    agree(linalg.lu, a)
    agree(linalg.qr, a)
    agree(linalg.cholesky, np.eye(4, dtype=np.float32) + np.where(np.isfinite(a), 0, a))


def test_a_pivot_that_is_nan_or_inf():
    a = floats(20, 4, 4)  # enough to be decomposed together
    a[0, 0, 0] = a[1, 1, 0] = a[2, :, 1] = np.nan
    a[3, :, 2], a[4, 0, 0] = np.inf, -np.inf
    agree(linalg.lu, a)
    assert np.isfinite(jax.jit(linalg.lu)(a)[0][[0, 4], 1:, 0]).all()


@pytest.mark.parametrize("batch", [(), (33,)])
def test_triangular_systems_of_every_kind(batch):
    a = floats(*batch, 6, 6) / 4 + 2 * np.eye(6, dtype=np.float32)
    names = "left_side", "lower", "transpose_a", "unit_diagonal"
    for values in itertools.product([False, True], repeat=4):
        params = dict(zip(names, values))
        b = floats(*batch, *((6, 3) if params["left_side"] else (3, 6)))
        agree(functools.partial(linalg.triangular_solve, **params), a, b)


def test_a_system_has_many_columns():
    a = floats(4, 4) / 4 + 2 * np.eye(4, dtype=np.float32)
    agree(functools.partial(linalg.triangular_solve, left_side=True), a, floats(4, 500))


def test_a_large_triangular_system_of_few_columns():
    a = floats(60, 60) / 60 + 2 * np.eye(60, dtype=np.float32)
    solve = functools.partial(linalg.triangular_solve, left_side=True)
    for lower, transpose_a in itertools.product([False, True], repeat=2):
        agree(functools.partial(solve, lower=lower, transpose_a=transpose_a), a, floats(60, 2))
    agree(solve, floats(5, 20, 20) / 20 + np.eye(20, dtype=np.float32), floats(5, 20, 30))


@pytest.mark.parametrize("full_matrices", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (7, 3), (60, 8), (20, 2, 4), (3, 20, 17)])
def test_qr_has_the_signs_of_lapack(shape, full_matrices):
    agree(functools.partial(linalg.qr, full_matrices=full_matrices), floats(*shape))


def test_qr_of_columns_that_need_no_reflection_and_of_large_numbers():
    agree(linalg.qr, np.stack([np.zeros((3, 3)), np.eye(3), np.tri(3).T]).astype(np.float32))
    q, r = jax.jit(linalg.qr)(floats(3, 3) * 1e30)
    np.testing.assert_allclose(q, linalg.qr(floats(3, 3))[0], rtol=1e-5)
    assert np.isfinite(r).all()


@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (9, 3), (20, 6, 1), (2, 3, 5, 2)])
def test_tridiagonal_systems_with_exchanged_rows(shape):
    agree(
        linalg.tridiagonal_solve, *(floats(*shape[:-1], seed=n) for n in range(3)), floats(*shape)
    )


def test_tridiagonal_systems_that_are_singular_or_have_zeros_nan_and_inf():
    dl, d, du, b = np.ones((4, 9, 6), np.float32) + floats(4, 9, 6) / 4
    d += 2
    d[1, 2] = dl[1, 3] = 0  # a zero column
    d[2, 5] = dl[2, 5] = 0  # found at the end
    d[3, 2] = dl[4, 3] = 0  # not singular
    d[5, 2], d[6, 2], du[7, 2], dl[8, 2] = np.nan, np.inf, np.inf, np.nan
    agree(linalg.tridiagonal_solve, dl, d, du, b[..., None])


def test_one_equation_with_a_zero_has_no_solution():
    zero, b = np.zeros(1, np.float32), np.float32([[1, -2]])
    agree(linalg.tridiagonal_solve, zero, zero, zero, b)
    assert np.isnan(jax.jit(linalg.tridiagonal_solve)(zero, zero, zero, b)).all()


def test_a_zero_on_the_diagonal_divides():
    a, b = np.diag(np.float32([1, 0, 2])), np.ones((3, 1), np.float32)
    solved = jax.jit(lambda a, b: linalg.triangular_solve(a, b, left_side=True, lower=True))(a, b)
    assert np.isinf(solved[1, 0]) and np.isnan(solved[2, 0])


def special_matrices(*shape):
    """Those with equal, few, zero, large and small singular values, and others."""
    a = np.random.default_rng(0).standard_normal(shape)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    values = np.stack(
        [
            s,
            0 * s,
            1 + 0 * s,
            np.arange(len(s)) < 2,
            10.0 ** -np.arange(len(s)),
            s * 1e30,
            s * 1e-30,
        ]
    )
    return np.concatenate([values[:, None] * u @ vh, np.eye(*shape)[None], np.ones((1, *shape))])


def close(x, y, scale):
    """Equal to within some roundings of `scale`, and NaN nowhere."""
    eps = np.finfo(x.dtype).eps
    x, y = np.float64(x), np.float64(y)
    assert (abs(x - y).max((-1, -2)) <= 30 * eps * scale).all()


@pytest.mark.parametrize("n", [1, 2, 5, 16])
def test_eigenvalues_ascend(n):
    a = special_matrices(n, n)
    a = (a + a.swapaxes(1, 2)).astype(np.float32)
    eigvalsh = jax.jit(jnp.linalg.eigvalsh)
    assert ": host" not in eigvalsh.lower(a).as_text("schedule")
    expected = np.linalg.eigvalsh(np.float64(a))
    for w in (eigvalsh(a), np.stack(list(map(eigvalsh, a)))):
        assert (np.diff(w) >= 0).all()
        close(np.asarray(w)[:, None], expected[:, None], abs(expected).max(-1))


def test_eigvalsh_reads_one_triangle_and_gives_nan_for_nan_and_infinity():
    a = floats(4, 5, 5)
    a[1, 3, 2], a[2, 2, 3] = np.nan, np.inf
    for lower in False, True:
        w = jax.jit(lambda a, how=lower: linalg.eigh(a, lower=how, symmetrize_input=False)[1])(a)
        assert np.isnan(w[2 - lower]).all()
        fine = [0, 1 + lower, 3]
        expected = np.linalg.eigvalsh(a[fine], "L" if lower else "U")
        np.testing.assert_allclose(w[np.array(fine)], expected, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (16, 16), (5, 3), (2, 9), (40, 7)])
def test_singular_values_descend(shape):
    a = special_matrices(*shape).astype(np.float32)
    svdvals = jax.jit(jnp.linalg.svdvals)
    assert ": host" not in svdvals.lower(a).as_text("schedule")
    expected = np.linalg.svd(np.float64(a), compute_uv=False)
    for s in (svdvals(a), np.stack(list(map(svdvals, a)))):
        assert (np.diff(s) <= 0).all()
        close(np.asarray(s)[:, None], expected[:, None], expected.max(-1))


def test_singular_values_are_nan_for_nan_and_infinity():
    a = floats(3, 4, 3)
    a[0, 1, 1], a[2, 3, 0] = np.nan, np.inf
    s = jax.jit(jnp.linalg.svdvals)(a)
    assert np.isnan(s[np.array([0, 2])]).all() and np.isfinite(s[1]).all()


def test_vectors_that_are_results_have_lapacks_signs():
    a, f = floats(4, 4), lambda a: (*linalg.eigh(a), *linalg.svd(a))
    for x, y in zip(jax.jit(f)(a), f(a), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 5, 16])
def test_eigenvectors_of_any_signs(n):
    a = special_matrices(n, n)
    a = (a + a.swapaxes(1, 2)).astype(np.float32)

    def f(a):
        w, v = jnp.linalg.eigh(a)
        vt = v.swapaxes(-1, -2)
        return (v * w[..., None, :]) @ vt, v @ vt

    assert ": host" not in jax.jit(f).lower(a).as_text("schedule")
    rebuilt, unit = jax.jit(f)(a)
    close(rebuilt, a, abs(a).max((-1, -2)) * n)
    close(unit, np.eye(n)[None], n)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (16, 16), (5, 3), (2, 9), (40, 7)])
def test_singular_vectors_of_any_signs(shape):
    a = special_matrices(*shape).astype(np.float32)

    def f(a):
        u, s, vh = jnp.linalg.svd(a, full_matrices=False)
        uh, v = u.swapaxes(-1, -2), vh.swapaxes(-1, -2)
        return (u * s[..., None, :]) @ vh, jnp.abs(uh @ u), jnp.abs(vh @ v)

    assert ": host" not in jax.jit(f).lower(a).as_text("schedule")
    rebuilt, *units = jax.jit(f)(a)
    close(rebuilt, a, abs(a).max((-1, -2)) * sum(shape))
    for unit in units:
        close(unit, np.eye(min(shape))[None], 2 * max(shape))


def test_pinv_and_lstsq_in_a_loop():
    def f(a, b):
        def step(x, _):
            inverse = jnp.linalg.pinv(a + x[0] / 10)
            return jnp.linalg.lstsq(a, b + (inverse.T @ x) / 10)[0], inverse

        return lax.scan(step, jnp.zeros(3), length=3)

    a, b = floats(7, 3), floats(7)
    agree(f, a, b, tolerance=1e-4)
    agree(
        jax.vmap(jax.grad(lambda a: jnp.linalg.pinv(a).sum())), np.stack([a, 2 * a]), tolerance=1e-3
    )


def test_singular_values_in_a_loop():
    def f(a):
        return lax.scan(
            lambda a, _: (a @ a / jnp.linalg.norm(a, 2), jnp.linalg.cond(a)), a, length=3
        )

    agree(f, floats(4, 4), tolerance=1e-3)


def test_complex_systems():
    for shape in (1, 1), (5, 5), (16, 16), (3, 4), (20, 3, 3):
        agree(linalg.lu, floats(*shape) + 1j * floats(*shape, seed=1))
    a = floats(6, 6) / 4 + 1j * floats(6, 6, seed=1) / 4 + 2 * np.eye(6, dtype=np.complex64)
    b = floats(6, 2) + 1j * floats(6, 2, seed=1)
    agree(jnp.linalg.solve, a, b)
    for lower, transpose_a, conjugate_a in itertools.product([False, True], repeat=3):
        params = dict(lower=lower, transpose_a=transpose_a, conjugate_a=conjugate_a)
        agree(functools.partial(linalg.triangular_solve, left_side=True, **params), a, b)


@pytest.mark.parametrize(
    "f, name, n, dtype",
    [
        (linalg.lu, "lu", 65, "f4"),
        (linalg.lu, "lu", 30, "c8"),
        (jnp.linalg.svdvals, "svd", 17, "f4"),
        (jnp.linalg.eigvalsh, "eigh", 17, "f4"),
        (jnp.linalg.eigvalsh, "eigh", 3, "c8"),
    ],
)
def test_matrices_that_are_large_or_complex_go_to_lapack(f, name, n, dtype):
    assert f": host    {name}" in jax.jit(f).lower(np.eye(n, dtype=dtype)).as_text("schedule")


def test_a_filter_of_small_systems_is_one_kernel_and_so_is_its_gradient():
    def filtered(c, ys):
        def step(carry, y):
            m, p = carry
            p = p + 0.1 * jnp.eye(3)
            s = c @ p @ c.T + jnp.eye(2)
            gain = jnp.linalg.solve(s, c @ p).T
            return (m + gain @ (y - c @ m), p - gain @ c @ p), jnp.linalg.slogdet(s)[1]

        (m, _), volumes = lax.scan(step, (jnp.zeros(3), jnp.eye(3)), ys)
        return (m**2).sum() + volumes.sum()

    c, ys = floats(2, 3), floats(20, 4, 2)
    batched = lambda c, ys: jax.vmap(filtered, (None, 0))(c, ys).sum()  # noqa: E731
    for f in batched, jax.grad(batched):
        text = jax.jit(f).lower(c, ys).as_text("schedule")
        assert ": host" not in text and ": loop" not in text
        np.testing.assert_allclose(jax.jit(f)(c, ys), f(c, ys), rtol=1e-4)
    jax.test_util.check_grads(filtered, (c, ys[0]), 1, rtol=1e-2)
