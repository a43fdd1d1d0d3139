"""Names in loop nests: which a statement has, which are free, and which nobody reads.

After this file you can give what a pass adds a name of its own, and drop what it made useless. Builds on
substitution.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import fields
from typing import Any

from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import (
    Combine,
    HasOrigin,
    Kernel,
    Let,
    Load,
    Statement,
    Store,
)
from tinyjax.compile.kernel.substitution import every_statement


def names_in(thing: Any) -> set[str]:
    """All names that a statement, or a part of one, has."""
    match thing:
        case Index():
            return {part.args[0] for part in thing.parts() if part.op == "var"}
        case HasOrigin():
            return names_in([getattr(thing, f.name) for f in fields(thing) if f.name != "origin"])
        case list() | tuple():
            return {name for part in thing for name in names_in(part)}
    name = getattr(thing, "name", None)
    return {name} if isinstance(name, str) else set()


def stored_names(body: Sequence[Statement]) -> set[str]:
    """The names of memory that statements store to."""
    return {
        s.destination.name if isinstance(s, Store) else s.array.name
        for s in every_statement(body)
        if isinstance(s, Store | Combine)
    }


class Fresh:
    """Gives names that a kernel does not have."""

    def __init__(self, kernel: Kernel):
        self.taken = names_in(kernel.body) | {buffer.name for buffer in kernel.buffers}

    def __call__(self, name: str) -> str:
        stem, number = name.rstrip("0123456789"), 1
        while f"{stem}{number}" in self.taken:
            number += 1
        self.taken.add(f"{stem}{number}")
        return f"{stem}{number}"


def without_unused(
    body: Sequence[Statement], names: Container[str] | None = None
) -> list[Statement]:
    """The statements of a loop's body without values that none reads; only those of `names`, if given."""
    kept: list[Statement] = []
    read: set[str] = set()
    for statement in reversed(body):
        if isinstance(statement, Let | Load):
            name = statement.target.name
            if name not in read and (names is None or name in names):
                continue
        kept.append(statement)
        read |= names_in(statement)
    return kept[::-1]
