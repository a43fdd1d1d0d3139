"""Work-groups: several work-items that share memory do the work of one.

The innermost loops whose iterations do not depend on each other are shared out: work-item 3 of a group takes
iterations 3, 3 + n, 3 + 2 n, ... All else each work-item does for itself, with the same result, and the first
one stores it. An array that is stored in one shared loop and loaded in another is in local memory; before
what loads there, all wait for those who store. (Halide's gpu_threads puts memory and barriers so.)

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

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.substitution import (
    defined_names,
    every_statement,
    loaded_memory,
    relocated,
    replaced,
    stored_memory,
    substituted,
)
from tinyjax.compile.schedules.directive import Directive, axis_of, loops_of
from tinyjax.compile.schedules.nests import Fresh
from tinyjax.compile.schedules.shared_loops import (
    Access,
    accesses_of,
    by_all,
    is_own,
    is_shared,
    is_shared_array,
    room,
    shared_nest,
    why_not_in_group,
)

BOOL = np.dtype(bool)
NUMBER = ir.Value("", BOOL)  # of width 1


@dataclass(frozen=True)
class WorkGroups(Directive):
    """A work-group of `size` work-items in place of each work-item."""

    size: int

    def why_not(self, kernel: ir.Kernel) -> str:
        if self.size < 2 or self.size & (self.size - 1):
            return f"{self.size} is no power of two, or 1"
        if kernel.local_size > 1:
            return f"its work-items are in groups of {kernel.local_size} already"
        if any(getattr(s, "target", NUMBER).width > 1 for s in every_statement(kernel.body)):
            return "it has vectors: those of a group are its work-items"
        parts = [_without_last(kernel.body), *(s.body for s in _last(kernel.body))]
        return next(filter(None, (why_not_in_group(body, self.size) for body in parts)), "")

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        grown = replace(kernel, items=kernel.items * self.size, local_size=self.size)
        group, local = ir.group_indices(grown)
        body, names = substituted(kernel.body, {"item": group}), _Names(kernel)
        work = _GroupWork(_without_last(body), local, self.size, names)
        new, allocated = work.written, work.local
        for statement in _last(body):
            work = _GroupWork(statement.body, local, self.size, names)
            new.append(replace(statement, body=work.written))
            allocated += work.local
        return replace(grown, body=[*allocated, *new])


def _last(body: Sequence[ir.Statement]) -> list[ir.IfLast]:
    return [s for s in body if isinstance(s, ir.IfLast)]


def _without_last(body: Sequence[ir.Statement]) -> list[ir.Statement]:
    return [s for s in body if not isinstance(s, ir.IfLast)]


# ---- a group's work ----


class _Names:
    """New names; and the names that several statements define, each in a separate loop."""

    def __init__(self, kernel: ir.Kernel):
        self.fresh = Fresh(kernel)
        counted = Counter(defined_names(kernel.body))
        self.repeated = {name for name, count in counted.items() if count > 1}


class _GroupWork:
    """Writes what each work-item of a group does: `written`; with the group's memory, `local`."""

    def __init__(self, body: list[ir.Statement], local_id: Index, size: int, names: _Names):
        self.local_id, self.size, self.names = local_id, size, names
        self.is_first = ir.Value(names.fresh("is_first"), BOOL)
        self.local: list[ir.Statement] = []
        self.arrays: dict[ir.PrivateArray, ir.PrivateArray] = {}  # what takes the place of each
        accesses = list(accesses_of(body, size))
        for s in by_all(body, size):
            if isinstance(s, ir.Allocate):
                self._place(s, [a for a in accesses if a.memory == s.array])
        self.stored: set[str] = set()  # local memory, since the last barrier
        self.loaded: set[str] = set()
        self.written = self._body(body)
        if any(
            getattr(s, "condition", None) is self.is_first for s in every_statement(self.written)
        ):
            self.written.insert(0, ir.Let(self.is_first, "eq", (local_id, index(0))))

    def _place(self, allocate: ir.Allocate, accesses: Sequence[Access]) -> None:
        array = allocate.array
        if not is_shared_array(accesses):
            return
        if is_own(accesses, self.size):
            self.arrays[array] = replace(array, size=1)
        else:
            self.arrays[array] = replace(array, is_local=True)
            self.local.append(replace(allocate, array=self.arrays[array]))

    # ---- statements ----

    def _body(self, body: Sequence[ir.Statement]) -> list[ir.Statement]:
        new: list[ir.Statement] = []
        for s in body:
            nest = shared_nest(s, self.size)
            if isinstance(s, ir.For) and not nest and any(map(is_shared, loops_of(s.body))):
                new.append(self._serial(s))
                continue
            for statement in self._in_place([s]):
                self._wait(statement, new)
                new += self._shared_out(statement, len(nest))
        return new

    def _serial(self, loop: ir.For) -> ir.For:
        """A loop that all go through together. Its next iteration waits for this one."""
        before = set(self.stored), set(self.loaded)
        body = self._body(loop.body)
        if self.stored or self.loaded:
            body.append(ir.Barrier())
        self.stored, self.loaded = before
        return replace(loop, body=body)

    def _in_place(self, body: Sequence[ir.Statement]) -> list[ir.Statement]:
        """The statements with the arrays that take others' places."""

        def change(s: ir.Statement) -> list[ir.Statement]:
            match s:
                case ir.Allocate(array) if array in self.arrays:
                    mine = self.arrays[array]
                    return [] if mine.is_local else [replace(s, array=mine)]
            return [s]

        def place(array: Any, at: Index) -> tuple[ir.PrivateArray, Index] | None:
            mine = self.arrays.get(array)
            return None if mine is None else (mine, at if mine.is_local else index(0))

        return relocated(replaced(body, change), place)

    def _wait(self, statement: ir.Statement, new: list[ir.Statement]) -> None:
        """A barrier, where the statement loads what others stored, or stores where they loaded."""
        loads, stores = (
            {memory.name for memory in found if getattr(memory, "is_local", False)}
            for found in (loaded_memory([statement]), stored_memory([statement]))
        )
        if loads & self.stored or stores & (self.stored | self.loaded):
            new.append(ir.Barrier(origin=statement.origin))
            self.stored, self.loaded = set(), set()
        self.stored |= stores
        self.loaded |= loads

    def _shared_out(self, statement: ir.Statement, loops: int) -> list[ir.Statement]:
        """Each work-item's part of a statement whose outermost `loops` loops are shared out."""
        if loops:
            iterations = self._iterations(statement, loops)
            names = self.names.repeated & set(defined_names(iterations))
            return substituted(iterations, {}, {name: self.names.fresh(name) for name in names})
        if isinstance(statement, ir.Store) and isinstance(statement.destination, ir.Buffer):
            return [ir.If(self.is_first, [statement], origin=statement.origin)]
        return [statement]

    def _iterations(self, loop: Any, loops: int) -> list[ir.Statement]:
        """The iterations of one work-item: every n-th, where n of them go through the loop. A loop with one
        for each is gone."""
        if loops == 1:
            return self._every(loop, self.local_id, self.size, loop.body)
        (inner,) = loop.body
        width = room([inner])
        body = self._every(inner, self.local_id % width, width, inner.body)
        return self._every(loop, self.local_id // width, self.size // width, body)

    def _every(
        self, loop: ir.For, first: Index, step: int, body: list[ir.Statement]
    ) -> list[ir.Statement]:
        start = loop.start + first
        if not (loop.stop - loop.start).is_const(step):
            return [replace(loop, start=start, step=step, body=body)]
        return substituted(body, {axis_of(loop): start})
