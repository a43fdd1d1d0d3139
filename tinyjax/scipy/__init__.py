"""`jax.scipy`: the parts of SciPy that jax.numpy has not."""
