"""Sequential computations as naive loops: updates, cumulative sums, sorting and top_k.

The outer loops go over independent parts: rows of a sum, columns of an update.

    for i1 in 0 .. 20:                          # cumsum of rows
      acc1:f32 = variable of 0.0
      for i2 in 0 .. 100:
        a:f32 = a_in[i1 * 100 + i2]
        acc1 = add acc1 a
        b:f32 = acc1
        b_out[i1 * 100 + i2] = b
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.builder import Builder
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.loop_nest import NestBuilder
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.rules import Cumulative, InOrder, Position, Sort, TopK, lowering_of
from tinyjax.compile.kernel.update_nest import UpdateWriter
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import JaxprEqn, Var

if TYPE_CHECKING:
    from tinyjax.compile.codegen.codegen import Target

BOOL, INT32 = np.dtype(bool), np.dtype("int32")


def order_nest(
    group: KernelGroup, name: str, names: dict[Var, str], target: Target
) -> tuple[ir.Kernel, tuple[str, ...]]:
    """The naive kernel of a group whose results are made in order, and the axes of its outer loops."""
    assert group.in_order is not None
    builder = NestBuilder(group, names, target)
    places = [MemRef(builder.outputs[v]) for v in group.in_order.outvars]
    with ir.statements_of(group.in_order):
        axes = write_in_order(builder, group.in_order, places)
    return builder.kernel(name), axes


def write_in_order(
    b: Builder, eqn: JaxprEqn, places: Sequence[MemRef], is_in_place: bool = False
) -> tuple[str, ...]:
    """Writes the loops that make the equation's results at the places. Returns the axes of the
    outer loops.
    """
    match lowering_of(eqn, b.target):
        case Cumulative() as rule:
            return _CumulativeWriter(b, eqn, eqn.params["axis"], places, rule).write()
        case TopK() as rule:
            return _TopKWriter(b, eqn, rule.axis, places, rule).write()
        case Sort() as rule:
            return _SortWriter(b, eqn, eqn.params["dimension"], places, rule).write()
    return UpdateWriter(b, eqn, places[0]).write(is_in_place)


class _Writer:
    """Writes results along one axis, in loops over the others; `others` are the coordinates along these."""

    others: Position

    def __init__(
        self, b: Builder, eqn: JaxprEqn, axis: int, places: Sequence[MemRef], rule: InOrder
    ):
        self.b, self.eqn, self.axis, self.places, self.rule = b, eqn, axis, places, rule
        self.x = eqn.invars[0]
        self.shape = self.x.aval.shape
        self.size = self.shape[axis]

    def write(self) -> tuple[str, ...]:
        """Writes all loops. Returns the axes of the loops over the others."""
        others = [axis for axis in range(len(self.shape)) if axis != self.axis]
        with self.b.loops_along(self.x, others) as self.others:
            self.write_along()
        return self.others.axes

    def write_along(self) -> None:
        raise NotImplementedError

    def position(self, at: Index, size: int | None = None) -> Position:
        """The place at `at` along the axis, which has that size in the results."""
        coords, shape = list(self.others.coords), list(self.shape)
        coords.insert(self.axis, at)
        shape[self.axis] = self.size if size is None else size
        return Position(shape, coords)

    def element(self, at: Index) -> ir.Scalar:
        return self.b.element(self.x, self.position(at))

    def array(self, name: str, dtype: np.dtype, size: int, initial: int = 0) -> MemRef:
        array = ir.PrivateArray(self.b.fresh(name), dtype, size)
        self.b.body.append(ir.Allocate(array, ir.Const(dtype.type(initial), dtype)))
        return MemRef(array)


# ---- cumulative sums ----


class _CumulativeWriter(_Writer):
    rule: Cumulative

    def write_along(self) -> None:
        b, dtype = self.b, self.x.aval.dtype
        total = b.variable("acc", dtype, self.rule.identity(dtype))
        with b.loop(self.size) as i:
            at = index(self.size - 1) - i if self.eqn.params["reverse"] else i
            b.combine(self.rule, total, self.element(at))
            b.write(self.places[0], self.position(at).flat, b.read(total, index(0)))


# ---- the greatest elements ----


class _TopKWriter(_Writer):
    """Keeps the greatest elements of a row so far, in order: their keys (integers in total order) and their
    places. An unused slot has the place `size`.
    """

    rule: TopK

    def write_along(self) -> None:
        b, k, dtype = self.b, self.rule.k, key_dtype(self.x.aval.dtype)
        self.best = self.array("best", dtype, k, np.iinfo(dtype).min)
        self.at = self.array("at", INT32, k, self.size)
        with b.loop(self.size) as i:
            key = _key(b, self.element(i))
            if not self.rule.are_greatest:
                key = b.let("not", (key,), key.dtype)
            number = b.let("convert", (i,), INT32)
            is_better = self._is_better(key, index(k - 1))
            with b.block() as body:
                self._insert(key, number)
            b.body.append(ir.If(is_better, body))
        with b.loop(k) as j:
            found = b.read(self.at, j)
            value = self.element(b.clamped_index(found, self.size))
            for place, each in zip(self.places, (value, found)):
                b.write(place, self.position(j, k).flat, each)

    def _is_better(self, key: ir.Scalar, place: Index) -> ir.Scalar:
        """Whether a key is greater than the key in a slot, or the slot is unused."""
        b = self.b
        is_greater = b.let("gt", (key, b.read(self.best, place)), BOOL)
        none = ir.Const(np.int32(self.size), INT32)
        is_free = b.let("eq", (b.read(self.at, place), none), BOOL)
        return b.let("or", (is_greater, is_free), BOOL)

    def _insert(self, key: ir.Scalar, number: ir.Scalar) -> None:
        """Inserts an element; those after it move on by one."""
        b, zero = self.b, index(0)
        moved_key = b.variable("key", key.dtype, key.dtype.type(0))
        moved_at = b.variable("place", INT32, np.int32(0))
        is_found = b.variable("found", BOOL, np.False_)
        b.write(moved_key, zero, key)
        b.write(moved_at, zero, number)
        with b.loop(self.rule.k) as j:
            key, number = b.read(moved_key, zero), b.read(moved_at, zero)
            moves = b.let("or", (b.read(is_found, zero), self._is_better(key, j)), BOOL)
            for array, moved, new in (
                (self.best, moved_key, key),
                (self.at, moved_at, number),
            ):
                old = b.read(array, j)
                b.write(array, j, b.let("select", (moves, new, old), new.dtype))
                b.write(moved, zero, b.let("select", (moves, old, new), new.dtype))
            b.write(is_found, zero, moves)


def _key(b: Builder, x: ir.Scalar) -> ir.Scalar:
    """An element as an integer key: for a float, as lax.comparison.total_order_key."""
    dtype = key_dtype(x.dtype)
    if kind(x.dtype) != "f":
        return b.converted(x, dtype)
    bits = b.let("bitcast", (b.converted(x, np.dtype(f"float{8 * dtype.itemsize}")),), dtype)
    zero, most = (ir.Const(dtype.type(n), dtype) for n in (0, np.iinfo(dtype).max))
    is_negative = b.let("lt", (bits, zero), BOOL)
    return b.let("select", (is_negative, b.let("xor", (bits, most), dtype), bits), dtype)


def key_dtype(dtype: np.dtype) -> np.dtype:
    """The integer dtype in which elements are compared."""
    if kind(dtype) == "f":
        return np.dtype("int64" if dtype.itemsize == 8 else "int32")
    return INT32 if kind(dtype) == "b" else dtype


# ---- sorting ----


class _SortWriter(_Writer):
    """A merge sort of integer keys, together with the elements' original places. Runs of a length are merged
    in pairs, from one half of an array to the other half; then the length is doubled.

    Source: D. Knuth, "The Art of Computer Programming", volume 3, 5.2.4, straight merging"""

    def write_along(self) -> None:
        b = self.b
        self.keys = self.array("keys", key_dtype(self.x.aval.dtype), 2 * self.size)
        self.at = self.array("at", INT32, 2 * self.size)
        with b.loop(self.size) as i:
            b.write(self.keys, i, self._key(self.element(i)))
            b.write(self.at, i, b.let("convert", (i,), INT32))
        half = self._merge_all()
        with b.loop(self.size) as i:
            found = self.position(b.clamped_index(b.read(self.at, half + i), self.size))
            values = [b.element(v, found) for v in self.eqn.invars]
            for place, value in zip(self.places, values):
                b.write(place, self.position(i).flat, value)

    def _key(self, x: ir.Scalar) -> ir.Scalar:
        """An element's key: zeros are equal, and so are all NaN, which come last."""
        b = self.b
        if kind(x.dtype) != "f":
            return _key(b, x)
        zero = ir.Const(x.dtype.type(0), x.dtype)
        is_zero, is_nan = b.let("eq", (x, zero), BOOL), b.let("ne", (x, x), BOOL)
        key = _key(b, b.let("select", (is_zero, zero, x), x.dtype))
        last = ir.Const(np.iinfo(key.dtype).max, key.dtype)
        return b.let("select", (is_nan, last, key), key.dtype)

    def _number(self, name: str, initial: int) -> MemRef:
        return self.b.variable(name, INT32, np.int32(initial))

    def _merge_all(self) -> Index:
        """Merges all runs. Returns where the half with the result begins."""
        b, zero = self.b, index(0)
        if self.size < 2:
            return zero
        half, length = self._number("half", 0), self._number("length", 1)
        with b.loop((self.size - 1).bit_length()):
            now, run = b.read(half, zero), b.read(length, zero)
            other = b.let("sub", (self._const(self.size), now), INT32)
            source, target = (b.clamped_index(at, self.size + 1) for at in (now, other))
            self._merge(source, target, run)
            b.write(half, zero, other)
            b.write(length, zero, b.let("add", (run, run), INT32))
        return b.clamped_index(b.read(half, zero), self.size + 1)

    def _merge(self, source: Index, target: Index, run: ir.Scalar) -> None:
        """Merges pairs of runs; the next pair begins where one ends."""
        b, zero = self.b, index(0)
        left, middle, right, end = (
            self._number(name, 0) for name in ("left", "middle", "right", "end")
        )
        with b.loop(self.size) as k:
            number = b.let("convert", (k,), INT32)
            is_next = b.let("eq", (number, b.read(end, zero)), BOOL)
            with b.block() as begin:
                half = self._at_most(b.let("add", (number, run), INT32))
                whole = self._at_most(b.let("add", (half, run), INT32))
                for place, value in ((left, number), (middle, half), (right, half), (end, whole)):
                    b.write(place, zero, value)
            b.body.append(ir.If(is_next, begin))
            i, j = b.read(left, zero), b.read(right, zero)
            first, second = (source + b.clamped_index(at, self.size) for at in (i, j))
            a, c = b.read(self.keys, first), b.read(self.keys, second)
            is_left = b.let("lt", (i, b.read(middle, zero)), BOOL)
            no_right = b.let("ge", (j, b.read(end, zero)), BOOL)
            in_order = b.let("or", (no_right, b.let("le", (a, c), BOOL)), BOOL)
            is_left = b.let("and", (is_left, in_order), BOOL)
            old = b.read(self.at, first), b.read(self.at, second)
            b.write(self.keys, target + k, b.let("select", (is_left, a, c), a.dtype))
            b.write(self.at, target + k, b.let("select", (is_left, *old), INT32))
            step = b.let("convert", (is_left,), INT32)
            b.write(left, zero, b.let("add", (i, step), INT32))
            other = b.let("sub", (self._const(1), step), INT32)
            b.write(right, zero, b.let("add", (j, other), INT32))

    def _const(self, value: int) -> ir.Const:
        return ir.Const(np.int32(value), INT32)

    def _at_most(self, value: ir.Scalar) -> ir.Scalar:
        return self.b.let("min", (value, self._const(self.size)), INT32)
