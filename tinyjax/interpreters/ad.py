"""`jax.interpreters.ad`: derivative rules for primitives of one's own; compat/ad.py has their names."""

from tinyjax.compat.ad import *
from tinyjax.core.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
