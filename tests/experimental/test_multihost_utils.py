import numpy as np
import pytest
from processes import by_mpiexec, needs_mpi

from tinyjax.experimental import multihost_utils

# As JAX answers in two processes; `process` is the number of each.
TOLD = """
import numpy as np
import tinyjax as jax
from tinyjax.experimental import multihost_utils as told
from tinyjax.sharding import NamedSharding, PartitionSpec as P
jax.distributed.initialize()
process = jax.process_index()
x = np.arange(3.0) + process
mesh = jax.make_mesh((2,), ("i",))
assert told.process_allgather(x).tolist() == [[0, 1, 2], [1, 2, 3]]
assert told.process_allgather(x, tiled=True).tolist() == [0, 1, 2, 1, 2, 3]
assert told.process_allgather(process).tolist() == [0, 1]
assert told.process_allgather(x).dtype == np.float32
both = told.broadcast_one_to_all({"a": x, "b": process})
assert both["a"].tolist() == [0, 1, 2] and both["b"] == 0
assert told.broadcast_one_to_all(x, is_source=process == 1).tolist() == [1, 2, 3]
told.sync_global_devices("here")
told.assert_equal(3, "no")
try:
    told.assert_equal(x[:2].astype(int), "they differ")
except AssertionError as error:
    assert "they differ. Expected: [[0 1]\\n [1 2]]; got:" in str(error)
else:
    raise AssertionError("not noticed")
whole = told.host_local_array_to_global_array(x, mesh, P("i"))
assert whole.shape == (6,) and not whole.is_fully_addressable
assert told.process_allgather(whole, tiled=True).tolist() == [0, 1, 2, 1, 2, 3]
assert np.asarray(told.global_array_to_host_local_array(whole, mesh, P("i"))).tolist() == x.tolist()
told.sync_global_devices(f"process {process}")
"""


@needs_mpi
@pytest.mark.slow
def test_processes_tell_each_other_what_they_have():
    ended = by_mpiexec(TOLD)
    assert ended.status != 0  # by the last line alone
    here = "process {0}: sync_global_devices('process {0}')"
    assert here.format(0) in ended.err and here.format(1) in ended.err, ended.err


def test_one_process_has_all():
    x = np.arange(3)
    assert multihost_utils.process_allgather(x).tolist() == [[0, 1, 2]]
    assert multihost_utils.process_allgather(x, tiled=True).tolist() == [0, 1, 2]
    assert multihost_utils.broadcast_one_to_all({"a": x})["a"].tolist() == [0, 1, 2]
    multihost_utils.sync_global_devices("here")
    multihost_utils.assert_equal(x)
