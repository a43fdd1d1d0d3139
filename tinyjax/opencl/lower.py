"""From a group of equations to a kernel: asking for each output element, back through the rules.

After this file you can predict a kernel's text from the equations: a loop over the output's elements
and, in it, one call of builder.py's `element(v, position)` an output. Builds on group_builder, reductions
and product_kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress

from tinyjax.jaxpr import Var
from tinyjax.opencl.check_kernel import check_kernel
from tinyjax.opencl.codegen import Target
from tinyjax.opencl.group_builder import GroupBuilder, padded, run_of, share, statements_for
from tinyjax.opencl.groups import KernelGroup
from tinyjax.opencl.indices import Index
from tinyjax.opencl.kernel_ir import For, Kernel, Statement, item_index
from tinyjax.opencl.product_kernels import product_kernel
from tinyjax.opencl.reduction_kernels import reduction_kernel
from tinyjax.opencl.rules import Position
from tinyjax.opencl.side_by_side import NotSideBySide
from tinyjax.opencl.wide_text import has_wide_type


def lower_group(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    """The kernel of `group`; its buffers are the group's inputs, then its outputs (then scratch).

    Elements are numbered flat, in one loop, as long as nothing asks for the coordinates; on a CPU,
    where the divisions would cost more than the work, those get a loop over rows and one within.
    There, neighbours are computed side by side wherever they are next to each other in memory."""
    if group.form is not None:
        kernel = reduction_kernel(group, name, names, target)
    elif group.product is not None:
        kernel = product_kernel(group, name, names, target)
    else:
        kernel = _side_by_side(group, name, names, target) or _one_by_one(
            group, name, names, target
        )
    check_kernel(kernel)
    return kernel


def _side_by_side(
    group: KernelGroup, name: str, names: dict[Var, str], target: Target
) -> Kernel | None:
    """The kernel that computes neighbours side by side, if there can be one."""
    dtypes = {v.aval.dtype for eqn in group.eqns for v in [*eqn.invars, *eqn.outvars]}
    if not all(map(has_wide_type, dtypes)):
        return None
    width = target.width if max(dtype.itemsize for dtype in dtypes) <= 4 else target.width // 2
    shape = group.outputs[0].aval.shape
    for loop, size in ((_flat_loop, math.prod(shape)), (_row_loop, shape[-1] if shape else 1)):
        if width > 1 and size >= width:
            with suppress(NotSideBySide):
                return _MapBuilder(group, names, target, width).map(name, loop)
    return None


def _one_by_one(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    kernel = _MapBuilder(group, names, target).map(name, _flat_loop)
    rank = len(group.outputs[0].aval.shape)
    if rank > 1 and target.lanes > 1 and divides(kernel.body):
        kernel = _MapBuilder(group, names, target).map(name, _row_loop)
    return kernel


def divides(body: Sequence[Statement]) -> bool:
    """Whether some index in `body` is found by division."""
    for statement in body:
        if isinstance(statement, For):
            if divides(statement.body):
                return True
            continue
        used = [getattr(statement, "index", None), *getattr(statement, "args", ())]
        if any(part.op in "/%" for i in used if isinstance(i, Index) for part in i.parts()):
            return True
    return False


# ---- loops over the outputs' elements ----


class _MapBuilder(GroupBuilder):
    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target, width: int = 1):
        super().__init__(group, names, target)
        self.width = width  # neighbours that are computed side by side

    def map(self, name: str, loop: Callable) -> Kernel:
        """Each work-item computes a run of the outputs' elements."""
        shape = self.group.outputs[0].aval.shape
        with statements_for([self.producer[v] for v in self.outputs]):
            items = loop(self, shape, self._store_outputs)
        return self.kernel(name, items)

    def _store_outputs(self, position: Position) -> None:
        for v in self.outputs:
            self.store_output(v, position)


def _flat_loop(
    builder: _MapBuilder, shape: tuple[int, ...], body: Callable[[Position], None]
) -> int:
    """One loop over the flat positions; gives the number of work-items."""
    count, width, target = math.prod(shape), builder.width, builder.target
    chunks = math.ceil(count / width)
    items, run = share(chunks, max(1, target.grain // width), target.max_items)
    item = item_index(padded(items, target))
    with builder.loop(*run_of(item, run, chunks), chunks - 1) as chunk:
        with builder.side_by_side(chunk, count, width) as i:
            body(Position(shape, flat=i))
    return items


def _row_loop(
    builder: _MapBuilder, shape: tuple[int, ...], body: Callable[[Position], None]
) -> int:
    """A loop over rows (all axes but the last), and one along each; gives the number of work-items.

    Where rows are few and long, several work-items share one."""
    *leading, columns = shape
    rows, width, target = math.prod(leading), builder.width, builder.target
    chunks = math.ceil(columns / width)
    items, run = share(rows, max(1, target.grain // columns), target.max_items)
    grain = max(1, target.grain // width)
    pieces, piece_run = share(chunks, grain, target.max_items // items)
    item = item_index(items * pieces)
    with builder.loop(*run_of(item // pieces, run, rows), rows - 1) as row:
        with builder.loop(*run_of(item % pieces, piece_run, chunks), chunks - 1) as chunk:
            with builder.side_by_side(chunk, columns, width) as column:
                coords = (*Position(leading, flat=row).coords, column)
                body(Position(shape, coords, row * columns + column))
    return items * pieces
