"""jax.experimental.pallas.triton, which tinyjax does not have."""

raise ImportError(
    "jax.experimental.pallas.triton is for Triton on GPUs: write kernels with jax.experimental.pallas "
    "alone, which are compiled for any device of tinyjax."
)
