"""The names of jax.experimental.sparse.bcsr, from the folder sparse."""

from tinyjax.sparse.bcsr import *
