"""`jax.flatten_util`: the name; it is made in numpy/ravel_pytree.py."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy.ravel_pytree import *

__getattr__ = getattr_of(__name__)
