"""Random numbers without keys to hand on: the names of jax.experimental.random."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.refs.stateful_random import *

__getattr__ = getattr_of(__name__)
