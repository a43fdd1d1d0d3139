"""`jax.interpreters.xla`: the names; compat/xla.py says what is there."""

from tinyjax.compat.xla import *
from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
