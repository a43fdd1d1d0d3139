"""`ensure_compile_time_eval`: operations on known values are computed during tracing.

Within the block, an operation whose operands are no tracers is evaluated, not written into the jaxpr.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.bind import EvalTrace, Primitive, Trace, Tracer, context, set_current_trace


class CompileTimeTrace(Trace):
    """Evaluates operations on known values; all others go to the enclosing trace."""

    def __init__(self, parent: Trace):
        self.parent = parent

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        if primitive.takes_functions or any(isinstance(x, Tracer) for x in args):
            with set_current_trace(self.parent):
                return primitive.bind(*args, **params)
        return EvalTrace().process_primitive(primitive, args, params)


def ensure_compile_time_eval() -> set_current_trace:
    """`with jax.ensure_compile_time_eval():` within the block, operations on known values give Arrays, in
    a function that is traced too."""
    return set_current_trace(CompileTimeTrace(context.trace))


def eval_context() -> set_current_trace:
    """`with jax.core.eval_context():` within the block, no transformation is active."""
    return set_current_trace(EvalTrace())


def trace_state_clean() -> bool:
    """Whether no transformation is active, and no named axis is bound."""
    return isinstance(context.trace, EvalTrace) and not context.axis_env
