"""`jax.api_util`: the names; they are made in core/api_util.py."""

from tinyjax.core.api_util import *
