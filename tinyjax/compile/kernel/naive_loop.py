"""The naive nest of a loop or a branch: what is computed, by one work-item, one element at a time.

The carry is in private arrays, an iteration computes the next one equation by equation, and at the end the
carry is copied to the results. Where each element of the arrays can run the loop by itself, a loop over the
elements is around it all, and the carry is in variables. How it is made fast is the matter of
compile/schedules/.

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
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinyjax.compile.fusion.cost_model import MAX_BUFFERS
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import Buffer, Kernel, statements_of
from tinyjax.compile.kernel.loop_bodies import BOOL, BodyBuilder
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.private_arrays import Element, OperandStorage, Storage
from tinyjax.compile.kernel.rules import Position
from tinyjax.compile.kernel.scalarize import ScalarLoop
from tinyjax.compile.passes.loops import Branches, Loop, control_flow
from tinyjax.core.jaxpr import Atom, DropVar, JaxprEqn, Literal, Var

if TYPE_CHECKING:
    from tinyjax.compile.codegen.codegen import Target


@dataclasses.dataclass(frozen=True)
class LoopKernel:
    """A loop's kernel. Its buffers are one for each of `inputs`, then one for each of the equation's
    outvars, then scratch.

    In a naive nest, `elements` are the axes of the loops around the loop, if each element runs it by itself,
    and `axis` is its own, if it is no while."""

    kernel: Kernel
    inputs: list[Var]
    elements: tuple[str, ...] = ()
    axis: str = ""
    examples: int = 1  # that run the loop by themselves


def for_one_item(target: Target) -> Target:
    """The target of a work-item that runs a body alone."""
    return dataclasses.replace(
        target, name="work-item", accumulators=1, group=1, reduction_grain=2**62
    )


def naive_loop(
    eqn: JaxprEqn, before: Sequence[JaxprEqn], names: dict[Var, str], target: Target,
    scalar: ScalarLoop | None = None,
) -> LoopKernel | str:  # fmt: skip
    """The naive nest of an equation that is a loop or a branch; with `scalar`, of the loop that each element
    runs. `before` are equations that make operands of it: the kernel computes these first. A text says why
    something in it can't be in a kernel."""
    builder = BodyBuilder(dict(names), for_one_item(target))
    found = control_flow(eqn) if scalar is None else scalar.loop
    if reason := builder.why_not(found.bodies.values()):
        return reason
    if scalar is None:
        return written(LoopNest(found, before, names, builder))
    return written(ElementNest(scalar, before, names, builder))


def written(nest: LoopNest) -> LoopKernel | str:
    """The kernel of a nest, or why it can't be one."""
    with statements_of(nest.eqn):
        nest.write()
    if len(nest.inputs) + len(nest.outputs) > MAX_BUFFERS:
        return f"it reads and makes more than {MAX_BUFFERS} arrays"
    return nest.made()


class LoopNest:
    """The buffers of a loop's kernel, and its statements, which `b` writes."""

    form = "sequential"
    elements: tuple[str, ...] = ()

    def __init__(
        self, found: Loop | Branches, before: Sequence[JaxprEqn], names: dict[Var, str], b: BodyBuilder
    ):  # fmt: skip
        self.found = found
        self.eqn = eqn = found.eqn
        results = [names[v] for v in eqn.outvars if v in names]
        self.name = "_".join([eqn.primitive.name, *results[:1]])  # until the loop has a number
        self.b = b
        self.computed = {v: e for e in before for v in e.outvars}
        read = dict.fromkeys([*self.operands(), *(v for e in before for v in e.invars)])
        self.inputs = {
            v: Buffer(f"{names[v]}_in", v.aval.dtype, v.aval.size, "in")
            for v in read
            if isinstance(v, Var) and v not in self.computed
        }
        carry = len(found.carry) if isinstance(found, Loop) else 0
        self.outputs = [
            Buffer(f"out{number}", v.aval.dtype, v.aval.size, "out")
            if number >= carry or not isinstance(v, DropVar)
            else Buffer(f"out{number}", v.aval.dtype, v.aval.size, "kept")
            for number, v in enumerate(eqn.outvars)
        ]
        b.producer.update(self.computed)
        b.places.update((v, MemRef(buffer)) for v, buffer in self.inputs.items())

    def made(self) -> LoopKernel:
        """The kernel of all that was written."""
        buffers = [*self.inputs.values(), *self.outputs]
        kernel = Kernel(self.name, buffers, 1, self.b.body, form=self.form)
        return LoopKernel(kernel, list(self.inputs), self.elements, self.b.main_axis)

    def write(self) -> None:
        """The statements of the kernel."""
        outs = self.places()
        if isinstance(self.found, Loop):
            self.write_loop(self.found, outs)
        else:
            self.b.branches(self.found, [self.source(v) for v in self.eqn.invars], outs)

    def places(self) -> Sequence[MemRef]:
        """Where the results go."""
        return [MemRef(buffer) for buffer in self.outputs]

    def operands(self) -> Sequence[Atom]:
        """What the nest reads."""
        return self.eqn.invars

    def write_loop(self, loop: Loop, outs: Sequence[MemRef]) -> None:
        """The carry in private arrays, all iterations, and those results stored that are read."""
        b, count = self.b, len(loop.carry)
        carry = [b.private(v, "carry") for v in loop.last_carry]
        for place, v, last in zip(carry, loop.carry, loop.last_carry):
            if v in self.computed:
                with b.positions(last) as at:
                    b.write(place, at.flat, b.element(v, at))
            else:
                b.copy(self.source(v), place, last)
        consts = [*map(self.source, loop.condition_consts), *map(self.source, loop.consts)]
        self.run_loop(loop, [*consts, *carry, *map(self.source, loop.xs)], carry, outs[count:])
        self.store(loop.last_carry, carry, outs)

    def run_loop(
        self,
        loop: Loop,
        sources: Sequence[OperandStorage],
        carry: Sequence[MemRef],
        ys: Sequence[MemRef],
    ) -> None:
        """All iterations, from and to `carry`."""
        if loop.length is None:
            self.b.while_loop(loop, sources, carry)
        else:
            self.b.for_loop(loop, sources, [*carry, *ys], is_main=True)

    def store(self, values: Sequence[Var], carry: Sequence[MemRef], outs: Sequence[MemRef]) -> None:
        """The `values` of the last carry as results; not what nothing reads."""
        for v, result, place, out in zip(values, self.eqn.outvars, carry, outs):
            if not isinstance(result, DropVar):
                self.b.copy(place, out, v)

    def source(self, v: Atom) -> Storage:
        """Where an operand is."""
        if isinstance(v, Literal):
            return self.b.scalar(v)
        if v not in self.computed:
            return MemRef(self.inputs[v])
        place = self.b.private(v)
        self.b.fill(place, v)
        return place


class ElementNest(LoopNest):
    """The nest of a loop that each element of the arrays runs by itself."""

    form = "elementwise"

    def __init__(
        self, scalar: ScalarLoop, before: Sequence[JaxprEqn], names: dict[Var, str], b: BodyBuilder
    ):
        self.scalar = scalar
        self.shape = scalar.shape
        super().__init__(scalar.loop, before, names, b)
        b.producer.update((v, eqn) for eqn in scalar.invariant for v in eqn.outvars)

    def operands(self) -> Sequence[Atom]:
        return self.scalar.operands()

    def write(self) -> None:
        with self.b.loops(self.shape) as position:
            self.elements = position.axes
            self._element(position)

    def _element(self, position: Position) -> None:
        """The loop for one element. Scalars are the same in all of them: the first stores them."""
        b, loop = self.b, self.scalar.loop
        assert isinstance(loop, Loop)
        varying, count = self.scalar.varying, len(loop.carry)
        variables = loop.body.jaxpr.invars[len(loop.consts) :]
        is_varying = [v in varying for v in variables[:count]]
        # A row of the ys varies as an array does: a scalar that is repeated there is one in the body.
        is_varying += [v.aval.ndim > 1 for v in self.eqn.outvars[count:]]
        is_shared = bool(self.elements) and not all(is_varying)
        only_if = b.let("eq", (position.flat, index(0)), BOOL) if is_shared else None
        outs = [
            self._part(buffer, position) if varies else MemRef(buffer, only_if=only_if)
            for buffer, varies in zip(self.outputs, is_varying)
        ]
        carry = [b.private(v, "carry") for v in variables[:count]]
        for place, v in zip(carry, loop.carry):
            b.write(place, index(0), b.element(v, position.broadcast_from(v.aval.shape)))
        xs = [
            self._part(buffer, position) if v in varying else MemRef(buffer)
            for buffer, v in zip([self.inputs[x] for x in loop.xs], variables[count:])  # type: ignore[index]
        ]
        in_bodies = (v for body in loop.bodies.values() for v in body.jaxpr.invars)
        consts = [self._constant(v, position) for v in in_bodies if v in self.scalar.elements]
        self.run_loop(loop, [*consts, *carry, *xs], carry, outs[count:])
        self.store(variables[:count], carry, outs)

    def _constant(self, v: Var, position: Position) -> OperandStorage:
        """What is the same in all iterations: an element; or where a stack is that a loop inside goes
        through."""
        whole = self.scalar.elements[v]
        if not v.aval.shape:
            return Element(whole, position.broadcast_from(whole.aval.shape))
        buffer = self.inputs[whole]
        return self._part(buffer, position) if v in self.scalar.varying else MemRef(buffer)

    def _part(self, buffer: Buffer, position: Position) -> MemRef:
        """The element of an array, or of each of the arrays that are stacked there."""
        return MemRef(buffer, position.flat, math.prod(self.shape))
