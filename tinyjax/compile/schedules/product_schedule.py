"""The schedule of a matrix product: tiles of the result in registers, panels of the right operand in a cache.

The columns of a tile are the lanes of a vector, and its rows are unrolled: each element of the left operand
is multiplied with a whole vector, and sums stay in registers meanwhile. The panel that all rows of a block
are multiplied with is packed once. What the program does with the result (the epilogue: add a bias, tanh)
follows while the block is in a cache. A convolution's sums are over several axes (k1, k2, ...), of which the
last ones make a panel.

Source: K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008
"""

from __future__ import annotations

import math
import re

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.kernel_ir import Allocate, Kernel, Load, Store
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.directive import axis_of, loop_over, loops_of
from tinyjax.compile.schedules.group_schedule import product_in_groups
from tinyjax.compile.schedules.hoist import Hoist
from tinyjax.compile.schedules.reorder import Reorder, apply_tiles
from tinyjax.compile.schedules.schedule import ScheduleBuilder
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vectorize import Vectorize

VECTOR_BYTES = 64
PANEL = 256  # rows of the right operand in a panel: it stays in the first cache
BLOCK = 240  # rows of the left operand that go through a panel: they stay in the second
MIN_TASKS = 16  # enough to keep all cores busy
GRAIN = 2**16  # multiplications that make another work-item worthwhile


def product_schedule(naive: Kernel, target: Target) -> ScheduleBuilder:
    """The schedule of a product's naive nest: axes are (batch,) row, column and k, or k1, k2, ..."""
    if target.group > 1:
        return product_in_groups(naive, target)
    scheduler = _ProductScheduler(naive, target)
    scheduler.tile()
    scheduler.pack()
    scheduler.vectorize()
    scheduler.share_out()
    return scheduler.builder


class _ProductScheduler:
    """The sizes of a product, and of its tiles and blocks."""

    def __init__(self, naive: Kernel, target: Target):
        self.builder, self.target = ScheduleBuilder(naive), target
        sizes = (self.builder.size(axis) for axis in ("batch", "row", "column"))
        self.batch, self.rows, self.columns = sizes
        self.sums = [a for a in map(axis_of, loops_of(naive.body)) if re.fullmatch(r"k\d*", a)]
        self.depth = math.prod(map(self.builder.size, self.sums))
        (sum_of, *_) = (s.array for s in every_statement(naive.body) if isinstance(s, Allocate))
        enough = 1 << (self.columns - 1).bit_length()  # a power of two
        self.lanes = min(VECTOR_BYTES // max(4, sum_of.dtype.itemsize), enough)
        # An element loaded from a row is multiplied with two vectors, if their sums fit in registers.
        self.vectors = 2 if target.rows > 6 and self.columns % (2 * self.lanes) == 0 else 1
        self.width = self.vectors * self.lanes
        most = target.rows // self.vectors
        self.height = rows_at_once(self.rows, most, _may_be_in_place(naive))
        # Each block of rows copies its panels again.
        panels = self.batch * math.ceil(self.columns / self.width)
        total = self.batch * self.rows * self.columns * self.depth
        wanted = min(math.ceil(MIN_TASKS / panels), math.ceil(total / (panels * GRAIN)))
        most = math.ceil(self.rows / (4 * self.height))
        blocks = max(math.ceil(self.rows / BLOCK), min(wanted, most))
        self.tiles = math.ceil(self.rows / (self.height * blocks))  # of a block

    def tile(self) -> None:
        """Splits the result into blocks of rows by panels of columns, and these into tiles. The epilogue
        follows a block's sums.
        """
        builder = self.builder
        count = self.height * self.vectors
        registers = f"{count} vectors of sums stay in registers while k runs"
        apply_tiles(builder, ("row", "column"), self.height, self.width, registers)
        block = f"{self.tiles * self.height} rows of the left operand stay in the second cache"
        builder.apply(Split("row_outer", self.tiles, why=block))
        panel = "all tiles of a block are multiplied with the same panel"
        builder.apply(Reorder("column_outer", ("row_outer_inner",), why=panel))
        tiles = ("row_outer_inner", "row_inner", "column_inner")
        outer = self._parts_of_panel()
        if outer:
            part = "the block is multiplied with a part of the panel before the next"
            builder.apply(Reorder(outer, tiles, why=part))
        else:
            why = "what follows the sums is not unrolled with them"
            builder.apply(Reorder(self.sums[0], tiles[1:], stays=True, why=why))

    def _parts_of_panel(self) -> str:
        """The axis that numbers the parts of a panel, each of which fits in the first cache; empty for one
        part. The remaining loop over k sums one part.
        """
        *outer, last = self.sums
        size_of = self.builder.size
        if size_of(last) > PANEL:
            why = f"{PANEL} rows of a panel stay in the first cache"
            self.builder.apply(Split(last, PANEL, why=why))
            outer, last = [*outer, f"{last}_outer"], f"{last}_inner"
        self.sums, size = [last], min(PANEL, size_of(last))
        while outer and size_of(outer[-1]) * size <= PANEL:
            size *= size_of(outer[-1])
            self.sums.insert(0, outer.pop())
        if outer and PANEL // size > 1:
            axis = outer.pop()
            self.builder.apply(Split(axis, PANEL // size, why="as many rows as a panel may have"))
            self.sums.insert(0, f"{axis}_inner")
            outer.append(f"{axis}_outer")
        return self.builder.fuse_axes(outer, "parts of a panel are numbered")

    def pack(self) -> None:
        """Copies each panel."""
        again = f"the panel is read {self.tiles} times, in the order of the copy"
        panel = Hoist("row_outer_inner", (*self.sums, "column_inner"), why=again)
        # Not if it is the same number everywhere.
        self.is_packed = self.builder.apply_if_possible(panel)

    def vectorize(self) -> None:
        """Makes columns the lanes of the sums and, where possible, of the copy and the epilogue. Unrolls a
        tile's rows.
        """
        builder = self.builder
        if not self._in_vectors("column_inner", "neighbours are packed"):
            return  # each may read at an index that depends on data
        if self.is_packed and not self._in_vectors("column_inner2", "a row of the panel", True):
            why = "each element is copied by itself"
            builder.apply_if_possible(UnrollAndJam("column_inner2", self.width, why=why))
        self._in_vectors("column_inner1", "neighbours of the result")
        why = "a vector of the panel is loaded once, and no sum waits for another"
        for axis, count in ("column_inner_outer", self.vectors), ("row_inner", self.height):
            if count > 1:
                builder.apply(UnrollAndJam(axis, count, why=why))

    def _in_vectors(self, axis: str, why: str, gather: bool = False) -> bool:
        """Vectorizes an axis of columns if possible; returns whether it did."""
        return self.builder.apply_if_possible(Vectorize(axis, self.lanes, gather, why=why))

    def share_out(self) -> None:
        """Each panel of each block is a task; a work-item gets a run of tasks."""
        axes = ["row_outer_outer", "column_outer"]
        if self.batch > 1:
            axes.insert(0, "batch")
        task = self.builder.fuse_axes(axes, "a panel of a block is a task")
        work = self.tiles * self.height * self.depth * self.width
        most = 4 * self.target.max_items
        why = f"{GRAIN:,} multiplications are worth a work-item"
        self.builder.share_out(task, math.ceil(GRAIN / work), most, why)


def _may_be_in_place(naive: Kernel) -> bool:
    """Whether results may overwrite an operand, which is read at their place, if each is stored once."""
    body = loop_over(naive, "column").body
    stored = {s.index for s in body if isinstance(s, Store)}
    return any(isinstance(s, Load) and s.index in stored for s in body)


def rows_at_once(rows: int, most: int, in_place: bool) -> int:
    """How many rows go through a panel together. Loading the panel costs about as much as two more rows. If
    the last tile overlaps with another, the results can't be in place, which costs up to a fifth.
    """

    def cost(tile: int) -> float:
        return math.ceil(rows / tile) * (tile + 2) * (1.2 if in_place and rows % tile else 1)

    return min(range(1, min(rows, most) + 1), key=cost)
