"""jax.example_libraries: small libraries that are written with JAX, under the names that they have there."""

from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
