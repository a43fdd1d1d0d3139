"""Loops and branches as one kernel.

- *elementwise*: the body works element by element, so each element runs the loop by itself. A CPU runs it
  for vectors of 16, until the last lane is done; a GPU for scalars.
- *by example*: the carry has an axis of examples, as vmap makes it, and each example is computed from its
  own elements alone. Each runs the loop by itself, with its part of the carry in private memory: on a CPU, 16
  of them are the lanes of vectors.
- *sequential*: the arrays of an iteration are small, so a single work-item keeps them in private memory.
  Launching the kernels of each iteration would take longer than the work.

A loop of unknown or large work can be stopped by the host: see stoppable.py. The cheap equations that make a
loop's operands (zeros, an iota, a broadcast row) go to the head of its kernel, which is then a single launch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.cost_model import CHEAP_WORK
from tinyjax.compile.fusion.cost_record import jaxpr_cost
from tinyjax.compile.fusion.invariants import hoist_invariants
from tinyjax.compile.kernel.example_axes import batches
from tinyjax.compile.kernel.kernel_ir import Allocate, KernelError
from tinyjax.compile.kernel.naive_loop import LoopKernel, example_nest, naive_loop
from tinyjax.compile.kernel.rules import Elementwise, IndexMap, lowering_of
from tinyjax.compile.kernel.scalar_ops import KERNEL_DTYPES
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.passes.loops import (
    Branches,
    Loop,
    bodies_of,
    control_flow,
    has_unknown_length,
    is_control_flow,
)
from tinyjax.compile.schedules.loop_schedule import (
    elements_schedule,
    sequential_schedule,
)
from tinyjax.compile.schedules.schedule import ScheduleBuilder
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.core.jaxpr import Atom, JaxprEqn, Var, has_effects

# The most elements that one work-item's arrays may have: private memory is on a stack, and should stay in
# the cache of a core.
MAX_PRIVATE = 2**16
# Operations in an iteration of one work-item: about what a device does while the iteration's kernels
# are launched one by one, 50 to 100 microseconds.
MAX_ITERATION_WORK, MAX_GPU_ITERATION_WORK = 2**17, 2**14

Producers = Mapping[Var, JaxprEqn]  # the equation that makes an operand


def loop_kernel(
    eqn: JaxprEqn, producer: Producers, names: dict[Var, str], target: Target
) -> LoopKernel | str:
    """A while, scan or cond as one kernel, or the reason why it can't be one. `producer` maps its operands to
    the equations that compute them: cheap ones become part of the kernel."""
    found = control_flow(eqn)
    if reason := _why_no_kernel(found):
        return reason
    by_element: LoopKernel | str = ""
    if isinstance(found, Loop):
        by_element = _elementwise(found, producer, names, target)
        if isinstance(by_element, LoopKernel):
            return by_element
        by_element += " (so not elementwise), "
    by_example = _by_example(found, producer, names, target)
    if isinstance(by_example, LoopKernel):
        return by_example
    made = _sequential(found, producer, names, target)
    if isinstance(made, LoopKernel):
        return made
    return f"{by_element}{by_example} (so not by example), and {made}"


def _elementwise(
    loop: Loop, producer: Producers, names: dict[Var, str], target: Target
) -> LoopKernel | str:
    """Each element of the arrays, all of one shape, is an example. Invariant values are computed before the
    loop, for each element.
    """
    shape = _shape_of(loop)
    if isinstance(shape, str):
        return shape
    if combining := next(_combining(loop, target), None):
        return f"{combining.primitive} in its body reads other elements"

    def is_wanted(inner: JaxprEqn) -> bool:
        sizes = inner.outvars[0].aval.shape
        is_stretched = len(sizes) in (0, len(shape)) and all(
            a in (1, b) for a, b in zip(sizes, shape)
        )
        return is_stretched and not is_control_flow(inner)

    same, eqn = hoist_invariants(loop.eqn, names, is_wanted)
    found = control_flow(eqn)
    assert isinstance(found, Loop)
    made = {v for each in same for v in each.outvars}
    consts = [v for v in (*found.condition_consts, *found.consts) if v not in made]
    operands = [*consts, *(v for each in same for v in each.invars if v not in made)]
    stacks = [v for v in consts if v.aval.ndim > len(shape)]
    before = _cheap_equations([*operands, *found.carry], [*stacks, *found.xs], producer, target)
    return _nest_by_example(found, [*before, *same], names, target, [shape], "elementwise")


def _by_example(
    found: Loop | Branches, producer: Producers, names: dict[Var, str], target: Target
) -> LoopKernel | str:
    if isinstance(found, Branches) and len(found.branches) > 1:
        return "the examples of a branch are computed in other kernels"
    before = _before(found, producer, target)
    return _nest_by_example(found, before, names, target, batches(found), "by example")


def _nest_by_example(
    found: Loop | Branches, before: list[JaxprEqn], names: dict[Var, str], target: Target,
    sizes: Iterable[tuple[int, ...]], form: str,
) -> LoopKernel | str:  # fmt: skip
    """The scheduled kernel of a loop or branch that each example runs by itself."""
    bodies = found.bodies.values()
    if any(has_unknown_length(eqn) for body in bodies for eqn in body.eqns):
        return "a while_loop inside could not be interrupted"
    if any(not v.aval.size for body in bodies for eqn in body.eqns for v in eqn.outvars):
        return "it has empty arrays"
    try:
        nest = example_nest(found, before, names, target, sizes, form)
        if isinstance(nest, str):
            return nest
        return _finished(nest, elements_schedule(nest, found, target))
    except KernelError as error:
        return str(error)


def _combining(found: Loop | Branches, target: Target) -> Iterator[JaxprEqn]:
    """The equations in the bodies that read more than one element, such as reductions."""
    for eqn in (eqn for body in found.bodies.values() for eqn in body.eqns):
        if is_control_flow(eqn):
            yield from _combining(control_flow(eqn), target)
        elif not isinstance(lowering_of(eqn, target), (Elementwise, IndexMap)):
            yield eqn


def _shape_of(loop: Loop) -> tuple[int, ...] | str:
    """The common shape of a loop's arrays, or why there is none."""
    body = loop.body.jaxpr
    per_iteration = [*body.invars[len(loop.consts) :], *body.outvars]
    if loop.condition:
        per_iteration += loop.condition.jaxpr.outvars
    shapes = {v.aval.shape for v in per_iteration if v.aval.shape}
    if len(shapes) == 1:
        return shapes.pop()
    return "its arrays differ in shape" if shapes else "its arrays are scalars"


def _sequential(
    found: Loop | Branches, producer: Producers, names: dict[Var, str], target: Target
) -> LoopKernel | str:
    operations = _operations(found, target)
    most = MAX_GPU_ITERATION_WORK if target.name == "gpu" else MAX_ITERATION_WORK
    if operations > most:
        return f"an iteration has {operations} operations, too many for one work-item (> {most})"
    nest = naive_loop(found, _before(found, producer, target), names, target)
    if isinstance(nest, str):
        return nest
    return _finished(nest, sequential_schedule(nest, found, target))


def _operations(found: Loop | Branches, target: Target) -> int:
    """The number of operations in an iteration, over all elements."""
    return sum(jaxpr_cost(body.jaxpr, target).work for body in found.bodies.values())


def _finished(nest: LoopKernel, builder: ScheduleBuilder) -> LoopKernel | str:
    """The scheduled kernel, or why its private arrays don't fit a work-item."""
    kernel = builder.finished()
    arrays = (s.array for s in every_statement(kernel.body) if isinstance(s, Allocate))
    private = sum(array.size * array.width for array in arrays)
    if private > MAX_PRIVATE:
        return f"an iteration has {private} elements, too many for one work-item (> {MAX_PRIVATE})"
    vectors = [f", vectorized by {d.width}" for d in kernel.schedule if isinstance(d, Vectorize)]
    if kernel.form == "sequential":
        vectors = [f": an iteration has {private} elements"]
    form = "".join([kernel.form, *vectors])
    return replace(nest, kernel=replace(kernel, form=form))


def _before(found: Loop | Branches, producer: Producers, target: Target) -> list[JaxprEqn]:
    """The cheap equations that make the initial carry, except values that the loop also reads elsewhere."""
    if not isinstance(found, Loop):
        return []
    stored = [*found.condition_consts, *found.consts, *found.xs]
    return _cheap_equations(found.carry, stored, producer, target)


def _why_no_kernel(found: Loop | Branches) -> str:
    eqn = found.eqn
    if _lacks_elements(eqn):
        return "it has arrays without elements"
    for v in [*eqn.invars, *eqn.outvars]:
        if v.aval.dtype not in KERNEL_DTYPES:
            return f"kernels do not compute with {v.aval.dtype}"
    if isinstance(found, Loop) and (found.length or 0) >= 2**31:
        return "it has 2**31 iterations or more"
    return ""


def _lacks_elements(eqn: JaxprEqn) -> bool:
    """Whether a loop or branch, or one within it, has an empty operand or result."""
    inner = (e for body in bodies_of(eqn).values() for e in body.eqns if is_control_flow(e))
    own = any(v.aval.size == 0 for v in [*eqn.invars, *eqn.outvars])
    return own or any(map(_lacks_elements, inner))


# ---- operands that the kernel computes ----


def _cheap_equations(
    operands: Iterable[Atom],
    stored: Collection[Atom],
    producer: Producers,
    target: Target,
) -> list[JaxprEqn]:
    """The equations, in order, that make cheap operands: few operations that read at most one other array,
    which is no larger. So memory and parameters never grow. Values in `stored` are read, not computed.
    """
    producer = {v: eqn for v, eqn in producer.items() if v not in stored}
    found: dict[JaxprEqn, None] = {}
    for v in operands:
        if isinstance(v, Var):
            eqns, reads = _cheap(v, producer, target, CHEAP_WORK)
            if len(reads) <= 1 and all(0 < u.aval.size <= v.aval.size for u in reads):
                found.update(eqns)
    return list(found)


def _cheap(
    v: Var, producer: Producers, target: Target, most: int
) -> tuple[dict[JaxprEqn, None], set[Var]]:
    """The equations that compute an element of `v` in at most `most` operations, and what they read."""
    eqn = producer.get(v)
    if eqn is None or not _is_pure(eqn, target):
        return {}, {v}
    lowering = lowering_of(eqn, target)
    most -= lowering.cost if isinstance(lowering, Elementwise) else 1
    if most < 0:
        return {}, {v}
    eqns: dict[JaxprEqn, None] = {}
    reads: set[Var] = set()
    for u in eqn.invars:
        if isinstance(u, Var):
            inner_eqns, inner_reads = _cheap(u, producer, target, most)
            eqns |= inner_eqns
            reads |= inner_reads
    return eqns | {eqn: None}, reads


def _is_pure(eqn: JaxprEqn, target: Target) -> bool:
    if any(v.aval.dtype not in KERNEL_DTYPES for v in [*eqn.invars, *eqn.outvars]):
        return False  # complex numbers: a loop's memory can't store them as pairs
    return isinstance(lowering_of(eqn, target), (Elementwise, IndexMap)) and not has_effects(eqn)
