"""Recorded cases of custom_root and custom_linear_solve."""

import numpy as np
from golden_cases.codec import Group


def functions(jax, jnp, lax):
    """Solvers by Newton's iteration, and with diagonal and general matrices."""

    def divide(f, b):
        """The solve of a diagonal system."""
        return b / f(jnp.ones_like(b))

    def diagonal(d, b):
        return lax.custom_linear_solve(lambda x: d * x, b, divide, divide)

    def symmetric(d, b):
        return lax.custom_linear_solve(lambda x: d * x, b, divide, symmetric=True)

    def forward_only(d, b):
        solve = lambda f, b: (divide(f, b), b.sum())  # noqa: E731
        return lax.custom_linear_solve(lambda x: d * x, b, solve, has_aux=True)

    def jacobi(f, b):
        """x - (f(x) - b) / 5, again and again: for a matrix near 5 times the identity."""
        return lax.fori_loop(0, 60, lambda _, x: x - (f(x) - b) / 5, b)

    def matrix(a, b):
        return lax.custom_linear_solve(lambda x: a @ x, b, jacobi, jacobi)

    def newton(f, x):
        slope = lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1]  # noqa: E731
        return lax.while_loop(lambda x: abs(f(x)) > 1e-5, lambda x: x - f(x) / slope(x), x)

    def sqrt(a):
        return lax.custom_root(lambda x: x * x - a, a, newton, lambda g, y: y / g(jnp.float32(1)))

    def sqrt_and_guess(a):
        solve = lambda f, x: (newton(f, x), x)  # noqa: E731
        return lax.custom_root(
            lambda x: x * x - a, a, solve, lambda g, y: y / g(jnp.float32(1)), has_aux=True
        )

    return locals()


def jaxprs(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    f = functions(jax, jnp, lax)
    d, b = np.array([2, 4, 5], np.float32), np.ones(3, np.float32)
    m = np.ones((2, 3), np.float32)
    return {
        "solves, custom_linear_solve": lambda: jaxpr(f["diagonal"])(d, b),
        "solves, symmetric": lambda: jaxpr(f["symmetric"])(d, b),
        "solves, has_aux": lambda: jaxpr(f["forward_only"])(d, b),
        "solves, jvp": lambda: jaxpr(lambda d, b: jax.jvp(f["diagonal"], (d, b), (d, b)))(d, b),
        "solves, jvp with aux": lambda: jaxpr(
            lambda d, b: jax.jvp(f["forward_only"], (d, b), (d, b))
        )(d, b),
        "solves, vjp": lambda: jaxpr(lambda d, b: jax.vjp(f["diagonal"], d, b)[1](b))(d, b),
        "solves, vmap over b": lambda: jaxpr(jax.vmap(f["diagonal"], (None, 0)))(d, m),
        "solves, vmap over the matrix": lambda: jaxpr(jax.vmap(f["diagonal"], (0, None)))(m, b),
    }


def names(jax, jnp, lax):
    inputs = {
        "d": np.array([2, 4, 5], np.float32),
        "b": np.array([1, 2, 3], np.float32),
        "a": np.array([[5, 1, 0], [0.5, 4, 1], [0, 1, 6]], np.float32),
        "root": lax.custom_root,
        "linear_solve": lax.custom_linear_solve,
    }
    return functions(jax, jnp, lax) | inputs


GROUPS = [
    Group(
        "custom_linear_solve",
        [
            "diagonal(d, b)",
            "forward_only(d, b)",
            "matrix(a, b)",
            "jax.jit(matrix)(a, b)",
            "jax.jacfwd(matrix, 1)(a, b)",
            "jax.jacrev(matrix, 1)(a, b)",
            "jax.grad(lambda a: matrix(a, b)[0])(a)",
            "jax.jit(jax.grad(lambda a: matrix(a, b)[0]))(a)",
            "jax.jacrev(symmetric)(d, b)",
            "jax.hessian(lambda d: diagonal(d, b).sum())(d)",
            "jax.vmap(matrix, (None, 0))(a, jnp.stack([b, 2 * b]))",
            "jax.vmap(matrix, (0, None))(jnp.stack([a, a.T]), b)",
            "jax.vmap(jax.grad(lambda a: matrix(a, b)[0]))(jnp.stack([a, a.T]))",
            "jax.vmap(forward_only, (None, 0))(d, jnp.stack([b, 2 * b]))",
        ],
        ulps=16,
        scaled=True,
    ),
    Group(
        "custom_root",
        [
            "sqrt(2.0)",
            "sqrt_and_guess(f32(2))",
            "jax.grad(sqrt)(2.0)",
            "jax.grad(jax.grad(sqrt))(2.0)",
            "jax.jvp(sqrt_and_guess, (f32(2),), (f32(1),))",
            "jax.vmap(sqrt)(d)",
            "jax.vmap(jax.grad(sqrt))(d)",
            "jax.jit(jax.vmap(jax.grad(sqrt)))(d)",
        ],
        ulps=16,
    ),
]

ERRORS = {
    "solves": [
        ("jax.grad(lambda b: forward_only(d, b)[0].sum())(b)", ["transpose_solve", "required"]),
        ("linear_solve(lambda x: (x, x), b, divide)", ["matvec", "[(3,), (3,)]"]),
        ("linear_solve(lambda x: x[:2], b, divide)", ["matvec", "(2,)", "(3,)"]),
        ("linear_solve(lambda x: x, b, lambda f, b: b[:2])", ["solve", "(2,)", "(3,)"]),
        ("linear_solve(lambda x: x, b, lambda f, b: [b])", ["solve", "[*]"]),
        ("root(lambda x: (x, x), 1.0, newton, divide)", ["f()", "initial_guess", "(*, *)"]),
        ("root(lambda x: x, 1.0, lambda f, x: [x], divide)", ["solve()", "[*]"]),
        ("root(lambda x: x, 1.0, newton, lambda g, y: [y])", ["tangent_solve()", "[*]"]),
        ("root(lambda x: x, 1.0, newton, divide, has_aux=True)", ["solve()", "has_aux"]),
    ],
}
