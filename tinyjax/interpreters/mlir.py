"""`jax.interpreters.mlir`: the names; compat/mlir.py says what is there."""

from tinyjax.compat.mlir import *
from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
