"""The names of jax.experimental.sparse.bcoo, from the folder sparse."""

from tinyjax.sparse.bcoo import *
