"""pmap over the devices of several processes; as JAX maps in two processes of two devices."""

import pytest
from processes import by_mpiexec, needs_mpi

CODE = """
import numpy as np
import tinyjax as jax
from tinyjax import lax
jax.distributed.initialize()
process = jax.process_index()
x = np.arange(4, dtype=np.float32).reshape(2, 2) + 10 * process


def check(f, expected, x=x, **options):
    for _ in range(2):
        got = jax.pmap(f, axis_name="i", **options)(*(x if type(x) is tuple else (x,)))
        assert got.is_fully_addressable and got.sharding.num_devices == 2
        np.testing.assert_array_equal(got, expected)


check(lambda x: x * 2, x * 2)
check(lambda x: lax.psum(x, "i"), [[24, 28]] * 2)
check(lambda x: x + lax.axis_index("i"), x + [[2 * process], [2 * process + 1]])
check(lambda x: lax.psum(x, "i"), [24, 28], out_axes=None)
check(lambda x: x, x.T, out_axes=1)
check(lambda x: x, x.T, in_axes=1)
check(lambda x, y: x + y, x + process, (x, np.float32(process)), in_axes=(0, None))
check(lambda x: lax.all_gather(x, "i")[3], [[12, 13]] * 2)
check(lambda x: lax.psum(x, "i"), [x.sum(0)] * 2, devices=jax.local_devices())
double = jax.pmap(lambda x: x * 2)
np.testing.assert_array_equal(double(double(x)), 4 * x)
try:
    double(x[:1])
except ValueError as error:
    assert "of which this one has 2" in str(error)
else:
    raise AssertionError
"""


@needs_mpi
@pytest.mark.slow
def test_each_process_maps_its_slices():
    ended = by_mpiexec(CODE, JAX_NUM_CPU_DEVICES="2")
    assert ended.status == 0, ended.err
