"""How the work-items of a group share loops, and with them memory.

A work-group splits the innermost loops whose iterations do not depend on each other. An array that is stored
in a shared loop is shared too, unless each work-item keeps to one element, which then is a variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.substitution import allocated, every_statement, stored_memory
from tinyjax.compile.schedules.dependences import iterations, numbers, why_dependent
from tinyjax.compile.schedules.directive import axis_of, loops_of


def is_shared(loop: ir.For) -> bool:
    """Whether it is an innermost loop without dependences. One with steps is a work-item's own."""
    if loop.step > 1 or any(map(is_shared, loops_of(loop.body))):
        return False
    return not why_dependent(loop) and not _sets_variables(loop)


def _sets_variables(loop: ir.For) -> bool:
    """Whether it stores to variables that are made before it, be it in a single iteration."""
    outside = set(stored_memory(loop.body)) - allocated(loop.body)
    return any(isinstance(memory, ir.PrivateArray) and memory.size == 1 for memory in outside)


def shared_nest(loop: ir.Statement, size: int) -> tuple[ir.For, ...]:
    """The loops that a group of `size` work-items shares out when it comes to this one: the loop itself; or,
    if the one inside it has too few iterations for all, both."""
    if not isinstance(loop, ir.For) or is_shared(loop):
        return (loop,) if isinstance(loop, ir.For) else ()
    match loop.body:
        case [ir.For() as inner] if is_shared(inner) and iterations(inner) < size:
            return (loop, inner) if loop.step == 1 and not why_dependent(loop) else ()
    return ()


@dataclass(frozen=True)
class Access:
    """Of memory, by a statement; in a shared loop, or by all work-items in the same way."""

    memory: ir.Buffer | ir.PrivateArray
    at: Index
    is_store: bool
    shared: tuple[ir.For, ...]


def accesses_of(
    body: Sequence[ir.Statement], size: int, shared: tuple[ir.For, ...] = ()
) -> Iterator[Access]:
    for s in body:
        if not shared and (nest := shared_nest(s, size)):
            yield from accesses_of(nest[-1].body, size, nest)
            continue
        match s:
            case ir.Load(_, memory, at):
                yield Access(memory, at, False, shared)
            case ir.Store(memory, at) | ir.Combine(memory, at):
                yield Access(memory, at, True, shared)
        for inner in ir.inner_bodies(s):
            yield from accesses_of(inner, size, shared)


def by_all(body: Sequence[ir.Statement], size: int) -> Iterator[ir.Statement]:
    """What is not shared out."""
    for s in body:
        if not shared_nest(s, size):
            yield s
            for inner in ir.inner_bodies(s):
                yield from by_all(inner, size)


def is_own(accesses: Sequence[Access], size: int) -> bool:
    """Whether each work-item keeps to one element, which then is a variable: in loops of the same bounds, in
    which it has one iteration at most, the element is that of the iteration."""
    return len(set(map(_place, accesses))) == 1 and all(
        access.shared and room(access.shared) <= size for access in accesses
    )


def _place(access: Access) -> tuple:
    """The element that is accessed, and by whom."""
    names = {axis_of(loop): f"lane {n}" for n, loop in enumerate(access.shared)}
    bounds = tuple((loop.start, loop.stop) for loop in access.shared)
    return bounds, access.at.with_variables(
        lambda v: replace(v, args=(names.get(v.args[0], v.args[0]),))
    )


def room(nest: Sequence[ir.For]) -> int:
    """How many work-items have an iteration each: those of the last loop are a power of two."""
    _, count = numbers(nest)
    return count


def is_shared_array(accesses: Sequence[Access]) -> bool:
    """Whether work-items store to elements that others may load."""
    return any(a.is_store and a.shared for a in accesses)


def why_not_in_group(body: Sequence[ir.Statement], size: int) -> str:
    """Why a group of `size` work-items can't run the statements; empty if it can."""
    accesses = list(accesses_of(body, size))
    for_all = list(by_all(body, size))
    made = {s.array: s for s in for_all if isinstance(s, ir.Allocate)}
    for memory in {a.memory: None for a in accesses if a.is_store}:
        of_it = [a for a in accesses if a.memory == memory]
        if isinstance(memory, ir.Buffer) and not all(a.is_store for a in of_it):
            return f"some work-items would store what others load from {memory.name}"
        if memory not in made or is_own(of_it, size) or not is_shared_array(of_it):
            continue
        if made[memory].initial is not None:
            return f"{memory.name}, which work-items share, would be set by all of them"
        if any(a.is_store and not a.shared for a in of_it):
            return f"all work-items would store to {memory.name}, which they share"
    return next(filter(None, map(_why_not_by_all, for_all)), "")


def _why_not_by_all(statement: ir.Statement) -> str:
    """Why not all work-items of a group can run a statement in the same way."""
    inside = list(every_statement([statement]))
    has_shared = any(map(is_shared, loops_of([statement])))
    if isinstance(statement, ir.If | ir.While | ir.IfLast) and has_shared:
        return "a loop that could be shared out is in a branch or a loop of unknown length"
    stores = [s for s in inside if isinstance(s, ir.Store) and isinstance(s.destination, ir.Buffer)]
    if ir.inner_bodies(statement) and stores and not has_shared:
        return f"the loop that stores {stores[0].destination.name} can't be shared out"
    return ""
