"""Recorded cases of pinv, lstsq, matrix_rank, cond, norms, polyfit, roots."""

import numpy as np
from golden_cases.codec import Group

GROUPS = [
    Group(
        "least squares",
        [
            "la.pinv(a), la.pinv(c), la.pinv(a.T, 0.5), la.pinv(a, rcond=0.5), la.pinv(a[:0])",
            "la.pinv(stack, jnp.array([0.5, 0.1])), la.pinv(a[:3], hermitian=True)",
            "la.lstsq(a, b), la.lstsq(a, b[:, 0]), la.lstsq(a.T, b[:3])[0], la.lstsq(c, b)",
            "la.lstsq(a, b, rcond=0.5), la.lstsq(a, b, rcond=-1), la.lstsq(a.T, b[:3, 0], numpy_resid=True)",
            "la.lstsq(a[:, :2], b, numpy_resid=True), la.lstsq(a[:0], b[:0])",
            "la.matrix_rank(a), la.matrix_rank(stack, rtol=0.7), la.matrix_rank(0 * a), la.matrix_rank(a[0])",
            "la.cond(a), la.cond(stack, -2), la.cond(a[:3], 1), la.cond(a[:3], 'fro')",
            "la.cond(jnp.zeros((2, 2)), 1), la.cond(nan * a[:3], jnp.inf)",
            "la.norm(a, 2), la.norm(stack, -2, axis=(0, 2), keepdims=True), la.norm(a, 'nuc', axis=(1, 0))",
            "jnp.polyfit(a[:, 0], a[:, 1], 1), jnp.polyfit(a[:, 0], b, 2, rcond=0.3)",
            "jnp.polyfit(a[:, 0], a[:, 1], 1, full=True), jnp.polyfit(a[:, 0], b, 1, w=a[:, 2])",
            "jnp.polyfit(a[:, 0], a[:, 1], 1, cov=True)",
            "jnp.polyfit(a[:, 0], b, 1, w=a[:, 2], cov='unscaled')",
            "jnp.roots(jnp.array([1, -3, 2])), jnp.roots(jnp.array([0.0, 0, 1, 2, 3])), jnp.roots(w + 1j)",
            "jnp.roots(jnp.array([0.0, 1, 2, 0, 0]), strip_zeros=False), jnp.roots(jnp.float32(3))",
            "jnp.roots(jnp.array([1.0, 2, 0])), jnp.roots(jnp.zeros(3))",
            "jnp.roots(jnp.zeros(3), strip_zeros=False)",
            "jax.jit(lambda p: jnp.roots(p, strip_zeros=False))(w)",
            "jax.jit(la.lstsq)(a, b), jax.vmap(la.pinv)(stack)",
        ],
        ulps=256,
        scaled=True,
    ),
    Group(
        "derivatives of least squares",
        [
            "jax.jvp(la.pinv, (a,), (b,)), jax.jvp(la.pinv, (a.T,), (b.T,))",
            "jax.grad(lambda a: (la.pinv(a) ** 2).sum())(a), jax.grad(lambda c: abs(la.pinv(c)).sum())(c)",
            "jax.grad(lambda a: la.lstsq(a, b)[0].sum())(a), jax.grad(lambda b: la.lstsq(a, b)[0].sum())(b)",
            "jax.grad(la.cond)(a), jax.grad(lambda a: la.cond(a[:3], 1))(a)",
            "jax.grad(lambda a: la.norm(a, 2))(a), jax.grad(lambda a: la.norm(a, 'nuc'))(a)",
            "jax.grad(lambda y: jnp.polyfit(a[:, 0], y, 1).sum())(a[:, 1])",
            "jax.grad(lambda p: abs(jnp.roots(p, strip_zeros=False)).sum())(w)",
        ],
        ulps=2048,
        scaled=True,
    ),
]

ERRORS = {
    "least squares": [
        ("la.pinv(a[0])", []),
        ("la.pinv(a, rtol=1, rcond=1)", ["rtol", "rcond"]),
        ("la.lstsq(a, b[:3])", ["match"]),
        ("la.lstsq(a[0], a[0])", ["1-dimensional"]),
        ("la.lstsq(a, a[:, :, None])", ["3-dimensional"]),
        ("la.matrix_rank(a, rtol=1, tol=1)", ["rtol", "tol"]),
        ("la.cond(a, 1)", ["p=1", "(4, 3)"]),
        ("la.cond(a[:3], 'foo')", ["foo"]),
        ("la.cond(a[0])", ["(3,)"]),
        ("la.cond(a[:0])", ["empty", "(0, 3)"]),
        ("jnp.roots(a)", ["rank-1"]),
        ("jnp.roots([1, 2])", ["roots", "list"]),
        ("jax.jit(jnp.roots)(w)", ["strip_zeros=False"]),
        ("jnp.polyfit(a[0], a[1], -1)", ["deg"]),
        ("jnp.polyfit(a, a[1], 1)", ["x"]),
        ("jnp.polyfit(a[0, :0], a[0, :0], 1)", ["non-empty"]),
        ("jnp.polyfit(a[0], a[:, 0], 1)", ["same length"]),
        ("jnp.polyfit(a[0], a[1], 1, w=a)", ["weights"]),
        ("jnp.polyfit(a[0], a[1], 1, w=a[0, :2])", ["same length"]),
        ("jnp.polyfit(a[:, 0], b, 3, cov=True)", ["covariance"]),
        ("jnp.polyfit(jnp.arange(3), jnp.arange(3), 1)", ["int32"]),
    ],
}


def names(jax, jnp, lax):
    a = np.sin(np.arange(12, dtype=np.float32) ** 2).reshape(4, 3)
    b = np.cos(np.arange(12, dtype=np.float32)).reshape(4, 3)
    return {
        "la": jnp.linalg,
        "a": jnp.array(a),
        "b": jnp.array(b),
        "c": jnp.array(a + 1j * b),
        "w": jnp.array([2.0, -3, 1, 4]),
        "stack": jnp.array([a, b + a * a]),
    }


def jaxprs(jax, jnp, lax):
    jaxpr, given, linalg = jax.make_jaxpr, names(jax, jnp, lax), jnp.linalg
    a, b = given["a"], given["b"]
    return {
        "pinv": lambda: jaxpr(linalg.pinv)(a),
        "pinv, jvp": lambda: jaxpr(lambda a: jax.jvp(linalg.pinv, (a,), (a,)))(a),
        "lstsq": lambda: jaxpr(linalg.lstsq)(a, b),
        "matrix_rank": lambda: jaxpr(linalg.matrix_rank)(a),
        "cond, of a matrix": lambda: jaxpr(linalg.cond)(a),
        "norm, 2": lambda: jaxpr(lambda a: linalg.norm(a, 2))(a),
        "norm, nuc": lambda: jaxpr(lambda a: linalg.norm(a, "nuc"))(a),
        "polyfit": lambda: jaxpr(lambda a: jnp.polyfit(a[0], a[1], 1))(a),
    }
