"""Recorded cases of jax.scipy.stats of vectors and of samples."""

import importlib

from golden_cases.codec import Group


def names(jax, jnp, lax):
    def cotangents(fun, *args):
        """Those of all arguments, for a cotangent of ones."""
        out, vjp = jax.vjp(fun, *args)
        return vjp(jnp.ones_like(out))

    stats = importlib.import_module(f"{jax.__name__}.scipy.stats")
    return {
        "stats": stats,
        "cotangents": cotangents,
        "normal": stats.multivariate_normal,
        "cov": jnp.array([[2, 0.5, 0.1], [0.5, 1, 0.2], [0.1, 0.2, 3]]),
        "p": jnp.array([0.2, 0.3, 0.5]),
        "samples": jnp.array([[3.0, 1, 3, 2, 1], [2, 2, 5, 5, 5]]),
        "some_nan": jnp.array([1.0, jnp.nan, 2, 2, jnp.nan, 2]),
    }


CALLS = [
    "normal.logpdf(v, 0 * v, cov)",
    "normal.logpdf(m, v, cov)",
    "normal.logpdf(m, v, cov * f32([[[1]], [[2]]]))",
    "normal.logpdf(v[:1], v, cov)",
    "normal.logpdf(v, 0 * v, 2.0)",
    "normal.logpdf(v, 0.0, 2.0)",
    "normal.logpdf(1.0, 0.0, 1.0)",
    "normal.logpdf(i32([1, 2, 3]), i32([0, 0, 0]), jnp.eye(3, dtype=int))",
    "normal.logpdf(v, w, -cov)",
    "normal.pdf(m, v, cov)",
    "cotangents(normal.logpdf, v, w, cov)",
    "jax.vmap(lambda x: normal.logpdf(x, w, cov))(m)",
    "jax.jit(normal.logpdf)(v, w, cov)",
    "stats.multinomial.logpmf(i32([1, 2, 3]), 6, p)",
    "stats.multinomial.logpmf(i32([[1, 2, 3], [1, 0, 0], [0, 6, 0]]), 6, p)",
    "stats.multinomial.pmf(i32([1, 2, 3]), i32([5, 6]), p)",
    "jax.grad(stats.multinomial.logpmf, 2)(i32([1, 2, 3]), 6, p)",
    "stats.dirichlet.logpdf(p, v)",
    "stats.dirichlet.logpdf(p[:2], v)",
    "stats.dirichlet.logpdf(2 * p, v)",
    "stats.dirichlet.logpdf(f32([[0.2, 0.5, 0], [0.3, 0.2, 0.5]]), v)",
    "stats.dirichlet.pdf(p, i32([1, 2, 3]))",
    "cotangents(stats.dirichlet.logpdf, p, v)",
    "stats.poisson.entropy(f32([0, 0.5, 5, 9.5, 10, 50, 99, 100, 1000, -1, nan, inf]))",
    "stats.poisson.entropy(3, 1)",
    "jax.grad(stats.poisson.entropy)(3.0)",
    "stats.mode(samples)",
    "stats.mode(samples, axis=1)",
    "stats.mode(samples, axis=None, keepdims=True)",
    "stats.mode(samples, axis=-1, keepdims=True)",
    "stats.mode(some_nan)",
    "stats.mode(empty)",
    "stats.mode(i32([1, 2, 1]))",
    "stats.mode(f32(3))",
    *[f"stats.rankdata(samples, {k!r})" for k in ("average", "min", "max", "dense", "ordinal")],
    *[
        f"stats.rankdata(samples, {k!r}, axis=1)"
        for k in ("average", "min", "max", "dense", "ordinal")
    ],
    "stats.rankdata(some_nan)",
    "stats.rankdata(i32([1, 2, 1]))",
    "stats.rankdata(empty)",
    "stats.rankdata(f32(3))",
    "stats.sem(samples)",
    "stats.sem(samples, axis=1, ddof=0)",
    "stats.sem(samples, axis=None, keepdims=True)",
    "stats.sem(some_nan)",
    "stats.sem(some_nan, nan_policy='omit')",
    "stats.sem(i32([1, 2, 4]))",
]

GROUPS = [Group("statistics", CALLS, ulps=64, scaled=True)]

ERRORS = {
    "statistics": [
        ("normal.logpdf(v, v, cov[:2])", ["shape"]),
        ("normal.logpdf(v, v, v)", ["shape"]),
        ("normal.logpdf(v[:2], v, cov)", ["(2,)", "(3,)"]),
        ("normal.logpdf(v, v, cov, allow_singular=True)", ["allow_singular"]),
        ("normal.logpdf([1.0], v, cov)", []),
        ("stats.multinomial.logpmf(v, 6, p)", ["integer", "float32"]),
        ("stats.multinomial.logpmf([1, 2], 3, p)", ["list"]),
        ("stats.dirichlet.logpdf(p, m)", ["alpha", "(2, 3)"]),
        ("stats.dirichlet.logpdf(p[:1], v)", ["x", "(1,)", "(3,)"]),
        ("stats.poisson.entropy([1])", ["list"]),
        ("stats.mode([1])", ["list"]),
        ("stats.mode(v, nan_policy='omit')", ["nan_policy", "omit"]),
        ("stats.mode(v, nan_policy='drop')", ["nan_policy", "drop"]),
        ("stats.mode(v, axis=1)", ["axis 1"]),
        ("stats.rankdata(v, 'first')", ["method", "first"]),
        ("stats.rankdata(v, nan_policy='raise')", ["nan_policy", "raise"]),
        ("stats.rankdata([1])", ["list"]),
        ("stats.sem(v, nan_policy='raise')", ["raise"]),
        ("stats.sem([1])", ["list"]),
    ],
}
