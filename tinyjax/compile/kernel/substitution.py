"""Statements with other names and indices: the tools for passes from kernel to kernel.

Each index that is computed from a replaced variable is recomputed, and simplifies by the new ranges.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import every_statement


def every_body(body: ir.Body) -> list[ir.Body]:
    """The statements, and those inside of each that has any."""
    return [body, *(inner for s in every_statement(body) for inner in ir.inner_bodies(s))]


def defined_names(body: ir.Body) -> Iterator[str]:
    """The names that statements give to values and private arrays."""
    for statement in every_statement(body):
        match statement:
            case ir.Let(target) | ir.Load(target):
                yield target.name
            case ir.Allocate(array):
                yield array.name


def stored_memory(body: ir.Body) -> list[ir.Buffer | ir.PrivateArray]:
    """The memory that statements store to, or combine into: once for each that does."""
    return [s.memory for s in every_statement(body) if isinstance(s, ir.Store | ir.Combine)]


def loaded_memory(body: ir.Body) -> set[ir.Buffer | ir.PrivateArray]:
    """The memory that statements load from."""
    return {s.memory for s in every_statement(body) if isinstance(s, ir.Load)}


def allocated(body: ir.Body) -> set[ir.PrivateArray]:
    """The private arrays that statements allocate."""
    return {s.array for s in every_statement(body) if isinstance(s, ir.Allocate)}


def replaced(body: ir.Body, change: Callable[[ir.Statement], ir.Body]) -> ir.Body:
    """The statements that `change` puts in place of each, those inside of others first. Of statements around
    others, only those are copied in which something changes."""
    result: ir.Body = []
    for statement in body:
        for name in ir.BODIES.get(type(statement), ()):
            before = getattr(statement, name)
            part: Any = replaced(before, change)
            if len(part) != len(before) or not all(map(operator.is_, part, before)):
                statement = replace(statement, **{name: part})
        result += change(statement)
    return result


def rewritten(body: ir.Body, change: Callable[[ir.Statement], ir.Statement]) -> ir.Body:
    """The statements as `change` makes them, those inside of others first."""
    return replaced(body, lambda statement: [change(statement)])


PARTS = (ir.Value, ir.Const, Index, ir.Buffer, ir.PrivateArray)


def with_parts(statement: ir.Statement, change: Callable[[Any], Any]) -> ir.Statement:
    """A copy with values, numbers, memory and indices as `change` makes them; inner statements stay. Each
    place in a kernel has a statement of its own: passes tell equal ones apart by identity."""
    new = object.__new__(type(statement))  # __init__ would take three times as long
    vars(new).update(vars(statement))
    for name, part in vars(statement).items():
        if isinstance(part, PARTS):
            vars(new)[name] = change(part)
        elif name == "args":
            vars(new)[name] = tuple(map(change, part))
    return new


def relocated(body: ir.Body, change: Callable[[Any, Index], tuple[Any, Index] | None]) -> ir.Body:
    """The statements with the memory and index that change(memory, index) returns, or None to keep it."""

    def changed(s: ir.Statement) -> ir.Statement:
        if not isinstance(s, ir.Access) or (found := change(s.memory, s.index)) is None:
            return s
        return replace(s, memory=found[0], index=found[1])

    return rewritten(body, changed)


def substituted(
    body: ir.Body, places: Mapping[str, Index], names: Mapping[str, str] | None = None
) -> ir.Body:
    """Copies of the statements, with the indices `places` in place of variables of these names, and with new
    `names` of values, private arrays and loops' variables."""
    new = names or {}

    def variable(v: Index) -> Index:
        name = v.args[0]
        if name in places:
            return places[name]
        return replace(v, args=(new[name],)) if name in new else v

    def part(thing: Any) -> Any:
        if isinstance(thing, Index):
            return thing.with_variables(variable)
        name: Any = getattr(thing, "name", None)
        return replace(thing, name=new[name]) if name in new else thing

    return rewritten(body, lambda statement: with_parts(statement, part))
