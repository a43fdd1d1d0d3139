"""`jax.typing`: the names; they are made in core/annotations.py."""

from tinyjax.core.annotations import *
from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
