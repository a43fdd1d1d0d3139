"""The type of indices in C: int, or long for arrays of more than 2**31 elements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.substitution import rewritten, with_parts


def index_type(kernel: ir.Kernel) -> str:
    """int, unless some index needs more than 31 bits."""
    for statement in kernel.statements:
        parts = [*{**vars(statement), "variable": None}.values(), *getattr(statement, "args", ())]
        if isinstance(statement, ir.For):
            parts.append(statement.stop + (statement.step - 1))
        found = [part for at in parts if isinstance(at, Index) for part in at.parts()]
        if any([max(-part.lo, part.hi) >= 2**31 for part in found]):
            return "long"
    return "int"


def with_long_minima(body: ir.Body) -> ir.Body:
    """The statements with only longs in min and max: C can't choose between a long and an int."""
    return rewritten(body, lambda statement: with_parts(statement, _long_minima))


def _long_minima(part: Any) -> Any:
    if not isinstance(part, Index) or part.op in ("const", "var"):
        return part
    args = [_long_minima(arg) for arg in part.args]
    if part.op in ("min", "max"):
        args = [Index("long", (arg,), arg.lo, arg.hi) for arg in args]
    return replace(part, args=tuple(args))
