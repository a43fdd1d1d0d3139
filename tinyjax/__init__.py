"""tinyjax: JAX that you can read. `import tinyjax as jax`; STEPS is the order to read in."""

from importlib.util import find_spec as _find_spec

from tinyjax.compat.root_names import *
from tinyjax.compat.root_names import LAZY_NAMES as _LAZY_NAMES  # noqa: F401
from tinyjax.core.missing_names import install as _install

if _find_spec("tinyjax.fast"):  # the folder can be deleted
    from tinyjax import fast as fast

_install()
__version__ = "0.1.0"
