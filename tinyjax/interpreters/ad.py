"""`jax.interpreters.ad`: derivative rules for custom primitives, from compat/ad.py."""

from tinyjax.compat.ad import *
from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
