"""jax.experimental.pallas.mosaic_gpu, which tinyjax does not have."""

raise ImportError(
    "jax.experimental.pallas.mosaic_gpu is for Mosaic on GPUs: write kernels with jax.experimental.pallas "
    "alone, which are compiled for any device of tinyjax."
)
