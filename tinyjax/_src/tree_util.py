"""jax.tree_util, and the classes that are containers, which Flax's NNX asks for."""

from typing import Any

from tinyjax.core.missing_names import getattr_of
from tinyjax.core.tree_util.pytrees import kind_of
from tinyjax.tree_util import *


class _Registry:
    """`cls in _registry` says whether instances of a class are containers."""

    def __contains__(self, cls: Any) -> bool:
        return kind_of[cls] is not None


_registry = _Registry()
__getattr__ = getattr_of(__name__)
