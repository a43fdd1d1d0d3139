"""`jax.interpreters.batching`: the names; they are made in transform/batching.py."""

from tinyjax.compat.batching import axis_primitive_batchers as axis_primitive_batchers
from tinyjax.core.missing_names import getattr_of
from tinyjax.transform.batching import *

__getattr__ = getattr_of(__name__)
