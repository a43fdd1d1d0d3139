"""`jax.interpreters.batching`: the names; they are made in transform/batching.py."""

from tinyjax.compat.batching import axis_primitive_batchers as axis_primitive_batchers
from tinyjax.transform.batching import *
