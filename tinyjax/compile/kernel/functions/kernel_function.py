"""Functions of the kernel language: parameters, statements and a result.

After this file you can print one (exp, say), and say how the same statements do for sixteen numbers at once:
each value becomes a vector. Builds on kernel_ir.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tinyjax.compile.kernel.kernel_ir import (
    Let,
    Load,
    PrivateArray,
    Statement,
    Value,
    inner_bodies,
    rewritten,
    statement_lines,
)
from tinyjax.core.dtypes import short_name


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """A function that kernels call by an operation of its name."""

    name: str
    parameters: tuple[Value, ...]
    body: list[Statement]
    result: Value

    def __str__(self) -> str:
        parameters = ", ".join(f"{p}: {short_name(p.dtype)}" for p in self.parameters)
        lines = [line for statement in self.body for line in statement_lines(statement)]
        return "\n  ".join(
            [f"function {self.name}({parameters}):", *lines, f"return {self.result}"]
        )


@functools.cache
def widened(function: KernelFunction, width: int) -> KernelFunction:
    """The function of vectors of `width` elements: the same statements, and each value is a vector but those
    that say whether `any` element of one is true."""
    if width == 1:
        return function
    alone = {s.target.name for s in function.body if isinstance(s, Let) and s.op == "any"}
    wide = changed(function, lambda v: v if v.name in alone else replace(v, width=width))
    return replace(wide, name=f"{function.name}_{width}")


def changed(function: KernelFunction, change: Callable[[Any], Any]) -> KernelFunction:
    """The function with other values and private arrays, each as `change` makes it."""

    def of_part(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(of_part, part))
        return change(part) if isinstance(part, (Value, PrivateArray)) else part

    def of_statement(statement: Statement) -> Statement:
        return replace(statement, **{n: of_part(part) for n, part in vars(statement).items()})

    body = rewritten(function.body, of_statement)
    return KernelFunction(
        function.name, of_part(function.parameters), body, of_part(function.result)
    )


def made(body: Sequence[Statement]) -> Iterator[str]:
    """The names of the values that the statements make, in order."""
    for statement in body:
        if isinstance(statement, (Let, Load)):
            yield statement.target.name
        for inner in inner_bodies(statement):
            yield from made(inner)
