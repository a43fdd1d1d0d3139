"""The errors that are raised while a compiled program runs.

Source: https://docs.jax.dev/en/latest/errors.html
"""

from __future__ import annotations


class JaxRuntimeError(RuntimeError):
    """Something failed while a compiled program ran, such as a Python callback in it; or the program is
    too large to be compiled."""


JaxRuntimeError.__module__ = "tinyjax.errors"  # where users import it, as tracebacks say


def callback_error(name: str, error: Exception) -> JaxRuntimeError:
    """The error to raise when the Python function of primitive `name` raised."""
    if isinstance(error, JaxRuntimeError):
        return error
    return JaxRuntimeError(
        f"INTERNAL: {name} error calling callback: {type(error).__name__}: {error}. The traceback above "
        "is that of the callback"
    )
