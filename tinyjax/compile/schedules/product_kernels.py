"""Kernels of matrix products: tiles of the result in registers, and an epilogue while they are there.

After this file you can say how often a product reads each element of its operands. Work is shared out
as *panels*: as many columns of the result as a vector has lanes, for a block of its rows. For a panel,
a run of rows of the right operand is packed once (`panel`); then a few rows of the left one
at a time go through it, each of their elements multiplied with a whole vector, and sums stay in
registers meanwhile. At the end of a panel comes the epilogue: what the program does with each element
of the result (add a bias, tanh) is computed from the sums, and stored. Builds on products and group_builder.

Source: K. Goto, R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Const,
    For,
    Kernel,
    Let,
    Load,
    PrivateArray,
    Scalar,
    Value,
    item_index,
    statements_of,
)
from tinyjax.compile.kernel.rules import Position, Product, lowering_of, sum_dtype
from tinyjax.compile.kernel.scalar_ops import has_vector_type
from tinyjax.compile.kernel.vector_lanes import NotVectorizable, VectorLanes
from tinyjax.compile.passes.products import Side, multiplications, sides_of
from tinyjax.compile.schedules.group_builder import GroupBuilder, padded, run_of, share
from tinyjax.core.jaxpr import JaxprEqn, Var

VECTOR_BYTES = 64
MAX_ROWS = 6  # with their sums, and a vector to multiply with, they fill 16 registers of 32 bytes
PANEL = 256  # rows of the right operand in a panel: it stays in the first cache
BLOCK = 240  # rows of the left operand that go through a panel: they stay in the second
MIN_TASKS = 16  # so that all cores have work
GRAIN = 2**16  # multiplications that are worth a work-item


def product_kernel(group: KernelGroup, name: str, names: dict[Var, str], target: Target) -> Kernel:
    """The kernel of a group that has a product among its equations."""
    if can_vectorize_epilogue(group, target):
        with suppress(NotVectorizable):
            return ProductBuilder(group, names, target).kernel_named(name, is_vector=True)
    return ProductBuilder(group, names, target).kernel_named(name, is_vector=False)


def can_vectorize_epilogue(group: KernelGroup, target: Target) -> bool:
    """Whether all dtypes of what follows the product, and of its result, have vectors."""
    product = product_of(group.eqns, target)
    read = [v for eqn in group.eqns if eqn is not product for v in eqn.invars]
    made = [v for eqn in group.eqns for v in eqn.outvars]
    return all(has_vector_type(v.aval.dtype) for v in [*read, *made])


class ProductBuilder(GroupBuilder):
    """Sizes: `rows` x `depth` by `depth` x `columns`, `batch` times."""

    def __init__(self, group: KernelGroup, names: dict[Var, str], target: Target):
        super().__init__(group, names, target)
        self.eqn = product_of(group.eqns, target)
        self.left, self.right = sides_of(self.eqn)
        self.batch = self.left.size(self.left.batch)
        self.rows = self.left.size(self.left.kept)
        self.columns = self.right.size(self.right.kept)
        self.depth = self.left.size(self.left.summed)
        self.dtype = sum_dtype(self.eqn.outvars[0].aval.dtype)
        self.width = VECTOR_BYTES // max(4, self.dtype.itemsize)
        self.panels = math.ceil(self.columns / self.width)
        self.has_runs = self.depth > PANEL  # several, which add to the sums one after the other
        self.is_partial = self.columns % self.width != 0 or self.panels == 1

    # ---- the work shared out ----

    def kernel_named(self, name: str, is_vector: bool) -> Kernel:
        """The kernel. Raises NotVectorizable if what follows can't be a vector's."""
        with statements_of(self.eqn):
            items = self.whole(is_vector)
        return self.kernel(name, items)

    def whole(self, is_vector: bool) -> int:
        """Writes all statements; gives the number of work-items.

        Tasks are numbered by batch, block of rows, and panel; a work-item has a run of them."""
        tile = rows_at_once(self.rows)
        panels, total = self.batch * self.panels, multiplications(self.eqn)
        # Each block of rows copies its panels again.
        wanted = min(math.ceil(MIN_TASKS / panels), math.ceil(total / (panels * GRAIN)))
        blocks = max(math.ceil(self.rows / BLOCK), min(wanted, math.ceil(self.rows / (4 * tile))))
        tiles = math.ceil(self.rows / (tile * blocks))
        blocks = math.ceil(self.rows / (tiles * tile))
        count = panels * blocks
        work = tiles * tile * self.depth * self.width
        items, run = share(count, math.ceil(GRAIN / work), 4 * self.target.max_items)
        with self.loop(*run_of(item_index(padded(items, self.target)), run, count), count - 1) as i:
            batch, block = i // (blocks * self.panels), i // self.panels % blocks
            last = self.columns - 1 if self.is_partial else self.columns - self.width
            column = index_var(self.fresh("i"), 0, last)
            with self.block() as body:
                self._task(batch, block * (tiles * tile), column, tiles, tile, is_vector)
            start = i % self.panels * self.width
            self.body.append(For(column, start, start + 1, body))
        return items

    def _task(
        self, batch: Index, first: Index, column: Index, tiles: int, tile: int, is_vector: bool
    ) -> None:
        """`tiles` times `tile` rows from `first` on, of the columns of a panel."""
        sums = PrivateArray(self.fresh("sums"), self.dtype, tiles * tile, self.width)
        self.body.append(Allocate(sums, None))
        if self.has_runs:
            zero = self._zero()
            with self.loop(0, sums.size, sums.size - 1) as i:
                self.store(sums, i, zero)
        self._sum_up(batch, first, column, sums, tile)
        rows = (first + sums.size).min(self.rows)
        with self.loop(first, rows, self.rows - 1) as row:
            at = (row - first).max(0).min(sums.size - 1)
            total = self._load_vector(sums, at)
            if is_vector:
                self._store_vector(batch, row, column, total)
            else:
                self._store_each(batch, row, column, total)

    # ---- sums ----

    def _sum_up(
        self, batch: Index, first: Index, column: Index, sums: PrivateArray, tile: int
    ) -> None:
        """Adds the products to `sums`, one run of the summed axis after the other."""
        depth = min(PANEL, self.depth)
        panel = PrivateArray(self.fresh("panel"), self.dtype, depth, self.width)
        self.body.append(Allocate(panel, None))
        runs = math.ceil(self.depth / depth)
        with self.loop(0, runs, runs - 1) as number:
            run = run_of(number, depth, self.depth)
            with self.loop(*run, self.depth - 1) as k:
                self.store(panel, k % depth, self._right_elements(batch, k, column))
            with self.loop(0, sums.size // tile, sums.size // tile - 1) as number_of_tile:
                start = number_of_tile * tile
                self._tile(batch, first + start, run, panel, [sums, start], tile)

    def _tile(
        self,
        batch: Index,
        first: Index,
        run: tuple[Index, Index],
        panel: PrivateArray,
        sums: Sequence,
        tile: int,
    ) -> None:
        """A few rows through a panel. Beyond the last row of the operand, that one is taken again."""
        memory, start = sums
        accumulators = []
        zero = None if self.has_runs else self._zero()
        for i in range(tile):
            accumulators.append(PrivateArray(self.fresh("acc"), self.dtype, 1, self.width))
            self.body.append(Allocate(accumulators[-1], None))
            so_far = zero or self._load_vector(memory, start + i)
            self.store(accumulators[-1], index(0), so_far)
        with self.loop(*run, self.depth - 1) as k:
            right = self._load_vector(panel, k % panel.size)
            for i, accumulator in enumerate(accumulators):
                row = (first + i).min(self.rows - 1)
                left = self._element(0, batch, row, k)
                so_far = self._load_vector(accumulator, index(0))
                self.store(accumulator, index(0), self._multiply_add(left, right, so_far))
        for i, accumulator in enumerate(accumulators):
            self.store(memory, start + i, self._load_vector(accumulator, index(0)))

    def _multiply_add(self, x: Scalar, y: Scalar, total: Scalar) -> Scalar:
        if self.dtype.kind == "f":
            return self.let("mul_add", (x, y, total), self.dtype)
        return self.let("add", (self.let("mul", (x, y), self.dtype), total), self.dtype)

    # ---- operands ----

    def _right_elements(self, batch: Index, k: Index, column: Index) -> Scalar:
        """Neighbours in a row of the right operand; at its end, some are of the next row, and not used."""
        atom, side = self.eqn.invars[1], self.right
        lies_so = side.kept[-1] == len(side.shape) - 1 and side.are_one(side.kept)
        if lies_so and atom in self.places and atom.aval.dtype == self.dtype:
            assert isinstance(atom, Var)
            place, at = self.places[atom], self._flat(side, batch, column, k)
            end = index(math.prod(side.shape)) if self.is_partial else None
            target = Value(self.fresh(self.names[atom]), self.dtype, self.width)
            self.body.append(Load(target, place.memory, at, end))
            return target
        columns = [(column + lane).min(self.columns - 1) for lane in range(self.width)]
        elements = [self._element(1, batch, at, k) for at in columns]
        target = Value(self.fresh("t"), self.dtype, self.width)
        self.body.append(Let(target, "vector", tuple(elements)))
        return target

    def _element(self, number: int, batch: Index, kept: Index, k: Index) -> Scalar:
        """The element of an operand, in the dtype of the sums."""
        atom, side = self.eqn.invars[number], (self.left, self.right)[number]
        if atom in self.places:
            flat = self._flat(side, batch, kept, k)
            position = Position(side.shape, flat=flat)
        else:
            position = Position(side.shape, self._coords(side, batch, kept, k))
        return self.converted(self.element(atom, position), self.dtype)

    def _coords(self, side: Side, *places: Index) -> list[Index]:
        """One index for each axis, from one for each kind of axes."""
        coords: dict[int, Index] = {}
        for axes, place in zip((side.batch, side.kept, side.summed), places):
            coords |= dict(zip(axes, Position(side.sizes(axes), flat=place).coords))
        return [coords[axis] for axis in range(len(side.shape))]

    def _flat(self, side: Side, *places: Index) -> Index:
        """The place in memory, from one index for each kind of axes."""
        flat = index(0)
        for axes, place in zip((side.batch, side.kept, side.summed), places):
            if axes and side.are_one(axes):
                flat = flat + place * side.stride(axes[-1])
                continue
            for axis, coord in zip(axes, Position(side.sizes(axes), flat=place).coords):
                flat = flat + coord * side.stride(axis)
        return flat

    # ---- the epilogue ----

    def _store_vector(self, batch: Index, row: Index, column: Index, total: Value) -> None:
        """Computes the outputs for neighbouring columns at once. Raises NotVectorizable."""
        end = index(self.columns) if self.is_partial else None
        each = index_var("e", 0, self.columns - 1)
        self.lanes = VectorLanes(each, column, end, self.width)
        position = self._position(batch, row, each)
        self._know(position, total)
        for v in self.outputs:
            self.store_output(v, position)
        self.lanes = None

    def _store_each(self, batch: Index, row: Index, column: Index, totals: Value) -> None:
        """Computes the outputs for one column after the other."""
        stop = (column + self.width).min(self.columns)
        with self.loop(column, stop, self.columns - 1) as at:
            total = Value(self.fresh("t"), self.dtype)
            self.body.append(Let(total, "lane", (totals, at - column)))
            position = self._position(batch, row, at)
            self._know(position, total)
            for v in self.outputs:
                self.store_output(v, position)

    def _position(self, batch: Index, row: Index, column: Index) -> Position:
        sizes = [
            self.left.sizes(self.left.batch),
            self.left.sizes(self.left.kept),
            self.right.sizes(self.right.kept),
        ]
        places = zip(sizes, (batch, row, column))
        coords = [coord for size, at in places for coord in Position(size, flat=at).coords]
        flat = (batch * self.rows + row) * self.columns + column
        return Position(self.eqn.outvars[0].aval.shape, coords, flat)

    def _know(self, position: Position, total: Value) -> None:
        (out,) = self.eqn.outvars
        self.known[out, position.flat] = self._named(
            self.converted(total, out.aval.dtype), self.names[out]
        )

    # ---- vectors ----

    def _load_vector(self, array: PrivateArray, at: Index) -> Value:
        target = Value(self.fresh("t"), array.dtype, array.width)
        self.body.append(Load(target, array, at))
        return target

    def _zero(self) -> Value:
        target = Value(self.fresh("t"), self.dtype, self.width)
        self.body.append(Let(target, "copy", (Const(self.dtype.type(0), self.dtype),)))
        return target


def product_of(eqns: Sequence[JaxprEqn], target: Target) -> JaxprEqn:
    """The one equation that is a product."""
    (eqn,) = [eqn for eqn in eqns if isinstance(lowering_of(eqn, target), Product)]
    return eqn


def rows_at_once(rows: int) -> int:
    """How many rows go through a panel together. To load the panel costs about as much as two more; where
    the last of such tiles is not full, each row must be looked up, which costs a fifth."""

    def cost(tile: int) -> float:
        return math.ceil(rows / tile) * (tile + 2) * (1.2 if rows % tile else 1)

    return min(range(1, min(rows, MAX_ROWS) + 1), key=cost)
