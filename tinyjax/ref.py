"""Refs: boxes whose contents change. The names of jax.ref, which core/refs.py defines."""

from tinyjax.core import ref_printing as _printing  # noqa: F401  (fills the printer's table)
from tinyjax.core.missing_names import getattr_of
from tinyjax.core.refs import *
from tinyjax.lax.control_flow import refs_in_loops as _loops  # noqa: F401  (fills discharge_rules)
from tinyjax.transform import ref_rules as _rules  # noqa: F401  (fills the tables of jvp and vmap)

__getattr__ = getattr_of(__name__)
