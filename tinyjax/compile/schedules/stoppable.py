"""Stoppable: a kernel whose loop may run long reads a flag in memory before each of its iterations.

A kernel that runs can't be interrupted from outside. The host sets the flag, or its operations are used up
(see STOP in kernel_ir.py), and the loop ends: see runtime/loops.py. The kernel's results are then discarded.

    while:                          while, unless stopped:
      ...                             ...
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.substitution import replaced
from tinyjax.compile.schedules.directive import LoopDirective, axis_of


@dataclass(frozen=True)
class Stoppable(LoopDirective):
    """The loop over `axis`, or the outermost while if that is empty, and all whiles within. An iteration
    takes about this many `operations`."""

    operations: int
    may_be_while = True

    def _why_not(self, kernel: ir.Kernel, loop: ir.For | ir.While) -> str:
        return "it is stoppable already" if loop.operations else ""

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        def change(s: ir.Statement) -> ir.Body:
            if isinstance(s, ir.While) or isinstance(s, ir.For) and axis_of(s) == self.axis:
                return [replace(s, operations=self.operations)]
            return [s]

        stop = ir.Buffer(ir.STOP, np.dtype("int32"), 1, "scratch")
        return replace(kernel, buffers=[*kernel.buffers, stop], body=replaced(kernel.body, change))
