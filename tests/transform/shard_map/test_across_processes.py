"""shard_map over a mesh of several processes' devices: what each computes is its part of what one would."""

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
        np.testing.assert_allclose(part, np.asarray(whole)[index], rtol=1e-5)
"""
ONE_AXIS = """
mesh = jax.make_mesh((jax.device_count(),), ("i",))
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


ALL_ELEMENTS = """
mesh = jax.make_mesh((2,), ("i",))
jax.shard_map
split = jax.device_put(x, NamedSharding(mesh, P("i")))
for f in (np.asarray, jax.jit(lambda x: x.sum())):
    try:
        f(split)
    except (RuntimeError, NotImplementedError) as error:
        print(error)
"""


@pytest.mark.parametrize("code", [ONE_AXIS, TRAINING, TWO_AXES], ids=["one", "training", "two"])
def test_two_processes_of_two_devices_compute_as_one(code):
    ended = by_mpiexec(START + code, JAX_NUM_CPU_DEVICES="2")
    assert ended.status == 0, ended.err


def test_four_processes_share_a_mesh_of_two_axes():
    ended = by_mpiexec(START + TWO_AXES, 4)
    assert ended.status == 0, ended.err


def test_what_needs_other_processes_elements_says_so():
    ended = by_mpiexec(START + ALL_ELEMENTS)
    assert ended.status == 0, ended.err
    assert ended.out.count("spans non-addressable (non process local) devices") == 2
    assert ended.out.count("'reduce_sum' of an array that is spread over several processes") == 2
