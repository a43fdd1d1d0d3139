"""Where programs differ from JAX for a reason that is known: a pattern of the difference, which the program
follows, and the reason."""

from __future__ import annotations

import re

KNOWN = [
    (
        r"(?s)^JAX: at point \d: weak type True, expected False.*(grad|vjp|jacrev|hessian|transpose)\(",
        "JAX gives a traced sum of cotangents the weak type of the first; here both must be weak",
    ),
    (
        r"(?s)^(jit|JAX)\b.*at point \d: weak type False, expected True.*vjp\(jax\.checkpoint\(.*\]\((0|1)\.",
        "jit, JAX's too, traces the backward pass of checkpoint with the result's type, no weak one",
    ),
    (
        r"^ValueError: scan got value with no leading axis .*\nJAX: IndexError: tuple index out of range",
        "JAX asks a scalar for its first axis before it can complain that there is none",
    ),
    (
        r"^ValueError: axis .* is out of bounds .*\nJAX: IndexError: (tuple )?index .*out of ",
        "JAX's argmin, argmax and swapaxes use the axis before they check it, as other functions do",
    ),
    (
        r"^ValueError: axis .* is out of bounds .*\nJAX: (AttributeError: 'int'|TypeError: rev dim)",
        "JAX's associative_scan uses the axis, in reverse, or a Python number before it checks the axis",
    ),
    (
        r"^JAX: TypeError: a bytes-like object is required, not 'int'",
        "JAX's jacfwd fails for a function that returns bools",
    ),
    (
        r"^TypeError: can't apply forward-mode .*\nJAX: NotImplementedError: .*'custom_lin' not implemented",
        "the gradient of a jvp of a custom_vjp function: JAX names a primitive that users don't know",
    ),
    (
        r"^TypeError: can't apply forward-mode .*\nJAX: ValueError: Linearization failed to produce known",
        "the same, in a loop: JAX says what its partial evaluation lacks",
    ),
    (
        r"^JAX: TypeError: can't apply forward-mode autodiff",
        "JAX runs a jvp of a custom_vjp function in a loop that needs nothing of it; here it is dead code",
    ),
    (
        r"^TypeError: cannot reshape array .*\(size 0\).*\nJAX: ZeroDivisionError",
        "JAX divides by the size of an empty array before it can complain",
    ),
    (
        r"^NotImplementedError: the function is not linear: .*\nJAX: AssertionError",
        "JAX's transpose rules assert what they take, without words",
    ),
    (
        r"(?s)^jit[^\n]*at point \d: (nan at|[^\n]*expected nan).*linalg\.(lu|solve|inv|det|slogdet|qr)\b",
        "which of several NaN is a pivot depends on the lanes of LAPACK's vectors, and its reflections skip "
        "zeros at their end; else NaN spreads in kernels as in LAPACK",
    ),
]


def reason_for(difference: str) -> str | None:
    """Why this is no mistake, or None."""
    return next((reason for pattern, reason in KNOWN if re.search(pattern, difference)), None)
