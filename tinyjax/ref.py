"""Refs: boxes whose contents change. The names of jax.ref, which core/refs.py defines."""

from tinyjax.core.missing_names import getattr_of
from tinyjax.refs import loops as _loops  # noqa: F401  (fills discharge_rules)
from tinyjax.refs import printing as _printing  # noqa: F401  (fills the printer's table)
from tinyjax.refs import rules as _rules  # noqa: F401  (fills the tables of jvp and vmap)
from tinyjax.refs.ref import *

__getattr__ = getattr_of(__name__)
