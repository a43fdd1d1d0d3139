"""Refs: mutable arrays. `jax.ref` has their public names."""
