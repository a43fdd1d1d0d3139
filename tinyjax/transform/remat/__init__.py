"""jax.checkpoint: values are recomputed instead of kept."""
