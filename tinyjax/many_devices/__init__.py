"""Several devices and processes: shardings, meshes, explicit types, shard_map, pmap, collectives."""
