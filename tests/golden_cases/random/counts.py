"""Draws for the same key: counts of events, of trials and of successes."""

from golden_cases.codec import Group
from golden_cases.random.distributions import names as names

_COUNTS = [
    "random.geometric(k, 0.3, (5,))",
    "random.geometric(k, f32([0, 1, 2, -1, 0.01, nan]))",
    "random.geometric(k, f32([[0.5], [0.1]]), (2, 3), 'int16')",
    "random.geometric(k, 0.001, (3,), 'int8')",
    "random.geometric(k, f16([0.5, 0.1]))",
    "random.poisson(k, 3.0, (6,))",
    "random.poisson(k, 30, (6,))",
    "random.poisson(raw, f32([3, 0, 20, nan, -1, 1e6, inf]))",
    "random.poisson(k, f16([3, 50]), (2, 2), 'int8')",
    "random.poisson(k, 300.0, (3,), 'uint8')",
    "random.binomial(k, 10, 0.3, (6,))",
    "random.binomial(k, f32([[10], [1000]]), f32([0.1, 0.5, 0.9]))",
    "random.binomial(k, f32([nan, inf, -1, 0, 1e5, 2.5]), 0.7)",
    "random.binomial(k, 10.0, f32([0, 1, 2, -1, nan]))",
    "random.binomial(k, 100, 0.4, (3,), 'float16')",
    "random.binomial(k, f16([10, 100]), f16([0.25, 0.75]))",
    "random.multinomial(k, 10, f32([0.2, 0.3, 0.5]))",
    "random.multinomial(k, f32([10, 20]), f32([0.2, 0.3, 0.5]), shape=(2,), dtype=int)",
    "random.multinomial(k, 10, v / 6, shape=(2,))",
    "random.multinomial(k, 100, f32([[0, 1], [0.5, 0.5]]), unroll=True)",
]
_UNDER_TRANSFORMATIONS = [
    "jax.jit(lambda k: random.poisson(k, f32([3, 30])))(k)",
    "jax.vmap(lambda k, lam: random.poisson(k, lam, (3,)))(random.split(k, 2), f32([2, 40]))",
    "jax.jit(lambda k: random.binomial(k, 50, f32([0.1, 0.5])))(k)",
    "jax.vmap(lambda k: random.binomial(k, 50, 0.5))(random.split(k, 3))",
    "jax.jit(lambda k: random.multinomial(k, 9, f32([0.2, 0.8]), shape=(2, 2)))(k)",
]

_APPROXIMATE = [
    "random.gamma(k, f32([0.3, 5, 50]), method='approximate')",
    "random.loggamma(k, 0.01, (3,), method='approximate')",
    "random.gamma(k, 2.0, (2,), 'float16', method='approximate')",
    "random.beta(k, 1.0, 2.0, (3,), method='approximate')",
    "random.chisquare(k, f32([2, 4]), method='approximate')",
    "random.poisson(k, f32([0.3, 5, 50, 5000]), method='approximate')",
    "random.poisson(k, 9, (4,), 'int8', method='approximate')",
]

GROUPS = [
    Group("approximate draws", _APPROXIMATE, ulps=64),
    Group("counts", _COUNTS, ulps=0),
    Group("counts under transformations", _UNDER_TRANSFORMATIONS, ulps=0),
    Group(
        "counts, the old layout of the counters",
        ["random.poisson(k, f32([3, 30]))", "random.binomial(k, 50, f32([0.1, 0.5]))"],
        ulps=0,
        config={"jax_threefry_partitionable": False},
    ),
    Group(
        "counts of 64 bits",
        [
            "random.poisson(k, 30.0, (3,))",
            "random.geometric(k, 0.1, (3,))",
            "random.binomial(k, 100, 0.4, (3,))",
        ],
        ulps=0,
        config={"jax_enable_x64": True},
    ),
]

ERRORS = {
    "counts: arguments": [
        ("random.geometric(k, 0.3, (2,), float)", ["geometric", "int dtype"]),
        ("random.geometric(k, v / 9, (2,))", ["(3,)", "(2,)"]),
        ("random.geometric(k, None)", ["geometric"]),
        ("random.poisson(k, 3, (3,), float)", []),
        ("random.poisson(k, v, (2,))", []),
        ("random.poisson(k, v, method='fast')", ["exact", "fast"]),
        ("random.binomial(k, 10, 0.3, (3,), int)", ["binomial", "int32"]),
        ("random.binomial(k, [10], 0.3)", ["binomial", "list"]),
        ("random.binomial(k, v, 0.3, (2,))", ["(3,)", "(2,)"]),
        ("random.multinomial(k, v, f32([[0.5, 0.5]]), shape=(2,))", ["(2,)", "(3,)"]),
        ("random.multinomial(k, 10, [0.5, 0.5])", ["multinomial", "list"]),
    ],
}


def jaxprs(jax, jnp, lax):
    random, k = jax.random, jax.random.key(0)

    def show(f, *args):
        return lambda: jax.make_jaxpr(f)(*args)

    return {
        "random.geometric": show(lambda k: random.geometric(k, 0.2, (3,)), k),
        "random.poisson": show(lambda k: random.poisson(k, 2.0, (3,)), k),
    }
