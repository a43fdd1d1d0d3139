"""`jax.interpreters.batching`: the names; they are made in transform/batching.py."""

from tinyjax.transform.batching import *
