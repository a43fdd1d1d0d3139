"""Meshes of devices, and arrays sharded over them. `jax.sharding` has the public names.

Read the files in this order: partition_spec, mesh, sharding, named_sharding, shards, arrays, current_mesh;
propagation, auto, types; blockwise, traffic and step_time, on communication; blocks, for several processes.

Source: https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html
"""
