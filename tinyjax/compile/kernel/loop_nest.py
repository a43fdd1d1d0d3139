"""The naive loop nest of a group: the computation, one element at a time.

An elementwise group has a For for each axis of the results, and in them, for each result, a load for each
operand, an operation for each equation, and a store. A reduction among them is a separate loop: an
accumulator that begins with the identity, and combines one element after the other. One work-item runs
everything; nothing is a vector. compile/schedules/ makes it fast.

    for i1 in 0 .. 20:
      for i2 in 0 .. 100:
        a:f32 = a_in[i1 * 100 + i2]
        b:f32 = b_in[i2]
        c:f32 = mul a b
        c_out[i1 * 100 + i2] = c
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.builder import Builder
from tinyjax.compile.kernel.complex_pairs import of_parts
from tinyjax.compile.kernel.kernel_ir import Buffer, Kernel, statements_of
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.rules import Elementwise, Position, lowering_of
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import Atom, JaxprEqn, Var
from tinyjax.core.primitives import reshape_p


def loop_nest(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    """The kernel of a group whose results have one shape: a loop for each axis (before reshapes that join
    some), and in the innermost one, each result's element is computed and stored. The loops' origin is the
    equations that make the results.
    `names` maps the group's variables to names.

    (The target decides only what runs on the host, and sometimes a primitive's rule.)"""
    builder = NestBuilder(group, names, target)
    makers = dict.fromkeys(builder.producer[v] for v in group.outputs)
    shape = max(builder.shapes_before(group.outputs), key=len)
    with statements_for([*makers]), builder.loops(shape) as position:
        for v in group.outputs:
            builder.store_output(v, position.reshaped(v.aval.shape))
    return builder.kernel(name)


def statements_for(eqns: Sequence[JaxprEqn]) -> statements_of:
    """The origin of statements written within the block, such as a loop: all of these equations."""
    return statements_of(eqns[0] if len(eqns) == 1 else tuple(eqns))


class NestBuilder(Builder):
    """Knows where the group's inputs are in memory, and which equations make the rest."""

    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target):
        super().__init__(names, target)
        self.group = group
        self.producer = {v: eqn for eqn in group.eqns for v in eqn.outvars}
        self.inputs = [buffer_of(v, names, "in") for v in group.inputs]
        self.outputs = {v: buffer_of(v, names, "out") for v in group.outputs}
        self.places = {v: MemRef.of(v, buffer) for v, buffer in zip(group.inputs, self.inputs)}

    def shapes_before(self, roots: Sequence[Atom]) -> list[tuple[int, ...]]:
        """The shapes of values, and of those from which they are computed by reshapes and elementwise."""
        found = dict.fromkeys([v for v in roots if v in self.producer])
        for eqn in reversed(self.group.eqns):
            if found.keys().isdisjoint(eqn.outvars):
                continue
            if eqn.primitive is reshape_p or isinstance(lowering_of(eqn, self.target), Elementwise):
                size, made = eqn.outvars[0].aval.size, self.producer
                found |= dict.fromkeys([v for v in eqn.invars if v in made and v.aval.size == size])
        return [v.aval.shape for v in found]

    def store_output(self, v: Var, position: Position) -> None:
        """Computes and stores an element of an output; the statements' origin is its equation."""
        with statements_of(self.producer[v]):
            self.write(MemRef.of(v, self.outputs[v]), position.flat, self.element(v, position))

    def kernel(self, name: str) -> Kernel:
        """The naive kernel of the statements written so far."""
        return Kernel(name, [*self.inputs, *self.outputs.values()], 1, self.body)


def buffer_of(v: Var, names: dict[Var, str], role: str) -> Buffer:
    """The buffer of a variable."""
    return of_parts(Buffer(f"{names[v]}_{role}", v.aval.dtype, v.aval.size, role))
