"""One program on four devices: calls whose answers are recorded from JAX (many_devices.py)."""

import functools

# x: an array with a slice for each device; xs: two axes of that size; f: sums over the devices.
CALLS = """
f(x), f(x[:2]), f(x).shape, f(x).dtype
f(jnp.arange(8.0))
jax.pmap(lambda a: a)(3.0)
jax.pmap(lambda: 1)()
jax.pmap(lambda a: a)(())
jax.pmap(lambda a: a, in_axes=None)(x)
jax.pmap(lambda a: a, in_axes=None, axis_size=2)(x)
jax.pmap(lambda a, b: a + b)(x, x[::-1])
jax.pmap(lambda a, b: a + b, in_axes=(0, None))(x, 3.0)
jax.pmap(lambda a, b: a * b, in_axes=(0, None))(x, x)
jax.pmap(lambda a: a, in_axes=1)(xs[:, :2])
jax.pmap(lambda a: a * 2, out_axes=1)(xs)
jax.pmap(lambda a: (a, -a), out_axes=(0, 1))(xs)
jax.pmap(lambda a: lax.psum(a, 'i'), 'i', out_axes=None)(xs)
jax.pmap(lambda a: 2.0, out_axes=None)(x), jax.pmap(lambda a: 2.0)(x)
jax.pmap(lambda d: d['a'] + d['b'], in_axes=({'a': 0, 'b': None},))({'a': x, 'b': 2.0})
jax.pmap(lambda a, *, b: {'sum': a + b})(x, b=x)
jax.pmap(lambda n, a: a * n, static_broadcasted_argnums=0)(3, x)
jax.pmap(lambda n, a: a if n == 'same' else -a, static_broadcasted_argnums=0)('same', x)
jax.pmap(lambda n, a: a, static_broadcasted_argnums=0)([1], x)
jax.pmap(lambda n, a, b: a * n + b, in_axes=(None, 0, None), static_broadcasted_argnums=(0,))(2, x, 1.0)
jax.pmap(lambda a: a, devices=jax.devices()[:2])(x[:2])
jax.pmap(lambda a: a, devices=jax.devices()[2:])(x[:2]).devices() == set(jax.devices()[2:])
jax.pmap(lambda a: a, devices=jax.devices()[:3])(x[:2])
jax.pmap(lambda a: a, axis_size=2)(x[:2])
jax.pmap(lambda a: a, axis_size=3)(x[:2])
jax.pmap(lambda a: a, backend='nope')(x)
jax.pmap(lambda a: lax.psum(a, 'j'), 'i')(x)
jax.pmap(3)
jax.pmap(jax.pmap(lambda a: a))(xs)
f(x).devices() == set(jax.devices()), f(x[:2]).devices() == set(jax.devices()[:2])
[(s.device, s.index, s.data.shape) for s in jax.pmap(lambda a: a)(xs[:, :2]).addressable_shards]
f(x).sharding.shard_shape((4,)), f(x).sharding.is_fully_replicated, f(x).is_fully_addressable
f(x).sharding.devices_indices_map((4, 3)), f(x).sharding.num_devices
f(x) + 1, f(x)[1], jnp.sin(0 * f(x)), jax.jit(lambda a: a * 2)(f(x)), f(f(x))
jax.jit(f)(x), jax.jit(lambda a: f(a * 2) + a)(x)
jax.vmap(f)(jnp.stack([x, 2 * x])), jax.vmap(f, in_axes=1, out_axes=1)(jnp.stack([x, 2 * x], 1))
jax.pmap(jax.vmap(lambda a: lax.psum(a, ('i', 'j')), axis_name='j'), 'i')(xs)
jax.vmap(lambda b: jax.pmap(lambda a, b: a + b, in_axes=(0, None))(x, b))(x[:2])
jax.grad(lambda a: f(a * a).sum())(x), jax.grad(lambda a: f(a * a)[0])(x)
jax.grad(lambda w: jax.pmap(lambda a: (w * a).sum())(xs).sum())(x)
jax.grad(lambda w: jax.pmap(lambda w, a: (w * a).sum(), in_axes=(None, 0))(w, xs).sum())(x)
jax.grad(lambda w: jax.pmap(lambda w, a: lax.pmean((w * a).sum(), 'i'), 'i', in_axes=(None, 0))(w, xs)[0])(x)
jax.pmap(lambda w, a: lax.pmean(jax.grad(lambda w: (w * a).sum())(w), 'i'), 'i', in_axes=(None, 0))(x, xs)
jax.jvp(f, (x,), (x,)), jax.jvp(jax.pmap(lambda a: a * a), (x,), (jnp.ones(4),))
jax.linearize(jax.pmap(lambda a: a * a), x)[1](jnp.ones(4)), jax.vjp(f, x)[1](x)
jax.hessian(lambda a: jax.pmap(lambda b: b ** 3)(a).sum())(x[:2])
jax.pmap(jax.grad(lambda a: a * a))(x), jax.pmap(jax.jit(lambda a: a + 1))(x)
jax.pmap(lambda a: (lax.pmax(a, 'i'), lax.pmin(a, 'i'), lax.pmean(a, 'i')), 'i')(x)
jax.pmap(lambda a: (lax.axis_index('i'), lax.psum(1, 'i'), lax.axis_size('i')), 'i')(x)
jax.pmap(lambda a: lax.all_gather(a, 'i'), 'i')(x)
jax.pmap(lambda a: lax.ppermute(a, 'i', [(0, 1), (1, 2), (2, 3), (3, 0)]), 'i')(x)
jax.pmap(lambda a: lax.ppermute(a, 'i', [(0, 1), (3, 0)]), 'i')(x)
jax.pmap(lambda a: lax.ppermute(2, 'i', [(0, 1)]), 'i')(x)
jax.grad(lambda a: (jax.pmap(lambda b: lax.ppermute(b, 'i', [(0, 1)]), 'i')(a) * x).sum())(x)
jax.grad(lambda a: jax.checkpoint(f)(a * a).sum())(x), jax.grad(jax.checkpoint(lambda a: f(a * a).sum()))(x)
lax.scan(lambda c, _: (f(c) / 8, c.sum()), x, None, length=3), lax.cond(True, f, lambda a: a, x)
jax.pmap(lambda a: lax.all_to_all(a, 'i', 0, 0), 'i')(xs)
jax.pmap(lambda a: lax.psum_scatter(a, 'i'), 'i')(xs)
jax.pmap(lambda a: (lax.psum(a, 'i', **pairs), lax.pmax(a, 'i', **pairs)), 'i')(x)
jax.pmap(lambda a: lax.pmean(a + lax.psum(1, 'i', **pairs), 'i', **pairs), 'i')(x)
jax.pmap(lambda a: lax.all_gather(a, 'i', **pairs), 'i')(x)
jax.pmap(lambda a: lax.all_to_all(a, 'i', 0, 0, **pairs), 'i')(xs[:, :2])
jax.pmap(lambda a: lax.psum_scatter(a, 'i', **pairs), 'i')(xs[:, :2])
jax.pmap(jax.grad(lambda a: lax.psum(a, 'i', **pairs) ** 2), 'i')(x)
jax.pmap(jax.vmap(lambda a: lax.psum(a, 'i', **pairs)), 'i')(xs)
jax.pmap(lambda a: lax.psum(a, 'i', axis_index_groups=[[0, 1], [2, 5]]), 'i')(x)
jax.pmap(lambda a: lax.psum(a, 'i', axis_index_groups=[]), 'i')(x)
jax.pmap(lambda a: lax.fori_loop(0, 3, lambda i, c: c + lax.psum(c, 'i'), a), 'i')(x)
jax.pmap(lambda a: lax.scan(lambda c, b: (c + lax.pmean(b, 'i'), c), 0.0, a), 'i')(xs)
jax.pmap(lambda a: lax.cond(a > 1, lambda a: a * 10, lambda a: a, a))(x)
jax.pmap(lambda key: jax.random.randint(key, (2,), 0, 100))(jax.random.split(jax.random.key(0), 4))
jax.eval_shape(f, x).shape
""".strip().splitlines()


def names(jax, jnp):
    """The names in the calls."""
    x = jnp.arange(4.0)
    summed = functools.partial(jax.lax.psum, axis_name="i")
    pairs = {"axis_index_groups": [[3, 1], [0, 2]]}
    return {"pairs": pairs, "x": x, "xs": x * x[:, None], "f": jax.pmap(summed, axis_name="i")}
