"""`jax.errors`: the names; they are made in core/errors.py."""

from tinyjax.core.errors import *
