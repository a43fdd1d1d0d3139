"""Programs on arrays that are spread over an auto mesh: calls whose answers are recorded from JAX
(many_devices.py): values, where results are, printed jaxprs, errors."""

import importlib

import numpy as np

DEVICES = 8
ERROR_WORDS = 5
# Calls whose answer is another one, by a part of them, and why.
OTHERWISE = {
    "wsc(jnp.ones(7), S('x'))": "JAX names the jitted function that it makes of a constraint",
}

# As in meshes.py; and xy, xs, ys, rs: x spread by S('x', 'y'), S('x'), S(None, 'y') and S(); spec(f, *args):
# the result of jit(f), and how it is split; wsc: with_sharding_constraint.
CALLS = """
spec(lambda a: a * 2, xy), spec(lambda a: a, xy), spec(jnp.square, xs), spec(lambda a: -a, ys)
spec(lambda a: a.T, xy), spec(lambda a: a.T, xs), spec(lambda a: jnp.transpose(a)[None], xy)
spec(lambda a: a.sum(), xy), spec(lambda a: a.sum(0), xy), spec(lambda a: a.max(1), xy)
spec(lambda a: a.mean(1, keepdims=True), xs), spec(lambda a: jnp.argmax(a, 1), xs)
spec(lambda a: a @ a.T, xs), spec(lambda a: a @ jnp.ones((4, 3)), xs)
spec(lambda a: jnp.ones((3, 8)) @ a, ys), spec(lambda a, b: a @ b.T, xs, rs)
spec(lambda a: a.reshape(8, 2, 2), xs), spec(lambda a: a.reshape(4, 2, 4), xs), spec(lambda a: a.reshape(32), xs)
spec(lambda a: a[:, None], xy), spec(lambda a: a[:, 0], xs), spec(lambda a: a[:, :2], xs)
spec(lambda a: jnp.concatenate([a, a], 1), xs), spec(lambda a: jnp.stack([a, a]), xs)
spec(lambda a: jnp.broadcast_to(a, (3, 8, 4)), xs), spec(lambda a: a + jnp.arange(4.0), xs)
spec(lambda a: jnp.where(a > 3, a, 0), xs), spec(lambda a: jnp.clip(a, 1, 2), xs)
spec(lambda a: jnp.sort(a, 1), xs), spec(lambda a: jnp.cumsum(a, 1), xs)
spec(lambda a: jax.nn.softmax(a), xs), spec(jax.nn.relu, xs), spec(lambda a: jax.nn.logsumexp(a, axis=1), xs)
spec(lambda a, b: a + b, xs, xs), spec(lambda a, b: a * b, xs, rs), spec(lambda a, b: a + b, rs, rs)
spec(lambda a: {'a': a, 'b': a + 1}, xs), spec(lambda a: (a, a.sum(1)), xs)
spec(lambda a: jnp.ones(3), xs), spec(lambda a: 3.0, xs)
spec(lambda a: lax.fori_loop(0, 3, lambda i, c: c * 2, a), xs)
spec(lambda a: lax.scan(lambda c, _: (c + 1, c.sum(1)), a, None, length=3), xs)
spec(lambda a: lax.cond(a[0, 0] > 1, lambda b: b * 2, lambda b: b, a), xs)
spec(lambda a: jax.jit(jnp.square)(a) + 1, xs), spec(jax.checkpoint(jnp.square), xs)
spec(jax.grad(lambda a: (a * a).sum()), xs), spec(jax.vmap(lambda a: a * 2), xs)
(xs + 1).sharding, (xs + x).sharding, (x + xs).sharding, (xs * 2.0).sharding, (xs + xs).sharding
xs.T.sharding, xs.sum(1).sharding, xs.sum().sharding, jnp.square(xs).sharding, xs[:, 0].sharding
xs.astype(int).sharding, (xs > 1).sharding, jnp.concatenate([xs, xs], 1).sharding
jnp.dot(xs, jnp.ones((4, 2))).sharding, jnp.zeros_like(xs).sharding
(xs + 1).committed, jnp.sum(xs).committed, xs.sum(0), xy.T @ xy
xs + jax.device_put(x, d[1])
xs + jax.device_put(x, d[0])
jax.jit(lambda a, b: a + b)(xs, jax.device_put(x, d[1]))
jax.jit(lambda a, b: a + b)(xs, jax.device_put(x, NamedSharding(Mesh(d[:4], 'x'), P('x'))))
jax.jit(lambda a: a * 2, in_shardings=S('x'))(x).sharding
jax.jit(lambda a: a * 2, in_shardings=S('x'), out_shardings=S('y'))(x).sharding
jax.jit(lambda a: a * 2, out_shardings=S('x'))(x), jax.jit(lambda a: a * 2, out_shardings=S('x'))(xy).sharding
jax.jit(lambda a: a * 2, out_shardings=None)(xs).sharding, jax.jit(lambda a: a * 2, in_shardings=None)(xs).sharding
jax.jit(lambda a, b: (a, b), in_shardings=(S('x'), None))(x, xy)[1].sharding
jax.jit(lambda a, b: (a, b), in_shardings=(S('x'), S('y')))(x, x)[1].sharding
jax.jit(lambda a: {'a': a, 'b': a}, out_shardings={'a': S('x'), 'b': S('y')})(x)['b'].sharding
jax.jit(lambda a: (a, a), out_shardings=S('x'))(x)[1].sharding
jax.jit(lambda t: t['a'] + t['b'], in_shardings=({'a': S('x'), 'b': S('x')},))({'a': x, 'b': x}).sharding
jax.jit(lambda a: a, out_shardings=Single(d[1]))(x).sharding
jax.jit(lambda a: a * 2, in_shardings=S('x'))(xy)
jax.jit(lambda a: a * 2, in_shardings=S('x'))(jax.device_put(x, d[3]))
jax.jit(lambda a: a * 2, in_shardings=P('x'))(x)
jax.jit(lambda a: a * 2, out_shardings=P('x'))(x)
jax.jit(lambda a: a * 2, in_shardings='x')(x)
jax.jit(lambda a: a, in_shardings=(S('x'), S('y')))(x)
jax.jit(lambda a: a, in_shardings=S('x'))(jnp.ones((7, 7)))
jax.jit(lambda a: a.T, out_shardings=S('x'))(jnp.ones((7, 7)))
jax.jit(lambda a: a, in_shardings=S('x', 'y', None))(x)
jax.jit(lambda a: a, out_shardings=S('x', 'y', None))(x)
within(A, lambda: jax.jit(lambda a: a * 2, in_shardings=P('x'))(x).sharding)
within(A, lambda: jax.jit(lambda a: a * 2, out_shardings=P(None, 'x'))(x).sharding)
within(A, lambda: jax.jit(lambda a: wsc(a * 2, P('x')))(x).sharding)
within(A, lambda: jax.jit(lambda a: a + jnp.ones(4))(xs).sharding)
wsc(x, S('x')), wsc(x, S('x')).sharding, wsc(xs, S('y')).sharding, wsc(x, Single(d[1])).sharding
wsc({'a': x, 'b': xs}, S('y'))['b'].sharding, wsc((x, x), (S('x'), S('y')))[1].sharding
wsc(x, S('x', P.UNCONSTRAINED)).sharding
spec(lambda a: wsc(a * 2, S('x')), x), spec(lambda a: wsc(a, S('x')) + 1, x), spec(lambda a: wsc(a, S('x')).T, x)
spec(lambda a: wsc(a, S(('x', 'y'))), x), spec(lambda a: wsc(wsc(a, S('x')), S('y')), x)
spec(lambda a: wsc(a, S('x')).sum(1), xs), spec(lambda a: wsc(jnp.square(a), S(None, 'y')), xs)
spec(jax.vmap(lambda a: wsc(a, S('x'))), jnp.ones((2, 4, 4)))
spec(jax.grad(lambda a: (wsc(a * 2, S('x')) ** 2).sum()), x)
jax.jvp(lambda a: wsc(a * 2, S('x')), (x,), (x,))[1]
wsc(x, P('x'))
wsc(x, 'x')
wsc(x, None)
wsc(x, {'a': S('x')})
wsc(x, S('x', 'y', None))
wsc(jnp.ones(7), S('x'))
wsc(x, T('x'))
jax.make_jaxpr(lambda a: wsc(a * 2, S('x')))(x)
within(A, lambda: jax.make_jaxpr(lambda a: wsc(a * 2, P('x')))(x))
jax.make_jaxpr(jax.vmap(lambda a: wsc(a, S('x'))))(jnp.ones((2, 4, 4)))
jax.make_jaxpr(jax.vmap(lambda a: wsc(a, S('x')), in_axes=1, out_axes=1))(jnp.ones((4, 2, 4)))
jax.make_jaxpr(jax.vmap(lambda a: wsc(a, S('x')), spmd_axis_name='y'))(jnp.ones((2, 4, 4)))
jax.make_jaxpr(jax.vmap(lambda a: wsc(a, S()), in_axes=1, spmd_axis_name=('x', 'y')))(jnp.ones((4, 8, 4)))
jax.make_jaxpr(jax.vmap(jax.vmap(lambda a: wsc(a, S()), spmd_axis_name='x'), spmd_axis_name='y'))(jnp.ones((2, 4, 4)))
jax.make_jaxpr(jax.vmap(lambda a: wsc(a, S('x')), spmd_axis_name='x'))(jnp.ones((4, 4, 4)))
jax.make_jaxpr(jax.vmap(lambda a: wsc(a, S('x')), spmd_axis_name='z'))(jnp.ones((4, 4, 4)))
jax.make_jaxpr(jax.vmap(lambda a: wsc(a, Single(d[0])), spmd_axis_name='x'))(jnp.ones((4, 4, 4)))
spec(jax.vmap(lambda a: wsc(a, S('x')), spmd_axis_name='y'), jnp.ones((2, 4, 4)))
jax.vmap(lambda a: wsc(a, S('x')), spmd_axis_name='y')(jnp.ones((2, 4, 4))).sharding
jax.make_jaxpr(lambda a: jax.jvp(lambda b: wsc(b * 2, S('x')), (a,), (a,)))(x)
jax.make_jaxpr(lambda a: jax.linear_transpose(lambda b: wsc(b, S('x')), x)(a))(x)
jax.make_jaxpr(jax.jit(lambda a: a * 2, in_shardings=S('x')))(x)
jax.make_jaxpr(jax.jit(lambda a: a * 2, out_shardings=S('y')))(x)
jax.make_jaxpr(jax.jit(lambda a: a * 2, in_shardings=S('x'), out_shardings=S('y')))(x)
jax.make_jaxpr(jax.jit(lambda a: a * 2))(xs)
jax.make_jaxpr(lambda a: jax.device_put(a, S('x')))(x)
jax.jit(lambda a: a * 2).lower(xs).compile().input_shardings
jax.jit(lambda a: a * 2).lower(xs).compile().output_shardings
jax.jit(lambda a: a * 2, in_shardings=S('x')).lower(x).compile().output_shardings
jax.jit(lambda a: a * 2).lower(xs).compile()(xs).sharding
jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=S('x')), jax.ShapeDtypeStruct((2,), int).sharding
jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=S('x')).sharding
jax.ShapeDtypeStruct((7, 4), jnp.float32, sharding=S('x', 'y', None))
jax.jit(lambda a: a * 2).lower(jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=S('x'))).compile().output_shardings
jax.jit(lambda a: a * 2, donate_argnums=0)(jax.device_put(x, S('x'))).sharding
jax.grad(jax.jit(lambda a: (a * a).sum(), in_shardings=S('x')))(x), jax.jvp(jax.jit(jnp.square, out_shardings=S('x')), (x,), (x,))[1]
jax.vmap(jax.jit(lambda a: a * 2, in_shardings=S('x')))(jnp.ones((2, 8)))
jax.random.normal(jax.device_put(jax.random.key(0), S()), (8,)), jax.random.split(jax.device_put(jax.random.key(0), S()), 8)
jax.jit(lambda a, w: jnp.tanh(a @ w), in_shardings=(S('x'), S(None, 'y')))(x, jnp.ones((4, 2))).sharding
jax.value_and_grad(lambda w: ((xs @ w) ** 2).mean())(jnp.ones((4, 2)))
lax.scan(lambda c, a: (c + a, a * 2), jnp.zeros(4), xs)[1], jax.lax.map(jnp.square, xs)
xs.at[:, 0].set(0), xs.at[0].add(1), jnp.linalg.norm(xs), jnp.einsum('ij,kj->ik', xs, xs)
jax.tree.map(lambda a: a + 1, {'w': xs, 'b': rs})['w'].sharding
""".strip().splitlines()


def names(jax, jnp):
    """The names in the calls."""
    known = importlib.import_module("meshes").names(jax, jnp)
    x, sharding = known["x"], known["S"]

    def spec(f, *args):
        out = jax.block_until_ready(jax.jit(f)(*args))
        return jax.tree.map(
            lambda a: (
                np.round(np.asarray(a, float), 2).tolist(),
                getattr(a.sharding, "spec", a.sharding),
            ),
            out,
        )

    return known | {
        "wsc": jax.lax.with_sharding_constraint,
        "spec": spec,
        "xy": jax.device_put(x, sharding("x", "y")),
        "xs": jax.device_put(x, sharding("x")),
        "ys": jax.device_put(x, sharding(None, "y")),
        "rs": jax.device_put(x, sharding()),
    }
