"""The kernel of a reduction, by its form.

After this file you can say which of three kernels sums an array up: one that sweeps over rows, one that
walks down columns, or one sum that all work-items share. Builds on row_kernels, column_kernels and
shared_reductions.
"""

from __future__ import annotations

from contextlib import suppress

from tinyjax.jaxpr import Var
from tinyjax.opencl.codegen import Target
from tinyjax.opencl.column_kernels import ColumnKernel
from tinyjax.opencl.groups import KernelGroup
from tinyjax.opencl.kernel_ir import Kernel
from tinyjax.opencl.reductions import ReductionBuilder, widths
from tinyjax.opencl.row_kernels import RowKernel
from tinyjax.opencl.shared_reductions import SharedReduction
from tinyjax.opencl.side_by_side import NotSideBySide

KERNELS: dict[str, type[ReductionBuilder]] = {
    "rows": RowKernel,
    "columns": ColumnKernel,
    "shared": SharedReduction,
}


def reduction_kernel(
    group: KernelGroup, name: str, names: dict[Var, str], target: Target
) -> Kernel:
    """The kernel of a group that has a form; one by one where neighbours are apart in memory."""
    assert group.form is not None
    *wide, one_by_one = widths(group, target)
    for width in wide:
        with suppress(NotSideBySide):
            return KERNELS[group.form.kind](group, names, target, width).kernel_named(name)
    return KERNELS[group.form.kind](group, names, target, one_by_one).kernel_named(name)
