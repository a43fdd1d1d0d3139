"""jax.example_libraries: small libraries that are written with JAX, under the names that they have there."""
