"""Lowering a group of equations to a kernel: a naive loop nest, and the schedule that makes it fast.

After this file you can say who decides what a kernel looks like: loop_nest.py says what is computed, and a
schedule for the kind of group how. Builds on loop_nest, map_schedule, reduction_kernels and product_kernels.
"""

from __future__ import annotations

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.kernel.loop_nest import loop_nest
from tinyjax.compile.schedules.map_schedule import map_schedule
from tinyjax.compile.schedules.product_kernels import product_kernel
from tinyjax.compile.schedules.reduction_kernels import reduction_kernel
from tinyjax.core.jaxpr import Var


def lower_group(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    """The kernel of `group`; its buffers are the group's inputs, then its outputs (then scratch)."""
    if group.form is None and group.product is None:
        return map_schedule(loop_nest(group, name, names, target), target).finished()
    kernel_of = product_kernel if group.form is None else reduction_kernel
    kernel = kernel_of(group, name, names, target)
    check_kernel(kernel)
    return kernel
