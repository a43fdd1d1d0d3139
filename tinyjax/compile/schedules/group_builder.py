"""What kernels of groups have in common: the group's memory, and the work shared out.

After this file you can say which buffers a kernel has, and which elements each of its work-items is for.
Builds on groups and builder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.builder import Builder
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Buffer, Kernel, statements_of
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.rules import Position
from tinyjax.core.jaxpr import JaxprEqn, Var


class GroupBuilder(Builder):
    """Knows where the group's inputs are in memory, and which equations make the rest."""

    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target):
        super().__init__(names, target)
        self.group = group
        self.producer = {v: eqn for eqn in group.eqns for v in eqn.outvars}
        self.inputs = [
            Buffer(f"{names[v]}_in", v.aval.dtype, v.aval.size, "in") for v in group.inputs
        ]
        self.places = {v: MemRef(buffer) for v, buffer in zip(group.inputs, self.inputs)}
        self.outputs = {
            v: Buffer(f"{names[v]}_out", v.aval.dtype, v.aval.size, "out") for v in group.outputs
        }

    def store_output(self, v: Var, position: Position) -> None:
        """Computes an element of an output, and stores it."""
        with statements_of(self.producer[v]):
            self.write(MemRef(self.outputs[v]), position.flat, self.element(v, position))

    def kernel(self, name: str, items: int, scratch: Sequence[Buffer] = ()) -> Kernel:
        """The kernel of all that was written; its buffers are the inputs, the outputs and `scratch`."""
        buffers = [*self.inputs, *self.outputs.values(), *scratch]
        return Kernel(name, buffers, padded(items, self.target), self.body)


def statements_for(eqns: Sequence[JaxprEqn]) -> AbstractContextManager[None]:
    """What is made within the block, a loop say, is for all of these: their origin, if there is but one."""
    return statements_of(eqns[0] if len(eqns) == 1 else None)


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
