"""From a group of equations to a kernel: asking for each output element, back through the rules.

After this file you can predict a kernel's text from the equations: a loop over the output's elements
and, in it, one call of builder.py's `element(v, position)` an output. Builds on fuse and builder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tinyjax.jaxpr import Jaxpr, Var
from tinyjax.opencl.builder import FLOAT32, Builder, Place
from tinyjax.opencl.check_kernel import check_kernel
from tinyjax.opencl.codegen import HALVES, Target
from tinyjax.opencl.fuse import KernelGroup
from tinyjax.opencl.kernel_ir import (
    Buffer,
    For,
    IfLast,
    Index,
    Kernel,
    Scalar,
    Statement,
    index,
    item_index,
)
from tinyjax.opencl.rules import Context, Position, Reduction, lowering_of
from tinyjax.pretty_printer import Context as PrinterContext


def variable_names(jaxpr: Jaxpr) -> dict[Var, str]:
    """The names that the printed jaxpr has: kernels, schedule and jaxpr then read alike."""
    printer = PrinterContext(jaxpr)
    variables = [*jaxpr.constvars, *jaxpr.invars, *(v for eqn in jaxpr.eqns for v in eqn.outvars)]
    return {v: printer.name(v) for v in variables}


def lower_group(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    """The kernel of `group`; its buffers are the group's inputs, then its outputs (then scratch).

    Elements are numbered flat, in one loop, as long as nothing asks for the coordinates; on a CPU,
    where the divisions would cost more than the work, those get a loop over rows and one within."""
    if group.is_chunked:
        kernel = _KernelBuilder(group, names, target).shared_reduction(name)
    else:
        kernel = _KernelBuilder(group, names, target).map(name, _flat_loop)
        rank = len(group.outputs[0].aval.shape)
        if rank > 1 and target.lanes > 1 and divides(kernel.body):
            kernel = _KernelBuilder(group, names, target).map(name, _row_loop)
    check_kernel(kernel)
    return kernel


def divides(body: Sequence[Statement]) -> bool:
    """Whether some index in `body` is found by division."""
    for statement in body:
        if isinstance(statement, For):
            if divides(statement.body):
                return True
            continue
        used = [getattr(statement, "index", None), *getattr(statement, "args", ())]
        if any(part.op in "/%" for i in used if isinstance(i, Index) for part in i.parts()):
            return True
    return False


# ---- building a kernel ----


class _KernelBuilder(Builder):
    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target):
        super().__init__(names, target)
        self.group = group
        self.producer = {v: eqn for eqn in group.eqns for v in eqn.outvars}
        self.inputs = [
            Buffer(f"{names[v]}_in", v.aval.dtype, v.aval.size, "in") for v in group.inputs
        ]
        self.places = {v: Place(buffer) for v, buffer in zip(group.inputs, self.inputs)}
        self.outputs = {
            v: Buffer(f"{names[v]}_out", v.aval.dtype, v.aval.size, "out") for v in group.outputs
        }

    def map(self, name: str, loop: Callable) -> Kernel:
        """Each work-item computes a run of the outputs' elements."""
        shape = self.group.outputs[0].aval.shape
        items = loop(self, shape, self._store_outputs)
        return self._kernel(name, items)

    def _store_outputs(self, position: Position) -> None:
        for v, buffer in self.outputs.items():
            self.store(buffer, position.flat, self.element(v, position))

    def shared_reduction(self, name: str) -> Kernel:
        """Few results of many elements: each work-item combines a run of the elements and leaves its
        partial result in memory; the work-item that is done last combines those."""
        (out,) = self.group.outputs
        eqn = self.producer[out]
        rule = lowering_of(eqn, self.target)
        assert isinstance(rule, Reduction)
        sizes = rule.sizes(eqn)
        total = math.prod(sizes)
        blocks = total // self.target.lanes
        grain = max(1, self.target.reduction_grain // self.target.lanes)
        items, run = share(blocks, grain, self.target.reduction_items)
        dtype = FLOAT32 if out.aval.dtype in HALVES else out.aval.dtype
        item_count = padded(items, self.target)
        item = item_index(item_count)
        partial = Buffer("partial", dtype, out.aval.size * item_count, "scratch")
        ticket = Buffer("ticket", np.dtype("int32"), 1, "scratch")

        def element(result: Index, at: Index) -> Scalar:
            ctx = Context(self, eqn, out, Position(out.aval.shape, flat=result))
            return self.term(ctx, eqn, rule, Position(sizes, flat=at))

        with self.loop(0, out.aval.size, out.aval.size - 1) as result:
            lanes = self.make_lanes(eqn, rule, self.target.lanes)
            with self.loop(*run_of(item, run, blocks), blocks - 1) as block:
                with self.loop(0, lanes.size, lanes.size - 1) as lane:
                    at = block * lanes.size + lane
                    self.combine(rule, lanes, lane, element(result, at))
            # Padding work-items have an empty run, and leave the identity.
            self.store(partial, result * item_count + item, self.total(rule, lanes))
        with self.block() as finish:
            with self.loop(0, out.aval.size, out.aval.size - 1) as result:
                lanes = self.make_lanes(eqn, rule, 1)
                with self.loop(0, item_count, item_count - 1) as other:
                    value = self.load("t", partial, result * item_count + other)
                    self.combine(rule, lanes, index(0), value)
                if blocks * self.target.lanes < total:
                    with self.loop(blocks * self.target.lanes, total, total - 1) as rest:
                        self.combine(rule, lanes, index(0), element(result, rest))
                combined = self.converted(self.total(rule, lanes), out.aval.dtype)
                self.store(self.outputs[out], result, combined)
        self.body.append(IfLast(ticket, finish))
        return self._kernel(name, items, [partial, ticket])

    def _kernel(self, name: str, items: int, scratch: Sequence[Buffer] = ()) -> Kernel:
        buffers = [*self.inputs, *self.outputs.values(), *scratch]
        return Kernel(name, buffers, padded(items, self.target), self.body)


# ---- sharing out the work ----


def share(count: int, grain: int, most: int) -> tuple[int, int]:
    """(work-items, elements to each): at least `grain` elements to each, at most `most` items."""
    items = min(most, max(1, math.ceil(count / grain)))
    run = math.ceil(count / items)
    return math.ceil(count / run), run


def padded(items: int, target: Target) -> int:
    """Work-items come in whole groups; those beyond the last element find an empty loop."""
    return math.ceil(items / target.local_size) * target.local_size


def run_of(item: Index, run: int, count: int) -> tuple[Index, Index]:
    """Where the run of a work-item starts and stops."""
    return item * run, (item * run + run).min(count)


def _flat_loop(
    builder: _KernelBuilder, shape: tuple[int, ...], body: Callable[[Position], None]
) -> int:
    """One loop over the flat positions; gives the number of work-items."""
    count = math.prod(shape)
    items, run = share(count, builder.target.grain, builder.target.max_items)
    item = item_index(padded(items, builder.target))
    with builder.loop(*run_of(item, run, count), count - 1) as i:
        body(Position(shape, flat=i))
    return items


def _row_loop(
    builder: _KernelBuilder, shape: tuple[int, ...], body: Callable[[Position], None]
) -> int:
    """A loop over rows (all axes but the last), and one along each; gives the number of work-items.

    Where rows are few and long, several work-items share one."""
    *leading, columns = shape
    rows = math.prod(leading)
    target = builder.target
    items, run = share(rows, max(1, target.grain // columns), target.max_items)
    pieces, piece_run = share(columns, target.grain, target.max_items // items)
    item = item_index(items * pieces)
    with builder.loop(*run_of(item // pieces, run, rows), rows - 1) as row:
        with builder.loop(*run_of(item % pieces, piece_run, columns), columns - 1) as column:
            coords = (*Position(leading, flat=row).coords, column)
            body(Position(shape, coords, row * columns + column))
    return items * pieces
