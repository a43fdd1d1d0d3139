"""Special functions in the kernel language: loaded with the first program that calls one.

Each file fills `definitions` of compile/kernel/functions/notation.py.
"""

from tinyjax.lax.lowering.special import (  # noqa: F401
    bessel,
    error_functions,
    incomplete_beta,
    incomplete_gamma,
    normal_distribution,
    zeta,
)
