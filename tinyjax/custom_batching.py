"""`jax.custom_batching`: the names; they are made in transform/custom/custom_vmap.py."""

from tinyjax.transform.custom.custom_vmap import *
