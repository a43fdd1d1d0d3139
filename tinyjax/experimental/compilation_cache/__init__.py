"""jax.experimental.compilation_cache, under JAX's name."""
