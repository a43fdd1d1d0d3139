"""`jax.custom_batching`: the names; they are made in transform/custom/custom_vmap.py."""

from tinyjax.lax.control_flow.map import sequential_vmap as sequential_vmap
from tinyjax.transform.custom.custom_vmap import *
