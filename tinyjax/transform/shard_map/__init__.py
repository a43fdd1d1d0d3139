"""shard_map: one program on all devices of a mesh, each with its part of the arrays."""
