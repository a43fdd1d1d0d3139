"""`jax.interpreters`: the names that JAX has there; the transformations are in transform/."""
