"""Recorded cases of cond and switch, plain and transformed."""

import numpy as np
from golden_cases.codec import Group


def functions(jnp, lax):
    """The programs that are printed, evaluated and differentiated."""

    def by_sign(x):
        return lax.cond(x > 0, jnp.sin, jnp.cos, x)

    def chosen(i, x):
        return lax.switch(i, [jnp.sin, jnp.exp, lambda x: x * 2], x)

    def closing(pred, x, y):
        return lax.cond(pred, lambda: x * y, lambda: y)

    def trees(pred, tree):
        swap = lambda t: {"a": t["y"], "b": (t["x"], 2.0)}  # noqa: E731
        return lax.cond(pred, lambda t: {"a": t["x"], "b": (t["y"], 1.0)}, swap, tree)

    def nested(i, pred, x):
        inner = lambda x: lax.cond(pred, jnp.sin, jnp.cos, x)  # noqa: E731
        return lax.switch(i, [inner, jnp.tanh, lambda x: x * x], x)

    def two_operands(pred, x, y):
        return lax.cond(pred, lambda x, y: jnp.sin(x) * y, lambda x, y: x * jnp.exp(y) * y, x, y)

    def unlike_residuals(pred, x):
        product = lambda x: jnp.sin(x.sum()) * x[0] * 2  # noqa: E731
        return lax.cond(pred, lambda x: jnp.sin(x).sum(), product, x)

    def safe_log(x):
        return lax.cond(x > 0, jnp.log, lambda x: x * 2, x)

    def constant_branch(pred, x):
        return lax.cond(pred, lambda x: x * 2, lambda x: jnp.ones(3, jnp.float32), x)

    return {name: fun for name, fun in locals().items() if name not in ("jnp", "lax")}


def names(jax, jnp, lax):
    return functions(jnp, lax)


def _f32(*shape):
    return np.ones(shape, np.float32)


def jaxprs(jax, jnp, lax):
    jaxpr, grad, vmap, jit = jax.make_jaxpr, jax.grad, jax.vmap, jax.jit
    f = functions(jnp, lax)
    by_sign, chosen, closing, trees, nested = (
        f[name] for name in ("by_sign", "chosen", "closing", "trees", "nested")
    )
    two_operands, unlike = f["two_operands"], f["unlike_residuals"]
    v = _f32(3)
    table = jnp.asarray(v * 3)
    double = lambda x: x * 2  # noqa: E731
    return {
        "cond": lambda: jaxpr(by_sign)(1.0),
        "cond of an integer": lambda: jaxpr(lambda i, x: lax.cond(i, jnp.sin, jnp.cos, x))(1, v),
        "cond of a float": lambda: jaxpr(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x))(1.5, v),
        "cond of a constant": lambda: jaxpr(lambda x: lax.cond(True, jnp.sin, jnp.cos, x))(v),
        "cond with closures": lambda: jaxpr(closing)(True, 2.0, v),
        "cond closing over an array": lambda: jaxpr(
            lambda p, x: lax.cond(p, lambda x: x + table, lambda x: x * table, x)
        )(True, v),
        "cond of trees": lambda: jaxpr(trees)(True, {"x": v, "y": v}),
        "cond of one function twice": lambda: jaxpr(lambda p, x: lax.cond(p, double, double, x))(
            True, v
        ),
        "cond that gives operands": lambda: jaxpr(
            lambda p, x: lax.cond(p, lambda x: (x, x), lambda x: (x, -x), x)
        )(True, v),
        "cond that gives its one operand": lambda: jaxpr(
            lambda p, x: lax.cond(p, lambda x: x, lambda x: x, x)
        )(True, v),
        "cond of weak and strong": lambda: jaxpr(
            lambda p: lax.cond(p, lambda: 1.0, lambda: jnp.float32(2))
        )(True),
        "cond of a Python scalar": lambda: jaxpr(
            lambda p, x: lax.cond(p, lambda y: y + x, lambda y: y * x, 2)
        )(True, v),
        "cond with operand by keyword": lambda: jaxpr(
            lambda p, x: lax.cond(p, lambda _: x, lambda _: x + 1, operand=None)
        )(True, v),
        "cond with an operand a branch": lambda: jaxpr(
            lambda p, x: lax.cond(p, x, jnp.sin, x + 1, jnp.cos)
        )(True, v),
        "cond nested": lambda: jaxpr(nested)(1, True, 1.0),
        "cond in jit": lambda: jaxpr(jit(by_sign))(1.0),
        "switch": lambda: jaxpr(chosen)(1, v),
        "switch by uint8": lambda: jaxpr(chosen)(np.uint8(1), v),
        "switch of one branch": lambda: jaxpr(lambda i, x: lax.switch(i, [jnp.sin], x))(1, v),
        "switch in jnp.piecewise": lambda: jaxpr(
            lambda x: jnp.piecewise(x, [x < 0, x >= 2], [jnp.sin, lambda x: x * 2, 5])
        )(v),
        # ---- derivatives ----
        "jvp of cond": lambda: jaxpr(lambda x, t: jax.jvp(by_sign, (x,), (t,)))(1.0, 1.0),
        "jvp of cond with a constant branch": lambda: jaxpr(
            lambda p, x, t: jax.jvp(lambda x: f["constant_branch"](p, x), (x,), (t,))
        )(True, v, v),
        "grad of cond": lambda: jaxpr(grad(by_sign))(1.0),
        "grad of cond by two": lambda: jaxpr(grad(lambda x, y: two_operands(True, x, y), (0, 1)))(
            1.0, 2.0
        ),
        "grad of cond with unlike residuals": lambda: jaxpr(grad(unlike, 1))(True, v),
        "grad of cond with a constant branch": lambda: jaxpr(
            grad(lambda x, p: f["constant_branch"](p, x).sum())
        )(v, True),
        "grad of cond with a constant scalar branch": lambda: jaxpr(
            grad(lambda x: lax.cond(x > 0, jnp.sin, lambda x: 0.0, x))
        )(1.0),
        "grad of cond with exp": lambda: jaxpr(grad(lambda x, p: lax.cond(p, jnp.exp, jnp.sin, x)))(
            1.0, True
        ),
        "grad of cond with closures": lambda: jaxpr(
            grad(lambda x: lax.cond(x > 0, lambda: x * x, lambda: x * 3.0))
        )(1.0),
        "grad of cond with an unused operand": lambda: jaxpr(
            grad(lambda x, y, p: lax.cond(p, lambda x, y: x * x, lambda x, y: y * 3, x, y), (0, 1))
        )(1.0, 2.0, True),
        "grad of cond with an integer operand": lambda: jaxpr(
            grad(lambda x, i: lax.cond(i > 0, lambda x, i: x * i, lambda x, i: jnp.sin(x), x, i))
        )(1.0, 2),
        "grad of switch": lambda: jaxpr(grad(chosen, 1))(1, 2.0),
        "grad of cond nested": lambda: jaxpr(grad(nested, 2))(1, True, 1.0),
        "grad of grad of cond": lambda: jaxpr(grad(grad(by_sign)))(1.0),
        "linearize of cond": lambda: jaxpr(lambda x: jax.linearize(by_sign, x)[1](1.0))(1.0),
        "linear_transpose of cond": lambda: jaxpr(
            jax.linear_transpose(lambda x: lax.cond(True, lambda x: x * 2, lambda x: -x, x), 1.0)
        )(1.0),
        "jit of grad of cond": lambda: jaxpr(jit(grad(by_sign)))(1.0),
        "grad of jit of cond": lambda: jaxpr(grad(jit(by_sign)))(1.0),
        # ---- vmap ----
        "vmap of cond": lambda: jaxpr(vmap(by_sign))(v),
        "vmap of cond, one predicate": lambda: jaxpr(
            vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), in_axes=(None, 0))
        )(True, v),
        "vmap of cond along axis 1, one predicate": lambda: jaxpr(
            vmap(lambda p, x: lax.cond(p, double, jnp.cos, x), in_axes=(None, 1), out_axes=1)
        )(True, _f32(2, 3)),
        "vmap of cond, a result batched in one branch": lambda: jaxpr(
            vmap(
                lambda p, x: lax.cond(p, lambda x: (x, 1.0), lambda x: (2.0, 3.0), x),
                in_axes=(None, 0),
            )
        )(True, v),
        "vmap of cond closing over an array": lambda: jaxpr(
            vmap(lambda x: lax.cond(x > 0, lambda x: x + table, lambda x: x * table, x))
        )(v),
        "vmap of cond without operands": lambda: jaxpr(
            vmap(lambda i: lax.cond(i > 0, lambda: 1.0, lambda: 2.0))
        )(np.arange(3)),
        "vmap of switch": lambda: jaxpr(vmap(chosen))(np.arange(3), v),
        "vmap of switch by the index": lambda: jaxpr(vmap(chosen, in_axes=(0, None)))(
            np.arange(3), v
        ),
        "vmap of grad of cond": lambda: jaxpr(vmap(grad(by_sign)))(v),
        "vmap of grad of cond, one predicate": lambda: jaxpr(
            vmap(grad(lambda x, p: lax.cond(p, jnp.sin, jnp.cos, x)), in_axes=(0, None))
        )(v, True),
        "grad of vmap of cond": lambda: jaxpr(grad(lambda x: vmap(by_sign)(x).sum()))(v),
        "jit of vmap of cond": lambda: jaxpr(jit(vmap(by_sign)))(v),
        "vmap of cond in vmap": lambda: jaxpr(
            vmap(vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), (None, 0)), (0, None))
        )(v > 0, v),
    }


GROUPS = [
    Group(
        "cond values",
        [
            "by_sign(2.0)",
            "by_sign(-2.0)",
            "by_sign(nan)",
            "lax.cond(3, jnp.sin, jnp.cos, v)",
            "lax.cond(0, jnp.sin, jnp.cos, v)",
            "lax.cond(0.5, jnp.sin, jnp.cos, v)",
            "lax.cond(nan, jnp.sin, jnp.cos, v)",
            "lax.cond(f32(-0.0), jnp.sin, jnp.cos, v)",
            "lax.cond(np.bool_(True), jnp.sin, jnp.cos, np.ones(2))",
            "lax.cond(b8(True), lambda: 1, lambda: 2)",
            "lax.cond(True, lambda: 1.0, lambda: jnp.float32(2))",
            "lax.cond(False, lambda: jnp.float32(2), lambda: 1.0)",
            "lax.cond(True, lambda x: x, lambda x: x, 3)",
            "lax.cond(True, lambda: None, lambda: None)",
            "lax.cond(False, v, jnp.sin, w, jnp.cos)",
            "lax.cond(True, jnp.sin, jnp.cos, operand=v)",
            "trees(True, {'x': v, 'y': w})",
            "trees(False, {'x': 1.0, 'y': 2.0})",
            "closing(True, v, w)",
            "closing(False, v, w)",
            "jax.jit(closing)(True, v, w)",
            "jax.jit(trees)(True, {'x': v, 'y': w})",
            "[nested(i, p, 0.7) for i in range(3) for p in (True, False)]",
            "[jax.jit(nested)(i, p, 0.7) for i in range(3) for p in (True, False)]",
        ],
    ),
    Group(
        "switch values",
        [
            *(f"chosen({i}, v)" for i in (0, 1, 2, 3, -1, 100)),
            *(f"jax.jit(chosen)({i}, v)" for i in (0, 1, 2, 3, -1, 100)),
            "chosen(np.uint8(200), v)",
            "chosen(i8(-1), v)",
            "chosen(u32(2**31 + 3), v)",
            "lax.switch(5, [lambda x: x], 3)",
            "lax.switch(1, [jnp.sin, jnp.cos], operand=v)",
        ],
    ),
    Group(
        "derivatives of cond",
        [
            "jax.jvp(by_sign, (2.0,), (1.5,))",
            "jax.jvp(by_sign, (-2.0,), (1.5,))",
            "jax.jvp(lambda x: constant_branch(False, x), (v,), (w,))",
            "jax.grad(by_sign)(2.0)",
            "jax.grad(by_sign)(-2.0)",
            "jax.grad(jax.grad(by_sign))(-2.0)",
            "jax.jit(jax.grad(by_sign))(2.0)",
            "jax.grad(jax.jit(by_sign))(-2.0)",
            "[jax.grad(chosen, 1)(i, 0.7) for i in range(-1, 4)]",
            "[jax.grad(two_operands, (1, 2))(p, 0.7, 0.4) for p in (True, False)]",
            "[jax.grad(unlike_residuals, 1)(p, v) for p in (True, False)]",
            "[jax.jit(jax.grad(unlike_residuals, 1))(p, v) for p in (True, False)]",
            "jax.grad(lambda x: constant_branch(True, x).sum())(v)",
            "jax.grad(lambda x: constant_branch(False, x).sum())(v)",
            "[jax.grad(nested, 2)(i, p, 0.7) for i in range(3) for p in (True, False)]",
            "jax.linearize(by_sign, 2.0)[1](3.0)",
            "jax.vjp(lambda x, y: two_operands(True, x, y), v, w)[1](v)",
            "jax.linear_transpose(lambda x: lax.cond(True, lambda x: x * 2, lambda x: -x, x), 1.0)(3.0)",
            "jax.hessian(unlike_residuals, 1)(False, v)",
            "jax.jacfwd(lambda x: constant_branch(True, x))(v)",
            "jax.jacrev(lambda x: two_operands(False, x, 2 * x))(v)",
            "jax.grad(lambda x, i: lax.cond(i > 0, lambda: x * i, lambda: x))(1.5, 2)",
            "jax.grad(lambda x: lax.switch(jnp.int32(x), [jnp.sin, jnp.cos], x))(1.5)",
        ],
        ulps=16,
    ),
    Group(
        "vmap of cond",
        [
            "jax.vmap(by_sign)(w)",
            "jax.jit(jax.vmap(by_sign))(w)",
            "jax.vmap(jax.grad(by_sign))(w)",
            "jax.jit(jax.vmap(jax.grad(by_sign)))(w)",
            "jax.grad(lambda x: jax.vmap(by_sign)(x).sum())(w)",
            "jax.vmap(safe_log)(f32([1, -1, 0]))",
            "jax.grad(lambda x: jax.vmap(safe_log)(x).sum())(f32([1, -1, 0]))",
            "jax.vmap(jax.grad(safe_log))(f32([1, -1, 0]))",
            "jax.vmap(chosen)(i32([-1, 1, 7]), v)",
            "jax.vmap(chosen, in_axes=(0, None))(i32([0, 1, 2]), m)",
            "jax.vmap(chosen, in_axes=(None, 1), out_axes=1)(2, m)",
            "jax.vmap(lambda x: closing(True, x, w))(m)",
            "jax.vmap(lambda p, x: closing(p, x, w))(bools, sq)",
            "jax.vmap(trees)(bools, {'x': v, 'y': w})",
            "jax.vmap(nested)(i32([0, 0, 2]), bools, v)",
            "jax.vmap(nested, in_axes=(None, 0, None))(0, bools, v)",
            "jax.vmap(jax.vmap(by_sign))(n)",
            "jnp.piecewise(w, [w < 0, w < 5], [jnp.sin, lambda x: x * 2, 5])",
            "jnp.piecewise(w, [w < 5, w < 0], [lambda x, a, b: x * a + b, 1], 3, b=2)",
            "jnp.piecewise(m, [True, False], [lambda x: x + 1, 2])",
            "jnp.piecewise(im, [im > 2], [lambda x: x + 1.5, 2.5])",
            "jax.grad(lambda x: jnp.piecewise(x, [x <= 0], [0, jnp.log]).sum())(f32([0, 1]))",
            "jax.vmap(jax.grad(unlike_residuals, 1))(b8([1, 0]), m)",
            "jax.jit(jax.vmap(jax.grad(nested, 2)))(i32([0, 0, 2]), bools, v)",
        ],
        ulps=16,
    ),
]

ERRORS = {
    "cond": [
        ("lax.cond(True, 1, 2)", ["true_fun", "false_fun", "callable"]),
        ("lax.cond(True, jnp.sin, 2, 3.0)", ["callable"]),
        ("lax.cond(True, jnp.sin)", ["false_fun"]),
        ("lax.cond(v, jnp.sin, jnp.cos, 3.0)", ["scalar", "(3,)"]),
        ("lax.cond([True], jnp.sin, jnp.cos, 3.0)", ["scalar", "list"]),
        ("lax.cond('x', jnp.sin, jnp.cos, 3.0)", ["scalar", "str"]),
        ("lax.cond(None, jnp.sin, jnp.cos, 3.0)", ["None"]),
        ("lax.cond(1j, jnp.sin, jnp.cos, 3.0)", ["boolean or number", "complex64"]),
        ("lax.cond(bf16(1), jnp.sin, jnp.cos, 3.0)", ["boolean or number", "bfloat16"]),
        ("lax.cond(True, jnp.sin, jnp.cos, 3.0, operand=2.0)", ["operand", "positional"]),
        ("lax.cond(True, jnp.sin, jnp.cos, 'a')", ["'a'", "str"]),
        ("lax.cond(True, lambda: 'a', lambda: 'b')", ["str"]),
        ("lax.cond(True, lambda: 1.0, lambda: 2.0, 3.0)", ["takes 0 positional arguments"]),
        (
            "lax.cond(True, lambda x: (x, x), lambda x: x, 3.0)",
            ["cond", "pytree structure", "true_fun", "tuple", "false_fun", "leaf"],
        ),
        (
            "lax.cond(True, lambda x: {'a': (x, x), 'b': x}, lambda x: {'a': [x, x], 'b': (x,)}, 3.0)",
            ["at path ['a']", "list", "at path ['b']", "tuple"],
        ),
        (
            "lax.cond(True, lambda x: {'a': (x, x)}, lambda x: {'a': (x,)}, 3.0)",
            ["at path ['a']", "length 2", "length 1"],
        ),
        ("lax.cond(True, lambda x: {'a': x}, lambda x: {'b': x}, 3.0)", ["'a'", "'b'"]),
        ("lax.cond(True, lambda x: x, lambda x: None, 3.0)", ["leaf", "NoneType"]),
        (
            "lax.cond(True, lambda x: x, lambda x: 1, 3.0)",
            ["equal output types", "float32[]", "int32[]"],
        ),
        (
            "lax.cond(True, lambda x: {'a': x, 'b': v}, lambda x: {'a': 1, 'b': v[:2]}, 3.0)",
            ["['a']", "float32[]", "int32[]", "['b']", "float32[3]", "float32[2]"],
        ),
        ("jax.jit(lambda x: lax.cond(x > 0, lambda: v, lambda: w[:2]))(1.0)", ["float32[2]"]),
        ("jax.grad(lambda x: lax.cond(x > 0, lambda: v, lambda: w))(1.0)", ["scalar", "(3,)"]),
        ("jax.vmap(lambda p: lax.cond(p, lambda: v, lambda: 1.0))(bools)", ["float32[3]"]),
    ],
    "switch": [
        ("lax.switch(1, [], 3.0)", ["empty"]),
        ("lax.switch(1, [1, 2], 3.0)", ["callable"]),
        ("lax.switch(v, [jnp.sin, jnp.cos], 3.0)", ["scalar", "(3,)"]),
        ("lax.switch(1.0, [jnp.sin, jnp.cos], 3.0)", ["integer", "float32"]),
        ("lax.switch(True, [jnp.sin, jnp.cos], 3.0)", ["integer", "bool"]),
        ("lax.switch('a', [jnp.sin, jnp.cos], 3.0)", ["integer", "a"]),
        ("lax.switch(None, [jnp.sin, jnp.cos], 3.0)", ["integer", "None"]),
        ("lax.switch(1, [jnp.sin, jnp.cos], 3.0, operand=2.0)", ["operand"]),
        (
            "lax.switch(1, [lambda x: x, lambda x: x, lambda x: 1], 3.0)",
            ["switch", "branch 0", "branch2", "float32[]", "int32[]"],
        ),
        (
            "lax.switch(1, [lambda x: x, lambda x: (x,)], 3.0)",
            ["switch", "branch 0", "leaf", "branch1", "tuple"],
        ),
        ("jnp.piecewise(v, [v < 0, v < 5], [1])", ["2 condition", "1"]),
        ("jnp.piecewise(v, [v < 0], [v, 2])", ["float32[3]", "float32[]"]),
        ("jax.grad(lambda i: lax.switch(i, [jnp.sin, jnp.cos], 1.0))(1)", ["int32"]),
    ],
}
