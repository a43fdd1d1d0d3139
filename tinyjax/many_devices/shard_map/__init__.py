"""shard_map: one program on all devices of a mesh, each with its part of the arrays.

The files, in the order to read them: nested_vmap, primitive, specs, api, rules."""

from tinyjax.many_devices.shard_map import rules as _rules  # noqa: F401  (they are in the tables)
