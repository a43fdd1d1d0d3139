"""`jax.interpreters.mlir`: the names of compat/mlir.py."""

from tinyjax.compat.mlir import *
from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
