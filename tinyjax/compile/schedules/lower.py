"""Lowering a group of equations to a kernel: a naive loop nest, and the schedule that makes it fast.

The nests (loop_nest.py, reduction_nest.py, product_nest.py, order_nest.py) define what is computed, and a
schedule for each kind of group defines how.
"""

from __future__ import annotations

from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.kernel.loop_nest import loop_nest
from tinyjax.compile.kernel.order_nest import order_nest
from tinyjax.compile.kernel.product_nest import product_nest
from tinyjax.compile.kernel.reduction_nest import reduction_nest
from tinyjax.compile.kernel.rules import Fourier, lowering_of
from tinyjax.compile.schedules.map_schedule import map_schedule, order_schedule
from tinyjax.compile.schedules.product_schedule import product_schedule
from tinyjax.compile.schedules.reduction_schedule import reduction_schedule, sums_in_groups
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import Var


def lower_group(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    """The kernel of `group`; its buffers are the group's inputs, then its outputs (then scratch)."""
    if group.form is not None:
        nest, axes = reduction_nest(group, name, names, target)
        return reduction_schedule(nest, axes, group.form, target).finished()
    if group.product is not None:
        return product_schedule(product_nest(group, name, names, target), target).finished()
    if group.in_order is not None:
        nest, outer = order_nest(group, name, names, target)
        is_costly = isinstance(lowering_of(group.in_order, target), Fourier)
        return order_schedule(nest, outer, target, is_costly).finished()
    nest = loop_nest(group, name, names, target)
    by_groups = sums_in_groups(nest, target) if target.group > 1 else None
    return (by_groups or map_schedule(nest, target)).finished()
