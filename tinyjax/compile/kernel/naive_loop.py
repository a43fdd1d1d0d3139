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
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinyjax.compile.fusion.cost_model import MAX_BUFFERS
from tinyjax.compile.kernel.kernel_ir import Buffer, Kernel, statements_of
from tinyjax.compile.kernel.loop_bodies import BodyBuilder
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.private_arrays import Storage
from tinyjax.compile.passes.loops import Branches, Loop, control_flow
from tinyjax.core.jaxpr import Atom, DropVar, JaxprEqn, Literal, Var

if TYPE_CHECKING:
    from tinyjax.compile.codegen.codegen import Target


@dataclasses.dataclass(frozen=True)
class LoopKernel:
    """A loop's kernel. Its buffers are one for each of `inputs`, then one for each of the equation's
    outvars, then scratch.

    In a naive nest, `elements` are the axes of the loops over elements, if each element runs the loop by
    itself; `axis` is the loop's own axis, unless it is a while."""

    kernel: Kernel
    inputs: list[Var]
    elements: tuple[str, ...] = ()
    axis: str = ""
    examples: int = 1  # elements that run the loop by themselves


def for_one_item(target: Target) -> Target:
    """The target of a work-item that runs a body alone."""
    return dataclasses.replace(
        target, name="work-item", accumulators=1, group=1, reduction_grain=2**62
    )


def naive_loop(
    eqn: JaxprEqn, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target
) -> LoopKernel | str:
    """The naive nest of an equation that is a loop or a branch, or the reason why it can't be a kernel. The
    kernel first computes the equations `before`, which make operands.
    """
    nest = LoopNest(control_flow(eqn), before, names, target)
    return nest.why_not(nest.found.bodies.values()) or nest.made()


class LoopNest(BodyBuilder):
    """Writes the statements of a loop's kernel, and knows its buffers."""

    form = "sequential"
    elements: tuple[str, ...] = ()

    def __init__(
        self, found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target
    ):  # fmt: skip
        super().__init__(dict(names), for_one_item(target))
        self.found = found
        self.eqn = eqn = found.eqn
        results = [names[v] for v in eqn.outvars if v in names]
        self.name = "_".join([eqn.primitive.name, *results[:1]])  # until the loop has a number
        self.computed = {v: e for e in before for v in e.outvars}
        read = dict.fromkeys([*eqn.invars, *(v for e in before for v in e.invars)])
        self.inputs = {
            v: Buffer(f"{names[v]}_in", v.aval.dtype, v.aval.size, "in")
            for v in read
            if isinstance(v, Var) and v not in self.computed
        }
        carry = len(found.carry) if isinstance(found, Loop) else 0
        kept = [n < carry and isinstance(v, DropVar) for n, v in enumerate(eqn.outvars)]
        self.outputs = [
            Buffer(f"out{n}", v.aval.dtype, v.aval.size, "kept" if kept[n] else "out")
            for n, v in enumerate(eqn.outvars)
        ]
        self.producer.update(self.computed)
        self.places.update((v, MemRef(buffer)) for v, buffer in self.inputs.items())

    def made(self) -> LoopKernel | str:
        """The kernel, or the reason why there is none."""
        with statements_of(self.eqn):
            self.write_nest()
        buffers = [*self.inputs.values(), *self.outputs]
        if len(buffers) > MAX_BUFFERS:
            return f"it reads and makes more than {MAX_BUFFERS} arrays"
        kernel = Kernel(self.name, buffers, 1, self.body, form=self.form)
        return LoopKernel(kernel, list(self.inputs), self.elements, self.main_axis)

    def write_nest(self) -> None:
        """The statements of the kernel."""
        outs = self.result_places()
        if isinstance(self.found, Loop):
            self.write_loop(self.found, outs)
        else:
            self.branches(self.found, [self.operand(v) for v in self.eqn.invars], outs)

    def result_places(self) -> Sequence[MemRef]:
        """Where the results go."""
        return [MemRef(buffer) for buffer in self.outputs]

    def write_loop(self, loop: Loop, outs: Sequence[MemRef]) -> None:
        """Loads the carry into private arrays, runs all iterations, and stores those results that
        are read.
        """
        count = len(loop.carry)
        carry = [self.private(v, "carry") for v in loop.last_carry]
        for place, v, last in zip(carry, loop.carry, loop.last_carry):
            if v in self.computed:
                with self.positions(last) as at:
                    self.write(place, at.flat, self.element(v, at))
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
        """Where an operand is."""
        if isinstance(v, Literal):
            return self.scalar(v)
        if v not in self.computed:
            return MemRef(self.inputs[v])
        place = self.private(v)
        self.fill(place, v)
        return place
