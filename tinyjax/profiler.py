"""`jax.profiler`: the names; they are made in studio/profiler.py."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.studio.profiler import *

__getattr__ = getattr_of(__name__)
