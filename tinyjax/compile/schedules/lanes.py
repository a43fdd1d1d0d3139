"""Lanes: which values of a loop's body differ between iterations, and what prevents vectorizing it.

A value is *uniform* (the same in all lanes) or varies. A value varies if it is computed from the loop's
variable or from a varying value. So does a private array that stores such a value, and any value in a loop
that lanes leave at different times.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.interpret import apply_op
from tinyjax.compile.kernel.substitution import (
    defined_names,
    every_statement,
    loaded_memory,
    replaced,
    stored_memory,
)
from tinyjax.compile.schedules.dependences import why_dependent, why_in_order
from tinyjax.compile.schedules.directive import accumulators_in

MAX_STRIDE = 16  # of a strided vector, which is assembled from lanes of contiguous ones
MAX_CHOICES = 16  # elements of which each lane chooses one


@dataclass
class Lanes:
    """The iterations of a loop as lanes: `width` of them, or those before `end` if it is given. With
    `gather`, lanes may load inputs and store outputs at scattered indices.

    `varying` are the names of values and private arrays that differ from lane to lane; `sums` are the
    accumulators from outside the loop, each with its operation and initial value; `with_gaps` are private
    arrays of which elements beyond the end may not be stored."""

    axis: str
    first: Index
    end: Index | None
    width: int
    gather: bool = False
    varying: set[str] = field(default_factory=set)
    sums: dict[str, tuple[str, ir.Const]] = field(default_factory=dict)
    with_gaps: set[ir.Buffer | ir.PrivateArray] = field(default_factory=set)

    def access(self, access: ir.Load | ir.Store) -> str:
        """How lanes access memory: "together", at one place or as neighbours (if they have a vector at all);
        "even", by a stride, which may be negative; "apart", each by itself; or "chosen", each one of
        the few elements of a private array."""
        is_load = isinstance(access, ir.Load)
        memory = access.memory
        stride = None if self.is_data(access.index) else self.stride(access.index)
        if not self.gather or stride in (0, 1):
            return "together"
        if isinstance(memory, ir.PrivateArray):
            numbers = self.data_in(access.index) if is_load else []
            is_few = len(numbers) == 1 and numbers[0].hi - numbers[0].lo < MAX_CHOICES
            is_apart = is_load and stride is None and memory.name not in self.varying
            return "chosen" if is_few else "apart" if is_apart else "together"
        if is_load != (memory.role == "in") or (stride is None and not is_load):
            return "together"
        is_even = stride is not None and (abs(stride) <= MAX_STRIDE if is_load else stride > 1)
        return "even" if is_even and self.end is None else "apart"

    def data_in(self, at: Index) -> list[Index]:
        """The variables of an index that come from data and differ between lanes."""
        return list(dict.fromkeys(p for p in at.parts() if p.op == "var" and self.is_data(p)))

    def stride(self, at: Index) -> int | None:
        """By how much an index grows from lane to lane; None if that differs."""
        in_chunk = self.first.factor() % self.width == 0
        return at.stride(self.axis, self.width if in_chunk else 1)

    def at(self, number: Index, at: Index) -> Index:
        """The index in the iteration with that number."""
        return at.with_variables(lambda v: number if v.args[0] == self.axis else v)

    def at_first(self, at: Index) -> Index:
        """The index in the first lane."""
        return self.at(self.first, at)

    def is_in_bounds(self, memory: ir.Buffer | ir.PrivateArray, at: Index) -> bool:
        """Whether each lane has an element, also beyond the end: private arrays may have room for vectors."""
        if isinstance(memory, ir.Buffer) or memory in self.with_gaps:
            return False
        first = self.at_first(at)
        return first.factor() % self.width == 0 and first.hi + self.width <= memory.size

    def differs(self, atom: ir.Argument | None) -> bool:
        """Whether an operand or an index is not the same in all lanes."""
        if isinstance(atom, Index):
            return self.is_data(atom) or self.stride(atom) != 0
        return isinstance(atom, ir.Value) and atom.name in self.varying

    def is_data(self, at: Index) -> bool:
        """Whether an index depends on values that are not the same in all lanes."""
        return not at.names.isdisjoint(self.varying)

    def analyzed(self, kernel: ir.Kernel, loop: ir.For) -> Lanes:
        """These lanes with the loop's accumulators, what varies in it, and the arrays with gaps."""
        for array, combine in accumulators_in(loop.body).items():
            self.sums[array.name] = combine.op, _initial(kernel, array)
        self.find_varying(loop.body)
        self.with_gaps = _with_gaps(kernel, loop, self.width)
        return self

    def find_varying(self, body: ir.Body) -> None:
        """Collects what varies between lanes, to a fixed point."""
        own = set(defined_names(body))
        inside = every_statement(body)
        before = -1
        while len(self.varying) > before:
            before = len(self.varying)
            for statement in inside:
                match statement:
                    case ir.Let(target, _, args) if any(map(self.differs, args)):
                        self.varying.add(target.name)
                    case ir.Load(target, memory, at):
                        if self.differs(at) or memory.name in self.varying:
                            self.varying.add(target.name)
                    case ir.Store(memory, at) | ir.Combine(memory, at) if memory.name in own:
                        if self.differs(at) or self.differs(statement.value):
                            self.varying.add(memory.name)
                    case ir.While(_, holds) if self.differs(holds):
                        self.varying |= carry_of(statement)


def carry_of(loop: ir.While) -> set[str]:
    """The names of the private arrays from outside that iterations store to."""
    stores = (s for s in every_statement([*loop.head, *loop.body]) if isinstance(s, ir.Store))
    arrays = {s.memory.name for s in stores if isinstance(s.memory, ir.PrivateArray)}
    return arrays - set(defined_names([loop]))


def chunk_of(loop: ir.For, width: int) -> tuple[bool, Index | None]:
    """Whether the loop has exactly `width` iterations, and where it ends if it may have fewer."""
    ends = loop.stop.args if loop.stop.op == "min" else (loop.stop,)
    others = [end for end in ends if not (end - loop.start).is_const(width)]
    if not others:
        return True, None
    (end,) = others if len(others) == 1 else (loop.stop,)
    count = loop.stop - loop.start
    is_chunk = len(others) < len(ends) or (count.op == "const" and count.lo <= width)
    return is_chunk and loop.start.hi < end.lo, end


# ---- what can't be vectors ----


def why_no_lanes(kernel: ir.Kernel, loop: ir.For, lanes: Lanes) -> Iterator[str]:
    """Why the loop's iterations can't run at the same time."""
    inside = every_statement(loop.body)
    for array, combine in accumulators_in(loop.body).items():
        yield from _why_no_sum(kernel, set(map(id, inside)), array, combine.op, in_one_loop=False)
    apart = {s.memory for s in inside if isinstance(s, ir.Load) and lanes.access(s) == "apart"}
    for memory in set(stored_memory(loop.body)) & loaded_memory(loop.body):
        if (isinstance(memory, ir.Buffer) or memory in apart) and why_dependent(loop):
            yield f"iterations load what others store in {memory.name}"


def _with_gaps(kernel: ir.Kernel, loop: ir.For, width: int) -> set[ir.Buffer | ir.PrivateArray]:
    """The private arrays of which other loops store parts of vectors, or vectors that overlap."""
    statements = kernel.statements
    filled = {s.array for s in statements if isinstance(s, ir.Allocate) and s.initial is not None}
    stores = (s for s in statements if isinstance(s, ir.Store))
    parts = {s.memory for s in stores if ir.width_of(s) < width or s.end is not None or s.repeats}
    return parts - filled - set(stored_memory(loop.body))


def why_no_parts(
    kernel: ir.Kernel,
    loop: ir.For,
    accumulators: Container[ir.PrivateArray],
    in_one_loop: bool = True,
) -> str:
    """Why parts of the loop can't have separate accumulators and run in any order; empty if they can.
    Accumulators that exist in the whole kernel may be vectors, or used by other loops too."""
    inside = every_statement(loop.body)
    sums = [s for s in inside if isinstance(s, ir.Combine) and s.memory in accumulators]
    within = set(map(id, inside))
    for s in sums:
        if reason := next(_why_no_sum(kernel, within, s.memory, s.op, in_one_loop), ""):
            return reason
    rest = replace(loop, body=replaced(loop.body, lambda s: [] if s in sums else [s]))
    return why_in_order(rest)


def _why_no_sum(
    kernel: ir.Kernel, inside: set[int], array: ir.PrivateArray, op: str, in_one_loop: bool = True
) -> Iterator[str]:
    """Why there can't be an accumulator for each lane."""
    initial = _initial(kernel, array)
    value = array.dtype.type(initial.value)
    if in_one_loop and array.width > 1:
        yield f"{array.name} is made of vectors already"
    if not np.array_equal(apply_op(op, array.dtype, [value, value]), value):
        yield f"each copy would begin with {initial} in {array.name}, and so it would count often"
    for s in kernel.statements:
        match s:
            case ir.Combine(combined, _, other) if combined == array:
                if other != op or (in_one_loop and id(s) not in inside):
                    yield f"{array.name} is combined elsewhere too, or otherwise"
            case ir.Store(stored) if stored == array:
                yield f"{array.name} is stored to"
            case ir.Load(_, source) if source == array and id(s) in inside:
                yield f"each iteration loads {array.name}, which the one before it leaves"


def _initial(kernel: ir.Kernel, array: ir.PrivateArray) -> ir.Const:
    """An accumulator's initial value; NaN if it has none."""
    allocates = (s for s in kernel.statements if isinstance(s, ir.Allocate))
    (found,) = (s.initial for s in allocates if s.array == array)
    return ir.Const(np.nan, np.dtype("float32")) if found is None else found
