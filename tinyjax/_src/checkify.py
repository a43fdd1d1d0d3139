"""jax.experimental.checkify, where Flax's NNX looks for it."""

from tinyjax.experimental.checkify import *
