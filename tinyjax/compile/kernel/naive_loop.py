"""The naive nest of a loop or a branch: what is computed, by one work-item, one element at a time.

After this file you can write down the kernel of any while_loop, scan or cond: the carry is in private arrays,
an iteration computes the next one equation by equation, and at the end the carry is copied to the results.
How it is made fast is the matter of compile/schedules/. Builds on loop_bodies.

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

from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import Buffer, Kernel, statements_of
from tinyjax.compile.kernel.loop_bodies import BodyBuilder
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.private_arrays import Source
from tinyjax.compile.passes.loops import Branches, Loop, control_flow
from tinyjax.core.jaxpr import Atom, JaxprEqn, Literal, Var

if TYPE_CHECKING:
    from tinyjax.compile.codegen.codegen import Target


@dataclasses.dataclass(frozen=True)
class LoopKernel:
    """A loop's kernel. Its buffers are one for each of `inputs`, then one for each of the equation's
    outvars, then scratch."""

    kernel: Kernel
    inputs: list[Var]


def naive_loop(
    eqn: JaxprEqn, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target
) -> LoopKernel:
    """The naive nest of an equation that is a loop or a branch. `before` are equations that make operands of
    it: the kernel computes these first.

    Raises NoKernel if something in it runs on the host."""
    alone = dataclasses.replace(
        target, name="work-item", accumulators=1, reduction_grain=2**62, stores_reductions=False
    )
    builder = BodyBuilder(dict(names), alone)
    builder.most_accumulators = 1
    with statements_of(eqn):
        nest = LoopNest(control_flow(eqn), before, names, builder)
        nest.write()
    buffers = [*nest.inputs.values(), *nest.outputs]
    return LoopKernel(Kernel(eqn.primitive.name, buffers, 1, builder.body), list(nest.inputs))


class LoopNest:
    """The buffers of a loop's kernel, and its statements, which `b` writes."""

    def __init__(
        self, found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str], b: BodyBuilder
    ):  # fmt: skip
        self.found = found
        self.eqn = eqn = found.equation()
        self.b = b
        self.computed = {v: e for e in before for v in e.outvars}
        read = dict.fromkeys(v for e in (eqn, *before) for v in e.invars)
        self.inputs = {
            v: Buffer(f"{names[v]}_in", v.aval.dtype, v.aval.size, "in")
            for v in read
            if isinstance(v, Var) and v not in self.computed
        }
        self.outputs = [
            Buffer(f"out{number}", v.aval.dtype, v.aval.size, self.role(number, v))
            for number, v in enumerate(eqn.outvars)
        ]
        b.producer.update(self.computed)
        b.places.update((v, MemRef(buffer)) for v, buffer in self.inputs.items())

    def write(self) -> None:
        """The statements of the kernel."""
        outs = [MemRef(buffer) for buffer in self.outputs]
        if isinstance(self.found, Loop):
            self.write_loop(self.found, outs)
        else:
            self.b.branches(self.found, [self.source(v) for v in self.eqn.invars], outs)

    def write_loop(self, loop: Loop, outs: Sequence[MemRef]) -> None:
        """The carry in private arrays, all iterations, and the results stored."""
        b, count = self.b, len(loop.carry)
        carry = [b.private(v, "carry") for v in loop.last_carry]
        for place, v in zip(carry, loop.carry):
            if v in self.computed:
                b.fill(place, v)
            else:
                b.copy(self.source(v), place, v.aval.size)
        of_consts = [*map(self.source, loop.condition_consts), *map(self.source, loop.consts)]
        sources = [*of_consts, *carry, *map(self.source, loop.xs)]
        loop, sources = self.prepared(loop, sources)
        self.run_loop(loop, sources, carry, outs[count:])
        for v, place, out in zip(loop.last_carry, carry, outs):
            if self.is_stored(v):
                b.copy(place, out, v.aval.size)

    def run_loop(
        self, loop: Loop, sources: Sequence[Source], carry: Sequence[MemRef], ys: Sequence[MemRef]
    ) -> None:
        """All iterations, from and to `carry`. Constants of one element are read once."""
        consts = len(loop.condition_consts) + len(loop.consts)
        sources = [
            self.b.read(source, index(0))
            if n < consts and v.aval.size == 1 and isinstance(source, MemRef)
            else source
            for n, (source, v) in enumerate(zip(sources, loop.variables))
        ]
        if loop.length is None:
            self.b.while_loop(loop, sources, carry)
        else:
            self.b.for_loop(loop, sources, [*carry, *ys], self.has_main_loop())

    def source(self, v: Atom) -> Source:
        """Where an operand is."""
        if isinstance(v, Literal):
            return self.b.scalar(v)
        if v not in self.computed:
            return MemRef(self.inputs[v])
        place = self.b.private(v)
        self.b.fill(place, v)
        return place

    # ---- what schedules change ----

    def role(self, number: int, v: Var) -> str:
        """That of a result's buffer."""
        return "out"

    def is_stored(self, v: Var) -> bool:
        """Whether a carry is stored at the end."""
        return True

    def has_main_loop(self) -> bool:
        """Whether there is a loop even if it has one iteration."""
        return False

    def prepared(self, loop: Loop, sources: list[Source]) -> tuple[Loop, list[Source]]:
        """The loop and its operands, as it runs."""
        return loop, sources
