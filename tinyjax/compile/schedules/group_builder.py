"""What kernels of groups have in common: the group's memory, and the work shared out.

After this file you can say which buffers a kernel has, and which elements each of its work-items is for.
Builds on loop_nest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Buffer, Kernel
from tinyjax.compile.kernel.loop_nest import NestBuilder


class GroupBuilder(NestBuilder):
    """Writes a kernel of several work-items."""

    def kernel(self, name: str, items: int, scratch: Sequence[Buffer] = ()) -> Kernel:
        """The kernel of all that was written; its buffers are the inputs, the outputs and `scratch`."""
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
