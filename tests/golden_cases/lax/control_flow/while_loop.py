"""Recorded cases of while_loop."""

import numpy as np
from golden_cases.codec import Group


def jaxprs(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    x, n, v, m = np.float32(2), np.int32(3), np.ones(3, np.float32), np.ones((2, 3), np.float32)
    i = np.arange(3, dtype=np.int32)

    def double(x):
        return lax.while_loop(lambda x: x < 100.0, lambda x: x * 2, x)

    def power(x, n):
        """x to the n, by n products: a counter that the condition reads, and x that never changes."""

        def body(carry):
            i, product, x = carry
            return i + 1, product * x, x

        return lax.while_loop(lambda carry: carry[0] < n, body, (0, 1.0, x))[1]

    def steps(x):
        """How often x must be halved to be below 1: a predicate that depends on x."""
        halve = lambda carry: (carry[0] / 2, carry[1] + 1)  # noqa: E731
        return lax.while_loop(lambda carry: carry[0] >= 1, halve, (x, 0))[1]

    def shift(x, y, z):
        """What is new in the first part of the carry reaches the last one after two iterations."""
        body = lambda c: (c[0] + 1, x, c[1], c[2])  # noqa: E731
        return lax.while_loop(lambda c: c[0] < 5, body, (0, y, z, z))[1:]

    def nested(x):
        def outer(carry):
            i, x = carry
            inner = lax.while_loop(lambda c: c[0] < i, lambda c: (c[0] + 1, c[1] + x), (0, x))
            return i + 1, inner[1]

        return lax.while_loop(lambda carry: carry[0] < 3, outer, (0, x))[1]

    def tree(carry):
        def body(carry):
            return {"x": carry["x"] + carry["y"][0], "y": (carry["y"][1], carry["y"][0])}

        return lax.while_loop(lambda carry: jnp.sum(carry["x"]) < 10, body, carry)

    def closures(x, limit, factor):
        return lax.while_loop(lambda x: x.sum() < limit, lambda x: x * factor + limit, x)

    def of_array(x):
        limit = jnp.arange(3.0)
        return lax.while_loop(lambda x: (x < limit).all(), lambda x: x + limit, x)

    def jvp(f, *primals):
        return lambda *tangents: jax.jvp(f, primals, tangents)

    def cond_inside(x):
        body = lambda x: lax.cond(x > 5, lambda x: x * 2, lambda x: x + 1, x)  # noqa: E731
        return lax.while_loop(lambda x: x < 50, body, x)

    def inside_cond(x):
        return lax.cond(x > 5, double, lambda x: x, x)

    def inside_scan(x):
        return lax.scan(lambda c, _: (double(c), c), x, None, length=3)

    return {
        "while": lambda: jaxpr(double)(x),
        "while, closures of condition and body": lambda: jaxpr(closures)(v, x, x),
        "while, closure of a constant array": lambda: jaxpr(of_array)(v),
        "while, tree as carry": lambda: jaxpr(tree)({"x": v, "y": (x, x)}),
        "while, a part of the carry that never changes": lambda: jaxpr(power)(x, n),
        "while, weakly typed carry": lambda: jaxpr(
            lambda x: lax.while_loop(lambda c: c < 9, lambda c: c + x, 0)
        )(x),
        "while, weakly typed tracer as carry": lambda: jaxpr(
            lambda x, c: lax.while_loop(lambda c: c < 9, lambda c: c + x, c)
        )(x, 0),
        "while of while": lambda: jaxpr(nested)(x),
        "while of jit": lambda: jaxpr(
            lambda x: lax.while_loop(lambda x: x < 9, jax.jit(lambda y: y + x), x)
        )(x),
        "while in jit": lambda: jaxpr(jax.jit(double))(x),
        "while of cond": lambda: jaxpr(cond_inside)(x),
        "while in cond": lambda: jaxpr(inside_cond)(x),
        "while in scan": lambda: jaxpr(inside_scan)(x),
        "jvp of while": lambda: jaxpr(jvp(double, x))(x),
        "jvp of while, closures": lambda: jaxpr(lambda *a: jax.jvp(closures, a, a))(v, x, x),
        "jvp of while, integers in the carry": lambda: jaxpr(
            lambda x: jax.jvp(lambda x: power(x, n), (x,), (x,))
        )(x),
        "jvp of while, tangents that spread": lambda: jaxpr(
            lambda x: jax.jvp(lambda x: shift(x, 1.0, 2.0), (x,), (x,))
        )(x),
        "jvp of while of while": lambda: jaxpr(jvp(nested, x))(x),
        "jvp of jvp of while": lambda: jaxpr(
            lambda x: jax.jvp(lambda y: jax.jvp(double, (y,), (x,)), (x,), (x,))
        )(x),
        "linearize of while": lambda: jaxpr(lambda x: jax.linearize(double, x)[1](x))(x),
        "linearize of while, more that is known": lambda: jaxpr(
            lambda x: jax.linearize(lambda x: power(jnp.sin(x), n), x)[1](x)
        )(x),
        "grad around while without a tangent": lambda: jaxpr(jax.grad(lambda x: x * steps(x)))(x),
        "vmap of while": lambda: jaxpr(jax.vmap(double))(v),
        "vmap of while, predicate not batched": lambda: jaxpr(jax.vmap(power, in_axes=(0, None)))(
            v, n
        ),
        "vmap of while, batched const of the condition": lambda: jaxpr(
            jax.vmap(power, in_axes=(None, 0))
        )(x, np.arange(3, dtype=np.int32)),
        "vmap of while, batched closures": lambda: jaxpr(
            jax.vmap(closures, in_axes=(None, None, 0))
        )(v, x, v),
        "vmap of while, batch dims that spread": lambda: jaxpr(
            jax.vmap(shift, in_axes=(0, None, None))
        )(v, x, x),
        "vmap of while, batch dim behind": lambda: jaxpr(
            jax.vmap(tree, in_axes=({"x": 1, "y": None},))
        )({"x": m, "y": (x, x)}),
        "vmap of vmap of while": lambda: jaxpr(jax.vmap(jax.vmap(double)))(m),
        "vmap of vmap of while, inner predicate batched": lambda: jaxpr(
            jax.vmap(jax.vmap(power, in_axes=(None, 0)), in_axes=(0, None))
        )(v, np.arange(2, dtype=np.int32)),
        "vmap of jvp of while": lambda: jaxpr(jax.vmap(lambda x: jax.jvp(double, (x,), (x,))))(v),
        "jvp of vmap of while": lambda: jaxpr(jvp(jax.vmap(double), v))(v),
        "jit of vmap of while": lambda: jaxpr(jax.jit(jax.vmap(steps)))(v),
        "vmap of linearize of while": lambda: jaxpr(
            jax.vmap(lambda x: jax.linearize(double, x)[1](x))
        )(v),
        "while_loop in jnp.gcd": lambda: jaxpr(jnp.gcd)(i, np.int32(6)),
        "while_loop in jnp.gcd, scalars": lambda: jaxpr(jnp.gcd)(np.uint8(3), 6),
        "while_loop in jnp.lcm": lambda: jaxpr(jnp.lcm)(i, i),
        "while in fori_loop, dynamic": lambda: jaxpr(
            lambda n, x: lax.fori_loop(0, n, lambda i, x: x * i, x)
        )(n, x),
        "while in fori_loop, vmap over the bound": lambda: jaxpr(
            jax.vmap(lambda n: lax.fori_loop(1, n, lambda i, x: x * i, 2.0))
        )(i),
        "while in fori_loop, jvp": lambda: jaxpr(
            lambda n, x: jax.jvp(lambda x: lax.fori_loop(0, n, lambda i, c: c * x, x), (x,), (x,))
        )(n, x),
        "vmap of while with an axis name": lambda: jaxpr(
            jax.vmap(lambda x: lax.while_loop(lambda c: c < 9, lambda c: c + x, x), axis_name="i")
        )(v),
    }


def names(jax, jnp, lax):
    def power(x, n):
        body = lambda c: (c[0] + 1, c[1] * c[2], c[2])  # noqa: E731
        return lax.while_loop(lambda c: c[0] < n, body, (0, 1.0, x))[1]

    def collatz(n):
        """How many steps from n to 1."""
        body = lambda c: (jnp.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1)  # noqa: E731
        return lax.while_loop(lambda c: c[0] != 1, body, (n, 0))[1]

    def newton(x):
        """The square root of x, by Newton's iteration until it stands still."""
        step = lambda c: (c[1], (c[1] + x / c[1]) / 2)  # noqa: E731
        return lax.while_loop(lambda c: abs(c[0] - c[1]) > 1e-6 * c[1], step, (x + 1, x))[1]

    def triangle(n):
        """0 + 1 + ... + (n - 1), by a loop in a loop."""

        def outer(c):
            i, total = c
            inner = lax.while_loop(lambda c: c[0] < i, lambda c: (c[0] + 1, c[1] + 1), (0, total))
            return i + 1, inner[1]

        return lax.while_loop(lambda c: c[0] < n, outer, (0, 0))[1]

    return {
        "loop": lax.while_loop,
        "power": power,
        "collatz": collatz,
        "newton": newton,
        "triangle": triangle,
        "linear": lambda f, x, t: jax.linearize(f, x)[1](t),
        "pos": np.array([0.5, 2.0, 9.0], np.float32),
        "counts": np.array([1, 7, 3, 27], np.int32),
    }


GROUPS = [
    Group(
        "while_loop",
        [
            "loop(lambda x: x < 100, lambda x: x * 2, 3)",
            "loop(lambda x: x < 100, lambda x: x * 2, 300)",
            "loop(lambda x: x < 100, lambda x: x * 2, 3.0)",
            "loop(lambda x: x < 100, lambda x: x * 2, f32(3))",
            "loop(lambda x: x < 9, lambda x: x + jnp.float16(0.5), 0)",
            "loop(lambda x: x.sum() < 100, lambda x: x * v, v + 1)",
            "loop(lambda c: c['n'] < 3, lambda c: {'n': c['n'] + 1, 'x': [c['x'][0] + v]}, "
            "{'n': 0, 'x': [v]})",
            "loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1]), (0, 5))",
            "loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, None), (0, None))",
            "loop(lambda b: ~b, lambda b: ~b, False)",
            "loop(lambda x: (x < 5).all(), lambda x: x + 1, ints)",
            "power(2.0, 10)",
            "collatz(27)",
            "triangle(5)",
            "newton(f32(2))",
            "jnp.gcd(ints, 12)",
            "jnp.gcd(jnp.arange(4)[:, None], jnp.arange(4))",
            "jax.jit(jnp.lcm)(ints, 12)",
            "jnp.gcd(True, 4)",
            "jax.jit(collatz)(27)",
            "jax.jit(newton)(2.0)",
        ],
    ),
    Group(
        "vmap of while_loop",
        [
            "jax.vmap(collatz)(counts)",
            "jax.vmap(newton)(pos)",
            "jax.vmap(triangle)(counts)",
            "jax.vmap(power, (0, None))(pos, 3)",
            "jax.vmap(power, (None, 0))(2.0, counts)",
            "jax.vmap(power)(pos, counts[:3])",
            "jax.vmap(jax.vmap(power, (None, 0)), (0, None))(pos, counts)",
            "jax.vmap(jax.vmap(power, (0, None)), (None, 0), 1)(pos, counts)",
            "jax.jit(jax.vmap(collatz))(counts)",
            "jax.vmap(jnp.gcd, (None, 0))(12, counts)",
            "jax.jit(lambda n: lax.fori_loop(0, n, lambda i, x: x * i + 1, 1))(5)",
            "jax.vmap(lambda n: lax.fori_loop(0, n, lambda i, x: x + i, 0.5))(counts)",
            "jax.vmap(jax.jit(collatz))(counts)",
            "jax.vmap(lambda k: loop(lambda c: c[0] < k, lambda c: (c[0] + 1, c[1] @ m.T @ m), "
            "(0, v)))(counts[:3])",
        ],
        scaled=True,
    ),
    Group(
        "derivatives of while_loop",
        [
            "jax.jvp(newton, (2.0,), (1.0,))",
            "jax.jvp(lambda x: power(x, 5), (2.0,), (1.0,))",
            "jax.jvp(lambda x: jax.jvp(lambda y: power(y, 5), (x,), (1.0,))[1], (2.0,), (1.0,))",
            "jax.jacfwd(newton)(2.0)",
            "jax.jacfwd(jax.jacfwd(newton))(2.0)",
            "jax.jacfwd(lambda x: loop(lambda x: x.sum() < 50, lambda x: x * x[0], x))(v + 1)",
            "linear(newton, 2.0, 3.0)",
            "linear(lambda x: power(jnp.sin(x), 3), 2.0, 3.0)",
            "linear(jax.jit(newton), 2.0, 3.0)",
            "jax.vmap(jax.jacfwd(newton))(pos)",
            "jax.jvp(jax.vmap(newton), (pos,), (pos,))",
            "jax.jit(jax.vmap(jax.jacfwd(newton)))(pos)",
            "jax.grad(lambda x: x * collatz(7))(2.0)",
            "jax.grad(lambda x: x * loop(lambda y: y < 9, lambda y: y * 2, lax.stop_gradient(x)))(2.0)",
            "jax.vmap(jax.grad(lambda x: x * collatz(7)))(pos)",
        ],
        ulps=16,
    ),
]

REVERSE = ["Reverse-mode", "while_loop", "scan", "fori_loop"]
ERRORS = {
    "while_loop": [
        ("jnp.gcd(True, False)", ["gcd", "integers", "bool"]),
        ("jnp.lcm(2.0, 4)", ["lcm", "integers", "float32"]),
        (
            "jax.jit(jax.grad(lambda x, n: lax.fori_loop(0, n, lambda i, y: y * x, x)))(2.0, 3)",
            REVERSE,
        ),
        ("loop(1, lambda x: x, 1)", ["cond_fun", "callable"]),
        ("loop(lambda x: x < 3, None, 1)", ["body_fun", "callable"]),
        ("loop(lambda x: x, lambda x: x, 1.0)", ["boolean scalar", "float32[]"]),
        ("loop(lambda x: x < 1, lambda x: x, v)", ["boolean scalar", "bool[3]"]),
        ("loop(lambda x: (x < 1, x < 2), lambda x: x, 1)", ["boolean scalar", "(*, *)"]),
        ("loop(lambda x: None, lambda x: x, 1)", ["boolean scalar", "None"]),
        ("loop(lambda x: x < 1, lambda x: (x, x), 1)", ["carry x", "leaf|ShapedArray", "tuple"]),
        ("loop(lambda c: c[0] < 1, lambda c: c[0], (1,))", ["carry c", "tuple"]),
        ("loop(lambda c: c[0] < 1, lambda c: list(c), (1, 2))", ["carry c", "tuple", "list"]),
        (
            "loop(lambda c: c['a'] < 1, lambda c: {'a': 1, 'b': (1,)}, {'a': 1, 'b': 1})",
            ["c['b']", "tuple"],
        ),
        ("loop(lambda x: x < 1, lambda x: x + 0.5, i32(1))", ["carry x", "int32[]", "float32[]"]),
        (
            "loop(lambda c: c[0] < 1, lambda c: (c[0], c[1].astype('float16')), (1, f32(1)))",
            ["c[1]", "float32[]", "float16[]"],
        ),
        (
            "loop(lambda c: c[0] < 1, lambda c: (v, v[:2]), (1.0, v))",
            ["c[0]", "c[1]", "float32[3]", "float32[2]"],
        ),
        ("loop(lambda x: x < 1, lambda x: 'a', 1)", ["str"]),
        ("loop(lambda x: x < 1, lambda x: x, 'a')", ["'a'", "str"]),
        ("loop(lambda: True, lambda x: x, 1)", ["positional"]),
        ("loop(lambda x: x < 1, lambda x: x if x > 0 else -x, 1)", ["bool"]),
        ("jax.grad(newton)(2.0)", REVERSE),
        ("jax.grad(jax.jit(newton))(2.0)", REVERSE),
        ("jax.vjp(newton, 2.0)[1](1.0)", REVERSE),
        ("jax.jacrev(newton)(2.0)", REVERSE),
        ("jax.hessian(newton)(2.0)", REVERSE),
        ("jax.vmap(jax.grad(newton))(pos)", REVERSE),
    ],
}
