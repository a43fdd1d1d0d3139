"""For those who extend tinyjax by their own primitives, rules and interpreters, as jax.extend."""

from tinyjax.extend import core as core
from tinyjax.missing_names import getattr_of

__getattr__ = getattr_of(__name__)
