"""`jax.test_util`: the name; it is made in transform/check_grads.py."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.transform.check_grads import *

__getattr__ = getattr_of(__name__)
