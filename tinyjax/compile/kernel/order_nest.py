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
from typing import Any

import numpy as np

from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel import rules
from tinyjax.compile.kernel.builder import Builder
from tinyjax.compile.kernel.complex_pairs import Pair, as_numbers
from tinyjax.compile.kernel.functions.notation import as_int, select
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.loop_nest import NestBuilder
from tinyjax.compile.kernel.memref import MemRef
from tinyjax.compile.kernel.update_nest import UpdateWriter
from tinyjax.compile.kernel.writer import Number
from tinyjax.compile.target import Target
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import JaxprEqn, Var

INT32 = np.dtype("int32")


def order_nest(
    group: KernelGroup, name: str, names: dict[Var, str], target: Target
) -> tuple[ir.Kernel, tuple[str, ...]]:
    """The naive kernel of a group whose results are made in order, and the axes of its outer loops."""
    assert group.in_order is not None
    builder = NestBuilder(group, names, target)
    places = [MemRef.of(v, builder.outputs[v]) for v in group.in_order.outvars]
    with ir.statements_of(group.in_order):
        axes = write_in_order(builder, group.in_order, places)
    return builder.kernel(name), axes


def write_in_order(
    b: Builder, eqn: JaxprEqn, places: Sequence[MemRef], is_in_place: bool = False
) -> tuple[str, ...]:
    """Writes the loops that make the equation's results. Returns the axes of the outer loops."""
    rule = rules.lowering_of(eqn, b.target)
    if isinstance(rule, rules.Update | rules.WindowUpdate):
        return UpdateWriter(b, eqn, rule.in_place, places[0]).write(is_in_place)
    return _WRITERS[type(rule)](b, eqn, places, rule).write()


class _Writer:
    """Writes results along one axis, in loops over the others; `others` are the coordinates along these."""

    others: rules.Position

    def __init__(self, b: Builder, eqn: JaxprEqn, places: Sequence[MemRef], rule: Any):
        self.b, self.eqn, self.places, self.rule = b, eqn, places, rule
        self.x, self.axis = eqn.invars[0], rule.along(eqn)
        self.shape = self.x.aval.shape
        self.size = self.shape[self.axis]

    def write(self) -> tuple[str, ...]:
        """Writes all loops. Returns the axes of the loops over the others."""
        others = [axis for axis in range(len(self.shape)) if axis != self.axis]
        with self.b.loops_along(self.x, others) as self.others:
            self.write_along()
        return self.others.axes

    def write_along(self) -> None:
        raise NotImplementedError

    def position(self, at: Index, size: int | None = None) -> rules.Position:
        """The place at `at` along the axis, which has that size in the results."""
        coords, shape = list(self.others.coords), list(self.shape)
        coords.insert(self.axis, at)
        shape[self.axis] = self.size if size is None else size
        return rules.Position(shape, coords)

    def element(self, at: Index) -> Number:
        return Number(self.b, self.b.element(self.x, self.position(at)))

    def at(self, number: Number) -> Index:
        """A number as an index along the axis."""
        return self.b.clamped_index(number, self.size)


# ---- cumulative sums ----


class _CumulativeWriter(_Writer):
    rule: rules.Cumulative

    def write_along(self) -> None:
        b, dtype = self.b, self.x.aval.dtype
        total = b.array("acc", dtype, initial=self.rule.identity(dtype))
        with b.loop(self.size) as i:
            at = index(self.size - 1) - i if self.eqn.params["reverse"] else i
            total.combine(self.rule.op, self.element(at))
            b.write(self.places[0], self.position(at).flat, total.now.value)


# ---- the greatest elements ----


class _TopKWriter(_Writer):
    """Keeps the greatest elements of a row so far, in order: their keys (integers in total order) and their
    places. An unused slot has the place `size`; nothing is greater than what is in slot 0."""

    rule: rules.TopK

    def write_along(self) -> None:
        b, k, dtype = self.b, self.rule.k, key_dtype(self.x.aval.dtype)
        self.best = b.array("best", dtype, 1 + k, np.iinfo(dtype).min)
        self.places_of_best = b.array("at", INT32, 1 + k, self.size)
        self.best[index(0)] = b.constant(np.iinfo(dtype).max, dtype)
        self.places_of_best[index(0)] = b.constant(0, INT32)
        with b.loop(self.size) as i:
            key = _key(self.element(i))
            if not self.rule.are_greatest:
                key = ~key
            number = b.number(i, INT32)
            with b.when(self._is_better(key, index(k))):
                self._insert(key, number)
        with b.loop(k) as j:
            found = self.places_of_best[j + 1]
            value = self.element(self.at(found))
            for place, each in zip(self.places, (value, found)):
                b.write(place, self.position(j, k).flat, each.value)

    def _is_better(self, key: Number, place: Index) -> Number:
        """Whether a key is greater than the key in a slot, or the slot is unused."""
        return (key > self.best[place]) | (self.places_of_best[place] == self.size)

    def _insert(self, key: Number, number: Number) -> None:
        """Inserts an element; those after it move on by one. No iteration reads what another one stores,
        so they can be vectors."""
        b, k = self.b, self.rule.k
        moved_keys, moved_places = (
            b.array("moved", key.dtype, k, None),
            b.array("to", INT32, k, None),
        )
        parts = (self.best, moved_keys, key), (self.places_of_best, moved_places, number)
        with b.loop(k) as j:
            moves, is_before = self._is_better(key, j), self._is_better(key, j + 1)
            for array, moved, new in parts:
                moved[j] = select(is_before, select(moves, array[j], new), array[j + 1])
        with b.loop(k) as j:
            for array, moved, _ in parts:
                array[j + 1] = moved[j]


def _key(x: Number) -> Number:
    """An element as an integer key: for a float, as lax.comparison.total_order_key."""
    dtype = key_dtype(x.dtype)
    if kind(x.dtype) != "f":
        return x.astype(dtype)
    bits = as_int(x.astype(np.dtype(f"float{8 * dtype.itemsize}")))
    return select(bits < 0, bits ^ np.iinfo(dtype).max, bits)


def key_dtype(dtype: np.dtype) -> np.dtype:
    """The integer dtype in which elements are compared."""
    if kind(dtype) == "f":
        return np.dtype("int64" if dtype.itemsize == 8 else "int32")
    return INT32 if kind(dtype) == "b" else dtype


# ---- sorting ----


class _SortWriter(_Writer):
    """An element's place is the number of elements that come before it: all are compared, as vectors."""

    def write_along(self) -> None:
        b = self.b
        keys = b.array("keys", key_dtype(self.x.aval.dtype), self.size, None)
        order = b.array("order", INT32, self.size)
        with b.loop(self.size) as i:
            keys[i] = self._key(self.element(i))
        with b.loop(self.size) as i:
            key, number, rank = keys[i], b.number(i, INT32), b.array("rank", INT32)
            with b.loop(self.size) as j:
                other = keys[j]
                is_first = (other == key) & (b.number(j, INT32) < number)
                rank.combine("add", ((other < key) | is_first).astype(INT32))
            order[self.at(rank.now)] = number
        with b.loop(self.size) as i:
            found = self.position(self.at(order[i]))
            values = [b.element(v, found) for v in self.eqn.invars]
            for place, value in zip(self.places, values):
                b.write(place, self.position(i).flat, value)

    def _key(self, x: Number) -> Number:
        """An element's key: zeros are equal, and so are all NaN, which come last."""
        if kind(x.dtype) != "f":
            return _key(x)
        is_zero, is_nan = x == 0.0, x != x
        key = _key(select(is_zero, 0.0, x))
        return select(is_nan, np.iinfo(key.dtype).max, key)


# ---- Fourier transforms ----


class _FourierWriter(_Writer):
    """A transform of mixed radix in private memory: each stage makes many transforms of `radix` elements, and
    stores them in order in the other half of the memory.

    Source: Stockham's algorithm, as in C. Van Loan, "Computational Frameworks for the Fast Fourier
    Transform", 1992, 1.7"""

    def write_along(self) -> None:
        b, n = self.b, self.size
        part = self.eqn.outvars[0].aval.dtype.type(0).real.dtype
        self.real, self.imag = (b.array(name, part, 2 * n, None) for name in ("real", "imag"))
        with b.loop(n) as i:
            z = as_numbers(b, b.element(self.x, self.position(i)))
            self._set(i, z if isinstance(z, Pair) else Pair(z, b.constant(0, part)))
        first, count, run = 0, n, 1  # transforms of `count` elements are left, `run` times
        for radix in rules.radices(n):
            count //= radix
            self._stage(radix, count, run, first)
            first, run = n - first, run * radix
        self._store(first)

    def _stage(self, radix: int, count: int, run: int, first: int) -> None:
        b, n = self.b, self.size
        angle = (2 if self.eqn.params["is_inverse"] else -2) * np.pi
        with b.loop(count) as i:
            roots = [self._factor(1, i * (k * run)) for k in range(1, radix)] if count > 1 else []
            with b.loop(run) as j:
                places = [(i + k * count) * run + j + first for k in range(radix)]
                sums = _butterfly(list(map(self._at, places)), angle)
                for k, z in enumerate(sums):
                    at = (i * radix + k) * run + j + (n - first)
                    self._set(at, z * roots[k - 1] if k and roots else z)

    def _at(self, place: Index) -> Pair:
        return Pair(self.real[place], self.imag[place])

    def _set(self, place: Index, z: Pair) -> None:
        self.real[place], self.imag[place] = z.real, z.imag

    def _factor(self, number: int, *coords: Index) -> Pair:
        """An element of a complex operand."""
        operand = self.eqn.invars[number]
        return as_numbers(
            self.b, self.b.element(operand, rules.Position(operand.aval.shape, coords))
        )

    def _store(self, first: int) -> None:
        b, to, out = self.b, self.eqn.params["to"], self.eqn.outvars[0].aval
        with b.loop(self.size) as i:
            coords = list(self.others.coords)
            coords.insert(to, i)
            z = self._at(i + first)
            if len(self.eqn.invars) > 2:
                z = z * self._factor(2, *coords[to : to + 2])
            if self.eqn.params["is_inverse"]:
                z = Pair(z.real * (1 / self.size), z.imag * (1 / self.size))
            b.write(self.places[0], rules.Position(out.shape, coords).flat, z.value)


def _butterfly(z: list[Pair], angle: float) -> list[Pair]:
    """The transform of a few complex numbers; that of an even number by the transforms of two halves."""
    count = len(z)
    if count == 1:
        return z
    if count % 2 == 0:
        even, odd = (_butterfly(z[start::2], angle) for start in (0, 1))
        odd = [_turned(w, k / count, angle) for k, w in enumerate(odd)]
        return [u + w for u, w in zip(even, odd)] + [u - w for u, w in zip(even, odd)]
    sums = []
    for k in range(count):
        turned = (_turned(z[j], j * k % count / count, angle) for j in range(1, count))
        sums.append(sum(turned, z[0]))
    return sums


def _turned(z: Pair, part: float, angle: float) -> Pair:
    """z, turned by a part of the angle of a circle."""
    if part == 0:
        return z
    if part == 0.25:
        return Pair(z.imag, -z.real) if angle < 0 else Pair(-z.imag, z.real)
    return z * Pair(float(np.cos(part * angle)), float(np.sin(part * angle)))


_WRITERS = {
    rules.Cumulative: _CumulativeWriter, rules.TopK: _TopKWriter,
    rules.Sort: _SortWriter, rules.Fourier: _FourierWriter,
}  # fmt: skip
