"""Update in place: a loop that changes a few elements of an array stores these, and copies no others.

In a loop, `x = x.at[i].set(y)` costs one store. The naive nest computes all elements of the new array, most
of which are those of the old one, and copies them to where the next iteration reads them. Here only the
window is computed, from what the old array holds, and stored there where the copy was; or where it is made,
if the iteration reads the new array too.

    new_1 = 1000 elements                  t16 = ...
    for i3 in 0 .. 1000:                   k = ...
      t16 = ...                            b1 = carry_2[t16]
      t17 = ge (i3 - t16) 0                p1 = select t21 k b1
      t18 = lt (i3 - t16) 1                carry_2[t16] = p1
      t19 = and t17 t18
      b = carry_2[i3]
      k = ...
      p = select t19 k b
      new_1[i3] = p
    ...
    for i4 in 0 .. 1000:
      t25 = new_1[i4]
      carry_2[i4] = t25
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.stored import as_index, linear
from tinyjax.compile.kernel.substitution import (
    defined_names,
    every_body,
    every_statement,
    relocated,
    stored_memory,
    substituted,
)
from tinyjax.compile.schedules.directive import (
    Directive,
    axis_of,
    in_loops,
    perfect_nest,
    with_body,
)
from tinyjax.compile.schedules.nests import (
    Fresh,
    names_in,
    the_same,
    varying_in,
    without,
    without_unused,
)


@dataclass(frozen=True)
class UpdateInPlace(Directive):
    """No `array`, which is the next value of another one: what differs is stored in that."""

    array: str

    def why_not(self, kernel: ir.Kernel) -> str:
        found = _find_update(kernel, self.array)
        return found if isinstance(found, str) else ""

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        update = _find_update(kernel, self.array)
        assert isinstance(update, _Update)
        with ir.statements_of(update.maker.origin):
            return with_body(kernel, update.around, update.statements(Fresh(kernel)))


def next_values(kernel: ir.Kernel) -> list[str]:
    """The arrays that iterations compute for others, from before, to take their value."""
    return [
        s.array.name
        for body in every_body(kernel.body)
        for s in body
        if isinstance(s, ir.Allocate) and any(_takes_value(other, s.array, body) for other in body)
    ]


# ---- what is there ----


@dataclass(frozen=True)
class _Window:
    """Elements that become `value` where `mask` holds, which it does in the window alone: along each of the
    axes that are here, so many from a place on."""

    mask: ir.Scalar
    value: ir.Scalar
    ranges: Mapping[str, tuple[Index, int]]


@dataclass(frozen=True)
class _Update:
    """Of the statements `around`, `maker` stores all elements of `array`; `copy` copies them to `carry`."""

    around: list[ir.Statement]
    array: ir.PrivateArray
    carry: ir.PrivateArray
    maker: ir.For
    copy: ir.For
    store: ir.Store
    old: ir.Value  # what an element is in no window
    windows: Sequence[_Window]  # in the order in which they are stored
    is_early: bool

    def statements(self, fresh: Fresh) -> list[ir.Statement]:
        """What takes the place of those around."""
        nest = perfect_nest([self.maker])
        same, rest = _parted(nest)
        others = without_unused([s for s in rest if s != self.store])
        computing, storing = list[ir.Statement](), list[ir.Statement]()
        for window in self.windows:
            computed, stored = self._window(window, nest, rest, fresh)
            computing += computed
            storing += stored
        made = [*same, *computing, *(in_loops(nest, others) if others else [])]
        result: list[ir.Statement] = []
        for s in self.around:
            if s is self.maker:
                result += [*made, *storing] if self.is_early else made
            elif s is self.copy:
                result += [] if self.is_early else storing
            elif not (isinstance(s, ir.Allocate) and s.array == self.array):
                result.append(s)
        return relocated(
            result, lambda memory, at: (self.carry, at) if memory == self.array else None
        )

    def _window(
        self, window: _Window, nest: Sequence[ir.For], rest: Sequence[ir.Statement], fresh: Fresh
    ) -> tuple[list[ir.Statement], list[ir.Statement]]:
        """What computes the elements of the window, and what stores them. Several wait in an array: each may
        be computed from what is stored over others."""
        loops, places, number = [], {}, index(0)
        for loop in nest:
            axis = axis_of(loop)
            first, count = window.ranges.get(axis, (index(0), loop.stop.lo))
            at = index_var(fresh(axis), 0, count - 1) if count > 1 else index(0)
            loops += [replace(loop, variable=at, stop=index(count))] if count > 1 else []
            places[axis], number = first + at, number * count + at
        names = {name: fresh(name) for name in defined_names(rest)}
        lets = [s for s in rest if isinstance(s, ir.Let | ir.Load)]
        new = ir.Value(fresh("t"), self.carry.dtype)
        store = replace(self.store, destination=self.carry, value=new)
        chosen = ir.Let(new, "select", (window.mask, window.value, self.old))
        needed = without_unused([*lets, chosen, store])
        *computing, last = substituted(needed, places, names)
        assert isinstance(last, ir.Store)
        if loops:
            size = math.prod(loop.stop.lo for loop in loops)
            waiting = ir.PrivateArray(fresh("window"), self.carry.dtype, size)
            value = ir.Value(fresh("t"), waiting.dtype)
            keep = replace(last, destination=waiting, index=number)
            computing = [ir.Allocate(waiting, None), *in_loops(loops, [*computing, keep])]
            again = {axis_of(loop): fresh(axis_of(loop)) for loop in loops}
            copying: list[ir.Statement] = [
                ir.Load(value, waiting, number),
                replace(last, value=value),
            ]
            return computing, substituted(in_loops(loops, copying), {}, again)
        return computing, [last]


def _parted(nest: Sequence[ir.For]) -> tuple[list[ir.Let | ir.Load], list[ir.Statement]]:
    """The statements in the loops: those that are the same in all iterations, and the others."""
    body = nest[-1].body
    same = the_same(body, varying_in(nest[0]))
    return same, without(body, same)


# ---- finding it ----


def _find_update(kernel: ir.Kernel, name: str) -> _Update | str:
    """The update that makes the array of that name, or why there is none that can be in place."""
    around = next((b for b in every_body(kernel.body) if name in (_allocated(s) for s in b)), None)
    if around is None:
        return f"it has no private array {name!r}"
    array = next(s.array for s in around if isinstance(s, ir.Allocate) and s.array.name == name)
    makers = [s for s in around if array in stored_memory([s])]
    copies = [s for s in around if _takes_value(s, array, around)]
    if len(copies) != 1:
        return f"{name} is not the next value of an array"
    (copy,) = copies
    carry = copy.body[1].destination
    if len(makers) != 1 or not isinstance(maker := makers[0], ir.For):
        return f"{name} is not made by one loop"
    if stored_memory(around).count(carry) > 1:
        return "what it is the next value of is stored to elsewhere"
    windows = _windows(maker, array, carry)
    if isinstance(windows, str):
        return windows
    store, old, found = windows
    begin, end = around.index(maker), around.index(copy)
    is_read = array in _loaded([s for s in around if s is not copy])
    if is_read and carry in _loaded(around[begin + 1 : end]):
        return f"both {name} and {carry.name} are read after it is made"
    return _Update(around, array, carry, maker, copy, store, old, found, is_read)


def _allocated(s: ir.Statement) -> str:
    return s.array.name if isinstance(s, ir.Allocate) else ""


def _loaded(body: Sequence[ir.Statement]) -> list[Any]:
    return [s.source for s in every_statement(body) if isinstance(s, ir.Load)]


def _takes_value(
    statement: ir.Statement, array: ir.PrivateArray, around: Sequence[ir.Statement]
) -> TypeGuard[ir.For]:
    """Whether the statement copies the whole array to another, which is from before those around."""
    match statement:
        case ir.For(
            at, start, stop, [ir.Load(value, source, place), ir.Store(memory, other, stored)], 1
        ):
            is_copy = source == array and value == stored and at == place == other
            is_all = start.is_const(0) and stop.is_const(array.size) and memory.size == array.size
            is_older = isinstance(memory, ir.PrivateArray) and memory.name not in map(
                _allocated, around
            )
            return is_copy and is_all and is_older
    return False


def _windows(
    maker: ir.For, array: ir.PrivateArray, carry: ir.PrivateArray
) -> tuple[ir.Store, ir.Value, list[_Window]] | str:
    """What stores the array's elements, those of the carry, and the windows outside of which they stay."""
    nest = perfect_nest([maker])
    body = nest[-1].body
    stores = [s for s in body if isinstance(s, ir.Store) and s.destination == array]
    is_plain = all(isinstance(s, ir.Let | ir.Load | ir.Store) for s in body)
    if len(stores) != 1 or not is_plain or any(loop.step > 1 for loop in nest):
        return f"{array.name} is not made element by element"
    if any(loop.start.op != "const" or loop.start.lo or loop.stop.op != "const" for loop in nest):
        return f"{array.name} is not made by loops from 0 to a number"
    (store,) = stores
    made = {s.target.name: s for s in body if isinstance(s, ir.Let | ir.Load)}
    same, rest = _parted(nest)
    varying = {*map(axis_of, nest), *defined_names(rest)}
    windows, value = [], store.value
    while isinstance(select := made.get(_name(value)), ir.Let) and select.op == "select":
        mask, new, value = select.args  # type: ignore[assignment]
        window = _window(mask, new, made, varying)
        if isinstance(window, str):
            return window
        windows.append(window)
    match made.get(_name(value)):
        case ir.Load(old, source, at, None) if windows and source == carry and at == store.index:
            return store, old, windows[::-1]
    return f"{array.name} is not {carry.name} but for a window"


def _window(
    mask: Any, value: Any, made: Mapping[str, ir.Statement], varying: set[str]
) -> _Window | str:
    """The window that a mask says an element to be in."""
    least: dict[str, Index] = {}  # along an axis: what is at least 0
    below: dict[str, tuple[Index, int]] = {}  # and less than a number
    for term in _terms(mask, made, varying):
        if not names_in(term) & varying:  # for all elements, or for none
            continue
        match made.get(_name(term)):
            case ir.Let(_, "ge", (Index() as at, Index() as zero)) if zero.is_const(0):
                axis = _only(at.names & varying)
                is_one = least.setdefault(axis, at) == at
            case ir.Let(_, "lt", (Index() as at, Index(op="const") as count)):
                axis = _only(at.names & varying)
                is_one = below.setdefault(axis, (at, count.lo)) == (at, count.lo)
            case _:
                is_one = False
        if not is_one:
            return "which elements change is not said by a window"
    if not least or least != {axis: at for axis, (at, _) in below.items()}:
        return "which elements change is not said by a window"
    ranges = {}
    for axis, (at, size) in below.items():
        steps = [part for part in linear(at) if part is not None and axis in part.names]
        if [str(part) for part in steps] != [axis] or linear(at)[steps[0]] != 1:
            return f"the window does not move with {axis}"
        ranges[axis] = as_index({steps[0]: 1}, linear(at)), size
    return _Window(mask, value, ranges)


def _terms(mask: Any, made: Mapping[str, ir.Statement], varying: set[str]) -> Iterator[Any]:
    """The conditions that are all to hold."""
    match made.get(_name(mask)):
        case ir.Let(_, "and", args) if names_in(mask) & varying:
            for arg in args:
                yield from _terms(arg, made, varying)
        case _:
            yield mask


def _name(value: Any) -> str:
    return value.name if isinstance(value, ir.Value) else ""


def _only(names: set[str] | frozenset[str]) -> str:
    """The one name, or none if there are others."""
    return next(iter(names)) if len(names) == 1 else ""
