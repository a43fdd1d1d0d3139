"""`jax.dtypes`: the names; they are made in core/dtypes.py."""

from tinyjax.core.dtypes import *
