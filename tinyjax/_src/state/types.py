"""The type of a Ref, which Flax's NNX looks for."""

from tinyjax.refs.types import AbstractRef as AbstractRef
