"""jax.experimental: what JAX has not settled yet, under the names that it has there."""

from tinyjax.lax.callback import io_callback as io_callback
