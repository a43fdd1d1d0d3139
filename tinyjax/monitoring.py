"""`jax.monitoring`: the names; they are made in studio/listeners.py."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.studio.listeners import *

__getattr__ = getattr_of(__name__)
