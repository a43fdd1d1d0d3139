"""Work-groups: several work-items that share memory do the work of one.

The innermost loops whose iterations do not depend on each other are shared out: work-item 3 of a group takes
iterations 3, 3 + n, 3 + 2 n, ... Each work-item runs all other statements itself, with the same result, and
the first one stores it. An array that one shared loop stores and another loads is in local memory, with a
barrier between the two. If each work-item keeps to one element, the array becomes a variable instead.
(Halide's gpu_threads places memory and barriers in the same way.)

    items1 = 4 elements                      items1 = 4 elements, one for the group
    for i2 in 0 .. 4:                        t1 = a_in[group_id * 4 + local_id]
      t1 = a_in[item * 4 + i2]               items1[local_id] = t1
      items1[i2] = t1                        barrier
    for i3 in 0 .. 2:                        for i3 in local_id .. 2 by 4:
      ...                                      ...
    b = items1[0]                            barrier
    b_out[item] = b                          b = items1[0]
                                             if is_first:
                                               b_out[group_id] = b

Source: the OpenCL 1.2 specification, section 3.3, https://registry.khronos.org/OpenCL/
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.substitution import (
    allocated,
    defined_names,
    every_statement,
    loaded_memory,
    relocated,
    replaced,
    stored_memory,
    substituted,
)
from tinyjax.compile.schedules.dependences import iterations, numbers, why_dependent
from tinyjax.compile.schedules.directive import Directive, axis_of, every_nth, loops_of
from tinyjax.compile.schedules.nests import Fresh

BOOL = np.dtype(bool)
NUMBER = ir.Value("", BOOL)  # of width 1


@dataclass(frozen=True)
class WorkGroups(Directive):
    """Replaces each work-item by a work-group of `size` work-items."""

    size: int

    def why_not(self, kernel: ir.Kernel) -> str:
        if self.size < 2 or self.size & (self.size - 1):
            return f"{self.size} is no power of two, or 1"
        if kernel.local_size > 1:
            return f"its work-items are in groups of {kernel.local_size} already"
        if any(getattr(s, "target", NUMBER).width > 1 for s in kernel.statements):
            return "it has vectors: those of a group are its work-items"
        parts = [_without_last(kernel.body), *(s.body for s in _last(kernel.body))]
        return next(filter(None, (_why_not_in_group(body, self.size) for body in parts)), "")

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        grown = replace(kernel, items=kernel.items * self.size, local_size=self.size)
        group, local = ir.group_indices(grown)
        body, fresh = substituted(kernel.body, {"item": group}), Fresh(kernel)
        work = _GroupWork(_without_last(body), local, self.size, fresh)
        new, allocated = work.written, work.local
        for statement in _last(body):
            work = _GroupWork(statement.body, local, self.size, fresh)
            new.append(replace(statement, body=work.written))
            allocated += work.local
        return replace(grown, body=[*allocated, *new])


def _last(body: ir.Body) -> list[ir.IfLast]:
    return [s for s in body if isinstance(s, ir.IfLast)]


def _without_last(body: ir.Body) -> ir.Body:
    return [s for s in body if not isinstance(s, ir.IfLast)]


# ---- a group's work ----


class _GroupWork:
    """Writes the statements of a group's work-items to `written`, and their local memory to `local`."""

    def __init__(self, body: ir.Body, local_id: Index, size: int, fresh: Fresh):
        self.local_id, self.size, self.fresh = local_id, size, fresh
        self.is_first = ir.Value(fresh("is_first"), BOOL)
        counted = Counter(defined_names(body))  # some may be defined in several loops
        self.repeated = {name for name, count in counted.items() if count > 1}
        self.local: ir.Body = []
        self.arrays: dict[ir.PrivateArray, ir.PrivateArray] = {}  # the array that replaces each one
        accesses = _accesses_of(body, size)
        for s in _by_all(body, size):
            if isinstance(s, ir.Allocate):
                self._place(s, [a for a in accesses if a[0].memory == s.array])
        self.stored: set[str] = set()  # local memory accessed since the last barrier
        self.loaded: set[str] = set()
        self.written = self._body(body)
        conditions = [getattr(s, "condition", None) for s in every_statement(self.written)]
        if self.is_first in conditions:
            self.written.insert(0, ir.Let(self.is_first, "eq", (local_id, index(0))))

    def _place(self, allocate: ir.Allocate, accesses: Sequence[Shared]) -> None:
        array, kind = allocate.array, _kind(accesses, self.size)
        if kind == "own":
            self.arrays[array] = replace(array, size=1)
        elif kind == "shared":
            self.arrays[array] = replace(array, is_local=True)
            self.local.append(replace(allocate, array=self.arrays[array]))

    # ---- statements ----

    def _body(self, body: ir.Body) -> ir.Body:
        new: ir.Body = []
        for s in body:
            nest = _shared_nest(s, self.size)
            if isinstance(s, ir.For) and not nest and any(map(_is_shared, loops_of(s.body))):
                new.append(self._serial(s))
                continue
            for statement in self._in_place([s]):
                self._wait(statement, new)
                new += self._shared_out(statement, len(nest))
        return new

    def _serial(self, loop: ir.For) -> ir.For:
        """A loop that all work-items run together, with a barrier between iterations."""
        before = set(self.stored), set(self.loaded)
        body = self._body(loop.body)
        if self.stored or self.loaded:
            body.append(ir.Barrier())
        self.stored, self.loaded = before
        return replace(loop, body=body)

    def _in_place(self, body: ir.Body) -> ir.Body:
        """The statements with replaced arrays."""

        def change(s: ir.Statement) -> ir.Body:
            match s:
                case ir.Allocate(array) if array in self.arrays:
                    mine = self.arrays[array]
                    return [] if mine.is_local else [replace(s, array=mine)]
            return [s]

        def place(array: Any, at: Index) -> tuple[ir.PrivateArray, Index] | None:
            mine = self.arrays.get(array)
            return None if mine is None else (mine, at if mine.is_local else index(0))

        return relocated(replaced(body, change), place)

    def _wait(self, statement: ir.Statement, new: ir.Body) -> None:
        """Adds a barrier if the statement loads what others stored, or stores where they loaded."""
        loads, stores = (
            {memory.name for memory in of([statement]) if getattr(memory, "is_local", False)}
            for of in (loaded_memory, stored_memory)
        )
        if loads & self.stored or stores & (self.stored | self.loaded):
            new.append(ir.Barrier(origin=statement.origin))
            self.stored, self.loaded = set(), set()
        self.stored |= stores
        self.loaded |= loads

    def _shared_out(self, statement: ir.Statement, loops: int) -> ir.Body:
        """Each work-item's part of a statement whose outermost `loops` loops are shared out."""
        if loops:
            iterations = self._iterations(statement, loops)
            names = self.repeated.intersection(defined_names(iterations))
            return substituted(iterations, {}, {name: self.fresh(name) for name in names})
        if isinstance(statement, ir.Store) and isinstance(statement.memory, ir.Buffer):
            return [ir.If(self.is_first, [statement], origin=statement.origin)]
        return [statement]

    def _iterations(self, loop: Any, loops: int) -> ir.Body:
        """The iterations of one work-item: every n-th if n work-items share the loop."""
        if loops == 1:
            return every_nth(loop, self.local_id, self.size)
        (inner,) = loop.body
        width = _room([inner])
        body = every_nth(inner, self.local_id % width, width)
        return every_nth(replace(loop, body=body), self.local_id // width, self.size // width)


# ---- which loops and arrays are shared ----


def _is_shared(loop: ir.For) -> bool:
    """Whether it is an innermost loop without dependences. A loop with a step is not shared."""
    if loop.step > 1 or any(map(_is_shared, loops_of(loop.body))):
        return False
    outside = set(stored_memory(loop.body)) - allocated(loop.body)
    # Even a single iteration must not set variables allocated before the loop
    sets_variables = any(isinstance(m, ir.PrivateArray) and m.size == 1 for m in outside)
    return not why_dependent(loop) and not sets_variables


def _shared_nest(loop: ir.Statement, size: int) -> tuple[ir.For, ...]:
    """The loops that a group of `size` work-items shares at this statement: the loop itself, or both it and
    the loop inside if the inner one has too few iterations."""
    if not isinstance(loop, ir.For) or _is_shared(loop):
        return (loop,) if isinstance(loop, ir.For) else ()
    match loop.body:
        case [ir.For() as inner] if _is_shared(inner) and iterations(inner) < size:
            return (loop, inner) if loop.step == 1 and not why_dependent(loop) else ()
    return ()


# A statement, and the shared loops around it: without any, all work-items run it alike
Shared = tuple[Any, tuple[ir.For, ...]]


def _walk(body: ir.Body, size: int, shared: tuple[ir.For, ...] = ()) -> Iterator[Shared]:
    """The statements, each with the shared loops around it; the shared loops themselves are left out."""
    for s in body:
        if not shared and (nest := _shared_nest(s, size)):
            yield from _walk(nest[-1].body, size, nest)
        else:
            yield s, shared
            for inner in ir.inner_bodies(s):
                yield from _walk(inner, size, shared)


def _accesses_of(body: ir.Body, size: int) -> list[Shared]:
    return [each for each in _walk(body, size) if isinstance(each[0], ir.Access)]


def _by_all(body: ir.Body, size: int) -> ir.Body:
    """The statements that are not shared out."""
    return [s for s, shared in _walk(body, size) if not shared]


def _kind(accesses: Sequence[Shared], size: int) -> str:
    """How work-items use an array: "alike" if all store the same; "shared" if others may load what one
    stores; or "own" if each accesses only one element: all its loops have equal bounds and at most one
    iteration per work-item, which accesses the element of that iteration."""
    if all(isinstance(s, ir.Load) for s, shared in accesses if shared):
        return "alike"
    is_one = len(set(itertools.starmap(_place, accesses))) == 1
    is_own = is_one and all(shared and _room(shared) <= size for _, shared in accesses)
    return "own" if is_own else "shared"


def _place(access: ir.Access, shared: tuple[ir.For, ...]) -> tuple:
    """The element that is accessed, and by which work-items."""
    lanes = {axis_of(s): replace(s.variable, args=(f"lane {n}",)) for n, s in enumerate(shared)}
    bounds = tuple((loop.start, loop.stop) for loop in shared)
    return bounds, access.index.with_variables(lambda v: lanes.get(v.args[0], v))


def _room(nest: Sequence[ir.For]) -> int:
    """How many work-items get one iteration each; the last loop's count is rounded up to a power of two."""
    _, count = numbers(nest)
    return count


def _why_not_in_group(body: ir.Body, size: int) -> str:
    """Why a group of `size` work-items can't run the statements; empty if it can."""
    accesses, for_all = _accesses_of(body, size), _by_all(body, size)
    made = {s.array: s for s in for_all if isinstance(s, ir.Allocate)}
    for memory in dict.fromkeys(stored_memory(body)):
        of_it = [(s, shared) for s, shared in accesses if s.memory == memory]
        if isinstance(memory, ir.Buffer) and memory in loaded_memory(body):
            return f"some work-items would store what others load from {memory.name}"
        if memory not in made or _kind(of_it, size) != "shared":
            continue
        if made[memory].initial is not None:
            return f"{memory.name}, which work-items share, would be set by all of them"
        if any(not isinstance(s, ir.Load) and not shared for s, shared in of_it):
            return f"all work-items would store to {memory.name}, which they share"
    return next(filter(None, map(_why_not_by_all, for_all)), "")


def _why_not_by_all(statement: ir.Statement) -> str:
    """Why not all work-items of a group can run a statement in the same way."""
    inside = list(every_statement([statement]))
    has_shared = any(map(_is_shared, loops_of([statement])))
    if isinstance(statement, ir.If | ir.While | ir.IfLast) and has_shared:
        return "a loop that could be shared out is in a branch or a loop of unknown length"
    stores = [s for s in inside if isinstance(s, ir.Store) and isinstance(s.memory, ir.Buffer)]
    if ir.inner_bodies(statement) and stores and not has_shared:
        return f"the loop that stores {stores[0].memory.name} can't be shared out"
    return ""
