"""The names of jax.experimental.sparse, from the folder sparse: arrays that store only their nonzeros."""

from tinyjax.sparse import *
