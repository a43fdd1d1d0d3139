"""The named errors of tracing: each says what was asked of a tracer and what to do instead.

After this file you know the six mistakes that every newcomer to tracing makes. Builds on nothing.
Source: https://docs.jax.dev/en/latest/errors.html
"""

from __future__ import annotations

from typing import Any


class JAXTypeError(TypeError):
    """Base of the type errors that tracing raises."""


class JAXIndexError(IndexError):
    """Base of the index errors that tracing raises."""


class ConcretizationTypeError(JAXTypeError):
    """A tracer was used where a concrete value is needed: its value is not known while tracing."""

    def __init__(self, tracer: Any, use: str):
        super().__init__(
            f"Abstract tracer value encountered where a concrete value is expected: {tracer} "
            f"({use.rstrip('.')}). Its value is not known while tracing: make the argument static (jit's "
            f"static_argnums).{_origin(tracer)}"
        )


class TracerArrayConversionError(JAXTypeError):
    """A tracer was given to NumPy, which needs its elements."""

    def __init__(self, tracer: Any):
        super().__init__(
            f"The numpy.ndarray conversion method __array__() was called on {tracer}. NumPy functions "
            f"need values: use the jax.numpy function of the same name.{_origin(tracer)}"
        )


class TracerIntegerConversionError(JAXTypeError):
    """A tracer was used as a Python integer, such as a list index or a shape."""

    def __init__(self, tracer: Any):
        super().__init__(
            f"The __index__() method was called on {tracer}. Shapes and Python indices must be known "
            "while tracing: pass this argument as static (jit's static_argnums or static_argnames), "
            f"or index a jax.numpy array instead of a list.{_origin(tracer)}"
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """A tracer was used as a Python bool, as `if` and `while` do."""

    def __init__(self, tracer: Any):
        JAXTypeError.__init__(
            self,
            f"Attempted boolean conversion of {tracer}. Python's if, while, and, or need a value: use "
            "jnp.where, jnp.logical_and/or, lax.cond or lax.while_loop, or make it static "
            f"(jit's static_argnums).{_origin(tracer)}",
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """A boolean mask whose values are not known was used as an index: the result has no shape."""

    def __init__(self, tracer: Any):
        super().__init__(
            f"Array boolean indices must be concrete; got {tracer}. How many elements are chosen is not "
            "known while tracing: use jnp.where(mask, x, fill), or x.at[...] with where inside."
            f"{_origin(tracer)}"
        )


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after its transformation had ended: it leaked, usually by a side effect."""


class KeyReuseError(JAXTypeError):
    """A random key was used twice while jax_debug_key_reuse is set (core/key_reuse.py)."""


class JaxRuntimeError(RuntimeError):
    """Something failed while a compiled program ran, such as a Python callback in it; or the program is
    too large to be compiled."""


# What JAX calls the rules of a table.
_RULES = {
    "impl": "Evaluation rule",
    "abstract_eval": "Abstract evaluation",
    "jvp": "Differentiation rule",
    "transpose": "Transpose rule (for reverse-mode differentiation)",
    "batch": "Batching rule",
}


def missing_rule_error(name: str, table: str, why: str | None) -> NotImplementedError:
    """That a primitive has no rule in a table, with the reason, or with how to write one."""
    how = (
        f"write one and put it into {table}_rules; CONTRIBUTING.md, 'Adding a primitive', shows how"
    )
    rule = _RULES.get(table, f"{table} rule")
    return NotImplementedError(f"{rule} for '{name}' not implemented: {why or how}")


def callback_error(name: str, error: Exception) -> JaxRuntimeError:
    """The error for what the Python function of primitive `name` raised, which is to be its cause."""
    if isinstance(error, JaxRuntimeError):
        return error
    return JaxRuntimeError(
        f"INTERNAL: {name} error calling callback: {type(error).__name__}: {error}. The traceback above "
        "is that of the callback"
    )


def escaped_tracer_error(tracer: Any) -> UnexpectedTracerError:
    """The error for a tracer met outside of the transformation that made it."""
    origin = f" It was made at {tracer.line}." if tracer.line else ""
    return UnexpectedTracerError(
        f"Encountered an unexpected tracer: {tracer} leaked: it was used after its transformation had "
        f"ended.{origin} "
        "A function that is transformed must return its results: don't store them in globals, "
        "attributes or outer lists. Nor may a derivative rule of your own close over a value that is "
        "differentiated: make it an argument. https://docs.jax.dev/en/latest/errors.html#jax.errors.UnexpectedTracerError"
    )


def _origin(tracer: Any) -> str:
    line = getattr(tracer, "line", None)  # an array, such as a Ref's mask, has none
    return f" The tracer was made at {line}." if line else ""
