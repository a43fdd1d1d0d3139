"""Recorded cases of named axes."""

import numpy as np
from golden_cases.codec import Group


def jaxprs(jax, jnp, lax):
    jaxpr = jax.make_jaxpr
    x, m, sq = np.ones(3, np.float32), np.ones((2, 3), np.float32), np.ones((3, 3), np.float32)
    over = lambda f, axis_name="i": jax.vmap(f, axis_name=axis_name)  # noqa: E731
    both = lambda f: over(over(f, "j"))  # noqa: E731
    bound = lambda f: jaxpr(f, axis_env=[("i", 3)])  # noqa: E731
    turn = [(0, 1), (1, 2), (2, 0)]
    return {
        "collectives: psum": lambda: jaxpr(over(lambda x: lax.psum(x, "i")))(x),
        "collectives: psum of the name": lambda: bound(lambda x: lax.psum(x, "i"))(1.0),
        "collectives: psum of what is not mapped": lambda: jaxpr(
            lambda a, x: over(lambda x: x + lax.psum(a, "i"))(x)
        )(1.0, x),
        "collectives: psum of booleans": lambda: jaxpr(over(lambda x: lax.psum(x > 1, "i")))(x),
        "collectives: psum of a tree": lambda: jaxpr(
            over(lambda x: lax.psum({"a": x, "b": (x, 2)}, "i"))
        )(x),
        "collectives: psum over two names": lambda: jaxpr(both(lambda x: lax.psum(x, ("i", "j"))))(
            m
        ),
        "collectives: psum over the outer name": lambda: jaxpr(both(lambda x: lax.psum(x, "i")))(m),
        "collectives: psum over the inner name": lambda: jaxpr(both(lambda x: lax.psum(x, "j")))(m),
        "collectives: psum over a name and a position": lambda: jaxpr(
            over(lambda x: lax.psum(x, ("i", 0)))
        )(m),
        "collectives: psum over positions": lambda: jaxpr(lambda x: lax.psum(x, (0, 1)))(m),
        "collectives: psum in jit": lambda: jaxpr(over(jax.jit(lambda x: lax.psum(x, "i"))))(x),
        "collectives: psum of a number in jit": lambda: jaxpr(
            over(lambda x: x + jax.jit(lambda y: lax.psum(y, "i"))(2.0))
        )(x),
        "collectives: psum in scan": lambda: jaxpr(
            over(
                lambda x: lax.scan(lambda c, _: (c + lax.psum(c, "i"), None), x, None, length=2)[0]
            )
        )(x),
        "collectives: axis_index in scan": lambda: jaxpr(
            over(
                lambda x: lax.scan(lambda c, _: (c + lax.axis_index("i"), None), x, None, length=2)[
                    0
                ]
            )
        )(x),
        "collectives: psum in cond": lambda: jaxpr(
            over(lambda x: lax.cond(True, lambda: lax.psum(x, "i"), lambda: x))
        )(x),
        "collectives: grad of psum": lambda: jaxpr(over(jax.grad(lambda x: lax.psum(x, "i"))))(x),
        "collectives: grad of psum of the name": lambda: bound(
            jax.grad(lambda x: jnp.sin(lax.psum(x, "i")))
        )(1.0),
        "collectives: grad around vmap of psum": lambda: jaxpr(
            jax.grad(lambda x: over(lambda x: jnp.sin(lax.psum(x, "i")))(x).sum())
        )(x),
        "collectives: grad of psum over a position": lambda: jaxpr(
            jax.grad(lambda x: lax.psum(jnp.sin(x), 0))
        )(x),
        "collectives: jvp of psum": lambda: jaxpr(
            over(lambda x: jax.jvp(lambda x: lax.psum(x * x, "i"), (x,), (x,)))
        )(x),
        "collectives: grad of pmean": lambda: jaxpr(over(jax.grad(lambda x: lax.pmean(x, "i"))))(x),
        "collectives: pmean over two names": lambda: jaxpr(
            both(lambda x: lax.pmean(x, ("i", "j")))
        )(m),
        "collectives: pmax": lambda: jaxpr(over(lambda x: lax.pmax(x, "i")))(x),
        "collectives: pmin": lambda: jaxpr(over(lambda x: x - lax.pmin(x, "i")))(x),
        "collectives: axis_index": lambda: jaxpr(over(lambda x: x * lax.axis_index("i")))(x),
        "collectives: axis_index over two names": lambda: jaxpr(
            both(lambda x: x * lax.axis_index(("i", "j")))
        )(m),
        "collectives: axis_index of the name": lambda: bound(lambda x: x * lax.axis_index("i"))(
            1.0
        ),
        "collectives: all_gather": lambda: jaxpr(over(lambda x: lax.all_gather(x, "i")))(x),
        "collectives: all_gather along axis 1": lambda: jaxpr(
            over(lambda x: lax.all_gather(x, "i", axis=1))
        )(m),
        "collectives: all_gather tiled": lambda: jaxpr(
            over(lambda x: lax.all_gather(x, "i", tiled=True))
        )(m),
        "collectives: all_gather of the name": lambda: bound(
            jax.vmap(lambda x: lax.all_gather(x, "i"))
        )(m),
        "collectives: grad of all_gather": lambda: jaxpr(
            over(jax.grad(lambda x: (lax.all_gather(x, "i") ** 2).sum()))
        )(x),
        "collectives: grad of all_gather of the name": lambda: bound(
            jax.grad(lambda x: jnp.sin(lax.all_gather(x, "i")).sum())
        )(1.0),
        "collectives: psum_scatter": lambda: jaxpr(over(lambda x: lax.psum_scatter(x, "i")))(sq),
        "collectives: psum_scatter tiled": lambda: jaxpr(
            over(lambda x: lax.psum_scatter(x, "i", tiled=True))
        )(np.ones((3, 6), np.float32)),
        "collectives: psum_scatter of the name": lambda: bound(
            jax.vmap(lambda x: lax.psum_scatter(x, "i"))
        )(sq),
        "collectives: grad of psum_scatter": lambda: jaxpr(
            over(jax.grad(lambda x: jnp.sin(lax.psum_scatter(x, "i")).sum()))
        )(sq),
        "collectives: all_to_all": lambda: jaxpr(over(lambda x: lax.all_to_all(x, "i", 0, 0)))(sq),
        "collectives: all_to_all, forwards": lambda: jaxpr(
            over(lambda x: lax.all_to_all(x, "i", 0, 1))
        )(np.ones((3, 3, 2), np.float32)),
        "collectives: all_to_all, backwards": lambda: jaxpr(
            over(lambda x: lax.all_to_all(x, "i", 1, 0))
        )(np.ones((3, 2, 3), np.float32)),
        "collectives: all_to_all tiled": lambda: jaxpr(
            over(lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True))
        )(np.ones((3, 6, 2), np.float32)),
        "collectives: all_to_all of the name": lambda: bound(
            jax.vmap(lambda x: lax.all_to_all(x, "i", 0, 1))
        )(np.ones((2, 3, 2), np.float32)),
        "collectives: grad of all_to_all": lambda: jaxpr(
            over(jax.grad(lambda x: jnp.sin(lax.all_to_all(x, "i", 0, 0)).sum()))
        )(sq),
        "collectives: all_to_all over two names": lambda: jaxpr(
            both(lambda x: lax.all_to_all(x, ("i", "j"), 0, 0))
        )(np.ones((2, 3, 6), np.float32)),
        "collectives: pswapaxes": lambda: jaxpr(over(lambda x: lax.pswapaxes(x, "i", 0)))(sq),
        "collectives: ppermute": lambda: jaxpr(over(lambda x: lax.ppermute(x, "i", turn)))(x),
        "collectives: ppermute of the name": lambda: bound(
            jax.grad(lambda x: jnp.sin(lax.ppermute(x, "i", turn)))
        )(1.0),
        "collectives: pbroadcast of the name": lambda: bound(
            jax.grad(lambda x: jnp.sin(lax.pbroadcast(x, "i", 1)))
        )(1.0),
    }


def names(jax, jnp, lax):
    return {
        "over": lambda f, axis_name="i": jax.vmap(f, axis_name=axis_name),
        "both": lambda f: jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i"),
        "bound": lambda f: jax.make_jaxpr(f, axis_env=[("i", 3), ("j", 2)]),
    }


GROUPS = [
    Group(
        "collectives",
        [
            "over(lambda x: lax.psum(x, 'i'))(v)",
            "over(lambda x: x / lax.psum(x, 'i'))(v)",
            "over(lambda x: (lax.psum(1, 'i'), lax.psum(2.5, 'i'), lax.psum(True, 'i')))(v)",
            "over(lambda x: lax.pmean(x, 'i'))(m)",
            "over(lambda x: (lax.pmax(x, 'i'), lax.pmin(x, 'i')))(m)",
            "over(lambda x: (lax.pmax(x > 2, 'i'), lax.psum(x > 2, 'i')))(m)",
            "over(lambda x: lax.psum(x, 'i'))(f16([100, 100]))",
            "over(lambda x: lax.psum(x, 'i'))(complexes)",
            "both(lambda x: lax.psum(x, ('i', 'j')))(m)",
            "both(lambda x: lax.psum(x, 'i'))(m)",
            "both(lambda x: lax.pmean(x, 'j'))(m)",
            "both(lambda x: lax.axis_index(('i', 'j')))(m)",
            "both(lambda x: lax.axis_index('i') * 10 + lax.axis_index('j'))(m)",
            "both(lambda x: x * lax.axis_size('i') + lax.axis_size(('i', 'j')))(m)",
            "over(over(lambda x: lax.psum(x, 'i')))(m)",
            "over(lambda x: lax.psum(x, ('i', 0)))(m)",
            "lax.psum(m, (0, 1))",
            "lax.psum(m, 1)",
            "over(lambda x: lax.psum(x, ()))(v)",
            "over(lambda x: lax.psum(x, ['i']))(v)",
            "over(lambda x: lax.all_gather(x, 'i'))(m)",
            "over(lambda x: lax.all_gather(x, 'i', axis=-1))(m)",
            "over(lambda x: lax.all_gather(x, 'i', tiled=True))(m)",
            "over(lambda x: lax.all_gather({'a': x, 'b': 2.0}, 'i'))(v)",
            "over(lambda x: lax.psum_scatter(x, 'i'))(sq)",
            "over(lambda x: lax.psum_scatter(x, 'i', scatter_dimension=1))(t.mT[:, :2, :2])",
            "over(lambda x: lax.psum_scatter(x, 'i', tiled=True))(t.mT)",
            "over(lambda x: lax.all_to_all(x, 'i', 0, 0))(sq)",
            "over(lambda x: lax.all_to_all(x, 'i', 0, 1))(t[:, :2])",
            "over(lambda x: lax.all_to_all(x, 'i', 1, 0))(t[:, :, :2])",
            "over(lambda x: lax.all_to_all(x, 'i', 1, 0, tiled=True))(t)",
            "over(lambda x: lax.all_to_all(x, 'i', 1, 1, tiled=True))(t)",
            "both(lambda x: lax.all_to_all(x, 'j', 0, 0))(t[..., :3])",
            "both(lambda x: lax.all_to_all(x, ('i', 'j'), 0, 0))(jnp.arange(36.0).reshape(2, 3, 6))",
            "both(lambda x: lax.all_to_all(x, ('j', 'i'), 0, 1))"
            "(jnp.arange(72.0).reshape(2, 3, 6, 2))",
            "both(lambda x: lax.all_to_all(x, ('i', 'j'), 1, 0, tiled=True))"
            "(jnp.arange(72.0).reshape(2, 3, 2, 6))",
            "over(lambda x: lax.pswapaxes(x, 'i', 0))(sq)",
            "over(lambda x: lax.ppermute(x, 'i', [(0, 1), (1, 2), (2, 0)]))(v)",
            "over(lambda x: lax.pshuffle(x, 'i', [2, 0, 1]))(v)",
            "both(lambda x: lax.pshuffle(x, 'i', [1, 0]))(m)",
            "jax.jit(over(lambda x: lax.psum(x, 'i') + lax.pmax(x, 'i')))(m)",
            "over(jax.jit(lambda x: x * lax.axis_size('i')))(v)",
            "[over(jax.jit(lambda x: x * lax.axis_size('i')))(x) for x in (v, x5)]",
            "over(lambda x: lax.scan(lambda c, _: (c + lax.psum(c, 'i'), c), x, None, 2))(v)",
            "over(lambda x: lax.cond(x > 1, lambda: lax.psum(x, 'i'), lambda: x))(v)",
            "over(lambda x: lax.while_loop(lambda c: lax.psum(c, 'i') < 20, "
            "lambda c: c + lax.axis_index('i') + 1, x))(v)",
            "jax.vmap(lambda x: x, spmd_axis_name='i')(v)",
        ],
    ),
    Group(
        "derivatives of collectives",
        [
            "over(jax.grad(lambda x: lax.psum(jnp.sin(x), 'i')))(v)",
            "jax.grad(lambda x: over(lambda x: jnp.sin(lax.psum(x, 'i')))(x).sum())(v)",
            "over(jax.grad(lambda x: lax.pmean(x * x, 'i')))(v)",
            "over(jax.grad(lambda x: x * x * lax.axis_index('i')))(v)",
            "over(jax.hessian(lambda x: lax.psum(jnp.sin(x), 'i') ** 2))(v)",
            "over(jax.jacrev(lambda x: lax.all_gather(x, 'i')))(v)",
            "over(jax.jacfwd(lambda x: lax.all_gather(x, 'i')))(v)",
            "over(lambda x: jax.vjp(lambda y: lax.psum_scatter(y * y, 'i'), x)[1](1.0))(sq)",
            "over(jax.grad(lambda x: jnp.sin(lax.ppermute(x, 'i', [(0, 1), (1, 2), (2, 0)]))))(v)",
            "over(jax.grad(lambda x: jnp.sin(lax.all_to_all(x, 'i', 0, 0)) @ v))(sq)",
            "over(lambda x: jax.jvp(lambda y: lax.psum(y * y, 'i'), (x,), (x,)))(v)",
            "over(jax.grad(jax.jit(lambda x: lax.psum(x * x, 'i'))))(v)",
            "over(jax.grad(lambda x: lax.scan(lambda c, _: (c + jnp.sin(lax.psum(c, 'i')), None), "
            "x, None, 2)[0]))(v)",
        ],
        ulps=32,
        scaled=True,
    ),
]

ERRORS = {
    "collectives": [
        ("lax.psum(v, 'i')", ["unbound axis name: i"]),
        ("lax.psum(1, 'i')", ["unbound axis name: i"]),
        ("lax.pmean(v, 'i')", ["unbound axis name: i"]),
        ("lax.pmax(v, 'k')", ["unbound axis name: k"]),
        ("lax.all_gather(v, 'i')", ["unbound axis name: i"]),
        ("lax.all_to_all(v, 'i', 0, 0)", ["unbound axis name: i"]),
        ("lax.axis_index('i')", ["unbound axis name: i"]),
        ("lax.axis_size('i')", ["unbound axis name: i"]),
        ("lax.psum_scatter(v, 'i')", ["unbound axis name: i"]),
        ("jax.vmap(lambda x: lax.psum(x, 'i'))(v)", ["unbound axis name: i"]),
        ("over(lambda x: lax.psum(x, 'k'))(v)", ["unbound axis name: k", "'i'"]),
        ("over(jax.jit(lambda x: lax.psum(x, 'k')))(v)", ["unbound axis name: k", "'i'"]),
        ("jax.jit(lambda x: lax.psum(x, 'k'))(v)", ["unbound axis name: k"]),
        ("bound(lambda x: lax.ppermute(x, 'k', [(0, 1)]))(1.0)", ["unbound axis name: k", "'j'"]),
        ("lax.psum(v, 5)", ["5"]),
        ("lax.psum(v, None)", ["unbound axis name: None"]),
        (
            "over(lambda x: lax.psum(x, 'i', axis_index_groups=[[0, 1], [2]]))(v)",
            ["axis_index_groups"],
        ),
        (
            "over(lambda x: lax.psum(x, 'i', axis_index_groups=[[0, 1], [3]]))(v)",
            ["axis_index_groups"],
        ),
        ("over(lambda x: lax.psum(x, ('i', 0), axis_index_groups=[[0, 1]]))(m)", ["groups"]),
        ("over(lambda x: lax.all_to_all(x, 'i', 0, 0))(m)", ["2", "3"]),
        ("over(lambda x: lax.all_to_all(x, 'i', 0, 0, tiled=True))(m)", ["2", "3"]),
        ("bound(lambda x: lax.psum_scatter(x, 'i'))(m)", ["2", "3"]),
        ("bound(lambda x: lax.psum_scatter(x, 'i', tiled=True))(m)", ["2", "3"]),
        ("over(lambda x: lax.all_gather(x, 'i', axis=4))(v)", ["axis 4"]),
        ("over(lambda x: lax.pshuffle(x, 'i', [0, 0, 1]))(v)", ["[0, 0, 1]"]),
        ("over(lambda x: lax.ppermute(x, 'i', [(0, 1), (1, 2)]))(v)", ["2 pairs", "3"]),
        ("over(lambda x: lax.pbroadcast(x, 'i', 7))(v)", ["7"]),
        ("over(jax.grad(lambda x: lax.pmax(x, 'i')))(v)", ["pmax"]),
    ],
}
