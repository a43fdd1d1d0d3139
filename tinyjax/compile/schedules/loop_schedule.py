"""The schedules of loops and branches: each element runs the loop by itself, or one work-item runs it all.

On a CPU, a vmapped while_loop runs as vectors of 16 neighbours, each until none of its lanes is active. On a
GPU, each work-item runs one element.
"""

from __future__ import annotations

import math

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_record import jaxpr_cost, total
from tinyjax.compile.kernel.kernel_ir import Buffer, For, Kernel, Load
from tinyjax.compile.kernel.naive_loop import LoopKernel
from tinyjax.compile.passes.loops import Branches, Loop, has_unknown_length
from tinyjax.compile.schedules.directive import (
    accumulators_in,
    axis_of,
    loop_over,
    loops_of,
    path_to,
    perfect_nest,
)
from tinyjax.compile.schedules.hoist import Hoist
from tinyjax.compile.schedules.map_schedule import INSIDE
from tinyjax.compile.schedules.parallelize import Parallelize, split_work
from tinyjax.compile.schedules.reorder import Reorder
from tinyjax.compile.schedules.schedule import ScheduleBuilder
from tinyjax.compile.schedules.stoppable import Stoppable
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam, is_short
from tinyjax.compile.schedules.vector_axes import vector_width, vectorize_maps, vectorize_sums
from tinyjax.compile.schedules.vectorize import Vectorize

# Operations in one launch, 0.1 to 0.2 s: the host can stop loops that take more.
LAUNCH_WORK = 2**27
ITERATION_WORK = 4  # operations that each iteration takes at least
UNROLLED = 8  # terms of a sum that are added before it goes back to memory
WIDTH = 16  # elements of a vector on a CPU
JAMMED_BYTES = 24  # bytes of carry per lane, over all vectors that advance together


def elements_schedule(nest: LoopKernel, found: Loop | Branches, target: Target) -> ScheduleBuilder:
    """The schedule of a naive nest that each element of the arrays, or each example, runs by itself."""
    builder, is_elementwise = ScheduleBuilder(nest.kernel), nest.kernel.form == "elementwise"
    count = math.prod(map(builder.size, nest.elements))
    axis = builder.fuse_axes(nest.elements, "the end of a row and the next row share a vector")
    if isinstance(found, Loop):
        builder.apply_if_possible(Hoist(nest.axis, why="once is enough"))
    axis, width = _in_vectors(builder, axis, count, target)
    chunks, jammed = math.ceil(count / width), _jammed(found, count, width) if is_elementwise else 1
    items, run = split_work(math.ceil(chunks / jammed), 1, target.max_items)
    if chunks > 1:
        why = f"{'elements' if is_elementwise else 'examples'} do not wait for each other"
        builder.apply(Parallelize(axis, items, target.local_size, jammed, why=why))
    if jammed > 1 and is_short(loop_over(builder.kernel, axis).body):
        why = "while one vector waits for a result, others go on"
        builder.apply_if_possible(UnrollAndJam(axis, jammed, why=why))
    if isinstance(found, Loop):
        cost = total(jaxpr_cost(body.jaxpr, target) for body in found.bodies.values())
        work = cost.work_in_vectors(width) if is_elementwise else cost.work
        one = work // nest.examples
        # The few work-items of a CPU wait for each other; those of a GPU run at once.
        times = chunks if target.width > 1 else run * jammed
        _make_stoppable(builder, nest, found, (one + ITERATION_WORK) * times)
    return builder


def _in_vectors(builder: ScheduleBuilder, axis: str, count: int, target: Target) -> tuple[str, int]:
    """The axis that numbers the vectors, and their width; without vectors, the axis of the elements."""
    width = min(WIDTH, 2 ** math.ceil(math.log2(count)))
    why = "all lanes do the same, until the last one is done"
    vectors = Vectorize(axis, width, gather=True, why=why)
    if target.width == 1 or width == 1 or not builder.can_vectorize(vectors):
        return axis, 1
    return builder.vectorize(vectors), width


def _jammed(loop: Loop | Branches, count: int, width: int) -> int:
    """How many vectors of the elements advance together: as many as fit in registers."""
    if isinstance(loop, Branches) or loop.length is None or width < WIDTH:
        return 1
    in_registers = sum(v.aval.dtype.itemsize for v in loop.last_carry if v.aval.ndim)
    return max(1, min(JAMMED_BYTES // max(4, in_registers), count // WIDTH))


# ---- one work-item ----


def sequential_schedule(
    nest: LoopKernel, found: Loop | Branches, target: Target
) -> ScheduleBuilder:
    """The schedule of a naive nest that one work-item runs."""
    builder = ScheduleBuilder(nest.kernel)
    if isinstance(found, Loop):
        builder.apply_if_possible(Hoist(nest.axis, why="once is enough"))
    _advance_together(builder, nest.axis, target)
    vectorize_sums(builder, target.width)
    _collapse(builder, nest.axis)
    for axis in [axis_of(loop) for loop in loops_of(builder.kernel.body)]:
        if axis != nest.axis:
            builder.partition(axis, INSIDE)
    if target.width > 1:  # half the width, so that the same loops store and load each vector
        vectorize_maps(builder, vector_width(builder.kernel, target) // 2)
    if isinstance(found, Loop):
        bodies = found.bodies.values()
        operations = sum(jaxpr_cost(body.jaxpr, target).work for body in bodies)
        _make_stoppable(builder, nest, found, operations + ITERATION_WORK)
    return builder


def _advance_together(builder: ScheduleBuilder, main: str, target: Target) -> None:
    """Advances the sums of all elements of an array together: each takes its next term in turn, so that terms
    are read in memory order.
    """
    for inner in loops_of(builder.kernel.body):
        axis = axis_of(inner)
        if axis == main or not accumulators_in(inner.body):
            continue
        outer = [s for _, s in path_to(builder.kernel.body, axis)[:-1]]
        if not outer or not isinstance(outer[-1], For) or axis_of(outer[-1]) == main:
            continue
        around = axis_of(outer[-1])
        why = "all elements of a product advance together"
        change = Reorder(axis, (around,), in_memory=True, why=why)
        if not builder.apply_if_possible(change):
            continue
        if loops_of(loop_over(builder.kernel, around).body):
            continue
        pack = Hoist(main, (axis, around), why="neighbours are then neighbours in memory")
        if target.width > 1 and _reads_apart(builder.kernel, around):
            builder.apply_if_possible(pack)
        if builder.size(axis) > 1:
            count = min(UNROLLED, builder.size(axis))
            why = "several terms for each load and store of a sum"
            builder.apply_if_possible(UnrollAndJam(axis, count, why=why))


def _reads_apart(kernel: Kernel, axis: str) -> bool:
    """Whether neighbouring iterations read input elements that are not neighbours in memory."""
    loads = (s for s in loop_over(kernel, axis).body if isinstance(s, Load))
    return any(s.index.stride(axis) not in (0, 1) for s in loads if isinstance(s.source, Buffer))


def _collapse(builder: ScheduleBuilder, main: str) -> None:
    """Fuses the loops over an array's axes into one, if no index then needs division."""
    loops = [loop for loop in loops_of(builder.kernel.body) if axis_of(loop) != main]
    inside = {id(s) for loop in loops for s in loop.body}
    for loop in loops:
        if id(loop) not in inside:
            axes = [axis_of(inner) for inner in perfect_nest([loop])]
            builder.fuse_contiguous_axes(axes, "they are contiguous")


# ---- both ----


def _make_stoppable(
    builder: ScheduleBuilder, nest: LoopKernel, loop: Loop, operations: int
) -> None:
    """Lets the host stop a loop that may run long; `operations` are those of an iteration."""
    eqns = [eqn for body in loop.bodies.values() for eqn in body.jaxpr.eqns]
    has_inner = any(map(has_unknown_length, eqns))
    if loop.length is None or has_inner or loop.length * operations > LAUNCH_WORK:
        why = "it may run long, and a user may not want to wait for its end"
        builder.apply(Stoppable(nest.axis, why=why))
