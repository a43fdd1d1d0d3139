"""`jax.custom_derivatives`: the public names. calls.py is where to begin.

Source: https://docs.jax.dev/en/latest/jax.custom_derivatives.html
"""

from tinyjax.transform.custom.calls import SymbolicZero as SymbolicZero
from tinyjax.transform.custom.calls import zero_from_primal as zero_from_primal
from tinyjax.transform.custom.closures import closure_convert as closure_convert
from tinyjax.transform.custom.closures import custom_gradient as custom_gradient
from tinyjax.transform.custom.forward_rules import custom_jvp as custom_jvp
from tinyjax.transform.custom.forward_rules import custom_jvp_call_p as custom_jvp_call_p
from tinyjax.transform.custom.reverse_rules import CustomVJPPrimal as CustomVJPPrimal
from tinyjax.transform.custom.reverse_rules import custom_vjp as custom_vjp
from tinyjax.transform.custom.reverse_rules import (
    custom_vjp_primal_tree_values as custom_vjp_primal_tree_values,
)
from tinyjax.transform.custom.transposes import linear_call as linear_call
from tinyjax.transform.custom.vjp_call import custom_vjp_call_p as custom_vjp_call_p
