"""Programs whose arrays are spread over several processes: each computes its part of what one would."""

import pytest
from processes import by_mpiexec, needs_mpi

pytestmark = [pytest.mark.slow, needs_mpi]

START = """
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.sharding import NamedSharding, PartitionSpec as P

jax.distributed.initialize()
x = np.arange(48, dtype=np.float32).reshape(8, 6)


def shards(array):
    return [(shard.index, np.asarray(shard.data)) for shard in array.addressable_shards]


def check_parts(array, whole):
    assert array.shape == whole.shape and len(shards(array)) == jax.local_device_count()
    for index, part in shards(array):
        np.testing.assert_allclose(part, np.asarray(whole)[index], rtol=1e-5, atol=1e-6)
"""
ONE_AXIS = """
mesh = jax.make_mesh((jax.device_count(),), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
split = jax.device_put(x, NamedSharding(mesh, P("i")))
check_parts(split, x)
assert not split.is_fully_addressable and repr(split) == "Array(shape=(8, 6), dtype=float32)"
total = jax.shard_map(lambda x: lax.psum(x.sum(), "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
for how in (lambda f: f, jax.jit):
    assert how(total)(split) == how(total)(x) == x.sum()
assert jax.jit(lambda x: total(x) * 2)(split) == 2 * x.sum()
numbered = jax.shard_map(lambda x: x + lax.axis_index("i"), mesh=mesh, in_specs=P("i"), out_specs=P("i"))
numbers = np.repeat(np.arange(jax.device_count()), 8 // jax.device_count())[:, None]
check_parts(jax.jit(lambda x: numbered(x) * 2 + x)(split), 2 * (x + numbers) + x)
"""
EAGER = """
for kind in jax.sharding.AxisType.Auto, jax.sharding.AxisType.Explicit:
    mesh = jax.make_mesh((jax.device_count(),), ("i",), axis_types=(kind,))
    split = jax.device_put(x, NamedSharding(mesh, P("i")))
    check_parts(split * 2 + jnp.sin(split), x * 2 + np.sin(x))
    check_parts(-split.T, -x.T)
    assert split.sum() == x.sum() and float(jnp.mean(split)) == x.mean()
    check_parts(split @ np.ones((6, 2), np.float32), x @ np.ones((6, 2)))
    check_parts(jax.grad(lambda x: jnp.sum(x * x))(split), 2 * x)
    np.testing.assert_allclose(jnp.max(split, axis=0), x.max(0))
    doubled = jax.jit(lambda x: (2 * x, x.sum(0)))
    for got, want in zip(doubled.lower(split).compile()(split), doubled(split)):
        assert got.sharding == want.sharding
        check_parts(got, want.addressable_shards[0].data if want.is_fully_replicated else 2 * x)
auto = jax.make_mesh((jax.device_count(),), ("i",), axis_types=(kind.Auto,))
split = jax.device_put(x, NamedSharding(auto, P("i")))
check_parts(jnp.where(split > 5, split, 0), np.where(x > 5, x, 0))
np.testing.assert_allclose(jnp.sort(split, axis=0).addressable_shards[0].data, x)
np.testing.assert_allclose(split[1:3].addressable_shards[0].data, x[1:3])
"""
TRAINING = """
mesh = jax.make_mesh((jax.device_count(),), ("i",))
split, w = jax.device_put(x, NamedSharding(mesh, P("i"))), np.ones((6, 3), np.float32) / 10


def error(w, x):
    return jnp.mean(jnp.tanh(x @ w - 2.0) ** 2)


mean = lambda w, x: lax.pmean(error(w, x), "i")
of_all = jax.shard_map(mean, mesh=mesh, in_specs=(P(), P("i")), out_specs=P())


def trained(loss, w, x):
    @jax.jit
    def step(w):
        return w - 0.1 * jax.grad(loss)(w, x)

    for _ in range(3):
        w = step(w)
    return w


np.testing.assert_allclose(trained(of_all, w, split), trained(error, w, x), rtol=1e-5)
"""
TWO_AXES = """
mesh = jax.make_mesh((2, 2), ("i", "j"))
split = jax.device_put(x, NamedSharding(mesh, P("i", "j")))
check_parts(split, x)


def f(x):
    rows = lax.psum(x, "i")
    return lax.all_gather(rows, "j", axis=1, tiled=True), lax.psum(x, ("i", "j")), lax.pmax(x, "j")


specs = dict(in_specs=P("i", "j"), out_specs=(P(), P(), P("i")), check_vma=False)
rows, blocks, largest = jax.jit(jax.shard_map(f, mesh=mesh, **specs))(split)
np.testing.assert_allclose(rows, x[:4] + x[4:])
np.testing.assert_allclose(blocks, rows[:, :3] + rows[:, 3:])
check_parts(largest, np.maximum(x[:, :3], x[:, 3:]))
"""


# `on(kind)`: x, split over a mesh of this kind; `check(f)`: what jit(f) gives for it is what f gives for all.
JITTED = """
def on(kind):
    mesh = jax.make_mesh((jax.device_count(),), ("i",), axis_types=(kind,))
    return jax.device_put(x, NamedSharding(mesh, P("i")))


def check(f, *more, kinds=tuple(jax.sharding.AxisType)[:2]):
    expected = jax.tree.leaves(f(jnp.asarray(x), *more))
    for kind in kinds:
        for got, whole in zip(jax.tree.leaves(jax.jit(f)(on(kind), *more)), expected):
            check_parts(got, whole)


AUTO = [jax.sharding.AxisType.Auto]
"""
EVEN = """
check(lambda x: (x * 2 + 1, x.sum(), x.sum(0), x.max(1), x.max(), x.T))
check(lambda x: x - x.mean(0) + x.mean(1, keepdims=True))
check(lambda x, w: jnp.tanh(x @ w), np.ones((6, 3), np.float32) / 40)
check(lambda x: (x.T @ x, x @ x.T), kinds=AUTO)
check(jax.grad(lambda x: (jnp.tanh(x) ** 2).sum()))
"""
UNEVEN = """
check(lambda x: (x[2:5] * 2 + x[0, 0], jnp.sort(x, 0), jnp.concatenate([x, x], 0), x.reshape(-1)), kinds=AUTO)
check(lambda x: (jnp.cumsum(x, axis=1), x[:, ::-1]))
"""
LOOPS = """
check(lambda x: lax.fori_loop(0, 3, lambda i, c: c * 1.5 + i, x))
check(lambda x: lax.scan(lambda c, _: (c * 0.5 + c.sum(), c.max(1)), x, None, length=3))
check(lambda x: lax.scan(lambda c, row: (c + row.sum(), row * 2), 0.0, x), kinds=AUTO)
check(lambda x: lax.while_loop(lambda c: c.sum() < 1e4, lambda c: c * 2, x))
check(lambda x: lax.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, x))
split = on(AUTO[0])
total = jax.shard_map(
    lambda x: lax.psum(x.sum(), "i"), mesh=split.sharding.mesh, in_specs=P("i"), out_specs=P())
around = lambda total: lambda x: lax.scan(lambda c, _: (c * 0.5 + total(c), None), x, None, length=3)[0]
check_parts(jax.jit(around(total))(split), around(jnp.sum)(x))
until = lambda total: lambda x: lax.while_loop(lambda c: total(c) < 1e5, lambda c: c * 2, x)
check_parts(jax.jit(until(total))(split), until(jnp.sum)(x))
"""
PLACES = """
split = on(AUTO[0])
by_rows, mesh = split.sharding, split.sharding.mesh
whole = NamedSharding(mesh, P())
for got in (
    jax.jit(lambda x: x * 2, out_shardings=by_rows)(x),
    jax.jit(lambda x: x * 2, in_shardings=by_rows)(x),
    jax.jit(lambda x: lax.with_sharding_constraint(x * 2, by_rows))(x),
    jax.device_put(jax.device_put(2 * x, whole), by_rows),
):
    assert got.sharding == by_rows
    check_parts(got, 2 * x)
for got in (jax.jit(lambda x: x + 1, out_shardings=whole)(split), jax.device_put(split, whole) + 1):
    assert got.sharding == whole
    np.testing.assert_array_equal(got, x + 1)
check_parts(jax.jit(lambda x: x + split)(x), 2 * x)
here = jax.device_put(x, jax.local_devices()[0])
for f, args, error in (
    (jax.jit(lambda x: x, in_shardings=whole), [split], "does not match the sharding on the"),
    (jax.jit(lambda x, y: x + y), [split, here], "Received incompatible devices"),
):
    try:
        f(*args)
    except ValueError as raised:
        assert error in str(raised)
    else:
        raise AssertionError(error)
try:
    np.asarray(split)
except RuntimeError as error:
    assert "spans non-addressable (non process local) devices" in str(error)
"""
TWO_MESHES = """
y = np.arange(64, dtype=np.float32).reshape(8, 8)
mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
for spec in (P("a", "b"), P("b", "a"), P(("a", "b")), P(("b", "a")), P(None, "b"), P("b")):
    at = NamedSharding(mesh, spec)
    split = jax.device_put(y, at)
    check_parts(jax.jit(lambda y: y[::-1] + y)(split), y[::-1] + y)
    check_parts(jax.jit(lambda y: 2 * y)(split), 2 * y)
    check_parts(jax.jit(lambda y: 2 * y, out_shardings=NamedSharding(mesh, P("b", "a")))(split), 2 * y)
"""


OF_TWO = {
    "one": ONE_AXIS,
    "training": TRAINING,
    "two": TWO_AXES,
    "eager": EAGER,
    "jitted, even": JITTED + EVEN,
    "jitted, uneven": JITTED + UNEVEN,
    "jitted, loops": JITTED + LOOPS,
    "jitted, places": JITTED + PLACES,
    "jitted, meshes": JITTED + TWO_MESHES,
}
EACH = """
for name, code in programs.items():
    exec(code, {**globals()})
    print(f"{name} is done\\n", end="", flush=True)  # at once: several print
"""


@pytest.fixture(scope="module")
def ended():
    """All programs in one start of two processes: to start takes as long as a program."""
    return by_mpiexec(START + f"programs = {OF_TWO!r}" + EACH, JAX_NUM_CPU_DEVICES="2")


@pytest.mark.parametrize("name", OF_TWO)
def test_two_processes_of_two_devices_compute_as_one(ended, name):
    assert ended.out.count(f"{name} is done\n") == 2, ended.err


def test_four_processes_share_a_mesh_of_two_axes():
    ended = by_mpiexec(START + TWO_AXES, 4)
    assert ended.status == 0, ended.err
