"""Statements with other names and indices: what passes from kernel to kernel are made of.

After this file you can say what a pass does to a loop's body when it replaces the loop's variable: each index
that is computed from it is computed anew, and simplifies itself by the new ranges. Builds on kernel_ir.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index

WITH_BODIES = (ir.For, ir.While, ir.If, ir.IfLast)


def every_statement(body: Sequence[ir.Statement]) -> Iterator[ir.Statement]:
    """All statements; those inside of another come after it."""
    for statement in body:
        yield statement
        if isinstance(statement, WITH_BODIES):
            for inner in ir.inner_bodies(statement):
                yield from every_statement(inner)


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
    """The statements that `change` puts in place of each, those inside of others first."""
    result = []
    for statement in body:
        if isinstance(statement, WITH_BODIES):
            parts: dict[str, Any] = {
                name: replaced(part, change)
                for name, part in vars(statement).items()
                if isinstance(part, list)
            }
            statement = replace(statement, **parts)
        result += change(statement)
    return result


def rewritten(
    body: Sequence[ir.Statement], change: Callable[[ir.Statement], ir.Statement]
) -> list[ir.Statement]:
    """The statements as `change` makes them, those inside of others first."""
    return replaced(body, lambda statement: [change(statement)])


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
        return replace(thing, name=self.names[thing.name]) if thing.name in self.names else thing

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
