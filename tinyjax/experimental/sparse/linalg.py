"""The names of jax.experimental.sparse.linalg, from the folder sparse."""

from tinyjax.sparse.linalg import *
