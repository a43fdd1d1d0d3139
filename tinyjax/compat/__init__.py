"""What exists only because JAX has the name."""
