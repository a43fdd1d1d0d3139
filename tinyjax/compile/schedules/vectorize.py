"""Vectorize: the iterations of a short loop as the lanes of vectors.

What depends on the axis varies from lane to lane; all else is uniform, and stays a scalar. An index that does
not depend on it is uniform: one element is loaded. One that grows by 1 from lane to lane is contiguous
memory: a vector is loaded, the last one up to an end. All others (every second element, an index from data)
have no vector load, and the loop stays as it is; or, where that is worth it, lanes load and store at places
apart (`gather`): evenly, or each by itself.

    for i1_inner in i1_outer * 16 .. min(i1_outer * 16 + 16, 100):
      a:f32 = a_in[i1_inner]                      a:f32 x16 = a_in[i1_outer * 16 x16 before 100]
      b:f32 = sin a                               b:f32 x16 = sin a
      b_out[i1_inner] = b                         b_out[i1_outer * 16 x16 before 100] = b

An accumulator that the loop combines into becomes a vector of accumulators, one for each lane; lanes beyond
the end leave theirs as it is. After the loop they are combined in pairs, halves to halves.

A while whose condition varies goes on as long as it holds in any lane. The others leave what they carry as it
is. The iteration comes before the test, as the last one changes nothing: so the carry stays in registers.

    while:                                      while:
      c:f32 = carry                               c:f32 x16 = carry
      more:bool = lt c 9.0                        more:bool x16 = lt c 9.0
      stop unless more                            any1:bool = any more
      d:f32 = mul c c                             d:f32 x16 = mul c c
      carry = d                                   old1:f32 x16 = carry
                                                  new1:f32 x16 = select more d old1
                                                  carry = new1
                                                  stop unless any1
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.substitution import every_statement, replaced
from tinyjax.compile.schedules.directive import LoopDirective, axis_of, loop_over
from tinyjax.compile.schedules.lanes import Lanes, carry_of, chunk_of, obstacles

MAX_STRIDE = 8  # of a vector that is loaded as others, of which it has some lanes

INT32, BOOL = np.dtype("int32"), np.dtype(bool)


@dataclass(frozen=True)
class Vectorize(LoopDirective):
    """The loop over `axis`, which has at most `width` iterations, as vectors of that width.

    A sum is then rounded otherwise, as its terms are added in another order. With `gather`, lanes may load
    from inputs and store to outputs at places apart."""

    width: int
    gather: bool = False

    def _why_not(self, kernel: ir.Kernel, loop: ir.For) -> str:
        if self.width not in (2, 4, 8, 16):
            return "vectors have 2, 4, 8 or 16 elements"
        fits, end = chunk_of(loop, self.width)
        if not fits:
            inner = f"vectorize {self.axis}_inner"
            return f"{self.axis} may have more iterations: split it by {self.width}, and {inner}"
        lanes = Lanes(self.axis, loop.start, end, self.width, self.gather)
        return next(obstacles(kernel, loop, lanes), "")

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        loop = loop_over(kernel, self.axis)
        end = chunk_of(loop, self.width)[1]
        lanes = Lanes(self.axis, loop.start, end, self.width, self.gather)
        assert not list(obstacles(kernel, loop, lanes))
        return replace(kernel, body=replaced(kernel.body, _Vectors(lanes).around))


class _Vectors:
    """Writes a loop's statements in vectors."""

    def __init__(self, lanes: Lanes):
        self.lanes = lanes
        self.count = 0  # of vectors that have a name of the axis
        self.copies = False  # whether only private arrays are stored to
        self.numbers: dict[str, ir.Value] = {}  # what the body computes, by name

    def around(self, statement: ir.Statement) -> list[ir.Statement]:
        """What stands for a statement of the kernel: the loop, or a use of its accumulators outside."""
        match statement:
            case ir.For() if axis_of(statement) == self.lanes.axis:
                return self._loop(statement)
            case ir.Allocate(array) if array.name in self.lanes.sums:
                return [replace(statement, array=self._array(array))]
            case ir.Load(_, source) if source.name in self.lanes.sums:
                return self._combined(statement, self.lanes.sums[source.name][0])
        return [statement]

    def _combined(self, load: ir.Load, op: str) -> list[ir.Statement]:
        """A load of an accumulator: its lanes, combined in pairs. Of b, and 4 lanes: they are loaded as b_v4,
        whose halves b_low2 and b_high2 make b_v2, whose halves b_low1 and b_high1 make b."""
        target, width = load.target, self.lanes.width
        value = replace(target, name=f"{target}_v{width}", width=width)
        body: list[ir.Statement] = [replace(load, target=value, source=self._array(load.source))]
        while width > 1:
            width //= 2
            low, high = (
                replace(target, name=f"{target}_{half}{width}", width=width)
                for half in ("low", "high")
            )
            body += [
                ir.Let(half, name, (value,), origin=load.origin)
                for half, name in ((low, "low"), (high, "high"))
            ]
            value = replace(target, name=f"{target}_v{width}", width=width) if width > 1 else target
            body.append(ir.Let(value, op, (low, high), origin=load.origin))
        return body

    # ---- the loop ----

    def _loop(self, loop: ir.For) -> list[ir.Statement]:
        lanes, body = self.lanes, []
        made = [s for s in every_statement(loop.body) if isinstance(s, ir.Let | ir.Load)]
        self.numbers = {s.target.name: s.target for s in made}
        stores = [s for s in every_statement(loop.body) if isinstance(s, ir.Store)]
        is_private = all(isinstance(s.destination, ir.PrivateArray) for s in stores)
        self.copies = is_private and not lanes.sums
        whiles = [s for s in every_statement(loop.body) if isinstance(s, ir.While)]
        has_mask = bool(lanes.sums) or any(lanes.differs(s.holds) for s in whiles)
        if has_mask and lanes.end is not None:
            number = ir.Value(f"{lanes.axis}_number", INT32, lanes.width)
            inside = ir.Value(f"{lanes.axis}_inside", BOOL, lanes.width)
            one = ir.Const(np.int32(1), INT32)
            body = [
                ir.Let(number, "ramp", (lanes.first, one), origin=loop.origin),
                ir.Let(inside, "lt", (number, lanes.end), origin=loop.origin),
            ]
        return body + replaced(loop.body, self._statement)

    def _statement(self, statement: ir.Statement) -> list[ir.Statement]:
        before: list[ir.Statement] = []  # what makes operands
        match statement:
            case ir.Let(target, _, args) if target.name in self.lanes.firsts:
                first = self._at(args[0], self.lanes.first)  # type: ignore[arg-type]
                return [replace(statement, args=(first, args[1]))]
            case ir.Let(target, _, args):
                args = tuple(self._operand(arg, before, statement) for arg in args)
                return [*before, replace(statement, target=self.value(target), args=args)]
            case ir.Load(target, source, at) if self.lanes.needs_gather(source, at):
                if stride := self._stride(at):
                    start = self._at(at, self.lanes.first)
                    return [
                        replace(statement, target=self.value(target), index=start, stride=stride)
                    ]
                return self._gathered(statement)
            case ir.Load(_, source, at) if choice := self.lanes.choices(source, at):
                return self._chosen(statement, choice)
            case ir.Load(target, source, at):
                start, end = self._places(source, at)
                parts = {"target": self.value(target), "source": self._array(source)}
                return [replace(statement, index=start, end=end, **parts)]
            case ir.Store(destination, at, value) if self.lanes.needs_scatter(destination, at):
                stride = self.lanes.stride(at) or 1
                if self.lanes.end is not None or stride < 1:
                    return self._scattered(statement)
                value = self._repeated(value, before, statement)
                start = self._at(at, self.lanes.first)
                return [*before, replace(statement, index=start, value=value, stride=stride)]
            case ir.Store(destination, at, value):
                start, end = self._places(destination, at)
                if self.lanes.stride(at) or destination.name in self.lanes.varying:
                    value = self._repeated(value, before, statement)
                memory = self._array(destination)
                stored = replace(statement, destination=memory, index=start, value=value, end=end)
                return [*before, stored]
            case ir.Allocate(array):
                return [replace(statement, array=self._array(array))]
            case ir.Combine(array, at, _, value):
                if self._array(array).width > 1:
                    value = self._repeated(value, before, statement)
                if array.name in self.lanes.sums and self.lanes.end is not None:
                    value = self._masked(value, statement, before)
                place = self._at(at, self.lanes.first)
                return [
                    *before,
                    replace(statement, array=self._array(array), index=place, value=value),
                ]
            case ir.For(_, start, stop):
                start, stop = (self._at(end, self.lanes.first) for end in (start, stop))
                return [replace(statement, start=start, stop=stop)]
            case ir.While(_, holds) if self.lanes.differs(holds):
                return [self._while(statement)]
        return [statement]

    def _gathered(self, load: ir.Load) -> list[ir.Statement]:
        """The elements of all lanes, loaded one by one."""
        lanes = [self._of_lane(load, number) for number in range(self.lanes.width)]
        parts = tuple(last.target for *_, last in lanes)
        whole = ir.Let(self.value(load.target), "vector", parts, origin=load.origin)
        return [*itertools.chain(*lanes), whole]

    def _stride(self, at: Index) -> int:
        """The stride of lanes that are evenly apart in memory, if all are there; else 0."""
        stride = None if self.lanes.is_data(at) else self.lanes.stride(at)
        is_even = self.lanes.end is None and stride is not None and 1 < stride <= MAX_STRIDE
        return stride or 0 if is_even else 0

    def _of_lane(self, load: ir.Load, lane: int) -> list[Any]:
        """What loads the element of a lane by itself; lanes beyond the end load that of the last one before
        it."""
        lanes, body = self.lanes, list[ir.Statement]()
        number = lanes.first + lane
        places = {lanes.axis: number if lanes.end is None else number.min(lanes.end - 1)}
        variables = dict.fromkeys(part for part in load.index.parts() if part.op == "var")
        for v in filter(lanes.is_data, variables):
            vector = self.value(self.numbers[v.args[0]])
            place = replace(self.fresh("place", vector.dtype), width=1)
            args = vector, ir.Const(np.int32(lane), INT32)
            body.append(ir.Let(place, "lane", args, origin=load.origin))
            places[v.args[0]] = index_var(place.name, v.lo, v.hi)
        at = load.index.with_variables(lambda v: places.get(v.args[0], v))
        part = replace(self.fresh("part", load.target.dtype), width=1)
        return [*body, replace(load, target=part, index=at)]

    def _chosen(self, load: ir.Load, number: Index) -> list[ir.Statement]:
        """The element that each lane's number says, of all that it may be."""
        source, body = self._array(load.source), list[ir.Statement]()
        asked = self.value(self.numbers[number.args[0]])
        chosen: ir.Value | None = None
        for value in range(number.lo, number.hi + 1):
            places = {number: index(value)}
            at = load.index.with_variables(lambda v, places=places: places.get(v, v))  # type: ignore[misc]
            part = replace(self.fresh("part", load.target.dtype), width=source.width)
            body.append(replace(load, target=part, source=source, index=at))
            if source.width == 1:
                whole = self.fresh("all", part.dtype)
                body.append(ir.Let(whole, "copy", (part,), origin=load.origin))
                part = whole
            if chosen is not None:
                is_it = self.fresh("is", BOOL)
                args = asked, ir.Const(np.int32(value), INT32)
                body.append(ir.Let(is_it, "eq", args, origin=load.origin))
                is_last = value == number.hi
                better = self.value(load.target) if is_last else self.fresh("chosen", part.dtype)
                body.append(ir.Let(better, "select", (is_it, part, chosen), origin=load.origin))
                part = better
            chosen = part
        return body

    def _scattered(self, store: ir.Store) -> list[ir.Statement]:
        """Stores the elements of all lanes one by one. The last lanes come first: those beyond the end store
        where the last one before it does, which then overwrites that."""
        lanes, body = self.lanes, list[ir.Statement]()
        for lane in reversed(range(lanes.width)):
            number = lanes.first + lane
            number = number if lanes.end is None else number.min(lanes.end - 1)
            value = store.value
            if lanes.differs(value):
                value = replace(self.fresh("part", value.dtype), width=1)
                vector = self.value(store.value)  # type: ignore[arg-type]
                args = vector, ir.Const(np.int32(lane), INT32)
                body.append(ir.Let(value, "lane", args, origin=store.origin))
            body.append(replace(store, index=self._at(store.index, number), value=value))
        return body

    def _while(self, loop: ir.While) -> ir.While:
        """Goes on while any lane does. Its statements are in vectors already."""
        assert isinstance(loop.holds, ir.Value)
        mask, origin = self.value(loop.holds), loop.origin
        head = list(loop.head)
        if self.lanes.end is not None:
            inside = ir.Value(f"{self.lanes.axis}_inside", BOOL, self.lanes.width)
            both = self.fresh("active", BOOL)
            head.append(ir.Let(both, "and", (mask, inside), origin=origin))
            mask = both
        holds = replace(self.fresh("any", BOOL), width=1)
        head.append(ir.Let(holds, "any", (mask,), origin=origin))
        carry = carry_of(loop)

        def blended(s: ir.Statement) -> list[ir.Statement]:
            if not isinstance(s, ir.Store) or s.destination.name not in carry:
                return [s]
            old, new = (self.fresh(what, s.value.dtype) for what in ("old", "new"))
            return [
                ir.Load(old, s.destination, s.index, origin=s.origin),
                ir.Let(new, "select", (mask, s.value, old), origin=s.origin),
                replace(s, value=new),
            ]

        return replace(loop, head=[*head, *replaced(loop.body, blended)], holds=holds, body=[])

    # ---- parts of statements ----

    def fresh(self, what: str, dtype: np.dtype) -> ir.Value:
        """A vector whose name no other has, as no other loop is over this axis."""
        self.count += 1
        return ir.Value(f"{self.lanes.axis}_{what}{self.count}", dtype, self.lanes.width)

    def value(self, value: ir.Value) -> ir.Value:
        return replace(value, width=self.lanes.width) if self.lanes.differs(value) else value

    def _array(self, memory: ir.Buffer | ir.PrivateArray) -> Any:
        is_vector = memory.name in self.lanes.varying or memory.name in self.lanes.sums
        if isinstance(memory, ir.PrivateArray) and is_vector and memory.width == 1:
            return replace(memory, width=self.lanes.width)
        return memory

    def _places(self, memory: ir.Buffer | ir.PrivateArray, at: Index) -> tuple[Index, Index | None]:
        """Where the lanes' elements begin, and where they end. Lanes beyond the end may load what lies there,
        if all goes to private arrays."""
        first, width = self._at(at, self.lanes.first), self.lanes.width
        is_uniform = not self.lanes.stride(at)
        if is_uniform or self.lanes.end is None or self.lanes.is_in_bounds(memory, at):
            return first, None
        if isinstance(memory, ir.Buffer) and self.copies:
            return first, None if first.hi + width <= memory.size else index(memory.size)
        # A remainder may restart at 0 between these lanes and the end.
        if any(part.op == "%" and self.lanes.axis in part.names for part in at.parts()):
            end = first + (self.lanes.end - self.lanes.first).min(width)
            return first, end.min(memory.size)
        return first, self._at(at, self.lanes.end)

    def _at(self, at: Index, number: Index) -> Index:
        """What the index is in the iteration of that number."""
        return at.with_variables(lambda v: number if v.args[0] == self.lanes.axis else v)

    def _operand(
        self, arg: ir.Argument, before: list[ir.Statement], statement: ir.Statement
    ) -> ir.Argument:
        """A value, or an index: that of each lane, if it varies."""
        if isinstance(arg, ir.Value):
            return self.value(arg)
        if isinstance(arg, Index) and self.lanes.is_data(arg):
            return self.value(self.numbers[arg.args[0]])
        if not isinstance(arg, Index):
            return arg
        first = self._at(arg, self.lanes.first)
        if not (stride := self.lanes.stride(arg)):
            return first
        target = self.fresh("at", INT32)
        args = first, ir.Const(np.int32(stride), INT32)
        before.append(ir.Let(target, "ramp", args, origin=statement.origin))
        return target

    def _repeated(
        self, value: ir.Scalar, before: list[ir.Statement], statement: ir.Statement
    ) -> ir.Scalar:
        """The value as a vector."""
        if self.lanes.differs(value):
            return self.value(value)  # type: ignore[arg-type]
        vector = self.fresh("all", value.dtype)
        before.append(ir.Let(vector, "copy", (value,), origin=statement.origin))
        return vector

    def _masked(
        self, value: ir.Scalar, combine: ir.Combine, before: list[ir.Statement]
    ) -> ir.Scalar:
        """What the lanes before the end combine; the others, what the accumulator began with."""
        inside = ir.Value(f"{self.lanes.axis}_inside", BOOL, self.lanes.width)
        masked = self.fresh("masked", value.dtype)
        args = inside, value, self.lanes.sums[combine.array.name][1]
        before.append(ir.Let(masked, "select", args, origin=combine.origin))
        return masked
