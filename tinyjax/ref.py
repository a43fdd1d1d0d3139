"""Refs: boxes whose contents change. The names of jax.ref, which refs/ref.py defines."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.refs.ref import *

__getattr__ = getattr_of(__name__)
