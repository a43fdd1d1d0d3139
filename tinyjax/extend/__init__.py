"""For those who extend tinyjax by their own primitives, rules and interpreters, as jax.extend."""

from tinyjax.extend import core as core
