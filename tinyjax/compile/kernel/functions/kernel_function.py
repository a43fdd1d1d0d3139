"""Functions of the kernel language: parameters, statements and a result.

The same statements do for vectors, when each value becomes one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.substitution import every_statement, rewritten, with_parts
from tinyjax.core.dtypes import short_name


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """A function that kernels call by an operation of its name.

    One that is rare stays a call in the machine's code too; others are copied to where they are called."""

    name: str
    parameters: tuple[ir.Value, ...]
    body: ir.Body
    result: ir.Value
    is_rare: bool = False

    def __str__(self) -> str:
        parameters = ", ".join(f"{p}: {short_name(p.dtype)}" for p in self.parameters)
        head = f"function {self.name}({parameters}):"
        lines = [line for statement in self.body for line in ir.statement_lines(statement)]
        return "\n  ".join([head, *lines, f"return {self.result}"])


@functools.cache
def widened(function: KernelFunction, width: int) -> KernelFunction:
    """The function of vectors of `width` elements: the same statements, and each value is a vector but those
    that say whether `any` element of one is true."""
    if width == 1:
        return function
    lets = (s for s in every_statement(function.body) if isinstance(s, ir.Let))
    alone = {let.target.name for let in lets if let.op == "any"}
    wide = changed(function, lambda v: v if v.name in alone else replace(v, width=width))
    return replace(wide, name=f"{function.name}_{width}")


def changed(function: KernelFunction, change: Callable[[Any], Any]) -> KernelFunction:
    """The function with other values and private arrays, each as `change` makes it."""

    def of_part(part: Any) -> Any:
        return change(part) if isinstance(part, ir.Value | ir.PrivateArray) else part

    return replace(
        function,
        parameters=tuple(map(of_part, function.parameters)),
        body=rewritten(function.body, lambda statement: with_parts(statement, of_part)),
        result=of_part(function.result),
    )
