"""The naive nest of a loop or a branch: one work-item computes it, one element at a time.

The carry is in private arrays, an iteration computes the next one equation by equation, and at the end the
carry is copied to the results. compile/schedules/ makes it fast.

    carry_1 = t1                      # the first carry
    for i1 in 0 .. 9:                 # or `while:`, with the condition first
      x:f32 = xs_in[i1]
      c:f32 = carry_1
      d:f32 = mul c x
      out1[i1] = d                    # y
      carry_1 = d
    out0[0] = carry_1

If each example of a batch runs the loop by itself, or each element of its arrays, loops over the examples are
around all. Values without the examples' axes are kept whole, and each example computes them.

    for i1 in 0 .. 64:                # examples
      carry_1 = 4 elements            # of a carry of shape (64, 4)
      for i2 in 0 .. 9:
        ...
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tinyjax.compile.fusion.cost_model import MAX_BUFFERS
from tinyjax.compile.fusion.cost_record import eqn_cost
from tinyjax.compile.fusion.reduction_groups import variables
from tinyjax.compile.kernel.complex_pairs import of_parts
from tinyjax.compile.kernel.example_axes import ExampleAxes, NoKernelError, example_axes
from tinyjax.compile.kernel.kernel_ir import Buffer, Kernel, statements_of
from tinyjax.compile.kernel.loop_bodies import BodyBuilder
from tinyjax.compile.kernel.loop_nest import buffer_of
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.private_arrays import Storage
from tinyjax.compile.passes.loops import Branches, Loop
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import Atom, DropVar, JaxprEqn, Var

# Operations of one example in an iteration: products of larger matrices are faster as one product.
MAX_EXAMPLE_WORK = 2**13
# Operations in an iteration of one work-item: about what a device does while the iteration's kernels
# are launched one by one, 50 to 100 microseconds.
MAX_ITERATION_WORK, MAX_GPU_ITERATION_WORK = 2**17, 2**14
# How many times the work of an iteration all examples may do, as each computes what they share
MAX_REPEATED = 3


@dataclass(frozen=True)
class LoopKernel:
    """A loop's kernel. Its buffers are one for each of `inputs`, then one for each of the equation's
    outvars, then scratch.

    In a naive nest, `elements` are the axes of the loops over elements, if each element runs the loop by
    itself; `axis` is the loop's own axis, unless it is a while."""

    kernel: Kernel
    inputs: list[Var]
    before: Sequence[JaxprEqn]  # the equations that compute its other operands in it
    elements: tuple[str, ...] = ()
    axis: str = ""
    examples: int = 1  # elements that run the loop by themselves


def for_one_item(target: Target) -> Target:
    """The target of a work-item that runs a body alone."""
    return replace(
        target, name="work-item", accumulators=1, group=1, reduction_grain=2**62, in_loop=True
    )


def naive_loop(
    found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target
) -> LoopKernel:
    """The naive nest of a loop or a branch. The kernel first computes the equations `before`, which make
    operands. Raises NoKernelError if there is none."""
    return LoopNest(found, before, names, target, "sequential").made()


def example_nest(
    found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target,
    sizes: Iterable[tuple[int, ...]], form: str,
) -> LoopKernel:  # fmt: skip
    """The naive nest of a loop or a branch that each example runs. The examples' axes have the first of these
    sizes that works. The form tells whether an example is one element. Raises NoKernelError or KernelError if
    there is none."""
    nest = LoopNest(found, before, names, target, form)
    nest.examples = example_axes(found, sizes, nest.computed, nest.target)
    if form == "by example":
        _check_work(found, nest.examples, target)
    return nest.made()


def _check_work(found: Loop | Branches, examples: ExampleAxes, target: Target) -> None:
    """Raises NoKernelError if examples do too much to run the loop by themselves. A value without their axes,
    such as a sum over all of them, is computed by each; of an iota, only the elements that it reads."""
    eqns = [eqn for body in found.bodies.values() for eqn in body.eqns if variables(eqn)]
    work = {eqn: eqn_cost(eqn, target).work for eqn in eqns}
    shared = sum(work[eqn] for eqn in eqns if examples.axes.keys().isdisjoint(eqn.outvars))
    each = shared + (sum(work.values()) - shared) // examples.count
    if each > MAX_EXAMPLE_WORK:
        most = f"too many for a lane (> {MAX_EXAMPLE_WORK})"
        raise NoKernelError(f"an example has {each} operations, {most}")
    if each * examples.count > MAX_REPEATED * sum(work.values()):
        raise NoKernelError(f"each of {examples.count} examples would repeat {shared} operations")


class LoopNest(BodyBuilder):
    """Writes the statements of a loop's kernel, and knows its buffers."""

    def __init__(
        self, found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target,
        form: str,
    ):  # fmt: skip
        super().__init__(dict(names), for_one_item(target), form)
        if reason := self.why_not(found.bodies.values()):
            raise NoKernelError(reason)
        self.found, self.before = found, before
        self.eqn = eqn = found.eqn
        results = [names[v] for v in eqn.outvars if v in names]
        self.name = "_".join([eqn.primitive.name, *results[:1]])  # until the loop has a number
        self.computed = {v: e for e in before for v in e.outvars}
        read = [v for e in (eqn, *before) for v in variables(e) if v not in self.computed]
        self.inputs = {v: buffer_of(v, names, "in") for v in read}
        carry = len(found.carry) if isinstance(found, Loop) else 0
        kept = [n < carry and isinstance(v, DropVar) for n, v in enumerate(eqn.outvars)]
        self.outputs = [
            of_parts(Buffer(f"out{n}", v.aval.dtype, v.aval.size, "kept" if kept[n] else "out"))
            for n, v in enumerate(eqn.outvars)
        ]
        self.producer.update(self.computed)
        self.places.update((v, MemRef.of(v, buffer)) for v, buffer in self.inputs.items())

    def made(self) -> LoopKernel:
        """The kernel."""
        if isinstance(self.found, Loop):  # computed operands have the same axes as in the bodies
            axes = self.examples.axes
            inside = zip(self.eqn.invars, self.found.variables)
            axes |= {v: axes[u] for v, u in inside if v in self.computed and u in axes}
        with statements_of(self.eqn), self.loops(self.examples.sizes) as self.example:
            self.write_nest()
        buffers = [*self.inputs.values(), *self.outputs]
        if len(buffers) > MAX_BUFFERS:
            raise NoKernelError(f"it reads and makes more than {MAX_BUFFERS} arrays")
        kernel = Kernel(self.name, buffers, 1, self.body, form=self.form)
        elements, count = self.example.axes, self.examples.count
        return LoopKernel(kernel, list(self.inputs), self.before, elements, self.main_axis, count)

    def write_nest(self) -> None:
        """The statements of the kernel. Every example stores the results that all share."""
        outs = [MemRef.of(v, buffer) for v, buffer in zip(self.eqn.outvars, self.outputs)]
        if isinstance(self.found, Loop):
            self.write_loop(self.found, outs)
        else:
            self.branches(self.found, [self.operand(v) for v in self.eqn.invars], outs)

    def write_loop(self, loop: Loop, outs: Sequence[MemRef]) -> None:
        """Loads the carry into private arrays, runs all iterations, and stores the results that are read."""
        count = len(loop.carry)
        carry = [self.private(v, "carry") for v in loop.last_carry]
        for place, v, last in zip(carry, loop.carry, loop.last_carry):
            if v in self.computed:
                self.fill({v: place})
            else:
                self.copy(self.operand(v), place, last)
        consts = [*map(self.operand, loop.condition_consts), *map(self.operand, loop.consts)]
        sources = [*consts, *carry, *map(self.operand, loop.xs)]
        if loop.length is None:
            self.while_loop(loop, sources, carry)
        else:
            self.for_loop(loop, sources, [*carry, *outs[count:]], is_main=True)
        for last, place, out in zip(loop.last_carry, carry, outs):
            if not isinstance(last, DropVar):
                self.copy(place, out, last)

    def operand(self, v: Atom) -> Storage:
        """Where an operand is. An element that the kernel computes itself is computed once."""
        if v in self.inputs:
            return MemRef.of(v, self.inputs[v])
        if self.stored_size(v) > 1:
            raise NoKernelError("an array of all examples is the same in every iteration")
        return self.scalar(v)
