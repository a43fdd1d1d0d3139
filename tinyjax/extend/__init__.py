"""For those who extend tinyjax by their own primitives, rules and interpreters, as jax.extend."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.extend import core as core

__getattr__ = getattr_of(__name__)
