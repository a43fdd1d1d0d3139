"""`jax.dlpack`: the names; they are made in numpy/dlpack.py."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy.dlpack import *

__getattr__ = getattr_of(__name__)
