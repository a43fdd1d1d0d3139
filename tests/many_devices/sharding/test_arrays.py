"""Arrays of what several processes have; as JAX makes them in two processes of two devices."""

import pytest
from processes import by_mpiexec, needs_mpi

CODE = """
import numpy as np
import tinyjax as jax
from tinyjax.sharding import NamedSharding, PartitionSpec as P
jax.distributed.initialize()
process = jax.process_index()
mesh = jax.make_mesh((4,), ("i",))
split, whole = NamedSharding(mesh, P("i")), NamedSharding(mesh, P())
x = np.arange(16.0, dtype=np.float32).reshape(8, 2)


def shards(array):
    return [np.asarray(shard.data).tolist() for shard in array.addressable_shards]


def error(make, *args):
    try:
        make(*args)
    except ValueError as raised:
        return str(raised)


own = x[4 * process : 4 * process + 4]
rows = [own[:2].tolist(), own[2:].tolist()]
asked = []
made = jax.make_array_from_callback((8, 2), split, lambda index: asked.append(index) or x[index])
assert shards(made) == rows and not made.is_fully_addressable and len(asked) == 2
assert shards(jax.make_array_from_callback((2,), whole, lambda index: x[0][index])) == [[0, 1]] * 2
parts = [jax.device_put(part, d) for part, d in zip((own[:2], own[2:]), jax.local_devices())]
assert shards(jax.make_array_from_single_device_arrays((8, 2), split, parts)) == rows
assert "Expected 2 per-device" in error(
    jax.make_array_from_single_device_arrays, (8, 2), split, parts[:1])
local = jax.make_array_from_process_local_data
for args in ((own,), (own, (8, 2)), (x, (8, 2))):
    made = local(split, *args)
    assert shards(made) == rows and made.shape == (8, 2) and made.sharding == split
assert local(whole, x).shape == (8, 2) and local(whole, x).is_fully_replicated
assert error(local, split, x[:6], (8, 2)) == (
    "Invalid host data, each dimension should match either global or process shape. In dimension 0, the "
    "process data has 6 elements. Process addresses 4 elements and global_shape=(8, 2).")
assert error(local, split, own, (None, 2)) == "global_shape=(None, 2) has Nones. This is not supported."
assert "the dimension size is 6" in error(local, split, x[:3])
assert jax.jit(lambda x: x.sum())(local(split, own)) == x.sum()
"""


@needs_mpi
@pytest.mark.slow
def test_each_process_gives_what_it_has():
    ended = by_mpiexec(CODE, JAX_NUM_CPU_DEVICES="2")
    assert ended.status == 0, ended.err
