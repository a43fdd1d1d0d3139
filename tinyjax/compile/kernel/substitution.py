"""Statements with other names and indices: what passes from kernel to kernel are made of.

After this file you can say what a pass does to a loop's body when it replaces the loop's variable: each index
that is computed from it is computed anew, and simplifies itself by the new ranges. Builds on kernel_ir.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index


def every_statement(body: Sequence[ir.Statement]) -> list[ir.Statement]:
    """All statements; those inside of another come after it."""
    found = []
    for statement in body:
        found.append(statement)
        if type(statement) in ir.BODIES:
            for inner in ir.inner_bodies(statement):
                found += every_statement(inner)
    return found


def defined_names(body: Sequence[ir.Statement]) -> Iterator[str]:
    """The names that statements give to values and private arrays."""
    for statement in every_statement(body):
        match statement:
            case ir.Let(target) | ir.Load(target):
                yield target.name
            case ir.Allocate(array):
                yield array.name


def replaced(
    body: Sequence[ir.Statement], change: Callable[[ir.Statement], list[ir.Statement]]
) -> list[ir.Statement]:
    """The statements that `change` puts in place of each, those inside of others first. Of statements around
    others, only those are copied in which something changes."""
    result: list[ir.Statement] = []
    for statement in body:
        for name in ir.BODIES.get(type(statement), ()):
            before = getattr(statement, name)
            part: Any = replaced(before, change)
            if len(part) != len(before) or not all(map(operator.is_, part, before)):
                statement = replace(statement, **{name: part})
        result += change(statement)
    return result


def rewritten(
    body: Sequence[ir.Statement], change: Callable[[ir.Statement], ir.Statement]
) -> list[ir.Statement]:
    """The statements as `change` makes them, those inside of others first."""
    return replaced(body, lambda statement: [change(statement)])


def relocated(
    body: list[ir.Statement], change: Callable[[Any, Index], tuple[Any, Index] | None]
) -> list[ir.Statement]:
    """The statements with other memory: change(memory, index) says what takes the place of an element, if
    anything does."""

    def changed(s: ir.Statement) -> ir.Statement:
        match s:
            case ir.Load(_, memory, at) if found := change(memory, at):
                return replace(s, source=found[0], index=found[1])
            case ir.Store(memory, at) if found := change(memory, at):
                return replace(s, destination=found[0], index=found[1])
            case ir.Combine(memory, at) if found := change(memory, at):
                return replace(s, array=found[0], index=found[1])
        return s

    return rewritten(body, changed)


def substituted(
    body: Sequence[ir.Statement],
    places: Mapping[str, Index],
    names: Mapping[str, str] | None = None,
) -> list[ir.Statement]:
    """Copies of the statements, with the indices `places` in place of variables of these names, and with new
    `names` of values, private arrays and loops' variables."""
    return _Substitution(places, names or {}).body(body)


@dataclass(frozen=True)
class _Substitution:
    places: Mapping[str, Index]
    names: Mapping[str, str]

    def body(self, body: Sequence[ir.Statement]) -> list[ir.Statement]:
        return [self.statement(statement) for statement in body]

    def statement(self, statement: ir.Statement) -> ir.Statement:
        origin = statement.origin
        match statement:
            case ir.Let(target, op, args):
                return ir.Let(self.named(target), op, tuple(map(self.atom, args)), origin=origin)
            case ir.Load(target, source, at, end):
                memory, at, end = self.named(source), self.index(at), self.end(end)
                return ir.Load(self.named(target), memory, at, end, origin=origin)
            case ir.Store(destination, at, value, end):
                memory, at, end = self.named(destination), self.index(at), self.end(end)
                return ir.Store(memory, at, self.atom(value), end, origin=origin)
            case ir.Allocate(array):
                return replace(statement, array=self.named(array))
            case ir.Combine(array, at, op, value):
                memory, at = self.named(array), self.index(at)
                return ir.Combine(memory, at, op, self.atom(value), origin=origin)
            case ir.For(variable, start, stop, body, step):
                variable, start, stop = (self.index(at) for at in (variable, start, stop))
                return ir.For(variable, start, stop, self.body(body), step, origin=origin)
            case ir.While(head, holds, body):
                return ir.While(self.body(head), self.atom(holds), self.body(body), origin=origin)
            case ir.If(condition, body, otherwise):
                body, otherwise = self.body(body), self.body(otherwise)
                return ir.If(self.atom(condition), body, otherwise, origin=origin)
            case ir.Barrier():
                return statement
        return replace(statement, body=self.body(statement.body))

    def named(self, thing: Any) -> Any:
        """A value, a private array or a buffer."""
        name = self.names.get(thing.name)
        return thing if name is None else replace(thing, name=name)

    def atom(self, atom: Any) -> Any:
        if isinstance(atom, Index):
            return self.index(atom)
        return self.named(atom) if isinstance(atom, ir.Value) else atom

    def end(self, at: Index | None) -> Index | None:
        return None if at is None else self.index(at)

    def index(self, at: Index) -> Index:
        return at.with_variables(self._variable)

    def _variable(self, variable: Index) -> Index:
        name = variable.args[0]
        if name in self.places:
            return self.places[name]
        return replace(variable, args=(self.names[name],)) if name in self.names else variable
