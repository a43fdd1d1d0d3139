"""Names in loop nests: the names in a statement, fresh names and unused ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.substitution import defined_names, stored_memory
from tinyjax.compile.schedules.directive import axis_of, loops_of


def names_in(thing: Any) -> set[str]:
    """All names in a statement, or in a part of one."""
    found = set[str]()
    _add_names(thing, found)
    return found


def _add_names(thing: Any, found: set[str]) -> None:
    if isinstance(thing, Index):
        found.update(thing.names)
    elif isinstance(thing, ir.HasOrigin):
        for field, part in vars(thing).items():
            if field != "origin":
                _add_names(part, found)
    elif isinstance(thing, list | tuple):
        for part in thing:
            _add_names(part, found)
    elif isinstance(name := getattr(thing, "name", None), str):
        found.add(name)


def stored_names(body: ir.Body) -> set[str]:
    """The names of memory that statements store to."""
    return {memory.name for memory in stored_memory(body)}


class Fresh:
    """Makes names that a kernel does not use yet."""

    def __init__(self, kernel: ir.Kernel):
        self.taken = {*defined_names(kernel.body), *(buffer.name for buffer in kernel.buffers)}
        self.taken |= {axis_of(loop) for loop in loops_of(kernel.body)}

    def __call__(self, name: str) -> str:
        stem, number = name.rstrip("0123456789"), 1
        while f"{stem}{number}" in self.taken:
            number += 1
        self.taken.add(f"{stem}{number}")
        return f"{stem}{number}"


def without_unused(body: ir.Body) -> ir.Body:
    """The statements of a loop's body without unused values."""
    kept: ir.Body = []
    read: set[str] = set()
    for statement in reversed(body):
        if isinstance(statement, ir.Let | ir.Load) and statement.target.name not in read:
            continue
        kept.append(statement)
        read |= names_in(statement)
    return kept[::-1]


def varying_in(loop: ir.Statement) -> set[str]:
    """The names of values that may differ from one iteration of a loop to the next."""
    return {*defined_names([loop]), *map(axis_of, loops_of([loop])), *stored_names([loop])}


def the_same(body: ir.Body, varying: set[str]) -> list[ir.Let | ir.Load]:
    """The statements that compute the same in all iterations of a loop. `varying` names what may differ; the
    names that these statements compute are removed from it."""
    same: list[ir.Let | ir.Load] = []
    for s in body:
        if isinstance(s, ir.Let | ir.Load) and not (names_in(s) - {s.target.name}) & varying:
            same.append(s)
            varying.discard(s.target.name)
    return same


def without(body: ir.Body, others: Sequence[ir.Statement]) -> ir.Body:
    """The statements that are not among the others."""
    return [s for s in body if not any(s is other for other in others)]
