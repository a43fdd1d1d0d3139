"""tinyjax: JAX that you can read. `import tinyjax as jax`; STEPS is the order to read in."""

from importlib import import_module as _import_module
from pathlib import Path as _Path

from tinyjax import interpreters as interpreters
from tinyjax.core.missing_names import install as _install
from tinyjax.root_names import *
from tinyjax.root_names import LAZY_ATTRIBUTES as _LAZY_ATTRIBUTES
from tinyjax.root_names import LAZY_NAMES as _LAZY_NAMES  # noqa: F401

_install(_LAZY_ATTRIBUTES)
for _folder in ("fast", "compat", "studio"):  # each can be deleted
    if _Path(__file__).with_name(_folder).is_dir():
        _import_module(f"tinyjax.{_folder}")
__version__ = "0.1.0"
