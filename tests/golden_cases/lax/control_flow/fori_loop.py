"""Recorded cases of fori_loop, map and associative_scan."""

import numpy as np
from golden_cases.codec import Group


def jaxprs(jax, jnp, lax):
    jaxpr, grad, vmap, jit = jax.make_jaxpr, jax.grad, jax.vmap, jax.jit
    x, v, m, one = np.float32(2), np.ones(5, np.float32), np.ones((5, 3), np.float32), np.int32(1)

    def power(x, n):
        return lax.fori_loop(0, n, lambda i, y: y * x, 1.0)

    def weighted(x):
        return lax.fori_loop(2, 5, lambda i, y: jnp.sin(y) * i, x)

    def tree(x):
        def body(i, state):
            return {"sum": state["sum"] + state["x"][i], "x": state["x"]}

        return lax.fori_loop(0, 5, body, {"sum": 0.0, "x": x})["sum"]

    def table(f, x):
        return lax.fori_loop(0, 3, lambda i, y: y.at[i].set(f(y[i])), x)

    def affine(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    return {
        "fori": lambda: jaxpr(weighted)(x),
        "fori of a weak type": lambda: jaxpr(weighted)(2.0),
        "fori with a closure": lambda: jaxpr(lambda x: power(x, 3))(x),
        "fori of a tree": lambda: jaxpr(tree)(v),
        "fori without steps": lambda: jaxpr(lambda x: lax.fori_loop(3, 1, lambda i, y: y + i, x))(
            x
        ),
        "fori with unroll": lambda: jaxpr(
            lambda x: lax.fori_loop(0, 4, lambda i, y: y * 2, x, unroll=2)
        )(x),
        "fori that writes into an array": lambda: jaxpr(lambda x: table(jnp.sin, x))(v),
        "fori of dynamic length": lambda: jaxpr(power)(x, one),
        "fori of dynamic start": lambda: jaxpr(
            lambda n, x: lax.fori_loop(n, 5, lambda i, y: y + i, x)
        )(one, x),
        "fori of int8 length": lambda: jaxpr(power)(x, np.int8(3)),
        "fori from a weak to a strong bound": lambda: jaxpr(
            lambda a, b, x: lax.fori_loop(a, b, lambda i, y: y + i, x)
        )(1, np.int16(3), x),
        "fori in fori": lambda: jaxpr(
            lambda x: lax.fori_loop(
                0, 3, lambda i, y: lax.fori_loop(0, 2, lambda j, z: z * i, y), x
            )
        )(x),
        "jit of fori": lambda: jaxpr(jit(weighted))(x),
        "jvp of fori": lambda: jaxpr(lambda x: jax.jvp(weighted, (x,), (x,)))(x),
        "jvp of fori of dynamic length": lambda: jaxpr(
            lambda x, n: jax.jvp(lambda x: power(x, n), (x,), (x,))
        )(x, one),
        "grad of fori": lambda: jaxpr(grad(weighted))(x),
        "grad of fori with a closure": lambda: jaxpr(grad(lambda x: power(x, 3)))(x),
        "grad of fori of a tree": lambda: jaxpr(grad(tree))(v),
        "grad of fori that writes into an array": lambda: jaxpr(
            grad(lambda x: jnp.sum(table(jnp.sin, x)))
        )(v),
        "vmap of fori": lambda: jaxpr(vmap(weighted))(v),
        "vmap of fori of a tree": lambda: jaxpr(vmap(tree))(np.ones((2, 5), np.float32)),
        "vmap of grad of fori": lambda: jaxpr(vmap(grad(weighted)))(v),
        "vmap of fori of dynamic length": lambda: jaxpr(vmap(power, (0, None)))(v, one),
        "vmap of fori of batched length": lambda: jaxpr(vmap(power, (None, 0)))(
            x, np.ones(3, np.int32)
        ),
        "map": lambda: jaxpr(lambda xs: lax.map(jnp.sin, xs))(v),
        "map of trees": lambda: jaxpr(
            lambda xs: lax.map(lambda x: {"a": x[0] * x[1], "b": x[0]}, xs)
        )((v, m)),
        "map with a closure": lambda: jaxpr(lambda xs, y: lax.map(lambda x: x * y, xs))(v, x),
        "map with batch_size": lambda: jaxpr(lambda xs: lax.map(jnp.sum, xs, batch_size=2))(
            np.ones((6, 3), np.float32)
        ),
        "map with batch_size and a rest": lambda: jaxpr(
            lambda xs: lax.map(lambda x: x * 2, xs, batch_size=2)
        )(v),
        "map with a batch_size above the length": lambda: jaxpr(
            lambda xs: lax.map(lambda x: x * 2, xs, batch_size=9)
        )(v),
        "map with batch_size 0": lambda: jaxpr(
            lambda xs: lax.map(lambda x: x * 2, xs, batch_size=0)
        )(v),
        "grad of map": lambda: jaxpr(grad(lambda xs: jnp.sum(lax.map(jnp.sin, xs))))(v),
        "grad of map with batch_size": lambda: jaxpr(
            grad(lambda xs: jnp.sum(lax.map(jnp.sin, xs, batch_size=2)))
        )(v),
        "vmap of map": lambda: jaxpr(vmap(lambda xs: lax.map(jnp.sin, xs)))(m),
        "jit of map": lambda: jaxpr(jit(lambda xs: lax.map(jnp.sin, xs)))(v),
        "associative_scan of tuples": lambda: jaxpr(
            lambda a, b: lax.associative_scan(affine, (a, b))
        )(v, v),
        "associative_scan in reverse": lambda: jaxpr(
            lambda a: lax.associative_scan(jnp.multiply, a, reverse=True)
        )(v),
        "associative_scan along axis 1": lambda: jaxpr(
            lambda a: lax.associative_scan(jnp.maximum, a, axis=1)
        )(m),
        "associative_scan of bools": lambda: jaxpr(
            lambda a: lax.associative_scan(jnp.logical_and, a)
        )(np.ones(4, bool)),
        "grad of associative_scan": lambda: jaxpr(
            grad(lambda a: lax.associative_scan(jnp.multiply, a)[-1])
        )(v),
        "vmap of associative_scan": lambda: jaxpr(
            vmap(lambda a: lax.associative_scan(jnp.add, a), 1, 1)
        )(m),
        "jnp.polyval of vectors": lambda: jaxpr(jnp.polyval)(v, v),
        "jnp.polyval with unroll": lambda: jaxpr(lambda p, x: jnp.polyval(p, x, unroll=2))(v, x),
        "grad of jnp.polyval": lambda: jaxpr(grad(jnp.polyval, (0, 1)))(v, x),
        "jnp.subtract.reduce": lambda: jaxpr(lambda a: jnp.subtract.reduce(a))(v),
        "jnp.subtract.accumulate": lambda: jaxpr(lambda a: jnp.subtract.accumulate(a))(v),
    }


def names(jax, jnp, lax):
    def power(x, n):
        return lax.fori_loop(0, n, lambda i, y: y * x, 1.0)

    def weighted(x):
        return lax.fori_loop(2, 5, lambda i, y: jnp.sin(y) * i, x)

    return {
        "fori": lax.fori_loop,
        "power": power,
        "weighted": weighted,
        "assoc": lax.associative_scan,
        "affine": lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
    }


GROUPS = [
    Group(
        "fori_loop",
        [
            "fori(0, 5, lambda i, x: x + i, 0)",
            "fori(0, 5, lambda i, x: x + i, 0.0)",
            "fori(0, 5, lambda i, x: x * f32(2), 1)",
            "fori(3, 1, lambda i, x: x + 1, 7)",
            "fori(-3, 3, lambda i, x: x * 10 + i, 0)",
            "fori(i32(1), i32(4), lambda i, x: x * i, 1)",
            "fori(np.int8(1), np.int8(4), lambda i, x: x * i, 1)",
            "fori(0, np.int8(4), lambda i, x: x + i, 1)",
            "fori(0, 3, lambda i, x: {'a': x['a'] + i, 'b': x['b'] * 2}, {'a': 1, 'b': v})",
            "fori(0, 3, lambda i, x: x.at[i].set(x[i - 1] + 1), v)",
            "fori(0, 4, lambda i, x: x + i, 0, unroll=2)",
            "fori(0, 4, lambda i, x: x + i, 0, unroll=True)",
            "power(3, 4)",
            "jax.jit(power)(3.0, 4)",
            "jax.jit(power)(3.0, i32(0))",
            "jax.jit(lambda n: fori(n, 9, lambda i, x: x + i, 0))(4)",
            "jax.jit(weighted)(0.5)",
            "jax.vmap(weighted)(v)",
            "jax.vmap(power, (0, None))(v, 3)",
            "jax.vmap(power, (None, 0))(2.0, i32([0, 3, 5]))",
            "jax.vmap(power)(v, i32([0, 3, 5]))",
            "jax.jvp(weighted, (0.5,), (1.0,))",
            "jax.jvp(lambda x: jax.jit(power)(x, 3), (2.0,), (1.0,))",
            "jax.grad(weighted)(0.5)",
            "jax.grad(power)(2.0, 5)",
            "jax.grad(jax.grad(power))(2.0, 5)",
            "jax.vmap(jax.grad(weighted))(v)",
            "jax.jit(jax.vmap(jax.grad(weighted)))(v)",
            "jax.grad(lambda x: fori(0, 3, lambda i, y: y.at[i].mul(y[i - 1]), x).sum())(v)",
        ],
        ulps=16,
    ),
    Group(
        "map",
        [
            "lax.map(jnp.sin, v)",
            "lax.map(lambda x: x + 1, ints)",
            "lax.map(lambda x: (x[0] @ x[1], x[1]), (m, m))",
            "lax.map(jnp.sum, m)",
            "lax.map(lambda x: 1.0, v)",
            "lax.map(jnp.sum, empty)",
            *(f"lax.map(lambda x: x * 2, x5, batch_size={n})" for n in (0, 1, 2, 3, 5, 7)),
            "lax.map(lambda x: {'a': x['a'].sum()}, {'a': t}, batch_size=1)",
            "lax.map(jnp.sin, empty, batch_size=2)",
            "jax.vmap(lambda x: lax.map(jnp.sin, x))(m)",
            "jax.grad(lambda x: lax.map(jnp.sin, x).sum())(v)",
            "jax.grad(lambda x: lax.map(jnp.sin, x, batch_size=2).sum())(v)",
            "jax.jit(lambda x: lax.map(jnp.sin, x))(v)",
        ],
    ),
    Group(
        "associative_scan",
        [
            *(f"assoc(jnp.add, jnp.arange({n}.0))" for n in (0, 1, 2, 3, 4, 7, 8)),
            "assoc(jnp.maximum, w)",
            "assoc(jnp.multiply, m, axis=1)",
            "assoc(jnp.multiply, m, axis=1, reverse=True)",
            "assoc(jnp.logical_or, bools)",
            "assoc(affine, (v, w))",
            "assoc(affine, [v, w], reverse=True)",
            "assoc(lambda a, b: a @ b, jnp.stack([sq, sq.T, sq]))",
            "jax.vmap(lambda x: assoc(jnp.add, x))(m)",
            "jax.grad(lambda x: assoc(jnp.multiply, x)[-1])(v)",
            "jax.jit(lambda x: assoc(jnp.multiply, x))(v)",
        ],
        scaled=True,
    ),
    Group(
        "loops in jax.numpy",
        [
            *(
                f"jnp.searchsorted({a}, {x}, side={side!r}, method={method!r})"
                for a, x in (
                    ("jnp.sort(reals)", "reals"),
                    ("jnp.sort(edges)", "f32([nan, 0, -0.0, inf])"),
                    ("i32([1, 3, 3, 5])", "i32([[0, 3], [5, 9]])"),
                    ("jnp.sort(complexes)", "complexes"),
                    ("v", "2.0"),
                )
                for side in ("left", "right")
                for method in ("scan", "scan_unrolled", "sort", "compare_all")
            ),
            "jnp.searchsorted(w, v, sorter=jnp.argsort(w))",
            "jnp.searchsorted(empty, v)",
            "jax.vmap(jnp.searchsorted, (None, 0))(v, m)",
            "jax.jit(jnp.searchsorted)(v, f32([0, 2, 9]))",
            "jnp.digitize(v, w[::2])",
            "jnp.digitize(v, w[::-2], right=True, method='sort')",
            "jnp.polyval(v, 2)",
            "jnp.polyval(v, m)",
            "jnp.polyval(m, v)",
            "jnp.polyval(empty, v)",
            "jnp.polyval(ints, 2, unroll=1)",
            "jax.grad(jnp.polyval, (0, 1))(v, 2.0)",
            "jnp.subtract.reduce(m, axis=1, keepdims=True)",
            "jnp.subtract.reduce(m, axis=None)",
            "jnp.subtract.accumulate(m, axis=1)",
            "jnp.logaddexp.accumulate(v)",
            "jnp.frompyfunc(lambda x, y: x * y + 1, 2, 1).reduce(ints)",
            "jnp.frompyfunc(lambda x, y: x * y + 1, 2, 1, identity=1).reduce(m, where=m > 2)",
            "jnp.frompyfunc(lambda x, y: x * y + 1, 2, 1).at(v, idx, 2.0, inplace=False)",
            "jnp.frompyfunc(lambda x, y: x * y + 1, 2, 1).at(v, i32([0, 0, 1]), w, inplace=False)",
            "jax.grad(lambda x: jnp.frompyfunc(lambda x, y: x * y + 1, 2, 1).reduce(x))(v)",
        ],
    ),
]

ERRORS = {
    "fori_loop": [
        ("fori(0, 3, 5, 0.0)", ["body_fun", "callable"]),
        ("fori(0, 3.0, lambda i, x: x, 0.0)", ["int32", "float32"]),
        ("fori(0, np.uint8(3), lambda i, x: x, 0.0)", ["int32", "uint8"]),
        ("fori(np.int8(0), np.int16(3), lambda i, x: x, 0.0)", ["int8", "int16"]),
        ("fori(0, 3, lambda i, x: (x, x), 0.0)", ["carry", "tuple"]),
        ("fori(0, 3, lambda i, x: x.astype(int), f32(0))", ["float32[]", "int32[]"]),
        ("fori(0, 3, lambda i: i, 0.0)", ["argument"]),
        ("fori(0, 3, lambda i, x: 'a', 0.0)", ["str"]),
        ("fori(0, 'a', lambda i, x: x, 0.0)", ["'a'"]),
        ("jax.jit(lambda n: fori(0, n, lambda i, x: x, 0, unroll=2))(3)", ["unroll"]),
        ("jax.jit(lambda n: fori(0, n, lambda i, x: (x, x), 0))(3)", ["carry", "tuple"]),
        ("fori(0, ints, lambda i, x: x, 0)", ["boolean scalar|scalar"]),
        ("jax.grad(lambda x: jax.jit(power)(x, 3))(2.0)", ["fori_loop", "scan"]),
    ],
    "map": [
        ("lax.map(jnp.sin, 1.0)", ["leading axis"]),
        ("lax.map(jnp.sin, (v, x5))", ["3", "5"]),
        ("lax.map(lambda: 1, v)", ["argument"]),
    ],
    "associative_scan": [
        ("assoc(3, v)", ["callable"]),
        ("assoc(jnp.add, m, axis=2)", ["2"]),
        ("assoc(affine, (v, x5))", ["3", "5"]),
    ],
}
