"""Definite assignment: no memory is read, or returned, before it is written.

The statements are walked in order. Each store is noted, and where a loop ends, it is known to have been done
in all iterations. A load must lie within what was stored before it, and when all work-items are done, every
element of every output is stored.

Source: the Java Language Specification, chapter 16, "Definite Assignment"; here for elements of arrays
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from stored_elements import (
    IterationRange,
    Stored,
    TooMany,
    Where,
    covered,
    joined,
    renamed,
    variables,
)

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, Linear, as_index, index, index_var, linear
from tinyjax.compile.schedules.schedule import ScheduleBuilder

Places = dict[Index, Index]  # in place of loops' variables
State = dict[str, tuple[Stored, ...]]  # what was stored so far, by the name of the memory


def install() -> None:
    """From now on, each kernel that a schedule makes is checked."""
    finished = ScheduleBuilder.finished

    def checked(builder: ScheduleBuilder) -> ir.Kernel:
        kernel = finished(builder)
        check_assignment(kernel)
        return kernel

    ScheduleBuilder.finished = checked  # type: ignore[method-assign]


def check_assignment(kernel: ir.Kernel) -> None:
    """Checks that what is loaded was stored before, and that all outputs are stored.

    Raises KernelError that names the statement, or the output. A kernel whose stores would have to be
    gone through one by one, and are too many, is not checked."""
    try:
        _Walk(kernel).check()
    except TooMany:
        return


class _Walk:
    """Goes through a kernel's statements with what was stored so far."""

    def __init__(self, kernel: ir.Kernel):
        self.kernel = kernel
        self.buffers = {b.name: b for b in kernel.buffers if b.role != "in"}
        self.memory: dict[str, ir.Buffer | ir.PrivateArray] = dict(self.buffers)
        self.made: dict[str, ir.Statement] = {}  # what computes a value
        self.items: list[IterationRange] = []
        if kernel.items > 1:
            item = ir.item_index(kernel.items)
            self.items = [IterationRange(item, index(0), index(kernel.items))]
        if kernel.local_size > 1:
            group, local = ir.group_indices(kernel)
            groups = IterationRange(group, index(0), index(group.hi + 1))
            self.items = [groups, IterationRange(local, index(0), index(kernel.local_size))]
        self.loops = list(self.items)  # around

    def check(self) -> None:
        state: State = {name: () for name in self.buffers}
        self._body(self.kernel.body, state)
        self._all_items_are_done(state)
        for buffer in self.kernel.buffers:
            if buffer.role not in ("out", "inout") or _all_of(buffer)[0] in state[buffer.name]:
                continue
            if not self._is_stored(state[buffer.name], 0, buffer.size):
                raise ir.KernelError(f"not every element of {buffer.name} is stored")

    # ---- statements ----

    def _body(self, body: Sequence[ir.Statement], state: State) -> None:
        for statement in body:
            self._statement(statement, state)

    def _statement(self, statement: ir.Statement, state: State) -> None:
        match statement:
            case ir.Let(target):
                self.made[target.name] = statement
            case ir.Load(target, source, at, end):
                width = ir.reach(statement) if statement.stride > 1 else _width(source, target)
                self._load(statement, source, Stored(at, end, width), state)
            case ir.Combine(array, at):
                self._load(statement, array, Stored(at, None, 1), state)
            case ir.Store(destination, at, value, end):
                stored = Stored(at, end, _width(destination, value))
                if statement.stride > 1:
                    lane = index_var("lane", 0, stored.width - 1)
                    lanes = IterationRange(lane, index(0), index(stored.width))
                    stored = Stored(at + lane * statement.stride, None, 1).within(lanes)
                state[destination.name] += (stored,)
            case ir.Allocate(array, initial):
                self.memory[array.name] = array
                state[array.name] = () if initial is None else _all_of(array)
            case ir.For():
                self._loop(statement, state)
            case ir.While(head, _, body):
                self._body(head, state)
                self._body(body, dict(state))  # there may be no iteration
            case ir.If():
                self._choice(statement, state)
            case ir.Barrier():
                for name, memory in self.memory.items():
                    # What others stored is not followed element by element.
                    if getattr(memory, "is_local", False) and state[name]:
                        state[name] = _all_of(memory)
            case ir.IfLast(_, body):
                self._all_items_are_done(state)
                self._body(body, state)
                self._one_item_is_done(state)

    def _one_item_is_done(self, state: State) -> None:
        """Only one has stored what not all have, and it is not known which."""
        for name in self.buffers:
            for groups in self.items[:1]:
                stores = state[name]
                state[name] = tuple(
                    s for s in stores if groups in s.around or groups.variable not in s.variables()
                )

    def _all_items_are_done(self, state: State) -> None:
        for items in reversed(self.items):
            for name in self.buffers:
                state[name] = tuple(
                    s if items in s.around else s.within(items) for s in state[name]
                )

    def _loop(self, statement: ir.For, state: State) -> None:
        loop = IterationRange(statement.variable, statement.start, statement.stop, statement.step)
        inner = dict(state)
        self.loops.append(loop)
        self._body(statement.body, inner)
        self.loops.pop()
        for name, before in state.items():
            state[name] += tuple(stored.within(loop) for stored in inner[name][len(before) :])

    def _choice(self, statement: ir.If, state: State) -> None:
        first, second = dict(state), dict(state)
        condition = self.made.get(str(statement.condition))
        self._body(statement.body, first)
        self._body(statement.otherwise, second)
        for name, before in state.items():
            one, other = (branch[name][len(before) :] for branch in (first, second))
            if (iterations := _iterations_of(condition)) is not None and not other:
                both = tuple(stored.within(iterations) for stored in one)
            else:
                both = tuple(stored for stored in one if stored in other)
                memory = self.memory[name]
                if self._is_stored(one, 0, memory.size) and self._is_stored(other, 0, memory.size):
                    both += _all_of(memory)
            state[name] += both

    # ---- loads ----

    def _load(
        self,
        statement: ir.Statement,
        memory: ir.Buffer | ir.PrivateArray,
        wanted: Stored,
        state: State,
    ) -> None:
        if getattr(memory, "role", "") in ("in", "inout"):
            return
        stores = state[memory.name]
        if wanted in stores or _all_of(memory)[0] in stores:
            return
        if self._is_stored(stores, 0, memory.size):
            state[memory.name] += _all_of(memory)
        elif not self._lies_in(wanted, stores) and not self._is_same_loop(wanted, stores):
            text = "; ".join(ir.statement_lines(statement))
            raise ir.KernelError(f"{memory.name} may be loaded before it is stored, in:\n{text}")

    def _is_stored(self, stores: Sequence[Stored], start: int, stop: int) -> bool:
        """Whether all elements from `start` to before `stop` are."""
        begin, end = covered(stores)
        return bool(np.any((begin <= start) & (stop <= end)))

    def _lies_in(self, wanted: Stored, stores: Sequence[Stored]) -> bool:
        """Whether what is wanted lies in stores of the same iterations of the loops that go on: positions are
        then compared without what both have of these loops' variables."""
        for common in {_open_part(stored) for stored in stores}:
            alike = [s for s in stores if _open_part(s) == common]
            rest = as_index(linear(wanted.at), dict(common))
            last = rest.hi + wanted.width - 1
            if wanted.end is not None:
                last = max(rest.hi, min(last, as_index(linear(wanted.end), dict(common)).hi - 1))
            if self._is_stored([_without(s, dict(common)) for s in alike], rest.lo, last + 1):
                return True
        return False

    def _is_same_loop(self, wanted: Stored, stores: Sequence[Stored]) -> bool:
        """Whether loops that have ended stored what is wanted, in one of their iterations."""
        parts = (s for s in stores if s.end is not None)
        return any(self._is_iteration(wanted, s, s.around, {}) for s in (*joined(stores), *parts))

    def _is_iteration(
        self,
        wanted: Stored,
        stored: Stored,
        ended: Sequence[IterationRange | Where],
        places: Places,
    ) -> bool:
        """Whether what is wanted is what the loops `ended` stored for some values of their variables, with
        `places` for those around: a loop around the load that goes through the same values, any index
        within constant bounds, or one of the first values."""
        if not ended:
            offset = as_index(linear(wanted.at), linear(renamed(stored.at, places)))
            if stored.end is not None:  # the very part
                end = linear(renamed(stored.end, places))
                is_same = wanted.end is not None and linear(wanted.end) == end
                return is_same and offset.is_const(0) and wanted.width == stored.width
            return offset.lo >= 0 and offset.hi + wanted.width <= stored.width
        loop, *inner = ended
        if isinstance(loop, Where):
            return False
        start, stop = (renamed(at, places) for at in (loop.start, loop.stop))
        bounds = start, stop, loop.step
        found = [now.variable for now in self.loops if (now.start, now.stop, now.step) == bounds]
        if loop.step == 1 and start.op == stop.op == "const":
            inside = (at for at in linear(wanted.at) if at and start.lo <= at.lo)
            found += [at for at in inside if at.hi < stop.lo]
            found += [index(n) for n in range(start.lo, min(stop.lo, start.lo + 4))]
        return any(
            self._is_iteration(wanted, stored, inner, {**places, loop.variable: at}) for at in found
        )


# ---- stores ----


def _all_of(memory: ir.Buffer | ir.PrivateArray) -> tuple[Stored, ...]:
    return (Stored(index(0), None, memory.size),)


def _iterations_of(condition: ir.Statement | None) -> Where | None:
    """The iterations in which a condition holds that compares two indices."""
    match condition:
        case ir.Let(op="eq", args=(Index() as left, Index() as right)):
            return Where(left, right)
    return None


def _width(memory: ir.Buffer | ir.PrivateArray, value: ir.Scalar) -> int:
    """How many elements of the memory: an access to a private array of vectors is to one of them."""
    return 1 if getattr(memory, "width", 1) > 1 else getattr(value, "width", 1)


def _open_part(stored: Stored) -> frozenset:
    """What the index adds up that no loop which has ended had a hand in."""
    ended = {outer.variable for outer in stored.around if isinstance(outer, IterationRange)}
    return frozenset(
        (part, factor)
        for part, factor in linear(stored.at).items()
        if part is not None and ended.isdisjoint(variables(part))
    )


def _without(stored: Stored, common: Linear) -> Stored:
    at = as_index(linear(stored.at), common)
    end = None if stored.end is None else as_index(linear(stored.end), common)
    return replace(stored, at=at, end=end)
