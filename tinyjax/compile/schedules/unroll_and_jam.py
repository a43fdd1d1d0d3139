"""Unroll and jam: several iterations of a loop in one, so that while one waits for its sum, others go on.

After this file you can read a kernel in which several vectors go through a loop together. In a
short loop each line needs the result of the line before, and a core that could issue two in each cycle
waits for three or four. Iterations that do not depend on each other are unrolled, their lines
written in turn, and the loops within them are jammed into one loop. Builds on kernel_ir.

    for i1 in 0 .. 8:                for i2 in 0 .. 4:
      a:f32 x16 = ...                  a:f32 x16 = ...
      for i3 in 0 .. 10:               a_x1:f32 x16 = ...
        ...                            for i3 in 0 .. 10:
                                         ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from tinyjax.compile.kernel.indices import Index, index_var
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    For,
    HasOrigin,
    Let,
    Load,
    PrivateArray,
    Statement,
    Value,
    inner_bodies,
)

SHORT = 24  # statements of an iteration


def unroll_and_jam(loop: For, count: int, name: str) -> list[Statement]:
    """`loop`, `count` iterations at a time, and then those that are left. They do not depend on each
    other, and it starts at a multiple of `count`; `name` is that of the new loop's variable."""
    iterations = loop.variable.hi + 1
    groups = index_var(name, 0, iterations // count - 1)
    own = set(_defined(loop.body))
    copies = []
    for number in range(count):
        renamed = {n: f"{n}_x{number}" for n in own} if number else {}
        copies.append(_copy(loop.body, renamed, {loop.variable: groups * count + number}))
    jammed = For(groups, loop.start // count, loop.stop // count, _jammed(copies))
    if iterations % count == 0:
        return [jammed]
    return [jammed, replace(loop, start=loop.stop // count * count)]


def is_short(body: Sequence[Statement]) -> bool:
    """Whether a loop with this body is better off jammed: its iterations are few lines, and all that they
    keep may be in registers."""
    made = [s.array.size for s in _all(body) if isinstance(s, Allocate)]
    return len(list(_all(body))) <= SHORT and max(made, default=1) == 1


def _all(body: Sequence[Statement]) -> Iterator[Statement]:
    for statement in body:
        yield statement
        for inner in inner_bodies(statement):
            yield from _all(inner)


def _jammed(bodies: Sequence[list[Statement]]) -> list[Statement]:
    """The statements of all bodies in turn, and their loops as one."""
    result: list[Statement] = []
    for statements in zip(*bodies, strict=True):
        first, *others = statements
        if isinstance(first, For) and all(
            (first.start, first.stop) == (other.start, other.stop) for other in others
        ):
            result.append(replace(first, body=_jammed([s.body for s in statements])))
        else:
            result += statements
    return result


def _defined(body: Sequence[Statement]) -> Iterator[str]:
    """The names that statements give; loops within keep the names of their variables."""
    for statement in _all(body):
        match statement:
            case Let(target) | Load(target):
                yield target.name
            case Allocate(array):
                yield array.name


def _copy(thing: Any, names: Mapping[str, str], places: Mapping[Index, Index]) -> Any:
    """A statement or a part of one, with other names and other indices."""
    match thing:
        case Value() | PrivateArray():
            return replace(thing, name=names.get(thing.name, thing.name))
        case Index(op="const"):
            return thing
        case Index(op="var", args=(name,)):
            return places.get(thing) or replace(thing, args=(names.get(name, name),))
        case Index(args=args):
            return replace(thing, args=tuple(_copy(arg, names, places) for arg in args))
        case HasOrigin():
            parts = {f.name: getattr(thing, f.name) for f in fields(thing) if f.name != "origin"}
            return replace(thing, **{n: _copy(part, names, places) for n, part in parts.items()})
        case list() | tuple():
            return type(thing)(_copy(part, names, places) for part in thing)
    return thing
