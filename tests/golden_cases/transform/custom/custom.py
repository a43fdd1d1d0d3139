"""Recorded cases of custom_jvp, custom_vjp, custom_vmap and others."""

from functools import partial

import numpy as np
from golden_cases.codec import Group


def functions(jax, jnp, lax):
    """Functions with rules. Where a rule is not the true derivative, results show who was asked."""

    @jax.custom_jvp
    def f(x, y):
        return jnp.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        return f(x, y), jnp.cos(x) * x_dot * y + jnp.sin(x) * y_dot * 10

    @jax.custom_jvp
    def by_argument(x, y, z):
        return x * y + z

    by_argument.defjvps(lambda t, out, x, y, z: t * out, None, lambda t, out, x, y, z: 3 * t)

    @jax.custom_jvp
    def trees(x, p):
        return {"sum": x + p["a"], "pair": (x * p["a"], p["b"])}

    @trees.defjvp
    def trees_jvp(primals, tangents):
        (x, p), (t, q) = primals, tangents
        return trees(x, p), {"sum": t + q["a"], "pair": (t * p["a"] + x * q["a"], 5 * q["b"])}

    @partial(jax.custom_jvp, nondiff_argnums=(0, 2))
    def applied(fun, x, n):
        return fun(x) * n

    @applied.defjvp
    def applied_jvp(fun, n, primals, tangents):
        (x,), (t,) = primals, tangents
        return applied(fun, x, n), fun(x) * n * t

    @jax.custom_jvp
    def aware(x, y):
        return x * y

    def aware_jvp(primals, tangents):
        (x, y), (t, u) = primals, tangents
        known_zero = type(u) is jax.custom_derivatives.SymbolicZero
        return aware(x, y), t * y if known_zero else t * y + u * x

    aware.defjvp(aware_jvp, symbolic_zeros=True)

    def closing(z, x):
        times_z = jax.custom_jvp(lambda x: x * z)
        times_z.defjvps(lambda t, out, x: t * z * 2)
        return times_z(x)

    @jax.custom_vjp
    def g(x, y):
        return jnp.sin(x) * y

    def g_fwd(x, y):
        sin_x = jnp.sin(x)
        return sin_x * y, (jnp.cos(x), sin_x, y)

    def g_bwd(residuals, ct):
        cos_x, sin_x, y = residuals
        return cos_x * ct * y, sin_x * ct * 10

    g.defvjp(g_fwd, g_bwd)

    @jax.custom_vjp
    def clip_gradient(lo, hi, x):
        return x

    clip_gradient.defvjp(
        lambda lo, hi, x: (x, (lo, hi)),
        lambda bounds, ct: (None, None, jnp.clip(ct, bounds[0], bounds[1])),
    )

    @jax.custom_vjp
    def two(x, y):
        return x + y, x * y

    def two_fwd(x, y):
        return two(x, y), (x, y)

    def two_bwd(residuals, cts):
        x, y = residuals
        return cts[0] + cts[1] * y, cts[0] + cts[1] * x

    two.defvjp(two_fwd, two_bwd)

    @jax.custom_vjp
    def scaled_by_int(x, n):
        return x * n

    scaled_by_int.defvjp(lambda x, n: (x * n, n), lambda n, ct: (ct * n * 10, None))

    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def passed(fun, x):
        return fun(x)

    def passed_fwd(fun, x):
        return fun(x), x

    def passed_bwd(fun, x, ct):
        return (ct * fun(x) * 10,)

    passed.defvjp(passed_fwd, passed_bwd)

    @jax.custom_vjp
    def watchful(x, y):
        return x * y, x + y

    def watchful_fwd(x, y):
        return watchful(x.value, y.value), (x.value, y.value if x.perturbed else None)

    def watchful_bwd(residuals, cts):
        x, y = residuals
        if type(cts[1]) is jax.custom_derivatives.SymbolicZero:
            return cts[0] * y, cts[0] * x
        return cts[0] * y + cts[1], cts[0] * x + cts[1]

    watchful.defvjp(watchful_fwd, watchful_bwd, symbolic_zeros=True)

    def nested(x):
        outer = jax.custom_vjp(lambda x: g(x, 2.0) * x)
        outer.defvjp(lambda x: (g(x, 2.0) * x, x), lambda x, ct: (ct * jax.grad(g)(x, 2.0),))
        return outer(x)

    @jax.custom_gradient
    def with_rule(x):
        s = jnp.sin(x)
        return s, lambda ct: (ct * s * 10,)

    def converted(c, x):
        fun, consts = jax.closure_convert(lambda x: jnp.sin(x * c), x)
        return fun(x, *consts)

    def plus_third(x, d):
        call = jax.custom_derivatives.linear_call
        return x + call(lambda r, x: x / r, lambda r, ct: 10 * ct / r, d, x)

    @jax.custom_batching.custom_vmap
    def batched_by_rule(x, y):
        return x + y

    @batched_by_rule.def_vmap
    def batched_rule(axis_size, in_batched, x, y):
        return x * axis_size + y, any(in_batched)

    @jax.custom_batching.sequential_vmap
    def one_by_one(x, y):
        return x + y

    return {name: value for name, value in locals().items() if name not in ("jax", "jnp", "lax")}


def names(jax, jnp, lax):
    found = functions(jax, jnp, lax) | {"partial": partial}

    def jvp_of(fun, rule, **options):
        made = jax.custom_jvp(fun, **options)
        if rule is not None:
            made.defjvp(rule)
        return made

    def vjp_of(fun, fwd, bwd, **options):
        made = jax.custom_vjp(fun, **options)
        if fwd is not None:
            made.defvjp(fwd, bwd)
        return made

    def vmap_of(fun, rule):
        made = jax.custom_batching.custom_vmap(fun)
        made.def_vmap(rule)
        return made

    def double(x):
        return x * 2

    def double_fwd(x):
        return x * 2, x

    makers = {"jvp_of": jvp_of, "vjp_of": vjp_of, "vmap_of": vmap_of}
    return found | makers | {"double": double, "double_fwd": double_fwd}


# ---- jaxprs ----


def jaxprs(jax, jnp, lax):
    jaxpr, grad, jit, vmap = jax.make_jaxpr, jax.grad, jax.jit, jax.vmap
    of = functions(jax, jnp, lax)
    f, g, trees, two, closing = (of[name] for name in ("f", "g", "trees", "two", "closing"))
    v = np.ones(3, np.float32)
    point = {"a": 2.0, "b": v}
    c = jnp.arange(3.0)

    def sum_of_vmap(fun):
        def total(x, y):
            return vmap(fun, (0, None))(x, y).sum()

        return total

    return {
        # forward rules
        "custom_jvp": lambda: jaxpr(f)(1.0, 2.0),
        "custom_jvp, jvp": lambda: jaxpr(lambda x, y: jax.jvp(f, (x, y), (x, y)))(1.0, 2.0),
        "custom_jvp, grad": lambda: jaxpr(grad(f, (0, 1)))(1.0, 2.0),
        "custom_jvp, grad of grad": lambda: jaxpr(grad(grad(f)))(1.0, 2.0),
        "custom_jvp, jit": lambda: jaxpr(jit(f))(1.0, 2.0),
        "custom_jvp, grad of jit": lambda: jaxpr(grad(jit(f)))(1.0, 2.0),
        "custom_jvp, jvp of jit": lambda: jaxpr(lambda x: jax.jvp(jit(f), (x, x), (x, x)))(1.0),
        "custom_jvp, vmap": lambda: jaxpr(vmap(f, (0, None)))(v, 2.0),
        "custom_jvp, vmap of grad": lambda: jaxpr(vmap(grad(f), (0, None)))(v, 2.0),
        "custom_jvp, grad of vmap": lambda: jaxpr(grad(sum_of_vmap(f), 1))(v, 2.0),
        "custom_jvp, vmap of grad of jit": lambda: jaxpr(vmap(grad(jit(f)), (0, None)))(v, 2.0),
        "custom_jvp, defjvps": lambda: jaxpr(grad(of["by_argument"], (0, 1, 2)))(1.0, 2.0, 3.0),
        "custom_jvp, trees": lambda: jaxpr(trees)(1.0, point),
        "custom_jvp, jvp of trees": lambda: jaxpr(lambda x: jax.jvp(trees, (x, point), (x, point)))(
            1.0
        ),
        "custom_jvp, nondiff_argnums": lambda: jaxpr(
            lambda x: jax.value_and_grad(of["applied"], 1)(jnp.cos, x, 3)
        )(1.0),
        "custom_jvp, nondiff array": lambda: jaxpr(grad(lambda x: of["applied"](jnp.cos, x, x)))(
            1.0
        ),
        "custom_jvp, symbolic zeros": lambda: jaxpr(grad(of["aware"]))(1.0, 2.0),
        "custom_jvp, symbolic zeros in jit": lambda: jaxpr(grad(jit(of["aware"])))(1.0, 2.0),
        "custom_jvp, closure": lambda: jaxpr(closing)(1.0, 2.0),
        "custom_jvp, grad of closure": lambda: jaxpr(grad(closing, 1))(1.0, 2.0),
        "custom_jvp, vmap of closure": lambda: jaxpr(vmap(closing, (0, None)))(v, 2.0),
        "custom_jvp, jit of closure": lambda: jaxpr(jit(closing))(1.0, 2.0),
        "custom_jvp, array in closure": lambda: jaxpr(partial(closing, c))(v),
        "custom_jvp, literal argument": lambda: jaxpr(lambda x: f(x, 2.0))(v),
        "custom_jvp, unmapped": lambda: jaxpr(vmap(lambda x: f(1.0, 2.0) * x))(v),
        "custom_jvp, linear_transpose": lambda: jaxpr(
            lambda ct: jax.linear_transpose(lambda y: f(1.0, y), 1.0)(ct)
        )(1.0),
        "custom_jvp, sinc": lambda: jaxpr(jnp.sinc)(v),
        "custom_jvp, logaddexp2": lambda: jaxpr(grad(lambda x: jnp.logaddexp2(x, 1.0).sum()))(v),
        "custom_jvp, mish": lambda: jaxpr(grad(lambda x: jax.nn.mish(x).sum()))(v),
        "custom_jvp, log1mexp": lambda: jaxpr(grad(lambda x: jax.nn.log1mexp(x).sum()))(v),
        # reverse rules
        "custom_vjp": lambda: jaxpr(g)(1.0, 2.0),
        "custom_vjp, jvp": lambda: jaxpr(lambda x, y: jax.jvp(g, (x, y), (x, y)))(1.0, 2.0),
        "custom_vjp, linearize": lambda: jaxpr(lambda x: jax.linearize(g, x, x)[1](x, x))(1.0),
        "custom_vjp, grad": lambda: jaxpr(grad(g))(1.0, 2.0),
        "custom_vjp, grad of grad": lambda: jaxpr(grad(grad(g)))(1.0, 2.0),
        "custom_vjp, jvp of grad": lambda: jaxpr(lambda x, y: jax.jvp(grad(g), (x, y), (x, y)))(
            1.0, 2.0
        ),
        "custom_vjp, jit": lambda: jaxpr(jit(g))(1.0, 2.0),
        "custom_vjp, grad of jit": lambda: jaxpr(grad(jit(g)))(1.0, 2.0),
        "custom_vjp, vmap": lambda: jaxpr(vmap(g, (0, None)))(v, 2.0),
        "custom_vjp, vmap of grad": lambda: jaxpr(vmap(grad(g), (0, None)))(v, 2.0),
        "custom_vjp, grad of vmap": lambda: jaxpr(grad(sum_of_vmap(g), 1))(v, 2.0),
        "custom_vjp, None": lambda: jaxpr(
            grad(lambda x: of["clip_gradient"](0.0, 1.0, x * 3).sum())
        )(v),
        "custom_vjp, two results": lambda: jaxpr(two)(1.0, 2.0),
        "custom_vjp, one of two results": lambda: jaxpr(grad(lambda x, y: two(x, y)[1]))(1.0, 2.0),
        "custom_vjp, integer argument": lambda: jaxpr(grad(of["scaled_by_int"]))(1.0, 3),
        "custom_vjp, nondiff_argnums": lambda: jaxpr(
            lambda x: jax.value_and_grad(of["passed"], 1)(jnp.cos, x)
        )(1.0),
        "custom_vjp, symbolic zeros": lambda: jaxpr(grad(lambda x: of["watchful"](x, 2.0)[0]))(1.0),
        "custom_vjp, symbolic zeros in jit": lambda: jaxpr(
            grad(lambda x: jit(of["watchful"])(x, 2.0)[0])
        )(1.0),
        "custom_vjp, nested": lambda: jaxpr(grad(of["nested"]))(1.0),
        # closures
        "custom_gradient": lambda: jaxpr(of["with_rule"])(1.0),
        "custom_gradient, grad": lambda: jaxpr(grad(of["with_rule"]))(1.0),
        "custom_gradient, grad of jit": lambda: jaxpr(grad(jit(of["with_rule"])))(1.0),
        "custom_gradient, vmap of grad": lambda: jaxpr(vmap(grad(of["with_rule"])))(v),
        "closure_convert": lambda: jaxpr(grad(of["converted"]))(1.0, 2.0),
        "custom_vmap": lambda: jaxpr(of["batched_by_rule"])(1.0, 2.0),
        "custom_vmap, vmap": lambda: jaxpr(vmap(of["batched_by_rule"]))(v, v),
        "custom_vmap, vmap of jvp": lambda: jaxpr(
            vmap(lambda x: jax.jvp(of["batched_by_rule"], (x, x), (x, x)))
        )(v),
        "sequential_vmap": lambda: jaxpr(vmap(of["one_by_one"], (0, None)))(v, 2.0),
    }


# ---- values ----

GROUPS = [
    Group(
        "custom derivatives",
        [
            call
            for fun in ("f", "g")
            for call in (
                f"{fun}(1.0, 2.0)",
                f"jax.jit({fun})(1.0, 2.0)",
                f"jax.grad({fun}, (0, 1))(1.0, 2.0)",
                f"jax.grad(jax.jit({fun}), (0, 1))(1.0, 2.0)",
                f"jax.jit(jax.grad({fun}, (0, 1)))(1.0, 2.0)",
                f"jax.vmap({fun})(v, w)",
                f"jax.vmap({fun}, (None, 0), 0)(1.0, w)",
                f"jax.vmap(jax.grad({fun}, (0, 1)))(v, w)",
                f"jax.jit(jax.vmap(jax.grad({fun}, (0, 1))))(v, w)",
                f"jax.grad(lambda x, y: jax.vmap({fun}, (0, None))(x, y).sum(), (0, 1))(v, 2.0)",
                f"jax.grad(lambda x, y: jax.jit(jax.vmap({fun}))(x, y).sum(), (0, 1))(v, w)",
                f"jax.grad(jax.grad({fun}), 1)(1.0, 2.0)",
                f"jax.grad(jax.grad(jax.jit({fun})), 1)(1.0, 2.0)",
                f"jax.hessian({fun})(1.0, 2.0)",
                f"jax.jvp(jax.grad({fun}), (1.0, 2.0), (1.0, 1.0))",
                f"jax.jacrev(jax.vmap({fun}))(v, w)",
                f"jax.vjp({fun}, v, w)[1](v)",
            )
        ]
        + [
            "jax.jvp(f, (1.0, 2.0), (3.0, 4.0))",
            "jax.jvp(jax.jit(f), (v, w), (w, v))",
            "jax.jacfwd(f)(v, w)",
            "jax.linearize(f, 1.0, 2.0)[1](3.0, 4.0)",
            "jax.grad(by_argument, (0, 1, 2))(2.0, 3.0, 4.0)",
            "trees(1.0, {'a': v, 'b': w})",
            "jax.jvp(trees, (1.0, {'a': v, 'b': w}), (3.0, {'a': w, 'b': v}))",
            "jax.jvp(jax.jit(trees), (1.0, {'a': v, 'b': w}), (3.0, {'a': w, 'b': v}))",
            "jax.grad(applied, 1)(jnp.cos, 1.0, 3)",
            "jax.grad(lambda x: applied(jnp.cos, x, x))(2.0)",
            "jax.grad(aware)(2.0, 3.0)",
            "jax.grad(aware, (0, 1))(2.0, 3.0)",
            "jax.vmap(jax.grad(jax.jit(aware)))(v, w)",
            "jax.grad(closing, 1)(2.0, 3.0)",
            "jax.vmap(jax.grad(closing, 1), (0, None))(v, 3.0)",
            "jax.grad(lambda x: clip_gradient(-1.0, 1.0, 5 * x))(2.0)",
            "jax.vmap(jax.grad(lambda x: clip_gradient(-1.0, 1.0, 5 * x)))(v)",
            "jax.grad(lambda x, y: jax.jit(two)(x, y)[0], (0, 1))(2.0, 3.0)",
            "jax.grad(lambda x, y: two(x, y)[1], (0, 1))(2.0, 3.0)",
            "jax.grad(scaled_by_int)(2.0, 3)",
            "jax.grad(scaled_by_int, 1, allow_int=True)(2.0, 3)",
            "jax.grad(passed, 1)(jnp.cos, 1.0)",
            "jax.grad(lambda x, y: watchful(x, y)[0], (0, 1))(2.0, 3.0)",
            "jax.grad(lambda x: sum(jax.jit(watchful)(x, 3.0)))(2.0)",
            "jax.grad(nested)(1.0)",
            "jax.grad(with_rule)(1.0)",
            "jax.grad(jax.grad(with_rule))(1.0)",
            "jax.vmap(jax.grad(jax.jit(with_rule)))(v)",
            "jax.grad(converted, (0, 1))(2.0, 3.0)",
            "plus_third(9.0, 3.0)",
            "jax.grad(plus_third)(9.0, 3.0)",
            "jax.jvp(lambda x: plus_third(x, 3.0), (9.0,), (1.0,))",
            "jax.linear_transpose(lambda x: plus_third(x, 3.0), 1.0)(18.0)",
            "jax.vmap(batched_by_rule, (0, None))(v, 2.0)",
            "jax.vmap(jax.jit(batched_by_rule), (None, 1), 1)(2.0, m)",
            "jax.vmap(lambda x, y: jax.jvp(batched_by_rule, (x, x), (x, y)))(v, w)",
            "jax.jvp(jax.jit(jax.vmap(batched_by_rule)), (v, w), (w, v))",
            "jax.jit(jax.vmap(one_by_one, (0, None)))(v, 2.0)",
        ],
    ),
    Group(
        "derivatives by rule at the edges",
        [
            "jax.vmap(jax.grad(jax.nn.relu))(edges)",
            "jax.vmap(jax.grad(jax.nn.relu6))(f32([-1, 0, 3, 6, 7]))",
            "jax.vmap(jax.grad(jax.grad(jnp.sinc)))(f32([0, 0.5, 2]))",
            "jax.grad(jax.grad(jax.grad(jax.grad(jnp.sinc))))(0.0)",
            "jax.vmap(jax.grad(jnp.logaddexp), (0, None))(edges, 0.0)",
            "jax.vmap(jax.grad(jnp.logaddexp2))(edges, edges)",
            "jax.vmap(jax.grad(jax.nn.softplus))(edges)",
            "jnp.frexp(edges)",
            "jnp.frexp(halves)",
            "jax.jvp(jnp.frexp, (x5,), (x5,))",
            "jax.nn.log1mexp(f32([0, 1e-6, 0.5, 0.7, 3, 50, inf]))",
            "jax.vmap(jax.grad(jax.nn.log1mexp))(f32([1e-6, 0.5, 0.7, 3, 50]))",
        ],
        ulps=8,
    ),
]


# ---- errors ----

ERRORS = {
    "custom_jvp": [
        ("jvp_of(double, None)(1.0)", ["defjvp", "double"]),
        ("jax.grad(jvp_of(double, lambda p, t: p[0]))(1.0)", ["pair", "double"]),
        ("jax.grad(jvp_of(double, lambda p, t: (p[0], (t[0],))))(1.0)", ["*", "(*,)"]),
        ("jax.jvp(jvp_of(double, lambda p, t: (p[0], None)), (1.0,), (1.0,))", ["None"]),
        (
            "jax.grad(jax.jit(jvp_of(double, lambda p, t: ((p[0],), (t[0],)))))(1.0)",
            ["float32[]", "(float32[],)"],
        ),
        (
            "jax.jvp(jax.jit(jvp_of(double, lambda p, t: (p[0][None], t[0][None]))), (v,), (v,))",
            ["float32[3]", "float32[1,3]"],
        ),
        (
            "jax.jvp(jvp_of(double, lambda p, t: (p[0], v)), (1.0,), (1.0,))",
            ["float32[]", "float32[3]"],
        ),
        (
            "jax.jvp(jvp_of(double, lambda p, t: (p[0], ints)), (reals,), (reals,))",
            ["float32[14]", "int32[9]"],
        ),
        (
            "jax.jvp(jvp_of(lambda x: (x, x), lambda p, t: ((p[0],) * 2, (t[0], v))), (1.0,), (1.0,))",
            ["float32[]", "float32[3]"],
        ),
        ("jvp_of(lambda x, *, y: x, double)(1.0, y=2.0)", ["positional", "y"]),
        ("jvp_of(double, double)(1.0, z=2.0)", ["positional", "z"]),
        ("jvp_of(double, double, nondiff_argnums=(0,)).defjvps(None)", ["nondiff_argnums"]),
        ("jvp_of(double, double)('text')", ["text|str"]),
        ("jvp_of(lambda g, x: g(x), double)(double, 1.0)", ["function"]),
        ("jax.grad(closing)(2.0, 3.0)", ["tracer"]),
    ],
    "custom_vjp": [
        ("vjp_of(double, None, None)(1.0)", ["defvjp", "double"]),
        ("jax.grad(vjp_of(double, double, double))(1.0)", ["pair", "double"]),
        (
            "jax.grad(jax.jit(vjp_of(double, lambda x: ((x,), x), double)))(1.0)",
            ["float32[]", "(float32[],)"],
        ),
        (
            "jax.grad(jax.jit(vjp_of(double, lambda x: (x[None], x), double)))(1.0)",
            ["float32[]", "float32[1]"],
        ),
        ("jax.grad(vjp_of(double, double_fwd, lambda r, ct: ct))(1.0)", ["(*,)"]),
        ("jax.grad(vjp_of(double, double_fwd, lambda r, ct: (ct, ct)))(1.0)", ["(*, *)", "(*,)"]),
        ("jax.grad(vjp_of(double, double_fwd, lambda r, ct: ((ct,),)))(1.0)", ["((*,),)", "(*,)"]),
        (
            "jax.grad(vjp_of(double, double_fwd, lambda r, ct: (v,)))(1.0)",
            ["[0]", "float32[3]", "float32[]"],
        ),
        (
            "jax.grad(vjp_of(lambda x, p: x, lambda x, p: (x, ()), lambda r, ct: (ct, {'a': v})))"
            "(1.0, {'a': 2.0})",
            ["[1]['a']", "float32[3]", "float32[]"],
        ),
        ("jax.grad(vjp_of(double, double_fwd, lambda r, ct: ('text',)))(1.0)", ["text|str"]),
        ("jax.grad(vjp_of(double, lambda x: (x, 'text'), double))(1.0)", ["text|str"]),
        ("vjp_of(lambda x, *, y: x, double_fwd, double)(1.0, y=2.0)", ["positional", "y"]),
        ("jax.jit(lambda x: vjp_of(double, double_fwd, double, nondiff_argnums=(0,))(x))(1.0)", []),
        ("jax.jvp(g, (1.0, 2.0), (1.0, 1.0))", ["forward-mode", "custom_vjp"]),
        ("jax.jvp(jax.jit(g), (1.0, 2.0), (1.0, 1.0))", ["forward-mode", "custom_vjp"]),
        ("jax.jit(lambda x: jax.jvp(g, (x, x), (x, x)))(1.0)", ["forward-mode", "custom_vjp"]),
        ("jax.jacfwd(g)(1.0, 2.0)", ["forward-mode", "custom_vjp"]),
        ("jax.linearize(g, 1.0, 2.0)[1](1.0, 1.0)", ["forward-mode", "custom_vjp"]),
        (
            "jax.grad(lambda z: jax.jit(vjp_of(lambda x: x * z, lambda x: (x * z, ()), double))(2.0))(1.0)",
            ["closed-over"],
        ),
        (
            "jax.custom_vjp(double).defvjp(double, double, symbolic_zeros=True, optimize_remat=True)",
            ["symbolic zeros"],
        ),
    ],
    "custom_vmap": [
        ("jax.custom_batching.custom_vmap(double)(1.0)", ["double", "def_vmap"]),
        ("jax.vmap(vmap_of(double, lambda n, b, x: (x, (True,))))(v)", ["*", "(*,)"]),
        ("jax.vmap(vmap_of(double, lambda n, b, x: ((x,), (True,))))(v)", ["*", "(*,)"]),
        ("jax.vmap(lambda z: vmap_of(lambda x: x * z, double)(1.0))(v)", []),
        ("jax.grad(batched_by_rule)(1.0, 2.0)", []),
    ],
    "custom_gradient, closure_convert, linear_call": [
        ("jax.custom_gradient(double)(1.0)", ["pair|unpack"]),
        ("jax.grad(jax.custom_gradient(lambda x: (x, lambda ct: (ct, ct))))(1.0)", ["(*, *)"]),
        (
            "jax.grad(jax.custom_gradient(lambda x: (x, lambda ct: (ct if ct > 0 else -ct,))))(1.0)",
            ["boolean"],
        ),
        ("with_rule(x=1.0)", ["positional", "x"]),
        ("jax.closure_convert(double, 1.0)[0]((1.0, 2.0))", ["(*,)", "((*, *),)"]),
        (
            "jax.linear_transpose(lambda x: jax.custom_derivatives.linear_call("
            "lambda r, x: x, lambda r, ct: (ct,), (), x), 1.0)(1.0)",
            ["(*,)", "structure"],
        ),
    ],
}
