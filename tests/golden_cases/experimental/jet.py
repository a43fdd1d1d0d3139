"""Recorded cases of jax.experimental.jet.jet."""

import importlib

import numpy as np
from golden_cases.codec import Group


def names(jax, jnp, lax):
    jet = importlib.import_module(f"{jax.__name__}.experimental.jet").jet

    def along(f, *primals):
        """Three terms a primal: 1, 0.5 and -0.25 everywhere."""
        primals = [jnp.asarray(x, jnp.float32) for x in primals]
        series = [[jnp.full(x.shape, term) for term in (1.0, 0.5, -0.25)] for x in primals]
        return jet(f, primals, series)

    return {"jet": jet, "along": along, "s": np.array([-0.75, 0.25, 0.5], np.float32)}


UNARY = [
    "jnp.sin",
    "jnp.cos",
    "jnp.sinh",
    "jnp.cosh",
    "jnp.tanh",
    "jnp.exp",
    "jnp.expm1",
    "jnp.log1p",
    "jnp.abs",
    "jnp.square",
    "jnp.arcsinh",
    "jnp.arctanh",
    "jax.nn.sigmoid",
    "lax.erf",
    "lax.erfc",
    "lax.erf_inv",
    "lambda x: x**3",
    "lambda x: x**-2",
    "lambda x: x**0",
    "lambda x: jnp.where(x > 0, x, x * x)",
    "lambda x: jnp.floor(x) * x",
    "lambda x: x[1:] - x[:-1]",
    "lambda x: x.reshape(3, 1) @ x.reshape(1, 3)",
    "lambda x: jnp.concatenate([x, x[::-1] * x])",
    "lambda x: jnp.cumprod(x)",
    "lambda x: {'max': x.max(), 'min': x.min(), 'sum': x.sum()}",
    "lambda x: jnp.zeros(3).at[np.array([0, 0, 2])].add(x)",
    "lambda x: lax.dynamic_slice(x, (1,), (2,))",
    "lambda x: (x, 2.0)",
    "jax.jit(lambda x: jnp.sin(x) * x)",
]
POSITIVE = ["jnp.sqrt", "lax.rsqrt", "jnp.log", "lambda x: x**1.5", "lambda x: 2.0**x"]
BINARY = ["jnp.add", "jnp.subtract", "jnp.multiply", "jnp.divide", "jnp.dot", "jnp.arctan2"]
BINARY += ["jnp.maximum", "jnp.minimum"]

GROUPS = [
    Group(
        "jet",
        [f"along({f}, s)" for f in UNARY]
        + [f"along({f}, v)" for f in POSITIVE]
        + [f"along({f}, s, v)" for f in BINARY]
        + [
            "along(jnp.power, v, s)",
            "along(jnp.maximum, v, v)",
            "along(jnp.max, f32([1, 2, 2]))",
            "along(lambda x: jnp.tanh(m @ x), v)",
            "jet(jnp.sin, (0.125,), ((0.75, 3.0),))",
            "jet(jnp.sin, (0.125,), ((0.75, 1.5),), factorial_scaled=False)",
            "jet(lambda x, y: x * jnp.exp(y), (f32(2), f32(0.5)), ((f32(1),), (f32(1),)))",
            "jax.jit(lambda x: jet(jnp.sin, (x,), ((1.0, 0.0, 0.0),)))(0.5)",
            "jax.vmap(lambda x: jet(jnp.sin, (x,), ((1.0, 0.0, 0.0),)))(s)",
            "jax.grad(lambda x: jet(jnp.sin, (x,), ((1.0, 0.0, 0.0),))[1][2])(0.5)",
        ],
        ulps=64,
        scaled=True,
    )
]

ERRORS = {
    "jet": [
        ("jet(jnp.add, (1.0, 2.0), ((1.0,), (1.0, 0.0)))", ["inconsistent lengths", "[1, 2]"]),
        ("jet(jnp.sin, ((1.0, 2.0),), ((1.0,),))", ["position 0", "array"]),
        ("jet(jnp.sin, (1.0,), (((1.0, 1.0),),))", ["term 0", "argument 0", "array"]),
    ]
}
