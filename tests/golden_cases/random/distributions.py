"""Draws for the same key: those distributions that are made of gamma and of normal numbers."""

from golden_cases.codec import Group

# Draws are numbers computed by a few steps from the same bits.
_FLOATS = [
    "random.gamma(k, 2.0, (5,))",
    "random.gamma(raw, f32([0.5, 1, 3, 100]))",
    "random.gamma(k, f32([[0.1], [2]]), (2, 3))",
    "random.gamma(k, f32([-1, 0, nan, inf]))",
    "random.loggamma(k, f32([0.001, 0.5, 3]))",
    "random.loggamma(k, f32([-1, 0, nan, inf]))",
    "random.gamma(k, jnp.ones((0, 2)))",
    "random.beta(k, 0.5, 2.0, (4,))",
    "random.beta(k, f32([[1], [3]]), f32([1, 2, 3]))",
    "random.dirichlet(k, f32([1, 2, 3]))",
    "random.dirichlet(k, jnp.ones((2, 3)), (4, 2))",
    "random.chisquare(k, 3.0, (4,))",
    "random.f(k, f32([2, 5]), 4.0)",
    "random.t(k, 3.0, (4,))",
    "random.generalized_normal(k, 2, (3,))",
    "random.generalized_normal(k, f32([0.5, 3]), (2, 2))",
    "random.ball(k, 3)",
    "random.ball(k, 2, 1, (3,))",
    "random.wald(k, 2.0, (4,))",
    "random.wald(k, f32([[0.5], [3]]), (2, 3))",
    "random.double_sided_maxwell(k, 1.0, 2.0, (3,))",
    "random.double_sided_maxwell(k, f32([1, 2]), f32([3]))",
    "random.multivariate_normal(k, v, sq, (2,))",
    "random.multivariate_normal(k, jnp.zeros((2, 3)), sq)",
    "random.multivariate_normal(k, i32([1, 2]), jnp.eye(2, dtype=int))",
    "random.multivariate_normal(k, jnp.zeros(2), -jnp.eye(2))",
]
_OTHER_DTYPES = [
    f"random.{call}"
    for dtype in ("'float16'", "'bfloat16'")
    for call in (
        f"gamma(k, 1.5, (3,), {dtype})",
        f"dirichlet(k, jnp.ones(3), dtype={dtype})",
        f"t(k, 4.0, (3,), {dtype})",
        f"wald(k, 2.0, (3,), {dtype})",
    )
]
_UNDER_TRANSFORMATIONS = [
    "jax.jit(lambda k: random.gamma(k, 0.7, (2, 3)))(k)",
    "jax.jit(lambda k: random.beta(k, 0.7, f32([1, 2])))(k)",
    "jax.jit(lambda k: random.dirichlet(k, jnp.ones(3), (2,)))(k)",
    "jax.vmap(lambda k: random.gamma(k, 2.0, (3,)))(random.split(k, 2))",
    "jax.vmap(lambda a: random.gamma(k, a, (3,)))(f32([1, 5]))",
    "jax.vmap(lambda k, a: random.loggamma(k, a), in_axes=(0, 1))(random.split(k, 2), n[:, :2])",
    "jax.vmap(jax.vmap(lambda k: random.t(k, 2.0)))(random.split(k, (2, 2)))",
    "jax.jit(jax.vmap(lambda k, m: random.wald(k, m, (2,))))(random.split(k, 3), v)",
    "jax.jit(lambda k, c: random.multivariate_normal(k, v, c))(k, sq)",
    "jax.vmap(lambda k, m: random.multivariate_normal(k, m, sq[:2, :2]))(random.split(k, 3), n)",
    "lax.map(lambda k: random.gamma(k, 3.0), random.split(k, 3))",
]

GROUPS = [
    Group("distributions", _FLOATS, ulps=64),
    Group("distributions of 16 bits", _OTHER_DTYPES, ulps=6),
    Group("distributions under transformations", _UNDER_TRANSFORMATIONS, ulps=64),
    Group(
        "distributions, the old layout of the counters",
        [
            "random.gamma(k, 0.7, (5,))",
            "jax.jit(lambda k: random.gamma(k, 0.7, (5,)))(k)",
            "random.gamma(k, 2.0, (3,), 'float16')",
        ],
        ulps=64,
        config={"jax_threefry_partitionable": False},
    ),
    Group(
        "distributions of 64 bits",
        [
            "random.gamma(k, 0.7, (3,))",
            "jax.jit(lambda k: random.loggamma(k, 0.7, (3,)))(k)",
        ],
        ulps=64,
        scaled=True,
        config={"jax_enable_x64": True},
    ),
]

ERRORS = {
    "distributions: arguments": [
        ("random.gamma(0, 1.0)", ["key"]),
        ("random.gamma(random.split(k), 1.0)", ["gamma accepts a single key", "vmap"]),
        ("random.gamma(k, 1.0, (3,), int)", ["gamma", "float dtype", "int32"]),
        ("random.gamma(k, v, (2,))", ["broadcast", "(3,)", "(2,)"]),
        ("random.gamma(k, v[:1], (3, 2), 'complex64')", ["float dtype"]),
        ("random.beta(k, v, jnp.ones(2))", ["(3,)", "(2,)"]),
        ("random.beta(k, 1, 2, dtype=int)", ["beta", "int32"]),
        ("random.dirichlet(k, 1.0)", ["alpha.ndim"]),
        ("random.dirichlet(k, jnp.ones((2, 3)), (3,))", ["(3,)", "(2,)"]),
        ("random.t(k, v, (2,))", ["(3,)", "(2,)"]),
        ("random.t(k, 3, (2,), int)", ["t", "int32"]),
        ("random.chisquare(k, 3, (2,), int)", ["chisquare", "int32"]),
        ("random.f(k, v, 4.0, (2,))", ["(3,)", "(2,)"]),
        ("random.ball(k, 2.0)", ["integer"]),
        ("jax.jit(lambda d: random.ball(k, d))(2)", ["d"]),
        ("random.wald(k, v, (2,))", ["(3,)", "(2,)"]),
        ("random.double_sided_maxwell(k, 0, 1, (3,), int)", ["double_sided_maxwell", "int32"]),
        ("random.multivariate_normal(k, 0.0, sq)", ["mean.ndim"]),
        ("random.multivariate_normal(k, v, v)", ["cov.ndim"]),
        ("random.multivariate_normal(k, v[:2], sq)", ["(..., n, n)", "(3, 3)"]),
        ("random.multivariate_normal(k, v, sq, method='lu')", ["method", "cholesky"]),
        ("random.multivariate_normal(k, jnp.zeros((2, 3)), sq, (3,))", ["(3,)", "(2,)"]),
        ("random.multivariate_normal(k, v, sq, dtype=int)", ["multivariate_normal", "int32"]),
        ("random.orthogonal(k, 2.0)", ["integer"]),
        ("random.orthogonal(k, -1)", ["negative"]),
    ],
}


def jaxprs(jax, jnp, lax):
    random, k = jax.random, jax.random.key(0)
    v = jnp.arange(3.0)

    def show(f, *args):
        return lambda: jax.make_jaxpr(f)(*args)

    return {
        "random.gamma": show(lambda k: random.gamma(k, 2.0, (3,)), k),
        "random.loggamma of an array": show(random.loggamma, k, v),
        "random.gamma under vmap": show(
            jax.vmap(lambda k: random.gamma(k, 2.0, (3,))), random.split(k, 4)
        ),
        "random.gamma of a batch of alphas": show(
            jax.vmap(lambda a: random.gamma(k, a, (3,))), jnp.ones(4)
        ),
        "random.beta": show(lambda k: random.beta(k, 2.0, 1.0, (3,)), k),
        "random.dirichlet": show(random.dirichlet, k, v),
        "random.chisquare": show(lambda k: random.chisquare(k, 2.0, (3,)), k),
        "random.f": show(lambda k: random.f(k, 2.0, 3.0, (3,)), k),
        "random.t": show(lambda k: random.t(k, 2.0, (3,)), k),
        "random.generalized_normal": show(lambda k: random.generalized_normal(k, 2, (3,)), k),
        "random.wald": show(lambda k: random.wald(k, 2.0, (3,)), k),
        "random.double_sided_maxwell": show(
            lambda k: random.double_sided_maxwell(k, 2.0, 1.0, (3,)), k
        ),
        "random.multivariate_normal": show(
            random.multivariate_normal, k, jnp.ones(2), jnp.ones((2, 2))
        ),
    }


def names(jax, jnp, lax):
    random = jax.random
    return {"random": random, "k": random.key(0), "raw": random.PRNGKey(1)}
