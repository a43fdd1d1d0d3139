"""What kernels of reductions have in common: accumulators, and places in an array of rows.

After this file you can read how several accumulators become one number: a vector of sixteen elements
is added to sixteen sums, and those are added in pairs, halves to halves, at the end. That is also
more accurate than one sum after the other. Builds on group_builder.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_model import CHEAP_WORK
from tinyjax.compile.fusion.cost_record import operations
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.fusion.reduction_groups import form_of, leading_axes, variables
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Const,
    Kernel,
    Let,
    PrivateArray,
    Scalar,
    Value,
    statements_of,
)
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.rules import Position, Reduction, lowering_of, sum_dtype
from tinyjax.compile.kernel.scalar_ops import has_vector_type
from tinyjax.compile.kernel.vector_lanes import VectorLanes
from tinyjax.compile.schedules.group_builder import GroupBuilder, statements_for
from tinyjax.core.jaxpr import JaxprEqn, Var

BOOL = np.dtype(bool)
UNROLLED = 4


def widths(group: KernelGroup, target: Target) -> list[int]:
    """The widths of vectors to try: the first that is possible is best."""
    dtypes = {v.aval.dtype for eqn in group.eqns for v in [*eqn.invars, *eqn.outvars]}
    if target.width == 1 or not all(map(has_vector_type, dtypes)):
        return [1]
    vector = target.width if max(dtype.itemsize for dtype in dtypes) <= 4 else target.width // 2
    return [vector, 1]


class ReductionBuilder(GroupBuilder):
    """Writes kernels of reductions, in vectors of `width` elements."""

    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target, width: int):
        super().__init__(group, names, target)
        assert group.form is not None
        self.form = group.form
        self.width = width
        self.reductions = [
            eqn for eqn in group.eqns if form_of(eqn, lowering_of(eqn, target), target) == self.form
        ]

    def kernel_named(self, name: str) -> Kernel:
        """The kernel. Raises NotVectorizable if the width must be 1."""
        with statements_for(self.reductions):
            items, scratch = self.whole()
        return self.kernel(name, items, scratch)

    def whole(self) -> tuple[int, Sequence[Buffer]]:
        """Writes all statements, each form in its way; gives the work-items and the scratch memory."""
        raise NotImplementedError

    # ---- places ----

    def place(self, v: Var, row: Index, column: Index) -> Position:
        """In an array of rows, or with one number for each row."""
        rows = self.form.outer
        columns = v.aval.size // rows
        leading = leading_axes(v.aval.shape, rows)
        assert leading is not None
        first, last = v.aval.shape[:leading], v.aval.shape[leading:]
        at = column if columns > 1 else index(0)
        coords = (*Position(first, flat=row).coords, *Position(last, flat=at).coords)
        return Position(v.aval.shape, coords, row * columns + at)

    @contextmanager
    def vectorized_from(self, first: Index, count: int, end: int | None = None) -> Iterator[Index]:
        """As vectorized, for the vector that begins at number `first` of `count`. What is known of
        it is forgotten after: the index that stands for its lanes is the same for all vectors."""
        with self.block() as statements:
            each = first
            if self.width > 1:
                stop = None if end is None else index(end)
                each = index_var("e", 0, count - 1)
                self.lanes = VectorLanes(each, first, stop, self.width)
            try:
                yield each
            finally:
                self.lanes = None
        self.body += statements

    # ---- accumulators ----

    def rule(self, eqn: JaxprEqn) -> Reduction:
        lowering = lowering_of(eqn, self.target)
        assert isinstance(lowering, Reduction)
        return lowering

    def sum_dtype(self, eqn: JaxprEqn) -> np.dtype:
        """The dtype of the accumulators."""
        return sum_dtype(eqn.outvars[0].aval.dtype)

    def identity(self, eqn: JaxprEqn) -> Const:
        dtype = self.sum_dtype(eqn)
        return Const(self.rule(eqn).identity(dtype), dtype)

    def accumulators(self, eqn: JaxprEqn, count: int) -> list[PrivateArray]:
        """`count` variables, each a vector of accumulators."""
        made = []
        with statements_of(eqn):
            for _ in range(count):
                made.append(PrivateArray(self.fresh("acc"), self.sum_dtype(eqn), 1, self.width))
                self.body.append(Allocate(made[-1], self.identity(eqn)))
        return made

    def pairwise(self, eqn: JaxprEqn, values: Sequence[Scalar]) -> Scalar:
        """All values combined: halves, then quarters, ..."""
        if len(values) == 1:
            return values[0]
        middle = len(values) // 2
        halves = [self.pairwise(eqn, values[:middle]), self.pairwise(eqn, values[middle:])]
        return self.let(self.rule(eqn).op, halves, halves[0].dtype)

    def all_combined(self, eqn: JaxprEqn, accumulators: Sequence[PrivateArray]) -> Scalar:
        """All accumulators of one result, and the lanes of each, as one number."""
        with statements_of(eqn):
            return self._all_combined(eqn, accumulators)

    def _all_combined(self, eqn: JaxprEqn, accumulators: Sequence[PrivateArray]) -> Scalar:
        value: Any = self.pairwise(
            eqn, [self.load_vector(array, index(0)) for array in accumulators]
        )
        while value.width > 1:
            halves = [
                Value(self.fresh("t"), value.dtype, value.width // 2) for _ in ("low", "high")
            ]
            for half, op in zip(halves, ("low", "high")):
                self.body.append(Let(half, op, (value,)))
            value = self.pairwise(eqn, halves)
        return value

    def load_vector(self, array: PrivateArray, at: Index, name: str = "t") -> Value:
        """Element number `at` of private memory."""
        return self.read(MemRef(array, width=self.width), at, name)

    def work(self, free: Container[Var]) -> dict[Var, float]:
        """Operations for an element of each value that is computed; those in `free` are there."""
        work: dict[Var, float] = {}
        for eqn in self.group.eqns:
            cost = operations(lowering_of(eqn, self.target))
            total = cost + sum(work.get(v, 0) for v in variables(eqn))
            work.update((v, 0 if v in free else total) for v in eqn.outvars)
        return work

    @property
    def unrolled(self) -> int:
        """How many elements to take at once: where there is little work, there are several
        accumulators, so that one need not wait for the addition before."""
        work = self.work({v for eqn in self.reductions for v in eqn.outvars})
        terms = sum(work.get(operand(eqn), 0) for eqn in self.reductions)
        return UNROLLED if terms <= CHEAP_WORK * len(self.reductions) else 1

    def know(self, eqn: JaxprEqn, at: Index, combined: Scalar) -> None:
        """From now on the result of a reduction at `at` is this."""
        (out,) = eqn.outvars
        with statements_of(eqn):
            total = self.converted(combined, out.aval.dtype)
            self.known[out, at] = self._named(total, self.names[out])

    def masked(self, value: Scalar, inside: Scalar | None, identity: Const) -> Scalar:
        """The identity in lanes that are not inside."""
        if inside is None:
            return value
        return self.let("select", (inside, value, identity), value.dtype)


def operand(eqn: JaxprEqn) -> Var:
    """What a reduction combines."""
    (found,) = variables(eqn)
    return found


def blocks_of(count: int, each: int) -> tuple[int, int]:
    """(blocks, elements of a block) of about equal size, at most `each`."""
    blocks = math.ceil(count / each)
    return blocks, math.ceil(count / blocks)
