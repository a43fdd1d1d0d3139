"""lax.reduce and lax.reduce_window: any function, over axes and over windows."""

import numpy as np
from golden_cases.codec import Group


def jaxprs(jax, jnp, lax):
    jaxpr, grad, vmap = jax.make_jaxpr, jax.grad, jax.vmap
    x, xs = np.ones((3, 4), np.float32), np.ones((2, 3, 4), np.float32)
    both = lambda a, b: (a[0] + b[0], a[1] * b[1])  # noqa: E731
    affine = lambda a, b: a * b + 1  # noqa: E731

    def pushed(f):
        return lambda x: jax.jvp(f, (x,), (x,))

    def average_pool(x):
        return lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "VALID")

    def max_pool(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (2, 2), "SAME")

    def product_pool(x):
        return lax.reduce_window(x, 1.0, lax.mul, (2, 2))

    def combined(x):
        return lax.reduce(x, 1.0, affine, (0,))

    cases = {
        "reduce by add": lambda: jaxpr(lambda x: lax.reduce(x, 0.0, lax.add, (0,)))(x),
        "reduce by add from 2": lambda: jaxpr(lambda x: lax.reduce(x, 2.0, lax.add, (0,)))(x),
        "reduce of a pair": lambda: jaxpr(lambda x: lax.reduce((x, x), (0.0, 1.0), both, (0,)))(x),
        "reduce over all axes": lambda: jaxpr(lambda x: lax.reduce(x, 1.0, affine, (0, 1)))(x),
        "grad of reduce": lambda: jaxpr(grad(lambda x: lax.reduce(x, 1.0, lax.mul, (0, 1))))(x),
        "grad of a general reduce": lambda: jaxpr(grad(lambda x: jnp.sum(combined(x))))(x),
        "reduce_window with holes": lambda: jaxpr(
            lambda x: lax.reduce_window(
                x,
                0.0,
                lax.add,
                (2, 2),
                (1, 1),
                "VALID",
                base_dilation=(1, 2),
                window_dilation=(1, 2),
            )
        )(x),
        "reduce_window of a pair": lambda: jaxpr(
            lambda x: lax.reduce_window((x, x), (0.0, 1.0), both, (2, 2), (1, 1), "VALID")
        )(x),
    }
    for f in (combined, average_pool, max_pool, product_pool):
        name = f"reduction: {f.__name__}"
        cases[name] = lambda f=f: jaxpr(f)(x)
        cases[f"{name}, vmap"] = lambda f=f: jaxpr(vmap(f))(xs)
        cases[f"{name}, jvp"] = lambda f=f: jaxpr(pushed(f))(x)
    for f in (average_pool, max_pool):
        cases[f"reduction: {f.__name__}, grad"] = lambda f=f: jaxpr(grad(lambda x: f(x).sum()))(x)
    return cases


GROUPS = [
    Group(
        "reduce by any function",
        [
            "lax.reduce(m, f32(0), lambda a, b: a + b, (0,))",
            "lax.reduce(m, f32(2), lambda a, b: a * b, (1,))",
            "lax.reduce(m, f32(3), lax.add, (0, 1))",
            "lax.reduce(x5, f32(-inf), lambda a, b: jnp.maximum(a, b), (0,))",
            "lax.reduce((m, im), (f32(0), i32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,))",
            "lax.reduce({'a': m}, {'a': f32(1)}, lambda a, b: {'a': a['a'] * b['a']}, (0,))",
            "lax.reduce(bools, False, lax.bitwise_or, (0,))",
            "lax.reduce(ints, i32(0), lambda a, b: a ^ b, (0,))",
            "lax.reduce(empty, f32(7), lambda a, b: a * b, (0,))",
            "jax.grad(lambda x: lax.reduce(x, 1.0, lambda a, b: a * b, (0,)))(x5)",
            "jax.vmap(lambda x: lax.reduce(x, 1.0, lambda a, b: a * b, (0,)))(m)",
            "jax.jit(lambda x: lax.reduce(x, 1.0, lambda a, b: a * b, (0,)))(x5)",
        ],
        ulps=4,
    ),
    Group(
        "reduce_window",
        [
            "lax.reduce_window(m, 0.0, lax.add, (2, 2))",
            "lax.reduce_window(m, 0.0, lax.add, (2, 2), (1, 1), 'SAME')",
            "lax.reduce_window(m, 0.0, lax.add, (2, 2), (1, 1), 'SAME_LOWER')",
            "lax.reduce_window(m, -inf, lax.max, (1, 2), (1, 2), 'SAME')",
            "lax.reduce_window(m, inf, lax.min, (2, 1), padding=[(1, 1), (0, 0)])",
            "lax.reduce_window(im, i32(0), lax.add, (1, 3))",
            "lax.reduce_window(m, 0.0, lax.add, (1, 2), padding='valid', window_dilation=(1, 2))",
            "lax.reduce_window(m, 0.0, lax.add, (1, 2), padding='valid', base_dilation=(2, 3))",
            "lax.reduce_window(m, 1.0, lax.mul, (2, 2), (1, 1), 'SAME')",
            "lax.reduce_window((m, m), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (2, 2))",
            "lax.reduce_window(nans, -inf, lax.max, (1, 2))",
            "lax.reduce_window(hm, np.float16(0), lax.add, (2, 3))",
            "lax.reduce_window(v, 0.0, lax.add, (5,))",
            "jax.jit(lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), 'SAME'))(m)",
            "jax.jit(lambda x: lax.reduce_window(x, -inf, lax.max, (2, 2), (2, 1), 'SAME'))(m)",
            "jax.vmap(lambda x: lax.reduce_window(x, -inf, lax.max, (2,)))(m)",
            "jax.grad(lambda x: jnp.sum(lax.reduce_window(x, 0.0, lax.add, (2, 2)) ** 2))(m)",
            "jax.grad(lambda x: jnp.sum(lax.reduce_window(x, -inf, lax.max, (2, 2)) ** 2))(m)",
            "jax.grad(lambda x: jnp.sum(lax.reduce_window(x, inf, lax.min, (1, 2)) ** 2))(bm * 1.0)",
            "jax.grad(lambda x: jnp.sum(lax.reduce_window(x, -inf, lax.max, (1, 2), "
            "base_dilation=(1, 2))))(m)",
            "jax.jvp(lambda x: lax.reduce_window(x, 1.0, lax.mul, (2, 2)), (m,), (m * m,))",
            "lax.padtype_to_pads((7, 4), (3, 2), (2, 2), 'SAME')",
        ],
        ulps=4,
    ),
]

ERRORS = {
    "reduce and reduce_window": [
        ("lax.reduce(m, (f32(0), f32(0)), lax.add, (0,))", ["tree"]),
        ("lax.reduce(m, f32(0), lambda a, b: (a, b), (0,))", ["tree"]),
        ("lax.reduce(m, v, lambda a, b: a + b, (0,))", ["scalar|(3,)"]),
        ("lax.reduce_window(m, (f32(0), f32(0)), lax.add, (2, 2))", ["tree"]),
        ("lax.reduce_window(m, f32(0), lax.add, (2,))", ["window_dimensions", "2"]),
        ("lax.reduce_window(m, f32(0), lax.add, (2, 2), (1,))", ["window_strides"]),
        ("lax.reduce_window(m, f32(0), lax.add, (2, 2), (0, 1))", ["window_strides", "(0, 1)"]),
        ("lax.reduce_window(m, f32(0), lax.add, (2, 2), (1, 1), 'FULL')", ["FULL", "SAME"]),
        ("lax.reduce_window(m, i32(3), lax.add, (2, 2))", ["float32", "int32"]),
    ],
}
