"""`jax.custom_derivatives`: the names; transform/custom/calls.py is where to begin."""

from tinyjax.transform.custom import *
