"""The named errors of tracing: which value Python needed, why a tracer has none, and what to do about it.

The `origin` of a tracer is the reason: jit and loops trace functions without values, vmap computes many
values at once, and derivatives carry a tangent along. The advice depends on it: static_argnames, for example,
helps only under jit, and only for arguments that are numbers.

Source: https://docs.jax.dev/en/latest/errors.html
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Origin(NamedTuple):
    """Why Python cannot have the value of a tracer.

    `kind` is "traced", "batched" or "differentiated", and `reason` a sentence. `static` is advice on how to
    make static the arguments that the value depends on; "" if they can't be."""

    kind: str
    reason: str
    static: str = ""


TAKE_FROM_SHAPES = "Shapes, axes and sizes must be known: x.shape and values of NumPy are."
ONE_FOR_ALL = "It must be the same for all examples: in_axes=None does not map an argument."


class JAXTypeError(TypeError):
    """Base of the type errors that tracing raises."""


class JAXIndexError(IndexError):
    """Base of the index errors that tracing raises."""


class ConcretizationTypeError(JAXTypeError):
    """A tracer was used where a concrete value is needed."""

    def __init__(self, tracer: Any, use: str, advice: str = "", or_static: bool = True):
        in_general = {"traced": TAKE_FROM_SHAPES, "batched": ONE_FOR_ALL}
        super().__init__(
            f"Abstract tracer value encountered where a concrete value is expected: {tracer} "
            f"({use.rstrip('.')}).{why(tracer, advice or in_general, or_static=or_static)}"
        )


class TracerArrayConversionError(JAXTypeError):
    """A tracer was given to NumPy, which needs its elements."""

    def __init__(self, tracer: Any):
        same_name = "Use the jax.numpy function of the same name, such as jnp.sin for np.sin"
        advice = {
            "differentiated": f"{same_name}. NumPy may have jax.lax.stop_gradient(x), a constant."
        }
        other = f"{same_name}. Where there is none, jax.pure_callback calls NumPy."
        super().__init__(
            "The numpy.ndarray conversion method __array__() was called on traced array with shape "
            f"{tracer.aval.str_short()}: NumPy functions need its elements.{why(tracer, advice, other)}"
        )


class TracerIntegerConversionError(JAXTypeError):
    """A tracer was used as a Python integer, such as a list index or a shape."""

    def __init__(self, tracer: Any):
        super().__init__(
            f"The __index__() method was called on {tracer}: a Python integer is needed, as an index of a "
            "list, a shape or the end of a range."
            + why(
                tracer,
                "An array accepts a traced index, a list doesn't: jnp.array(values)[i]. "
                "lax.fori_loop(0, n, body, init) accepts a traced bound.",
            )
        )


class TracerBoolConversionError(ConcretizationTypeError):
    """A tracer was used as a Python bool, as `if` and `while` do."""

    def __init__(self, tracer: Any):
        JAXTypeError.__init__(
            self,
            f"Attempted boolean conversion of {tracer}: if, while, assert, and, or, not need its value."
            + why(
                tracer,
                "Choose between values by jnp.where(condition, a, b), between computations by lax.cond, "
                "repeat by lax.while_loop, and write & | ~ for and, or, not.",
            ),
        )


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after its transformation had ended: it leaked, usually by a side effect."""


def ambiguous_truth_error(aval: Any) -> ValueError:
    """The error for an array that is used as a bool and has no elements, or several."""
    kind, use = "an array with more than one element", "x.any() or x.all()"
    if aval.size == 0:
        kind, use = "an empty array", "x.size > 0"
    return ValueError(f"The truth value of {kind} is ambiguous: shape {aval.shape}. Use {use}")


def why(tracer: Any, advice: str | dict[str, str], other: str = "", or_static: bool = True) -> str:
    """Why the tracer has no value, and what to do: `advice` for all cases, or by the kind of origin, or
    with `or_static` to make the arguments static that it depends on."""
    origin = tracer.origin() if hasattr(tracer, "origin") else Origin("", "")
    if not isinstance(advice, str):
        advice = advice.get(origin.kind, other)
    if origin.static and or_static:
        advice = f"{advice} {origin.static}"
    return "".join(f"\n{line}" for line in (origin.reason, advice) if line)


_NAMED = [ConcretizationTypeError, TracerArrayConversionError, TracerIntegerConversionError]
_NAMED += [TracerBoolConversionError, UnexpectedTracerError]
for _class in _NAMED:
    _class.__module__ = "tinyjax.errors"  # where users import them, as tracebacks say


# What JAX calls the rules of a table.
_RULES = {
    "impl": "Evaluation rule",
    "abstract_eval": "Abstract evaluation",
    "jvp": "Differentiation rule",
    "transpose": "Transpose rule (for reverse-mode differentiation)",
    "batch": "Batching rule",
}


def missing_rule_error(name: str, table: str, why: str | None) -> NotImplementedError:
    """The error for a primitive without a rule in a table: the reason, or how to write the rule."""
    how = (
        f"write one and put it into {table}_rules; CONTRIBUTING.md, 'Adding a primitive', shows how"
    )
    rule = _RULES.get(table, f"{table} rule")
    return NotImplementedError(f"{rule} for '{name}' not implemented: {why or how}")


def escaped_tracer_error(tracer: Any) -> UnexpectedTracerError:
    """The error for a tracer met outside of the transformation that made it."""
    made = made_at(tracer)
    return UnexpectedTracerError(
        f"Encountered an unexpected tracer: {tracer} leaked: it was used after its transformation had "
        f"ended.{made and ' ' + made}\n"
        "A function that is transformed must return its results: don't store them in globals, "
        "attributes or outer lists. A custom derivative rule must not close over a value that is "
        "differentiated: make it an argument. https://docs.jax.dev/en/latest/errors.html#jax.errors.UnexpectedTracerError"
    )


def made_at(tracer: Any) -> str:
    """A sentence on the line that made a tracer, and what was traced; "" if neither is known."""
    info = getattr(tracer._trace, "debug_info", None) if hasattr(tracer, "_trace") else None
    traced = info and f", while {info.traced_for} traced {info.function}"
    return f"It was made at {tracer.line}{traced or ''}." if tracer.line else ""
