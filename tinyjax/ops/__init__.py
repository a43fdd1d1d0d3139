"""`jax.ops`: the names; they are made in segments.py."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.ops.segments import *

__getattr__ = getattr_of(__name__)
