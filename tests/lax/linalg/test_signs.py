"""Signs of vectors: eigenvectors and singular vectors are LAPACK's where a result depends on their signs."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax import numpy as jnp


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def uses_lapack(decompose, f, *shape):
    """Whether a compiled function of the results does; it gives what eager evaluation gives."""

    def g(a):
        return f(*decompose(a))

    a = floats(*shape)
    np.testing.assert_allclose(jax.jit(g)(a), g(a), rtol=1e-4, atol=1e-4)
    return ": host" in jax.jit(g).lower(a).as_text("schedule")


def eigh(a):
    return jnp.linalg.eigh(a + a.swapaxes(-1, -2))


def svd(a):
    return jnp.linalg.svd(a, full_matrices=False)


@pytest.mark.parametrize(
    "f",
    [
        lambda w, v: (v * jnp.exp(w)) @ v.T,
        lambda w, v: v / jnp.sqrt(1 + w**2) @ v.T @ floats(5, 2),
        lambda w, v: jnp.outer(v[:, -1], v[:, -1]),
        lambda w, v: v[:, -2:] @ v[:, -2:].T,
        lambda w, v: v[:, ::-1][:, :2] @ v[:, -2:][:, ::-1].T,
        lambda w, v: jnp.abs(floats(3, 5) @ v) + jnp.where(w > 0, v[:3], 0) ** 2,
        lambda w, v: jnp.concatenate([v, 2 * v]) @ v.T,
        lambda w, v: v @ jnp.diag(w) @ v.T,
        lambda w, v: v @ (jnp.diag(1 / w) @ (v.T @ floats(5))),
        lambda w, v: v @ (w * jnp.eye(5)) @ v.T,
    ],
)
def test_signs_cancel_where_eigenvectors_meet_themselves(f):
    assert not uses_lapack(eigh, f, 5, 5)


def case_of(w, *cases):
    return lax.select_n(jnp.where(w > 0, 1, 2)[:, None] + jnp.zeros((5, 5), int), *cases)


@pytest.mark.parametrize(
    "f",
    [
        lambda w, v: v,
        lambda w, v: v.sum(1) ** 2,
        lambda w, v: v @ v,
        lambda w, v: v[:, 1:] @ v[:, :-1].T,
        lambda w, v: (v + 1) @ v.T,
        lambda w, v: jnp.maximum(v, 0) @ v.T,
        lambda w, v: (v > 0) * (v**2),
        lambda w, v: jnp.sort(v, 0) @ v.T,
        lambda w, v: v @ (jnp.diag(w) + 1) @ v.T,
        lambda w, v: v @ jnp.diag(w[1:], 1) @ v.T,
        lambda w, v: v @ jnp.tri(5) @ v.T,
        lambda w, v: v @ (jnp.eye(1, 5) * jnp.ones((5, 5))) @ v.T,
        lambda w, v: v @ case_of(w, jnp.zeros((5, 5)), jnp.eye(5), jnp.ones((5, 5))) @ v.T,
    ],
)
def test_signs_matter_where_other_eigenvectors_or_numbers_are_added(f):
    assert uses_lapack(eigh, f, 5, 5)


def test_signs_matter_to_who_is_shown_them():
    seen = []

    def f(a):
        w, v = jnp.linalg.eigh(a)
        jax.debug.callback(seen.append, v)
        return v @ v.T

    a = floats(5, 5)
    jax.block_until_ready(jax.jit(f)(a))
    jax.effects_barrier()
    np.testing.assert_allclose(seen[0], jnp.linalg.eigh(a)[1], rtol=1e-5, atol=1e-5)


def test_each_matrix_of_a_batch_has_its_own_signs():
    assert not uses_lapack(eigh, lambda w, v: jnp.einsum("bij,bj,bkj->bik", v, w, v), 3, 4, 4)
    assert not uses_lapack(eigh, lambda w, v: v @ jax.vmap(jnp.diag)(w) @ v.swapaxes(1, 2), 3, 4, 4)
    assert uses_lapack(eigh, lambda w, v: v.mean(0) ** 2, 3, 4, 4)
    assert uses_lapack(eigh, lambda w, v: v @ v[0].T, 3, 4, 4)
    assert uses_lapack(eigh, lambda w, v: v[1:] @ v[:-1].swapaxes(1, 2), 3, 4, 4)


def test_signs_cancel_where_a_pair_of_singular_vectors_meets():
    assert not uses_lapack(svd, lambda u, s, vh: u @ vh, 7, 4)
    assert not uses_lapack(svd, lambda u, s, vh: (u[:, :2] * s[:2]) @ vh[:2], 7, 4)
    assert uses_lapack(svd, lambda u, s, vh: u @ jnp.roll(vh, 1, 0), 7, 4)
    assert uses_lapack(svd, lambda u, s, vh: vh @ u, 4, 4)
    assert uses_lapack(jnp.linalg.svd, lambda u, s, vh: u @ u.T, 7, 4)


def test_a_rotation_without_reflection_needs_no_signs():
    def rotation(u, _, vh):
        return u @ jnp.diag(jnp.ones(3).at[2].set(jnp.linalg.det(u @ vh))) @ vh

    assert not uses_lapack(jnp.linalg.svd, rotation, 3, 3)
    assert not uses_lapack(jnp.linalg.svd, jax.vmap(rotation), 6, 3, 3)


def test_a_polar_factor_and_its_gradient_need_no_signs():
    def f(a):
        u, _, vh = svd(a)
        return jnp.sin(u @ vh).sum()

    a = floats(5, 3)
    for g in f, jax.grad(f):
        assert ": host" not in jax.jit(g).lower(a).as_text("schedule")
        np.testing.assert_allclose(jax.jit(g)(a), g(a), rtol=1e-4, atol=1e-5)
