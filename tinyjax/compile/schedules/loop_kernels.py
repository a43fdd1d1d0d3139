"""Loops and branches as one kernel.

- *elementwise*: the body works element by element, so each element runs the loop by itself. A CPU runs it
  for vectors of 16 neighbours, until the last lane is done; a GPU for scalars.
- *by example*: the carry has an axis of examples, as vmap makes it, and each example is computed from its
  own elements alone. Each runs the loop by itself, with its part of the carry in private memory: on a CPU, 16
  of them are the lanes of vectors.
- *sequential*: the arrays of an iteration are small, so a single work-item keeps them in private memory.
  Launching the kernels of each iteration would take longer than the work. Few examples run so too, if the
  elements of one fill vectors: an RNN of 16 examples of 32 states takes half the time.

A loop of unknown or large work can be stopped by the host (`_stoppable`). The cheap equations that make a
loop's first carry (zeros, an iota, a broadcast row) go to the head of its kernel, which is then one launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tinyjax.compile.fusion.cost_model import CHEAP_WORK
from tinyjax.compile.fusion.cost_record import Cost, jaxpr_cost, total
from tinyjax.compile.fusion.reduction_groups import variables
from tinyjax.compile.kernel.example_axes import NoKernelError, batches
from tinyjax.compile.kernel.kernel_ir import (
    STOP,
    Allocate,
    Body,
    Buffer,
    For,
    KernelError,
    Load,
    PrivateArray,
    Statement,
    While,
)
from tinyjax.compile.kernel.naive_loop import (
    MAX_GPU_ITERATION_WORK,
    MAX_ITERATION_WORK,
    LoopKernel,
    example_nest,
    naive_loop,
)
from tinyjax.compile.kernel.rules import Elementwise, IndexMap, lowering_of
from tinyjax.compile.kernel.scalar_ops import KERNEL_DTYPES, PART_DTYPES
from tinyjax.compile.kernel.substitution import replaced
from tinyjax.compile.passes.loops import (
    Branches,
    Loop,
    control_flow,
    every_eqn,
    has_unknown_length,
    is_control_flow,
)
from tinyjax.compile.schedules.chooser import INSIDE, Chooser
from tinyjax.compile.schedules.directive import (
    accumulators_in,
    axis_of,
    loop_over,
    loops_of,
    path_to,
    perfect_nest,
)
from tinyjax.compile.schedules.hoist import Hoist
from tinyjax.compile.schedules.reorder import Reorder
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam, is_short
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import JaxprEqn, Var, has_effects

# The most elements that one work-item's arrays may have: private memory is on a stack, and should stay in
# the cache of a core.
MAX_PRIVATE = 2**16
MAX_STATEMENTS = 2**11  # of a naive body: each directive goes through all of them
# Operations in an iteration that several work-items may run at once, and of each work-item at least.
MAX_MAPPED_WORK, MAPPED_GRAIN = 2**22, 2**17
# Operations in one launch, 0.1 to 0.2 s: the host can stop loops that take more.
LAUNCH_WORK = 2**27
ITERATION_WORK = 4  # operations that each iteration takes at least
UNROLLED = 8  # terms of a sum that are added before it goes back to memory
WIDTH = 16  # elements of a vector on a CPU
FEW = 64 * WIDTH  # elements of few examples: more are shared among cores
TOO_MANY = "too many for one work-item"
JAMMED_BYTES = 24  # bytes of carry per lane, over all vectors that advance together

Producers = Mapping[Var, JaxprEqn]  # the equation that makes an operand


def loop_kernel(
    eqn: JaxprEqn, producer: Producers, names: dict[Var, str], target: Target
) -> LoopKernel | str:
    """A while, scan or cond as one kernel, or the reason why it can't be one. `producer` maps its operands to
    the equations that compute them: cheap ones become part of the kernel."""
    found = control_flow(eqn)
    if reason := _why_no_kernel(found):
        return reason
    forms: list[tuple[str, Callable[..., LoopKernel]]]
    forms = [("by example", _by_example), ("sequential", _sequential)]
    if isinstance(found, Loop):
        forms = forms[::-1] if _fills_vectors(found, target) else forms
        forms = [("elementwise", _elementwise), *forms]
    reasons = []
    for form, made in forms:
        try:
            return made(found, producer, names, target)
        except NoKernelError as error:
            reason = str(error)
            reasons.append(f"{reason} (so not {form})")
    return ", ".join([*reasons[:-1], f"and {reason}"])


def _elementwise(
    loop: Loop, producer: Producers, names: dict[Var, str], target: Target
) -> LoopKernel:
    """Each element of the arrays, all of one shape, is an example."""
    shapes = {v.aval.shape for v in loop.body.jaxpr.outvars if v.aval.shape}
    if len(shapes) != 1:
        raise NoKernelError("its arrays differ in shape" if shapes else "its arrays are scalars")
    for inner in every_eqn(loop.eqn):
        if not is_control_flow(inner) and not _is_map_of_elements(inner, target):
            raise NoKernelError(f"{inner.primitive} in its body reads other elements")
    return _nest_by_example(loop, producer, names, target, shapes, "elementwise")


def _by_example(
    found: Loop | Branches, producer: Producers, names: dict[Var, str], target: Target
) -> LoopKernel:
    if isinstance(found, Branches) and len(found.branches) > 1:
        raise NoKernelError("the examples of a branch are computed in other kernels")
    return _nest_by_example(found, producer, names, target, batches(found), "by example")


def _fills_vectors(loop: Loop, target: Target) -> bool:
    """Whether the neighbours in each array of the carry fill vectors. The lanes of few examples would load
    and store the elements of an iteration's operands and results one by one instead."""
    shapes = [v.aval.shape for v in loop.last_carry]
    return (
        target.name == "cpu"
        and bool(shapes)
        and all(len(shape) > 1 and math.prod(shape) <= FEW for shape in shapes)
        and all(shape[-1] >= WIDTH and -shape[-1] % WIDTH <= WIDTH // 2 for shape in shapes)
        and not any(map(is_control_flow, loop.body.eqns))
    )


def _nest_by_example(
    found: Loop | Branches, producer: Producers, names: dict[Var, str], target: Target,
    sizes: Iterable[tuple[int, ...]], form: str,
) -> LoopKernel:  # fmt: skip
    """The scheduled kernel of a loop or branch that each example runs by itself."""
    bodies = found.bodies.values()
    if any(has_unknown_length(eqn) for body in bodies for eqn in body.eqns):
        raise NoKernelError("a while_loop inside could not be interrupted")
    if any(not v.aval.size for body in bodies for eqn in body.eqns for v in eqn.outvars):
        raise NoKernelError("it has empty arrays")
    try:
        before = _before(found, producer, target)
        nest = example_nest(found, before, names, target, sizes, form)
        nest = _stoppable(nest, found, target)
        return _finished(nest, _elements_schedule(nest, found, target))
    except KernelError as error:
        raise NoKernelError(str(error)) from None


def _is_map_of_elements(eqn: JaxprEqn, target: Target) -> bool:
    """Whether an element of the result needs few elements of the operands."""
    return isinstance(lowering_of(eqn, target), (Elementwise, IndexMap))


def _sequential(
    found: Loop | Branches, producer: Producers, names: dict[Var, str], target: Target
) -> LoopKernel:
    operations = _cost(found, target).work
    most = MAX_GPU_ITERATION_WORK if target.name == "gpu" else MAX_ITERATION_WORK
    if target.name == "cpu" and _is_map(found):
        most = MAX_MAPPED_WORK
    if operations > most:
        raise NoKernelError(f"an iteration has {operations} operations, {TOO_MANY} (> {most})")
    nest = naive_loop(found, _before(found, producer, target), names, target)
    if (count := len(nest.kernel.statements)) > MAX_STATEMENTS:
        raise NoKernelError(f"its body has {count} statements, {TOO_MANY} (> {MAX_STATEMENTS})")
    nest = _stoppable(nest, found, target)
    return _finished(nest, _sequential_schedule(nest, found, target))


def _cost(found: Loop | Branches, target: Target) -> Cost:
    """The cost of an iteration, over all elements."""
    return total(jaxpr_cost(body.jaxpr, target) for body in found.bodies.values())


def _stoppable(nest: LoopKernel, found: Loop | Branches, target: Target) -> LoopKernel:
    """The nest, whose loop reads a flag before each iteration if it may run long: a kernel can't be
    interrupted from outside, and a user may not want to wait for its end. See STOP in kernel_ir.py."""
    if not isinstance(found, Loop):
        return nest
    operations = _cost(found, target).work // nest.examples + ITERATION_WORK
    # A CPU's vectors of examples wait for each other; a GPU's examples run at once.
    times = math.ceil(nest.examples / WIDTH) if target.width > 1 else 1
    total_work = (found.length or 0) * operations * times
    if total_work <= LAUNCH_WORK and not has_unknown_length(found.eqn):
        return nest

    def change(s: Statement) -> Body:
        if isinstance(s, While) or (isinstance(s, For) and axis_of(s) == nest.axis):
            return [replace(s, operations=operations)]
        return [s]

    stop = Buffer(STOP, np.dtype("int32"), 1, "scratch")
    buffers, body = [*nest.kernel.buffers, stop], replaced(nest.kernel.body, change)
    return replace(nest, kernel=replace(nest.kernel, buffers=buffers, body=body))


def _finished(nest: LoopKernel, chooser: Chooser) -> LoopKernel:
    """The scheduled kernel, if its private arrays fit a work-item."""
    kernel = chooser.finished()
    arrays = (s.array for s in kernel.statements if isinstance(s, Allocate))
    private = sum(array.size * array.width for array in arrays)
    if private > MAX_PRIVATE:
        raise NoKernelError(f"an iteration has {private} elements, {TOO_MANY} (> {MAX_PRIVATE})")
    vectors = [f", vectorized by {d.width}" for d in kernel.schedule if isinstance(d, Vectorize)]
    if kernel.form == "sequential":
        vectors = [f": an iteration has {private} elements"]
    form = "".join([kernel.form, *vectors])
    return replace(nest, kernel=replace(kernel, form=form))


def _why_no_kernel(found: Loop | Branches) -> str:
    eqn = found.eqn
    for inner in filter(is_control_flow, every_eqn(eqn)):
        if any(v.aval.size == 0 for v in [*inner.invars, *inner.outvars]):
            return "it has arrays without elements"
    for v in [*eqn.invars, *eqn.outvars]:
        if v.aval.dtype not in KERNEL_DTYPES | PART_DTYPES.keys():
            return f"kernels do not compute with {v.aval.dtype}"
    if isinstance(found, Loop) and (found.length or 0) >= 2**31:
        return "it has 2**31 iterations or more"
    return ""


# ---- operands that the kernel computes ----


def _before(found: Loop | Branches, producer: Producers, target: Target) -> list[JaxprEqn]:
    """The equations, in order, that make the initial carry. What the loop also reads elsewhere is stored."""
    if not isinstance(found, Loop):
        return []
    stored = [*found.condition_consts, *found.consts, *found.xs]
    eqns = list(dict.fromkeys(eqn for v, eqn in producer.items() if v not in stored))
    made = {eqn for v in found.carry if isinstance(v, Var) for eqn in _cheap(v, eqns, target)}
    return [eqn for eqn in eqns if eqn in made]


def _cheap(v: Var, eqns: Sequence[JaxprEqn], target: Target) -> list[JaxprEqn]:
    """Those of the equations that compute an element of `v` in few operations. They read at most one array,
    which is no larger, so that memory and parameters never grow."""
    used, reads, most = list[JaxprEqn](), {v}, CHEAP_WORK
    for eqn in reversed(eqns):
        if reads.isdisjoint(eqn.outvars) or not _is_map_of_elements(eqn, target):
            continue
        lowering = lowering_of(eqn, target)
        cost = lowering.cost if isinstance(lowering, Elementwise) else 1
        if cost <= most and not has_effects(eqn):
            used, most = [*used, eqn], most - cost
            reads = reads.difference(eqn.outvars).union(variables(eqn))
    is_smaller = all(0 < u.aval.size <= v.aval.size for u in reads)
    return used if len(reads) <= 1 and is_smaller else []


# ---- the schedule of elements or examples ----


def _elements_schedule(nest: LoopKernel, found: Loop | Branches, target: Target) -> Chooser:
    """The schedule of a naive nest that each element of the arrays, or each example, runs by itself."""
    chooser, is_elementwise = Chooser(nest.kernel, target), nest.kernel.form == "elementwise"
    count = math.prod(map(chooser.size, nest.elements))
    axis = chooser.fuse_axes(nest.elements, "the end of a row and the next row share a vector")
    chooser.apply_if_possible(Hoist(nest.axis, why="once is enough"))
    axis, width = _in_vectors(chooser, axis, count)
    jammed = _jammed(found, count, width) if is_elementwise else 1
    why = f"{'elements' if is_elementwise else 'examples'} do not wait for each other"
    chooser.share_out(axis, jammed, why, multiple=jammed, in_groups=True)
    if jammed > 1 and is_short(loop_over(chooser.kernel, axis).body):
        why = "while one vector waits for a result, others go on"
        chooser.apply_if_possible(UnrollAndJam(axis, jammed, why=why))
    return chooser


def _in_vectors(chooser: Chooser, axis: str, count: int) -> tuple[str, int]:
    """The axis that numbers the vectors, and their width; without vectors, the axis of the elements."""
    width = min(WIDTH, 2 ** math.ceil(math.log2(count)))
    why = "all lanes do the same, until the last one is done"
    vectors = Vectorize(axis, width, gather=True, why=why)
    if chooser.target.width == 1 or width == 1 or not chooser.is_possible(vectors):
        return axis, 1
    return chooser.vectorize(vectors), width


def _jammed(loop: Loop | Branches, count: int, width: int) -> int:
    """How many vectors of the elements advance together: as many as fit in registers."""
    if isinstance(loop, Branches) or loop.length is None or width < WIDTH:
        return 1
    in_registers = sum(v.aval.dtype.itemsize for v in loop.last_carry if v.aval.ndim)
    return max(1, min(JAMMED_BYTES // max(4, in_registers), count // WIDTH))


# ---- the schedule of one work-item ----


def _sequential_schedule(nest: LoopKernel, found: Loop | Branches, target: Target) -> Chooser:
    """The schedule of a naive nest that one work-item runs."""
    chooser = Chooser(nest.kernel, target)
    chooser.apply_if_possible(Hoist(nest.axis, why="once is enough"))
    for loop in loops_of(chooser.kernel.body):
        _advance_together(chooser, loop, nest.axis)
    chooser.vectorize_sums()
    _fuse_contiguous(chooser, nest.axis)
    for axis in [axis_of(loop) for loop in loops_of(chooser.kernel.body)]:
        if axis != nest.axis:
            chooser.partition(axis, INSIDE)
    if chooser.width > 1:  # half the width, so that the same loops store and load each vector
        chooser.vectorize_maps(chooser.width // 2)
    if _is_map(found):
        grain = math.ceil(MAPPED_GRAIN / (_cost(found, target).work + ITERATION_WORK))
        chooser.share_out(nest.axis, grain, "iterations do not wait for each other")
    return chooser


def _is_map(found: Loop | Branches) -> bool:
    """Whether it is a scan without a carry: its iterations are independent."""
    return isinstance(found, Loop) and found.length is not None and not found.carry


def _advance_together(chooser: Chooser, loop: For, main: str) -> None:
    """If the loop is a sum, all elements of an array advance together: each takes its next term in turn, so
    that terms are read in memory order. A long sum of neighbours is in vectors itself if there are few
    elements, or if these read private arrays far apart."""
    axis = axis_of(loop)
    *outer, _ = [s for _, s in path_to(chooser.kernel.body, axis)]
    if axis == main or not accumulators_in(loop.body) or not outer:
        return
    if not isinstance(outer[-1], For) or (around := axis_of(outer[-1])) == main:
        return
    is_long = chooser.size(axis) >= chooser.width > 1
    if is_long and not _reads_apart(loop, axis, Buffer | PrivateArray):
        few = chooser.size(around) < chooser.width // 2
        if few or _reads_apart(loop, around, PrivateArray):
            return
    why = "all elements of a product advance together"
    if not chooser.apply_if_possible(Reorder(axis, (around,), in_memory=True, why=why)):
        return
    if loops_of(loop_over(chooser.kernel, around).body):
        return
    pack = Hoist(main, (axis, around), why="neighbours are then neighbours in memory")
    if chooser.width > 1 and _reads_apart(loop_over(chooser.kernel, around), around, Buffer):
        chooser.apply_if_possible(pack)
    if chooser.size(axis) > 1:
        count = min(UNROLLED, chooser.size(axis))
        why = "several terms for each load and store of a sum"
        chooser.apply_if_possible(UnrollAndJam(axis, count, why=why))


def _reads_apart(loop: For, axis: str, memory: Any) -> bool:
    """Whether neighbouring iterations along the axis read elements that are not neighbours in memory."""
    loads = (s for s in loop.body if isinstance(s, Load) and isinstance(s.memory, memory))
    return any(s.index.stride(axis) not in (0, 1) for s in loads)


def _fuse_contiguous(chooser: Chooser, main: str) -> None:
    """Fuses the loops over an array's axes into one, if no index then needs division."""
    loops = [loop for loop in loops_of(chooser.kernel.body) if axis_of(loop) != main]
    inside = {id(s) for loop in loops for s in loop.body}
    for loop in loops:
        if id(loop) not in inside:
            axes = [axis_of(inner) for inner in perfect_nest([loop])]
            chooser.fuse_contiguous_axes(axes, "they are contiguous")
