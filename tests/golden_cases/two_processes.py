"""Calls in two processes of two devices each: what each process sees, recorded from JAX's own two processes.

    python tests/golden_cases/two_processes.py tinyjax localhost:9999 0    # and another one with 1; or: jax

prints {call: what it gives, as text; of an error the class and some words} as JSON.
"""

import importlib
import json
import os
import socket
import subprocess
import sys

import numpy as np

ERROR_WORDS = 3
# Calls whose answer is another one, by a part of them, and why.
OTHERWISE = {
    "a.reshape(8, 2, 2)": "the processes bring an array together that is reshaped, and each has all of it",
    "a[:, 0]": "the processes bring an array together that is indexed, and each has all of it",
    "out_shardings=S('x'))(x)": "JAX refuses what NumPy holds; here each process takes its part of it",
    "jax.grad(lambda w: sm(": "JAX refuses to close over such an array; here it is one more argument",
    "jax.typeof(e), (e + 1)": "a spec ends with the last axis that is split; JAX writes P('x', None)",
    "jax.pmap(lambda v: lax": "the axis that nobody names has another name",
    "jax.pmap(lambda v: v)": "JAX asserts, and says nothing",
}
# x: (8, 4); a: x by S('x'); b: x by G('p', 'q'); w: x.T whole, r: x by S(); e: x by E('x'), explicit; S, G and E
# are NamedShardings on a line of four devices, a grid of two by two, and an explicit line; sm: shard_map over
# the line, gm: over the grid; m, g: these meshes; hosts: multihost_utils. An array is shown by `seen`.
CALLS = """
jax.process_count(), jax.process_index(), jax.device_count(), jax.local_device_count()
[d.id for d in jax.devices()], [d.process_index for d in jax.devices()], [d.id for d in jax.local_devices()]
[d.id for d in jax.local_devices(1)], jax.process_indices(), jax.distributed.is_initialized()
jax.local_devices(2)
[d.id for d in m.devices.flat], m.is_multi_process, [d.id for d in m.local_mesh.devices.flat]
a, b, w, r, e
a.shape, a.is_fully_addressable, a.is_fully_replicated, r.is_fully_addressable, r.is_fully_replicated
len(a.addressable_shards), len(a.global_shards), [s.replica_id for s in r.addressable_shards]
sorted((s.device.id, s.data is None, s.replica_id) for s in a.global_shards)
str(a.sharding.spec), a.sharding.shard_shape((8, 4)), len(a.sharding.addressable_devices), a.sharding.num_devices
sorted((d.id, str(i)) for d, i in a.sharding.devices_indices_map((8, 4)).items())
np.asarray(a)
a.tolist()
float(a.sum())
a[0, 0].item()
np.asarray(r).sum()
a.addressable_data(0), a.addressable_data(1)
jax.jit(lambda a: a * 2)(a), jax.jit(lambda a: a + 1)(b), jax.jit(jnp.sin)(r)
jax.jit(lambda a: a.sum())(a), jax.jit(lambda a: a.sum(0))(a), jax.jit(lambda a: a.sum(1))(a)
jax.jit(lambda a: a.max(0))(b), jax.jit(lambda a: a.mean())(b), jax.jit(lambda a: a.min(1))(b)
jax.jit(lambda a: a.T)(a), jax.jit(lambda a: a.T)(b), jax.jit(lambda a: a.reshape(8, 2, 2))(a)
jax.jit(lambda a, w: a @ w)(a, w), jax.jit(lambda w, a: w @ a)(w, a), jax.jit(lambda b: b.T @ b)(b)
jax.jit(lambda a, r: a + r)(a, r), jax.jit(lambda a: a + jnp.arange(4.0))(a)
jax.jit(lambda a: a * 2, out_shardings=S())(a), jax.jit(lambda a: a * 2, out_shardings=S(None, 'x'))(a)
jax.jit(lambda a: a * 2, out_shardings=G('q'))(b), jax.jit(lambda a: a, out_shardings=G('q', 'p'))(b)
jax.jit(lambda a: jax.lax.with_sharding_constraint(a * 2, S(None, 'x')))(a)
jax.jit(lambda a: a + 1, in_shardings=S('x'), out_shardings=S('x'))(a)
jax.jit(lambda a: a + 1, in_shardings=S('x'), out_shardings=S('x'))(x)
jax.jit(lambda a: jnp.cumsum(a, 1), out_shardings=S('x'))(a), jax.jit(lambda a: jnp.cumsum(a, 0), out_shardings=S('x'))(a)
jax.jit(lambda a: jnp.sort(-a, 0), out_shardings=S('x'))(a), jax.jit(jax.nn.softmax, out_shardings=S('x'))(a)
jax.jit(lambda a: lax.scan(lambda c, v: (c + v, c.sum()), a[0] * 0, a), out_shardings=S())(a)
jax.jit(lambda a: lax.fori_loop(0, 3, lambda i, c: c * 2, a), out_shardings=S('x'))(a)
jax.jit(lambda a: lax.cond(a.sum() > 3, jnp.negative, jnp.square, a), out_shardings=S('x'))(a)
jax.jit(jax.grad(lambda a: (a ** 2).sum()), out_shardings=S('x'))(a)
jax.jit(jax.grad(lambda w, a: ((a @ w) ** 2).mean()), out_shardings=S())(w, a)
jax.jit(lambda a: {'s': a.sum(), 'a': a}, out_shardings={'s': S(), 'a': S('x')})(a)
a + 1, a * a, -b, jnp.sum(a), a.T, a @ w
a[0], a[:, 0], jnp.concatenate([a, a])
sm(lambda a: a * 2, X, X)(a), sm(lambda a: lax.psum(a, 'x'), X, P())(a), sm(lambda a: lax.pmean(a, 'x'), X, P())(a)
sm(lambda a: lax.pmax(a, 'x'), X, P())(a), sm(lambda a: lax.pmin(a, 'x'), X, P())(a)
sm(lambda a: lax.all_gather(a, 'x'), X, X)(a), sm(lambda a: lax.all_gather(a, 'x', tiled=True), X, X)(a)
sm(lambda a: lax.psum_scatter(a, 'x', scatter_dimension=1, tiled=True), X, X)(a)
sm(lambda a: lax.all_to_all(a, 'x', 1, 0, tiled=True), X, X)(a)
sm(lambda a: lax.ppermute(a, 'x', [(0, 1), (1, 2), (2, 3), (3, 0)]), X, X)(a)
sm(lambda a: lax.ppermute(a, 'x', [(0, 3)]), X, X)(a)
sm(lambda a: a + lax.axis_index('x'), X, X)(a), sm(lambda a: a * lax.axis_size('x'), X, X)(a)
gm(lambda a: lax.psum(a, 'p'), P('p', 'q'), P(None, 'q'))(b), gm(lambda a: lax.psum(a, 'q'), P('p', 'q'), P('p'))(b)
gm(lambda a: lax.psum(a, ('p', 'q')), P('p', 'q'), P())(b), gm(lambda a: lax.all_gather(a, ('p', 'q')), P('p', 'q'), P('p', 'q'))(b)
gm(lambda a: a + lax.axis_index(('p', 'q')), P('p', 'q'), P('p', 'q'))(b)
jax.jit(sm(lambda a: lax.psum(a.sum(), 'x'), X, P()))(a), jax.jit(lambda a: sm(lambda a: lax.psum(a, 'x'), X, P())(a) + 1)(a)
jax.jit(sm(lambda a, w: lax.psum((a @ w).sum(0), 'x'), (X, P()), P()))(a, w)
jax.jit(jax.grad(lambda w: sm(lambda a, w: lax.pmean((a @ w).sum(), 'x'), (X, P()), P())(a, w)))(w)
jax.jit(jax.value_and_grad(lambda a: sm(lambda a: lax.psum((a * a).sum(), 'x'), X, P())(a)))(a)
jax.jit(sm(lambda a: lax.scan(lambda c, v: (c + lax.psum(v, 'x'), v), a[0] * 0, a)[1], X, X))(a)
jax.jit(sm(lambda a: lax.fori_loop(0, 2, lambda i, c: lax.pmean(c, 'x') + a, a), X, X))(a)
sm(lambda a: a, X, P())(a)
sm(lambda a: lax.psum(a, 'x'), P('y'), P())(a)
sm(lambda a: a, X, X)(x[:7])
jax.device_put(x, S('x')), jax.device_put(x, S(None, 'x')), jax.device_put(x, S()), jax.device_put(a, S('x'))
jax.device_put(x[:7], S('x'))
jax.device_put(x, jax.local_devices()[1]).devices() == {jax.local_devices()[1]}
jax.make_array_from_callback((8, 4), S('x'), lambda i: x[i]), jax.make_array_from_callback((8, 4), G('q', 'p'), lambda i: x[i])
jax.make_array_from_process_local_data(S('x'), x[4 * me:4 * me + 4]), jax.make_array_from_process_local_data(S('x'), x[:4] + me, (8, 4))
jax.make_array_from_process_local_data(S(), x)
jax.make_array_from_process_local_data(S('x'), x[:3])
jax.make_array_from_single_device_arrays((8, 4), S('x'), [jax.device_put(x[2 * d.id % 8:][:2], d) for d in jax.local_devices()])
jax.make_array_from_single_device_arrays((8, 4), S('x'), [jax.device_put(x[:2], jax.local_devices()[0])])
hosts.process_allgather(x[:2] + me), hosts.process_allgather(x[:2] + me, tiled=True), hosts.process_allgather(a, tiled=True)
hosts.broadcast_one_to_all(x[:1] + me), hosts.sync_global_devices('here')
hosts.assert_equal(x), hosts.host_local_array_to_global_array(x[:4] + me, m, P('x'))
hosts.global_array_to_host_local_array(a, m, P('x'))
jax.typeof(e), (e + 1), jax.jit(lambda e: e.sum(0))(e), jax.jit(lambda e: e.T)(e), jax.jit(lambda e: (e * 2).sum())(e)
jax.jit(lambda e: jax.sharding.reshard(e, P(None, 'x')))(e), jax.jit(jax.grad(lambda e: (e * e).sum()))(e)
jax.pmap(lambda v: lax.psum(v, 'i'), axis_name='i')(x[:2] + me), jax.pmap(lambda v: v * 2)(x[:2] + me)
jax.pmap(lambda v: v)(x[:3])
""".strip().split("\n")


def answers_of_two_processes(library: str) -> dict[str, list[str]]:
    """What a library, "jax" or "tinyjax", answers in process 0 and in process 1."""
    with socket.create_server(("localhost", 0)) as server:
        address = f"localhost:{server.getsockname()[1]}"
    command = [sys.executable, "-P", __file__, library, address]  # -P: see many_devices.py
    started = [
        subprocess.Popen(
            [*command, str(process)],
            env=os.environ | {"JAX_NUM_CPU_DEVICES": "2", "JAX_PLATFORMS": "cpu"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for process in range(2)
    ]
    try:
        said = [
            json.loads(process.communicate(timeout=100)[0].splitlines()[-1]) for process in started
        ]
    finally:
        for process in started:
            process.kill()
    return {call: [one[call] for one in said] for call in CALLS}


def names(jax) -> dict:
    """The names in the calls."""
    sharding = importlib.import_module(f"{jax.__name__}.sharding")
    hosts = importlib.import_module(f"{jax.__name__}.experimental.multihost_utils")
    Auto, P = sharding.AxisType.Auto, sharding.PartitionSpec
    m, g = jax.make_mesh((4,), ("x",), (Auto,)), jax.make_mesh((2, 2), ("p", "q"), (Auto, Auto))
    explicit = jax.make_mesh((4,), ("x",))
    x = np.arange(32, dtype=np.float32).reshape(8, 4)

    def on(mesh):
        return lambda *spec: sharding.NamedSharding(mesh, P(*spec))

    def mapped(mesh):
        return lambda f, ins, outs: jax.shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs)

    S, G, E, put = on(m), on(g), on(explicit), jax.device_put
    return {
        "jax": jax,
        "jnp": importlib.import_module(f"{jax.__name__}.numpy"),
        **{
            "lax": jax.lax,
            "np": np,
            "P": P,
            "X": P("x"),
            "me": jax.process_index(),
            "hosts": hosts,
        },
        **{"x": x, "m": m, "g": g, "S": S, "G": G, "E": E, "sm": mapped(m), "gm": mapped(g)},
        **{"a": put(x, S("x")), "b": put(x, G("p", "q")), "w": put(x.T, S()), "r": put(x, S())},
        "e": put(x, E("x")),
    }


def seen(value, jax) -> str:
    """An array as what this process has of it."""
    if isinstance(value, tuple | list):
        return f"({', '.join(seen(each, jax) for each in value)})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {seen(each, jax)}' for key, each in value.items())}}}"
    if isinstance(value, jax.Array):
        jax.block_until_ready(value)
        shards = sorted(value.addressable_shards, key=lambda shard: shard.device.id)
        parts = [(s.device.id, str(s.index), seen(np.asarray(s.data), jax)) for s in shards]
        spec = getattr(value.sharding, "spec", type(value.sharding).__name__)
        return f"{jax.typeof(value)} {spec} {parts}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)} {np.round(value, 3).tolist()}"
    return repr(value)


def answer(call: str, names: dict) -> str:
    try:
        return seen(eval(call, names | {}), names["jax"])
    except Exception as error:
        return " ".join([type(error).__name__, *str(error).split()[:ERROR_WORDS]]).rstrip(":.")


def main() -> None:
    library, address, process = sys.argv[1:]
    jax = importlib.import_module(library)
    jax.distributed.initialize(address, 2, int(process))
    known = names(jax)
    print(json.dumps({call: answer(call, known) for call in CALLS}), flush=True)
    jax.distributed.shutdown()


if __name__ == "__main__":
    main()
