"""`jax.image`: the names; they are made in resizing.py."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.image.resizing import *

__getattr__ = getattr_of(__name__)
