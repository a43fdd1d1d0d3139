"""`jax.tree`: the short names of the functions of `tree_util`, where each is explained."""

from tinyjax.core.tree_util.tree import *
