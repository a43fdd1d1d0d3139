"""Recorded cases of Python that is called while a program runs."""

import numpy as np
from golden_cases.codec import Group


def jaxprs(jax, jnp, lax):
    jaxpr, io_callback = jax.make_jaxpr, jax.experimental.io_callback
    show = jax.debug.print
    x = np.ones(3, np.float32)
    scalar = jax.ShapeDtypeStruct((), np.float32)

    def noisy(x):
        show("x = {}", x)
        return x * x

    def added(x, y, vmap_method):
        return jax.pure_callback(np.add, scalar, x, y, vmap_method=vmap_method)

    def of_method(vmap_method):
        return jaxpr(jax.vmap(lambda x, y: added(x, y, vmap_method), (0, None)))(x, 1.0)

    return {
        "callbacks: debug.print": lambda: jaxpr(lambda x: show("x = {}", x))(1.0),
        "callbacks: debug.print of many": lambda: jaxpr(
            lambda x: show("{} {tree} {text}", x, tree={"a": x, "b": 1}, text="s", ordered=True)
        )(1.0),
        "callbacks: debug.print without fields": lambda: jaxpr(lambda: show("here"))(),
        "callbacks: vmap of debug.print": lambda: jaxpr(jax.vmap(noisy))(x),
        "callbacks: jvp of debug.print": lambda: jaxpr(lambda x, t: jax.jvp(noisy, (x,), (t,)))(
            1.0, 1.0
        ),
        "callbacks: grad of debug.print": lambda: jaxpr(jax.grad(noisy))(1.0),
        "callbacks: grad of jit of debug.print": lambda: jaxpr(jax.grad(jax.jit(noisy)))(1.0),
        "callbacks: debug.print in scan": lambda: jaxpr(
            lambda xs: lax.scan(lambda c, x: (c + noisy(x), None), 0.0, xs)
        )(x),
        "callbacks: debug.print in cond": lambda: jaxpr(
            lambda x: lax.cond(x > 0, noisy, lambda x: x, x)
        )(1.0),
        "callbacks: debug.print in while": lambda: jaxpr(
            lambda x: lax.while_loop(lambda x: x < 9, noisy, x)
        )(2.0),
        "callbacks: debug.callback": lambda: jaxpr(lambda x: jax.debug.callback(print, x))(1.0),
        "callbacks: debug.callback ordered": lambda: jaxpr(
            lambda x: jax.debug.callback(print, x, ordered=True)
        )(1.0),
        "callbacks: debug.breakpoint": lambda: jaxpr(lambda x: jax.debug.breakpoint(num_frames=1))(
            1.0
        ),
        "callbacks: pure_callback": lambda: jaxpr(lambda x: jax.pure_callback(np.sin, x, x))(x),
        "callbacks: pure_callback of trees": lambda: jaxpr(
            lambda x: jax.pure_callback(max, {"a": x, "b": scalar}, (x, x), key=x)
        )(x),
        "callbacks: pure_callback, sequential": lambda: of_method("sequential"),
        "callbacks: pure_callback, sequential_unrolled": lambda: of_method("sequential_unrolled"),
        "callbacks: pure_callback, expand_dims": lambda: of_method("expand_dims"),
        "callbacks: pure_callback, broadcast_all": lambda: of_method("broadcast_all"),
        "callbacks: pure_callback, legacy_vectorized": lambda: of_method("legacy_vectorized"),
        "callbacks: io_callback": lambda: jaxpr(lambda x: io_callback(np.sin, x, x))(x),
        "callbacks: io_callback ordered": lambda: jaxpr(
            lambda x: io_callback(print, None, x, ordered=True)
        )(x),
        "callbacks: vmap of io_callback": lambda: jaxpr(
            jax.vmap(lambda x: io_callback(np.sin, x, x))
        )(x),
    }


def names(jax, jnp, lax):
    def fail(*args):
        raise KeyError("from the callback")

    return {
        "np": np,
        "fail": fail,
        "io_callback": jax.experimental.io_callback,
        "pure": jax.pure_callback,
        "show": jax.debug.print,
        "wait": lambda x: (jax.block_until_ready(x), jax.effects_barrier()),
        "struct": lambda *shape: jax.ShapeDtypeStruct(shape, np.float32),
    }


_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all")
GROUPS = [
    Group(
        "callbacks",
        [
            "pure(lambda x: np.asarray(x) * 2, v, v)",
            "jax.jit(lambda x: 1 + pure(lambda x: np.asarray(x) * 2, x, x))(v)",
            "pure(lambda x: 3.0, struct(), v)",
            "pure(lambda x: x + 1, jax.ShapeDtypeStruct((), np.int32), 1)",
            "pure(lambda x: np.ones(3), v, v)",
            "jax.jit(lambda x: pure(lambda t, k: {'s': t['a'] + k, 't': (k,)}, {'s': x, 't': (x,)}, "
            "{'a': x}, k=x))(v)",
            "jax.jit(lambda x: pure(lambda v: jax.jit(jnp.square)(v), x, x))(v)",
            *(
                f"{outer}(jax.vmap(lambda x, y: pure(np.add, struct(), x, y, vmap_method={method!r}), "
                "(0, None)))(v, 1.0)"
                for method in _METHODS
                for outer in ("", "jax.jit")
            ),
            "jax.vmap(lambda x: pure(np.add, struct(2), x, f32([1, 2]), "
            "vmap_method='broadcast_all'), 1)(m)",
            "jax.grad(lambda x: x * pure(np.square, struct(), lax.stop_gradient(x)))(3.0)",
            "jax.grad(jax.jit(lambda x: x * io_callback(np.square, struct(), "
            "lax.stop_gradient(x))))(3.0)",
            "io_callback(lambda x: None, None, v)",
            "jax.jit(lambda x: io_callback(lambda x: None, None, x))(v)",
            "jax.vmap(lambda x: io_callback(np.negative, x, x))(v)",
            "jax.jit(jax.vmap(lambda x: io_callback(np.negative, x, x)))(m)",
            "lax.fori_loop(0, 3, lambda i, c: c + pure(np.square, struct(), c), 1.0)",
            "jax.jit(lambda x: lax.map(lambda x: pure(np.square, struct(), x), x))(v)",
        ],
    )
]

ERRORS = {
    "callbacks": [
        ("show('{}')", []),
        ("show('{y}', x=1)", ["y"]),
        ("show('{x}', x=1, y=2)", ["'y'"]),
        ("show('here', 1)", ["1"]),
        ("show('{}', 1, 2)", ["2"]),
        ("jax.jit(lambda x: show('{}'))(1)", []),
        ("show(x=1)", ["x"]),
        ("jax.debug.callback(3)", ["int"]),
        ("jax.debug.callback(x=1)", ["x"]),
        ("jax.debug.callback(fail, v)", ["from the callback"]),
        ("wait(jax.jit(lambda x: (jax.debug.callback(fail, x), x))(v))", ["from the callback"]),
        ("jax.debug.breakpoint(token=v, ordered=True)", ["token", "ordered"]),
        ("pure(fail, v, v)", ["from the callback", "KeyError"]),
        ("wait(jax.jit(lambda x: pure(fail, x, x))(v))", ["from the callback", "KeyError"]),
        ("io_callback(fail, v, v)", ["from the callback", "KeyError"]),
        ("wait(jax.jit(lambda x: io_callback(fail, x, x))(v))", ["from the callback"]),
        (
            "wait(jax.jit(lambda x: lax.scan(lambda c, x: (jax.debug.callback(fail, x), (c, x))[1], "
            "0, x))(v))",
            ["from the callback"],
        ),
        ("pure(lambda x: np.ones(2), v, v)", ["(3,)", "(2,)"]),
        ("pure(lambda x: np.ones(3, int), v, v)", ["float32", "int32"]),
        ("pure(lambda x: (x, x), v, v)", ["1", "2"]),
        ("pure(np.sin, v, v, vmap_method='all')", ["all", "expand_dims"]),
        ("pure(np.sin, np.ones(3), v)", ["float64"]),
        ("pure(np.sin, 3, v)", ["dtype"]),
        ("jax.vmap(lambda x: pure(np.sin, x, x))(v)", ["vmap_method"]),
        ("jax.vmap(lambda x: io_callback(np.sin, x, x, ordered=True))(v)", ["ordered"]),
        ("jax.grad(lambda x: pure(np.sin, x, x))(1.0)", ["custom_jvp"]),
        ("jax.grad(lambda x: io_callback(np.sin, x, x))(1.0)", ["IO callback"]),
    ],
}
