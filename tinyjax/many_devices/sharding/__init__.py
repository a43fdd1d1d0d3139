"""Meshes of devices, and arrays that are spread over them. `jax.sharding` has the public names.

The files, in the order to read them: partition_spec, mesh, sharding, named_sharding, shards, arrays,
current_mesh; propagation, auto, types; blockwise, traffic and step_time, for what devices send each other;
blocks, for several processes. Transformations build on it.

Source: https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html
"""
