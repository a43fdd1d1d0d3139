"""The type of a Ref, which Flax's NNX looks for."""

from tinyjax.core.ref_types import AbstractRef as AbstractRef
