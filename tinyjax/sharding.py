"""The names of jax.sharding, from the folder many_devices: meshes of devices, arrays split over them."""

from tinyjax.core.missing_names import check_folder, getattr_of

check_folder("many_devices", __name__)

_LAZY_NAMES = {
    f"many_devices.{module}": tuple(names.split())
    for module, names in {
        "axis_types": "auto_axes explicit_axes",
        "constraints": "reshard",
        "sharding.current_mesh": "get_abstract_mesh get_mesh set_mesh use_abstract_mesh",
        "sharding.mesh": "AbstractDevice AbstractMesh AxisType Mesh",
        "sharding.named_sharding": "NamedSharding",
        "sharding.partition_spec": "ManualAxisType PartitionSpec UnreducedKind",
        "sharding.sharding": "IndivisibleError Sharding SingleDeviceSharding make_single_device_sharding",
        "sharding.shards": "Shard",
    }.items()
}
__getattr__ = getattr_of(__name__)
