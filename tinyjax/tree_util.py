"""`jax.tree_util`: the names; core/tree_util/pytrees.py is where to begin."""

from tinyjax.core.tree_util import *
