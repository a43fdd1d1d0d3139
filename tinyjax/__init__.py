"""tinyjax: JAX that you can read. `import tinyjax as jax`; STEPS is the order to read in."""

from pathlib import Path as _Path

from tinyjax import interpreters as interpreters
from tinyjax.compat.root_names import *
from tinyjax.compat.root_names import LAZY_ATTRIBUTES as _LAZY_ATTRIBUTES
from tinyjax.compat.root_names import LAZY_NAMES as _LAZY_NAMES  # noqa: F401
from tinyjax.core.missing_names import install as _install
from tinyjax.studio.tracebacks import install as _install_hooks

if _Path(__file__).with_name("fast").is_dir():  # it can be deleted
    from tinyjax import fast as fast
_install(_LAZY_ATTRIBUTES)
_install_hooks()
__version__ = "0.1.0"
