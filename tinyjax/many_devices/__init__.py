"""Several devices and processes: shardings, meshes, explicit types, shard_map, pmap, collectives."""

from tinyjax.many_devices import places as places  # fills the hook of runtime/placement.py
