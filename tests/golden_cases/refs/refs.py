"""Refs: what programs with them give, how they print, and what they refuse."""

import numpy as np
from golden_cases.codec import Group


def functions(jax, jnp, lax):
    """Programs of an array of three floats."""
    ref = jax.ref

    def updates(x):
        r = jax.new_ref(x)
        r[0] = 2.0 * x[0]
        r[...] += 1.0
        y, z = r[1:], r[jnp.array([0, 1])]
        ref.addupdate(r, 0, x[1] * 3.0)
        old = ref.swap(r, 1, x[2] * x[2])
        return jax.freeze(r), y, z, old

    def total(x):
        return sum(jnp.sum(part) for part in updates(x))

    def running(x):
        r = jax.new_ref(jnp.zeros(()))

        def body(c, i):
            r[...] += jnp.sin(x[i]) * c
            return c + 1.0, r[...]

        return lax.scan(body, 1.0, jnp.arange(3))

    def adding(x):
        r = jax.new_ref(jnp.zeros(()))

        def body(i, _):
            r[...] += jnp.sin(x[i]) * r[...] + x[i]

        lax.fori_loop(0, 3, body, None)
        return r[...]

    def counted(x):
        r = jax.new_ref(x)

        def body(i):
            r[i] += 1.0
            return i + 1

        lax.while_loop(lambda i: i < 2, body, 0)
        return r[...]

    def chosen(pred, x):
        r = jax.new_ref(x)

        def first():
            r[0] = jnp.sin(x[1])
            return 1.0

        def second():
            r[1] += x[2] * x[0]
            return 2.0

        return lax.cond(pred, first, second), r[...]

    def sliced(x):
        def body(c, r):
            r[...] *= c
            return c + 1.0, None

        r = jax.new_ref(x)
        lax.scan(body, 1.0, r)
        return r[...]

    def windows(x):
        r = jax.new_ref(x)
        for i in range(2):
            r[jax.ds(jnp.int32(i), 2)] = r[jax.ds(i, 2)] * 2.0
        return r[::2], r[-1]

    def numbered(x):
        r = jax.new_ref(x[1:])
        r[0] = r[1] * x[0]
        ref.addupdate(r, ..., x[:2])
        return jax.freeze(r)

    def matrix(m, i):
        r = jax.new_ref(m)
        r[i] = r[1] * 2.0
        r[:, i] += 1.0
        r[i, jnp.array([0, 1])] = r[jnp.array([1, 0]), i] * 3.0
        return r[...], r[..., i], r[jnp.array([[0], [1]]), :2]

    @jax.jit
    def add_to(r, x):
        r[...] += x
        return x * 2.0

    def called(x):
        r = jax.new_ref(x)
        y = add_to(r, x * x)
        return y, add_to(r, y), r[...]

    def from_outside(x):
        r = jax.new_ref(jnp.zeros(3))

        @jax.jit
        def f(x):
            r[...] += x
            return x * 2

        f(x)
        f(x)
        return r[...]

    def plumbing(x):
        """What grad computes on its way is put into a Ref from outside."""
        r = jax.new_ref(jnp.zeros(3))

        def f(x):
            r[...] = lax.stop_gradient(jnp.sin(x))
            return (x * x).sum()

        return jax.grad(f)(x), r[...]

    @jax.custom_vjp
    def logged(r, x):
        return jnp.sin(x)

    def logged_bwd(residuals, ct):
        r, x = residuals
        r[...] += ct
        return None, jnp.cos(x) * ct

    logged.defvjp(lambda r, x: (jnp.sin(x), (r, x)), logged_bwd)

    def cotangents(x):
        r = jax.new_ref(jnp.zeros(3))
        return jax.grad(lambda x: (logged(r, x) * x).sum())(x), r[...]

    def pulled_back(x, y):
        """The cotangent of x is added to what a Ref holds, twice; that of y is a result."""
        sums = jax.new_ref(x)
        f_vjp = jax.vjp(lambda x, y: (x * y).sum(), x, y)[1]
        f_vjp.with_refs(sums, 0.0)(1.0)
        return f_vjp.with_refs(sums, 0.0)(2.0)[1], sums[...]

    def pulled_into(sums, x, y):
        """What is used twice adds to the Ref twice; that of y is wanted, that of the integer is not."""
        f_vjp = jax.vjp(lambda t, n: (t["x"] * t["y"] * t["x"] * n).sum(), {"x": x, "y": y}, 3)[1]
        places = {"x": sums, "y": jax.ad.GradValue()}
        return f_vjp.with_refs(places, jax.ad.DontWant())(1.0)[0]["y"]

    def unwanted(x, y):
        f_vjp = jax.vjp(lambda x, y: jnp.sin(x) * y, x, y)[1]
        return f_vjp.with_refs(jax.ad.DontWant(), jax.ad.GradValue())(x)

    def of_each(x):
        r = jax.new_ref(x)
        jax.vmap(lambda r, y: ref.addupdate(r, ..., y * 2.0))(r, x)
        return r[...], jax.vmap(lambda y: r[...] * y)(x), jax.vmap(lambda i: r[i])(jnp.arange(2))

    return {
        k: f for k, f in locals().items() if k not in ("jax", "jnp", "lax", "ref", "logged_bwd")
    }


def names(jax, jnp, lax):
    return functions(jax, jnp, lax) | {"ref": jax.ref, "new_ref": jax.new_ref}


_OF_VECTORS = "updates running adding counted sliced windows called from_outside".split()

GROUPS = [
    Group(
        "refs",
        [
            *[f"{name}(v)" for name in _OF_VECTORS if name != "windows"],  # JAX's fails
            *[f"jax.jit({name})(v)" for name in _OF_VECTORS],
            "chosen(True, v)",
            "jax.jit(chosen)(False, v)",
            "matrix(m, 1)",
            "jax.jit(matrix)(m, 1)",
            "of_each(v)",
            "jax.jit(of_each)(v)",
            "ref.get(new_ref(v), slice(1, 3))",
            "[(r := new_ref(v > 1)), ref.addupdate(r, 0, True), r[...]][2]",
            "[(r := new_ref(v > 1)), ref.addupdate(r, slice(1, 3), v[1:] > 2), r[...]][2]",
            "[(r := new_ref(v > 1)), ref.addupdate(r, ..., v < 2), r[...]][2]",
            "jax.free_ref(new_ref(v))",
            "jax.vmap(lambda x: (x, new_ref(x)))(m)[1][...]",
            "jax.vmap(lambda r: r, in_axes=1, out_axes=1)(new_ref(m))[...]",
            "pulled_back(v, w)",
            "jax.jit(pulled_back)(v, w)",
            "[(r := new_ref(w)), pulled_into(r, v, w), r[...]][1:]",
            "[(r := new_ref(w)), jax.jit(pulled_into)(r, v, w), r[...]][1:]",
            "unwanted(v, w)[1], repr(unwanted(v, w)[0])",
            "repr(jax.vjp(jnp.sin, v)[1].with_refs(new_ref(v))(v)), repr(jax.ad.GradValue())",
            "repr(new_ref(v))",
            "str(jax.typeof(new_ref(m)))",
            "isinstance(new_ref(v), jax.Ref)",
            "jax.eval_shape(lambda r: r[0], new_ref(v)).shape",
            "jax.jit(lambda i: m[jax.ds(0, 1), jax.ds(i, 2)])(1)",
            "jnp.arange(10)[jax.ds(1, 3, 2)]",
            "jax.jit(lambda i: jnp.arange(10).at[jax.ds(i, 3)].set(0))(2)",
            "lax.broadcast_like(v, m)",
        ],
    ),
    Group(
        "refs, differentiated",
        [
            "plumbing(v)",
            "jax.jit(plumbing)(v)",
            "cotangents(v)",
            "jax.jit(cotangents)(v)",
            "jax.grad(total)(v)",
            "jax.jit(jax.grad(total))(v)",
            "jax.grad(jax.jit(total))(v)",
            "jax.jvp(total, (v,), (w,))",
            "jax.grad(lambda x: running(x)[1].sum())(v)",
            "jax.grad(adding)(v)",
            "jax.jit(jax.grad(adding))(v)",
            "jax.grad(lambda x: chosen(x[0] > 0, x)[1].sum())(v)",
            "jax.grad(lambda x: chosen(x[0] < 0, x)[1].sum())(v)",
            "jax.grad(lambda x: sliced(x * x).sum())(v)",
            "jax.grad(lambda m: matrix(m, 1)[0].sum())(m)",
            "jax.vmap(updates)(m)",
            "jax.vmap(jax.grad(adding))(m)",
            "jax.vmap(running)(m)",
        ],
        ulps=16,
        scaled=True,
    ),
]


def jaxprs(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    f = functions(jax, jnp, lax)
    v, m = np.arange(3, dtype=np.float32), np.ones((2, 3), np.float32)
    r = jax.new_ref(v)
    return {
        **{
            f"refs: {name}": lambda g=f[name]: jaxpr(g)(v)
            for name in _OF_VECTORS[:-1]
            if name != "windows"
        },
        "refs: chosen": lambda: jaxpr(f["chosen"])(True, v),
        "refs: jit": lambda: jaxpr(jax.jit(f["counted"]))(v),
        "refs: a jitted function of a Ref": lambda: jaxpr(f["add_to"])(jax.new_ref(v), v),
        "refs: closed over": lambda: jaxpr(lambda x: r[...] + x)(v),
        "refs: indices": lambda: jaxpr(
            lambda r, i: (r[i], r[-1], r[:, i], r[0, 1], r[..., 1:], r[()], r[:], r[:1, ::2])
        )(jax.new_ref(m), 0),
        "refs: a slice of traced start": lambda: jaxpr(lambda r, i: r[:, jax.ds(i, 2)])(
            jax.new_ref(m), 0
        ),
        "refs: an ellipsis in a tuple": lambda: jaxpr(lambda r: r[(...,)])(jax.new_ref(m)),
        "refs: freed": lambda: jaxpr(lambda x: jax.free_ref(jax.new_ref(x)))(v),
        "refs: empty": lambda: jaxpr(lambda x: jax.empty_ref(jax.typeof(x))[...])(v),
        "refs: of a kind": lambda: jaxpr(lambda x: jax.new_ref(x, kind="no_grad_no_remat")[0])(v),
        "refs: vmap": lambda: jaxpr(jax.vmap(f["numbered"]))(m),
        "refs: jvp": lambda: jaxpr(lambda x: jax.jvp(f["total"], (x,), (x,)))(v),
        "refs: with_refs": lambda: jaxpr(f["pulled_into"])(jax.new_ref(v), v, v),
        "refs: with_refs, of scan": lambda: jaxpr(
            lambda r, x: jax.vjp(lambda x: lax.scan(lambda c, y: (c * y, c), 1.0, x)[0], x)[
                1
            ].with_refs(r)(1.0)
        )(jax.new_ref(v), v),
        "jax.ds": lambda: jaxpr(lambda x, i: x[:, jax.ds(i, 2)])(m, 1),
        "jax.ds in an update": lambda: jaxpr(lambda x, i: x.at[0, jax.ds(i, 2)].add(1.0))(m, 1),
        "lax.broadcast_like": lambda: jaxpr(lax.broadcast_like)(v, m),
    }


ERRORS = {
    "refs": [
        (
            "jax.jit(lambda x: jax.new_ref(x))(v)",
            ["returned a mutable array reference", "Ref{float32[3]}"],
        ),
        ("jax.jit(lambda r: r)(new_ref(v))", ["mutable array references cannot be returned"]),
        ("jax.make_jaxpr(lambda r: [r])(new_ref(v))", ["cannot be returned"]),
        ("lax.scan(lambda c, _: (c, None), new_ref(v), None, length=3)", ["cannot be returned"]),
        ("lax.cond(True, lambda: new_ref(v), lambda: new_ref(v))", ["cannot be returned"]),
        (
            "(lambda r: jax.jit(lambda a, b: a[0])(r, r))(new_ref(v))",
            ["only one reference to a mutable array may be passed", "Ref{float32[3]}"],
        ),
        ("(lambda r: jax.jit(lambda a: a[0] + r[0])(r))(new_ref(v))", ["Ref{float32[3]}"]),
        ("(lambda r: lax.scan(lambda c, q: (c, r[0]), 0.0, r))(new_ref(v))", ["Ref{float32[3]}"]),
        (
            "(lambda r: lax.while_loop(lambda c: r[0] < c, lambda c: [ref.set(r, 0, 9.0), c][1], 3.0))"
            "(new_ref(v))",
            ["only one reference to a mutable array"],
        ),
        (
            "(lambda r: jax.grad(lambda x: (ref.set(r, 0, x), x)[1])(1.0))(new_ref(v))",
            ["differentiated value", "non-differentiated array reference", "Ref{float32[3]}"],
        ),
        (
            "(lambda r: jax.vmap(lambda x: ref.set(r, 0, x))(v))(new_ref(v))",
            ["performing a set/swap operation with vmapped value on an unbatched array reference"],
        ),
        (
            "(lambda r: jax.vmap(lambda x: ref.addupdate(r, 0, x))(v))(new_ref(v))",
            ["performing an addupdate operation with vmapped value"],
        ),
        ("new_ref([v])", ["new_ref", "list"]),
        ("new_ref(v)[7]", ["Out of bound", "7", "3"]),
        ("new_ref(v)[::-1]", ["step", "-1"]),
        ("new_ref(v)[3:]", ["Out of bound slice", "3"]),
        (
            "ref.addupdate(new_ref(jnp.int8([1])), 0, 1)",
            ["Invalid dtype for `addupdate`", "int8", "int32"],
        ),
        (
            "(lambda r: jax.vmap(lambda a, b: a[...])(r, r))(new_ref(v))",
            ["only one reference", "Ref{float32[3]}"],
        ),
        ("(lambda r: jax.make_jaxpr(lambda a, b: 0)(r, r))(new_ref(v))", ["only one reference"]),
        ("(lambda r: jax.eval_shape(lambda a, b: 0, r, r))(new_ref(v))", ["only one reference"]),
        ("new_ref(v)[0, 0]", ["longer"]),
        ("new_ref(v)['a']", ["'a'", "str"]),
        ("ref.set(new_ref(v), 0, 2)", ["Invalid dtype for `swap`", "float32", "int32"]),
        ("ref.set(new_ref(v), ..., 2.0)", ["Invalid shape for `swap`", "(3,)", "()"]),
        ("ref.set(new_ref(v), 0, v)", ["Invalid shape for `swap`"]),
        ("ref.addupdate(new_ref(v), ..., 1.0)", ["Invalid shape for `addupdate`"]),
        ("ref.get(v, 0)", ["`ref_get`", "Ref"]),
        ("jnp.sum(new_ref(v))", ["sum requires ndarray or scalar arguments"]),
        ("new_ref(v) + 1", ["+", "'Ref'", "'int'"]),
        ("jax.jit(jnp.sin)(new_ref(v))", ["sin requires ndarray or scalar arguments"]),
        ("bool(new_ref(True))", ["len() of unsized object"]),
        (
            "(lambda kept: (jax.jit(lambda x: (kept.append(new_ref(x)), x)[1])(v), kept[0][0]))([])",
            ["unexpected tracer", "Ref{float32[3]}"],
        ),
        (
            "jax.jit(lambda x: (jax.free_ref(r := new_ref(x)), r[...])[1])(v)",
            ["get", "freed"],
        ),
        (
            "jax.jit(lambda x: (jax.freeze(r := new_ref(x)), r[...]))(v)",
            ["get", "frozen"],
        ),
        (
            "jax.vjp(jnp.add, v, v)[1].with_refs(new_ref(v))(v)",
            ["unexpected tree structure", "with_refs"],
        ),
        (
            "jax.vjp(jnp.sin, v)[1].with_refs(new_ref(m))(v)",
            ["gradient ref", "with_refs", "Ref{float32[2,3]}", "Ref{float32[3]}"],
        ),
        (
            "jax.vjp(jnp.sin, v)[1].with_refs(new_ref(ints))(v)",
            ["gradient ref", "Ref{int32[", "Ref{float32[3]}"],
        ),
        ("ref.set(v, 0, 1.0)", ["Can only call `ref_set` on a `Ref`"]),
        ("new_ref(m)[..., ...]", ["Only one ellipsis"]),
        ("new_ref(v)[v > 1]", ["Array boolean indices must be concrete"]),
        ("new_ref(v)[v]", ["Indexer must have integer or boolean type", "float32"]),
        ("new_ref(m)[ints[:2], ints[:3]]", ["Cannot broadcast shapes for indexing"]),
        ("new_ref(v)[jax.ds(0, 5)]", ["slice", "5", "3"]),
        ("new_ref(v)[jax.ds(-1, 2)]", ["slice", "-1"]),
        ("new_ref(v)[jax.ds(0, -1)]", ["slice", "-1"]),
        ("new_ref(v)[jax.ds(3, 0)]", ["Out of bound slice"]),
        ("jax.eval_shape(lambda: new_ref(v))", ["function <lambda> at <string>:1"]),
        ("lax.broadcast_like(v, m[:, :2])", ["Incompatible types for broadcasting"]),
        ("lax.broadcast_like(m, v)", ["fewer dimensions"]),
    ],
}
