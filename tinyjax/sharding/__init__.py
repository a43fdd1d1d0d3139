"""Meshes of devices, and arrays that are spread over them. `jax.sharding`'s names.

After this folder you can say which device has which part of an array, and what its type says of that. The
files, in the order to read them: partition_spec, mesh, sharding, named_sharding, shards, arrays,
current_mesh; propagation, auto, types; blockwise, traffic and step_time, for what devices send each other;
blocks, for several processes. Builds on core and runtime; transformations build on it.

Source: https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html
"""

from tinyjax.core.missing_names import getattr_of
from tinyjax.sharding.sharding import IndivisibleError as IndivisibleError
from tinyjax.sharding.sharding import Sharding as Sharding
from tinyjax.sharding.sharding import SingleDeviceSharding as SingleDeviceSharding
from tinyjax.sharding.sharding import make_single_device_sharding as make_single_device_sharding
from tinyjax.sharding.shards import Shard as Shard

_LAZY_NAMES = {
    "current_mesh": ("get_abstract_mesh", "get_mesh", "set_mesh", "use_abstract_mesh"),
    "mesh": ("AbstractDevice", "AbstractMesh", "AxisType", "Mesh"),
    "named_sharding": ("NamedSharding",),
    "partition_spec": ("PartitionSpec",),
    "tinyjax.lax.axis_types": ("auto_axes", "explicit_axes"),
    "tinyjax.lax.constraints": ("reshard",),
}
__getattr__ = getattr_of(__name__)
