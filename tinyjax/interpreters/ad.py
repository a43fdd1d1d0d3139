"""`jax.interpreters.ad`: derivative rules for primitives of one's own; compat/ad.py has their names."""

from tinyjax.compat.ad import *
