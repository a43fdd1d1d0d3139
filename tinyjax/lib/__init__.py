"""jax.lib: of what JAX had here, little is left."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.version import __version__ as __version__

__getattr__ = getattr_of(__name__)
