"""The schedule of a matrix product: tiles of the result in registers, panels of the right operand in a cache.

The columns of a tile are the lanes of a vector, and its rows are unrolled: each element of the left operand
is multiplied with a whole vector, and sums stay in registers meanwhile. The panel that all rows of a block
are multiplied with is packed once. What the program does with the result (the epilogue: add a bias, tanh)
follows while the block is in a cache. A convolution's sums are over several axes (k1, k2, ...), of which the
last ones make a panel.

On a GPU, a work-group computes a tile: its work-items copy the shared operands to local memory, and each
computes one sum, or up to four rows and columns of sums.

Source: K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008
"""

from __future__ import annotations

import math
import re

from tinyjax.compile.kernel.kernel_ir import Allocate, Buffer, Kernel, Load, Store
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.chooser import Chooser, power_of_two
from tinyjax.compile.schedules.dependences import iterations
from tinyjax.compile.schedules.directive import axis_of, loop_over, loops_of
from tinyjax.compile.schedules.hoist import Hoist
from tinyjax.compile.schedules.reorder import Reorder
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.compile.schedules.work_groups import WorkGroups
from tinyjax.compile.target import Target

VECTOR_BYTES = 64
PANEL = 256  # rows of the right operand in a panel: it stays in the first cache
BLOCK = 720  # rows of the left operand that go through a panel: they share its copy
MIN_TASKS = 16  # enough to keep all cores busy
GRAIN = 2**16  # multiplications that make another work-item worthwhile
GROUPS = 128  # that a large GPU runs at once: fewer leave a part of it idle


def product_schedule(naive: Kernel, target: Target) -> Chooser:
    """The schedule of a product's naive nest: axes are (batch,) row, column and k, or k1, k2, ..."""
    chooser = (_Tiles if target.group == 1 else _GroupTiles)(naive, target)
    chooser.choose()
    return chooser


class _Tiles(Chooser):
    """The sizes of a product, and of its tiles and blocks. The columns of a tile are lanes."""

    def choose(self) -> None:
        sizes = (self.size(axis) for axis in ("batch", "row", "column"))
        self.batch, self.rows, self.columns = sizes
        self.sums = [a for a in map(axis_of, loops_of(self.naive.body)) if re.fullmatch(r"k\d*", a)]
        self.depth = math.prod(map(self.size, self.sums))
        sum_of = next(s.array for s in self.naive.statements if isinstance(s, Allocate))
        self.lanes = min(VECTOR_BYTES // max(4, sum_of.dtype.itemsize), power_of_two(self.columns))
        # An element of a row is multiplied with two vectors, if their sums fit in registers, and if the last
        # tile shares few columns with the one before: these are computed twice, which rules out in place.
        in_place = _may_be_in_place(self.naive)
        shared = -self.columns % (2 * self.lanes)
        has_few = shared <= (0 if in_place else self.columns // 32)
        self.vectors = 2 if self.target.rows > 6 and has_few else 1
        self.tile_width = self.vectors * self.lanes
        most = self.target.rows // self.vectors
        self.height = rows_at_once(self.rows, most, in_place)
        # Each block of rows copies its panels again.
        panels = self.batch * math.ceil(self.columns / self.tile_width)
        total = self.batch * self.rows * self.columns * self.depth
        wanted = min(math.ceil(MIN_TASKS / panels), math.ceil(total / (panels * GRAIN)))
        most = math.ceil(self.rows / (4 * self.height))
        blocks = max(math.ceil(self.rows / BLOCK), min(wanted, most))
        self.tiles = math.ceil(self.rows / (self.height * blocks))  # of a block
        self._tile()
        self._pack()
        self._vectorize()
        axes = ["batch" if self.batch > 1 else "", "row_outer_outer", "column_outer"]
        task = self.fuse_axes(axes, "a panel of a block is a task")
        work = self.tiles * self.height * self.depth * self.tile_width
        why = f"{GRAIN:,} multiplications are worth a work-item"
        self.share_out(task, math.ceil(GRAIN / work), why)

    def _tile(self) -> None:
        """Splits the result into blocks by panels, these into tiles. The epilogue follows a block's sums."""
        count = self.height * self.vectors
        registers = f"{count} vectors of sums stay in registers while k runs"
        self.tile(("row", "column"), self.height, self.tile_width, registers)
        block = f"{self.tiles * self.height} rows of the left operand share the copy of a panel"
        self.apply(Split("row_outer", self.tiles, why=block))
        panel = "all tiles of a block are multiplied with the same panel"
        self.apply(Reorder("column_outer", ("row_outer_inner",), why=panel))
        tiles = ("row_outer_inner", "row_inner", "column_inner")
        if outer := self._parts_of_panel():
            part = "the block is multiplied with a part of the panel before the next"
            self.apply(Reorder(outer, tiles, why=part))
        else:
            why = "what follows the sums is not unrolled with them"
            self.apply(Reorder(self.sums[0], tiles[1:], stays=True, why=why))

    def _parts_of_panel(self) -> str:
        """The axis that numbers the parts of a panel, each of which fits in the first cache; empty for one
        part. The remaining loop over k sums one part."""
        *outer, last = self.sums
        if self.size(last) > PANEL:
            why = f"{PANEL} rows of a panel stay in the first cache"
            self.apply(Split(last, PANEL, why=why))
            outer, last = [*outer, f"{last}_outer"], f"{last}_inner"
        self.sums, size = [last], min(PANEL, self.size(last))
        while outer and self.size(outer[-1]) * size <= PANEL:
            size *= self.size(outer[-1])
            self.sums.insert(0, outer.pop())
        return self.fuse_axes(outer, "parts of a panel are numbered")

    def _pack(self) -> None:
        """Copies each panel."""
        again = f"the panel is read {self.tiles} times, in the order of the copy"
        panel = Hoist("row_outer_inner", (*self.sums, "column_inner"), why=again)
        # Not if it is the same number everywhere.
        self.is_packed = self.apply_if_possible(panel)

    def _vectorize(self) -> None:
        """Makes columns lanes, also of the copy and the epilogue if possible, and unrolls a tile's rows."""
        if not self._in_vectors("column_inner", "neighbours are packed"):
            return  # each may read at an index that depends on data
        if self.is_packed:
            self._in_vectors("column_inner2", "a row of the panel", True)
        self._in_vectors("column_inner1", "neighbours of the result")
        why = "a vector of the panel is loaded once, and no sum waits for another"
        for axis, count in ("column_inner_outer", self.vectors), ("row_inner", self.height):
            if count > 1:
                self.apply(UnrollAndJam(axis, count, why=why))

    def _in_vectors(self, axis: str, why: str, gather: bool = False) -> bool:
        """Vectorizes an axis of columns if possible; returns whether it did."""
        return self.apply_if_possible(Vectorize(axis, self.lanes, gather, why=why))


def _may_be_in_place(naive: Kernel) -> bool:
    """Whether results may overwrite an operand, which is read at their place, if each is stored once."""
    body = loop_over(naive, "column").body
    stored = {s.index for s in body if isinstance(s, Store)}
    return any(isinstance(s, Load) and s.index in stored for s in body)


def rows_at_once(rows: int, most: int, in_place: bool) -> int:
    """How many rows go through a panel together. Loading the panel costs about as much as two more rows. If
    the last tile overlaps with another, the results can't be in place, which costs up to a fifth."""

    def cost(tile: int) -> float:
        return math.ceil(rows / tile) * (tile + 2) * (1.2 if in_place and rows % tile else 1)

    return min(range(1, min(rows, most) + 1), key=cost)


class _GroupTiles(Chooser):
    """On a GPU, a group computes a square tile of the result. An item computes one element of it, or, if
    there are enough, several rows and columns, so that it computes more per load from local memory."""

    def choose(self) -> None:
        size = math.isqrt(self.target.group)
        each = self._of_each_item(size)
        side = each * size
        why = f"a group has a tile of the result, and reads {side} rows for {side * side} sums"
        self.tile(("row", "column"), side, side, why)
        k, items = "k", ("row_inner", "column_inner")
        if each > 1:
            items = self._several_each(each, size)
        if self.size(k) > size:
            why = f"of {size} rows and columns, {size} elements at a time"
            self.apply(Split(k, size, why=why))
            why = "all items go on to the next elements together"
            self.apply(Reorder("k_outer", items, why=why))
            k = "k_inner"
        else:
            why = "sums first, and then what follows them"
            self.apply(Reorder(k, items, stays=True, why=why))
        self._pack(k, *items)
        batch = "batch" if self.size("batch") > 1 else ""
        task = self.fuse_axes([batch, "row_outer", "column_outer"], "tiles are numbered")
        self.share_out(task, why="tiles do not wait for each other")
        why = f"what {size} items read is in local memory"
        self.apply(WorkGroups(self.target.group, why=why))

    def _of_each_item(self, size: int) -> int:
        """How many rows and columns of elements an item computes: as many as still leave enough groups."""
        batch, rows, columns = map(self.size, ("batch", "row", "column"))
        for each in (4, 2):
            side = each * size
            groups = batch * math.ceil(rows / side) * math.ceil(columns / side)
            if groups >= GROUPS and min(rows, columns) >= side:
                return each
        return 1

    def _several_each(self, each: int, size: int) -> tuple[str, str]:
        """Gives an item `each` rows and columns of a tile, whose sums stay in registers. Its columns are
        spread out, so that neighbouring items have neighbouring columns. Returns the axes of the items."""
        column, why = "column_inner_inner", f"{size} items have neighbouring columns"
        self.apply(Split("column_inner", size, overlap=True, why=why))
        self.apply(Reorder(column, ("column_inner_outer",), why="an item has several columns"))
        why = f"what an item loads is for {each} sums"
        self.apply(UnrollAndJam("column_inner_outer", each, why=why))
        self.apply(UnrollAndJam("row_inner", each, why=why))
        return f"row_inner_by{each}", column

    def _pack(self, k: str, rows: str, columns: str) -> None:
        """Copies of both operands' parts. The last loop over a copy goes along the operand's rows, so that
        neighbours load neighbours, unless that would leave gaps, which would have to be set."""
        for kept, other in ((rows, columns), (columns, rows)):
            self.apply(Reorder(other, (kept,), why=f"for each {other}, the same is read"))
            order = (kept, k) if _lies_along(self.kernel, k, kept) else (k, kept)
            for axes in (order, order[::-1]):
                if iterations(loop_over(self.kernel, axes[-1])).bit_count() == 1:
                    why = "read again and again, loaded once"
                    self.apply_if_possible(Hoist(other, axes, why=why))
                    break


def _lies_along(kernel: Kernel, k: str, kept: str) -> bool:
    """Whether the operand's elements for one `kept` are contiguous along k."""
    loads = [s for s in every_statement(loop_over(kernel, k).body) if isinstance(s, Load)]
    places = [s.index for s in loads if isinstance(s.memory, Buffer)]
    return any(at.stride(k) == 1 and at.stride(kept) != 0 for at in places)
