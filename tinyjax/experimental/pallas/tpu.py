"""jax.experimental.pallas.tpu, which tinyjax does not have."""

raise ImportError(
    "jax.experimental.pallas.tpu is for TPUs: write kernels with jax.experimental.pallas "
    "alone, which are compiled for any device of tinyjax."
)
