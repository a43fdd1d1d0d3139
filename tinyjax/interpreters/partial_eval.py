"""`jax.interpreters.partial_eval`: the names; they are made in transform/partial_eval.py."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.transform.partial_eval import *

__getattr__ = getattr_of(__name__)
