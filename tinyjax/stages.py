"""`jax.stages`: the names; they are made in transform/jit/stages.py."""

from tinyjax.transform.jit.stages import *
