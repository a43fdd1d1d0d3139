"""`jax.interpreters.xla`: the names of compat/xla.py."""

from tinyjax.compat.xla import *
from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
