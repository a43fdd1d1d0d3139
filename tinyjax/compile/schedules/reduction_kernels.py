"""The kernel of a reduction, by its form.

After this file you can say which of three kernels sums an array up: one that sweeps over rows, one that
walks down columns, or one sum split among all work-items. Builds on row_kernels, column_kernels and
split_reduction.
"""

from __future__ import annotations

from contextlib import suppress

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.kernel.vector_lanes import NotVectorizable
from tinyjax.compile.schedules.column_kernels import ColumnKernel
from tinyjax.compile.schedules.reductions import ReductionBuilder, widths
from tinyjax.compile.schedules.row_kernels import RowKernel
from tinyjax.compile.schedules.split_reduction import SplitReduction
from tinyjax.core.jaxpr import Var

KERNELS: dict[str, type[ReductionBuilder]] = {
    "rows": RowKernel,
    "columns": ColumnKernel,
    "split": SplitReduction,
}


def reduction_kernel(
    group: KernelGroup, name: str, names: dict[Var, str], target: Target
) -> Kernel:
    """The kernel of a group that has a form; in scalars where neighbours are apart in memory."""
    assert group.form is not None
    *vectors, scalar = widths(group, target)
    for width in vectors:
        with suppress(NotVectorizable):
            return KERNELS[group.form.kind](group, names, target, width).kernel_named(name)
    return KERNELS[group.form.kind](group, names, target, scalar).kernel_named(name)
