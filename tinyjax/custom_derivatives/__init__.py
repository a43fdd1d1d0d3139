"""`jax.custom_derivatives`: the public names. calls.py is where to begin.

Source: https://docs.jax.dev/en/latest/jax.custom_derivatives.html
"""

from tinyjax.custom_derivatives.calls import SymbolicZero as SymbolicZero
from tinyjax.custom_derivatives.calls import zero_from_primal as zero_from_primal
from tinyjax.custom_derivatives.forward_rules import custom_jvp as custom_jvp
from tinyjax.custom_derivatives.forward_rules import custom_jvp_call_p as custom_jvp_call_p
