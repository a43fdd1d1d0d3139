"""Where arrays are: calls whose answers are recorded from JAX with four CPU devices (many_devices.py)."""

import copy
import pickle

import numpy as np

# d: the devices; x: not committed, on d[0]; y: committed to d[1]; z: committed to d[2].
# `on` gives the devices of a tree's arrays, and which of them are committed.
CALLS = """
d, str(d[1]), jax.device_count(), jax.local_device_count(), jax.local_devices() == d
d[3].platform, d[3].id, d[3].process_index, d[3].host_id, d[3].local_hardware_id, d[3].memory_stats()
d[3].client is d[0].client, d[3].client.platform, jax.default_backend(), jax.process_indices()
jax.devices('gpu')
jax.devices('nope')
jax.local_devices(1)
jax.config.update('jax_num_cpu_devices', 2)
jax.config.update('jax_num_cpu_devices', 4)
jax.config.update('jax_default_device', 3)
on(x), on(y), x.device, y.device
x.sharding, y.sharding, y.sharding == Single(d[1]), y.sharding == x.sharding
y.sharding.device_set, y.sharding.num_devices, y.sharding.is_fully_replicated
y.sharding.shard_shape((3, 4)), y.sharding.devices_indices_map((3, 4)), y.sharding.memory_kind
y.addressable_shards[0].device, y.addressable_shards[0].index, on(y.addressable_shards[0].data)
y.is_fully_addressable, y.is_fully_replicated, y.block_until_ready().is_ready()
y.on_device_size_in_bytes(), y.platform()
y.copy_to_host_async()
on(jax.device_put(x)), on(jax.device_put(y)), on(jax.device_put(x, d[0])), on(jax.device_put(y, d[3]))
on(jax.device_put(np.ones(3))), on(jax.device_put(1.0, d[1])), jax.device_put(1.0, d[1]).weak_type
jax.device_put(x) is x, jax.device_put(y) is y, jax.device_put(y, d[1]) is y
on(jax.device_put(x, Single(d[3]))), on(y.to_device(d[2]))
on(jax.device_put({'a': 1.0, 'b': (x, y)}, d[3]))
on(jax.device_put({'a': 1.0, 'b': (x, y)}, {'a': d[0], 'b': d[2]}))
on(jax.device_put((x, y), (d[3], None)))
jax.device_put((x, y), [d[0], d[1]])
jax.device_put((x, y), (d[0],))
jax.device_put(x, 'cpu')
jax.device_put(x, d[0], donate=True, may_alias=True)
on(jax.device_put(y, d[1], may_alias=False)), on(jax.device_put(y, d[2], may_alias=True))
on(y + 1), on(x + y), on(np.ones(4) + y), on(y[0]), on(y[1:]), on(y > 1), on(y.astype(int))
on(jnp.sum(y)), on(jnp.dot(x, y)), on(jnp.concatenate([x, y])), on(jnp.where(y > 1, x, 0))
on(jnp.sort(y)), on(jax.nn.softmax(y)), on(y.at[0].set(1)), on(jnp.array([y[0], x[1]]))
on(jnp.asarray(y)), on(jnp.array(y)), on(jnp.ones_like(y)), on(jnp.full_like(y, 2, device=d[3]))
on(jnp.zeros(3, device=d[1])), on(jnp.arange(3, device=d[1])), on(jnp.linspace(0, 1, 3, device=d[1]))
on(jax.lax.scan(lambda c, a: (c + a, c), 0.0, y)), on(jax.lax.cond(True, lambda a: a, lambda a: -a, y))
on(jax.lax.fori_loop(0, 3, lambda i, c: c + 1, y)), on(jax.lax.while_loop(lambda c: c[0] < 3, jnp.exp, y))
y + z
jnp.concatenate([y, z])
y @ z
y[z.astype(int)]
jax.lax.cond(True, lambda: y, lambda: z)
jax.jit(lambda a, b: a + b)(y, z)
on(jax.jit(lambda a: a + z)(y)), on(jax.jit(lambda a, b: b * 2)(y, z)), on(jax.jit(lambda a: 3)(y))
on(jax.jit(lambda a: a + 1)(x)), on(jax.jit(lambda a: a + 1)(y)), on(jax.jit(lambda: jnp.ones(2))())
on(jax.jit(lambda a: a + 1, device=d[1])(x)), on(jax.jit(lambda a: a + 1, device=d[1])(z))
on(jax.jit(lambda a: a + 1, backend='cpu')(y))
jax.jit(lambda a: a + 1, backend='cpu', device=d[1])
callable(jax.jit(lambda a: a + 1, backend='nope'))
jax.jit(lambda a: a + 1, backend='nope')(x)
on(jax.jit(lambda a: jax.device_put(a, d[2]) + 1)(x)), on(jax.jit(lambda a: jax.device_put(a, d[2]))(y))
on(jax.jit(lambda a: a + 1).lower(y).compile()(y)), on(jax.jit(lambda a: a + 1).lower(y).compile()(x))
jax.jit(lambda a: a + 1).lower(y).compile()(z)
on(jax.vmap(lambda a: a * 2)(y)), on(jax.vmap(lambda a: jax.device_put(a, d[2]))(y))
on(jax.grad(lambda a: (a * a).sum())(y)), on(jax.grad(lambda a: (a * y).sum())(x))
on(jax.jvp(jnp.sin, (y,), (y,))), on(jax.jit(jax.grad(lambda a: (a * a).sum()))(y))
on(jax.grad(lambda a: jax.device_put(a * 2, d[2]).sum())(y))
on(jax.grad(lambda a: jax.device_put(a, d[2])[0])(x))
on(jax.vjp(lambda a: jax.device_put(jnp.sin(a), d[2]), y)[1](z))
on(jax.random.normal(jax.device_put(jax.random.key(0), d[1]), (2,)))
on(pickle.loads(pickle.dumps(y))), on(copy.deepcopy(y))
within(d[1], lambda: [on(jnp.ones(2)), on(x + 1), on(y + 1), on(jax.jit(jnp.sin)(x))])
within(d[1], lambda: on(jax.device_put(1.0)))
within(d[1], lambda: [on(jnp.asarray(np.ones(2))), on(jnp.array(np.ones(2))), on(jnp.array([1.0]))])
within('nope', lambda: jnp.ones(2))
on(within(d[1], lambda: jnp.ones(2))), on(within(d[1], lambda: jnp.ones(2)) + 1)
within('cpu', lambda: on(jnp.ones(2))), within(d[3], lambda: jax.devices()[0])
within('gpu', lambda: jnp.ones(2))
jax.make_jaxpr(lambda a: jax.device_put(a))(1.0)
jax.make_jaxpr(lambda a, b: jax.device_put((a, b), d[1], src=d[0]))(1.0, 2.0)
jax.make_jaxpr(lambda a: jax.device_put(a, Single(d[1]), donate=True))(1.0)
jax.make_jaxpr(jax.grad(lambda a: jax.device_put(a, d[2])))(1.0)
jax.make_jaxpr(jax.vmap(lambda a: jax.device_put(a, d[2])))(x)
""".strip().splitlines()


def names(jax, jnp):
    """The names in the calls."""

    def on(tree):
        return [
            (min(x.devices(), key=lambda d: d.id).id, x.committed) for x in jax.tree.leaves(tree)
        ]

    def within(device, thunk):
        with jax.default_device(device):
            return thunk()

    d = jax.devices()
    x = jnp.arange(4.0)
    return {
        "np": np,
        "Single": jax.sharding.SingleDeviceSharding,
        "pickle": pickle,
        "copy": copy,
        "on": on,
        "within": within,
        "d": d,
        "x": x,
        "y": jax.device_put(x, d[1]),
        "z": jax.device_put(x, d[2]),
    }
