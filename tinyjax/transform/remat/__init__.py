"""jax.checkpoint: computed again in place of being kept."""
