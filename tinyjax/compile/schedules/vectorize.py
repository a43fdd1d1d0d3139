"""Vectorize: the iterations of a loop as the lanes of vectors. A loop with more iterations is split first.

Values that depend on the axis vary from lane to lane; all others are uniform, and stay scalars. For a uniform
index, one element is loaded. For an index that grows by 1 from lane to lane, memory is contiguous: a vector
is loaded, the last one up to an end. Other indices (every second element, an index from data) have no vector
load, and the loop stays as it is. Or, if it pays, lanes load and store at scattered places (`gather`), evenly
spaced (in reverse, too) or one by one.

    for i1_inner in i1_outer * 16 .. min(i1_outer * 16 + 16, 100):
      a:f32 = a_in[i1_inner]                      a:f32 x16 = a_in[i1_outer * 16 x16 before 100]
      b:f32 = sin a                               b:f32 x16 = sin a
      b_out[i1_inner] = b                         b_out[i1_outer * 16 x16 before 100] = b

An accumulator that the loop combines into becomes a vector of accumulators, one for each lane; lanes beyond
the end leave theirs unchanged. Terms from outside the loop, such as those at borders, go to the first lane.
After the loop the lanes are combined in pairs, half with half.

A while whose condition varies goes on as long as it holds in any lane. The other lanes leave their carry
unchanged. The iteration comes before the test, as the last one changes nothing: the carry stays in registers.

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

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.compile.kernel.substitution import every_statement, replaced
from tinyjax.compile.schedules.directive import LoopDirective, loops_over
from tinyjax.compile.schedules.lanes import Lanes, carry_of, chunk_of, obstacles
from tinyjax.compile.schedules.split import Split

INT32, BOOL = np.dtype("int32"), np.dtype(bool)


@dataclass(frozen=True)
class Vectorize(LoopDirective):
    """The loop over `axis` as vectors of `width` elements. If it may have more iterations, it is split first:
    axis_outer numbers the vectors. The last vector is a part of one, or begins earlier to `overlap` with the
    one before.

    A sum is then rounded differently, because its terms are added in another order. With `gather`, lanes may
    load inputs and store outputs at scattered indices."""

    width: int
    gather: bool = False
    overlap: bool = False

    def _why_not(self, kernel: ir.Kernel, loop: ir.For) -> str:
        return "" if self.width in (2, 4, 8, 16) else "vectors have 2, 4, 8 or 16 elements"

    def why_not(self, kernel: ir.Kernel) -> str:
        made = self.tried(kernel)
        return made if isinstance(made, str) else ""

    def tried(self, kernel: ir.Kernel) -> ir.Kernel | str:
        if reason := super().why_not(kernel):
            return reason
        loops, lanes = loops_over(kernel, self.axis), dict[int, Lanes]()
        chunks = [chunk_of(loop, self.width) for loop in loops]
        if not all(is_one for is_one, _ in chunks):  # one vector has no room for all iterations
            split = self._split(loops[0]).tried(kernel)
            inner = replace(self, axis=f"{self.axis}_inner")
            return split if isinstance(split, str) else inner.tried(split)
        for loop, (_, end) in zip(loops, chunks):
            of = Lanes(self.axis, loop.start, end, self.width, self.gather).analyzed(kernel, loop)
            if reason := next(obstacles(kernel, loop, of), ""):
                return reason
            lanes[id(loop)] = of
        return replace(kernel, body=replaced(kernel.body, _Vectors(loops, lanes).around))

    def _split(self, loop: ir.For) -> Split:
        size = loop.stop - loop.start
        overlap = self.overlap and not size.is_const(size.lo // self.width * self.width)
        return Split(self.axis, self.width, overlap)


class _Vectors:
    """Writes the statements of loops over one axis in vectors."""

    def __init__(self, loops: list[ir.For], lanes: dict[int, Lanes]):
        self.lanes_of = lanes  # by the identity of their loop
        self.lanes = lanes[id(loops[0])]  # of the loop that is written
        self.sums = {name: sum for of in lanes.values() for name, sum in of.sums.items()}
        self.in_loops = {id(s) for loop in loops for s in every_statement(loop.body)}
        self.inside = ir.Value("", BOOL)  # whether lanes are before the end
        self.count = 0  # of vectors whose names contain the axis
        self.copies = False  # whether only private arrays are stored to
        self.numbers: dict[str, ir.Value] = {}  # the values that the body computes, by name
        self.before: ir.Body = []  # the statements that make a statement's operands

    def around(self, statement: ir.Statement) -> ir.Body:
        """The statements that replace one of the kernel: the loop, or a use of its accumulators outside."""
        match statement:
            case ir.For() if id(statement) in self.lanes_of:
                self.lanes = self.lanes_of[id(statement)]
                return self._loop(statement)
            case ir.Allocate(array) if array.name in self.sums:
                return [replace(statement, array=self._array(array))]
            case ir.Load(_, source) if source.name in self.sums:
                return self._combined(statement, self.sums[source.name][0])
            case ir.Combine(array) if array.name in self.sums:
                return [statement] if id(statement) in self.in_loops else self._in_first(statement)
        return [statement]

    def _in_first(self, combine: ir.Combine) -> ir.Body:
        """Combines a number from outside the loops with an accumulator's first lane."""
        value, initial = combine.value, self.sums[combine.memory.name][1]
        numbers = (value, *[initial] * (self.lanes.width - 1))
        with ir.statements_of(combine.origin):
            let = ir.Let(self.fresh("term", value.dtype), "vector", numbers)
        return [let, replace(combine, memory=self._array(combine.memory), value=let.target)]

    def _combined(self, load: ir.Load, op: str) -> ir.Body:
        """Loads an accumulator's lanes and combines them in pairs. For b with 4 lanes: b_v4 is loaded, its
        halves b_low2 and b_high2 make b_v2, whose halves b_low1 and b_high1 make b.
        """
        target, width = load.target, self.lanes.width
        value = replace(target, name=f"{target}_v{width}", width=width)
        body: ir.Body = [replace(load, target=value, memory=self._array(load.memory))]
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

    def _loop(self, loop: ir.For) -> ir.Body:
        lanes, inside = self.lanes, every_statement(loop.body)
        self.numbers = {s.target.name: s.target for s in inside if isinstance(s, ir.Let | ir.Load)}
        stored = (s.memory for s in inside if isinstance(s, ir.Store))
        self.copies = all(isinstance(s, ir.PrivateArray) for s in stored) and not lanes.sums
        whiles = [s for s in inside if isinstance(s, ir.While)]
        body: ir.Body = []
        if lanes.end is not None and (lanes.sums or any(lanes.differs(s.holds) for s in whiles)):
            unique = self.count or ""  # there may be several loops
            number = ir.Value(f"{lanes.axis}_number{unique}", INT32, lanes.width)
            self.inside = ir.Value(f"{lanes.axis}_inside{unique}", BOOL, lanes.width)
            with ir.statements_of(loop.origin):
                body.append(ir.Let(number, "ramp", (lanes.first, number_of(1))))
                body.append(ir.Let(self.inside, "lt", (number, lanes.end)))
        return body + replaced(loop.body, self._statement)

    def _statement(self, statement: ir.Statement) -> ir.Body:
        self.before = []
        with ir.statements_of(statement.origin):
            found = self._in_vectors(statement)
        return [*self.before, *found]

    def _in_vectors(self, statement: ir.Statement) -> ir.Body:
        """The statement in vectors; the statements that make its operands go to `before`."""
        lanes = self.lanes
        match statement:
            case ir.Let(target, _, args) if target.name in lanes.firsts:
                first = self.lanes.at_first(args[0])  # type: ignore[arg-type]
                return [replace(statement, args=(first, args[1]))]
            case ir.Let(target, _, args):
                args = tuple(map(self._operand, args))
                return [replace(statement, target=self.value(target), args=args)]
            case ir.Load() if lanes.access(statement) == "apart":
                return self._gathered(statement)
            case ir.Load() if lanes.access(statement) == "chosen":
                return self._chosen(statement)
            case ir.Load(target):
                load = replace(statement, target=self.value(target), **self._places(statement))
                return [load] if load.stride > 0 else self._backwards(load)
            case ir.Store() if lanes.access(statement) == "apart":
                return self._scattered(statement)
            case ir.Store(memory, at, value):
                if lanes.stride(at) or memory.name in lanes.varying:
                    value = self._repeated(value)
                return [replace(statement, value=value, **self._places(statement))]
            case ir.Allocate(array):
                return [replace(statement, array=self._array(array))]
            case ir.Combine(memory, at, _, value):
                if self._array(memory).width > 1:
                    value = self._repeated(value)
                if memory.name in lanes.sums and lanes.end is not None:
                    initial = lanes.sums[memory.name][1]  # beyond the end, its initial value
                    value = self._let("masked", value.dtype, "select", self.inside, value, initial)
                parts = {"memory": self._array(memory), "index": self.lanes.at_first(at)}
                return [replace(statement, value=value, **parts)]
            case ir.For(_, start, stop):
                start, stop = (self.lanes.at_first(end) for end in (start, stop))
                return [replace(statement, start=start, stop=stop)]
            case ir.While(_, holds) if lanes.differs(holds):
                return [self._while(statement)]
        return [statement]

    def _backwards(self, load: ir.Load) -> ir.Body:
        """The elements from the last lane's to the first lane's, and their reverse."""
        target, apart = self.fresh("back", load.target.dtype), -load.stride
        first = load.index - (self.lanes.width - 1) * apart
        back = replace(load, target=target, index=first, stride=apart)
        return [back, ir.Let(load.target, "reverse", (target,))]

    def _gathered(self, load: ir.Load) -> ir.Body:
        """The elements of all lanes, loaded one by one."""
        parts = tuple([self._element(load, lane) for lane in range(self.lanes.width)])
        return [ir.Let(self.value(load.target), "vector", parts)]

    def _element(self, load: ir.Load, lane: int) -> ir.Value:
        """The element of a lane, loaded by itself."""
        places = {self.lanes.axis: self._number(lane)}
        for v in self.lanes.data_in(load.index):
            place = self._of_lane(self.numbers[v.args[0]], lane, "place")
            places[v.args[0]] = index_var(place.name, v.lo, v.hi)
        part = replace(self.fresh("part", load.target.dtype), width=1)
        at = load.index.with_variables(lambda v: places.get(v.args[0], v))
        self.before.append(replace(load, target=part, index=at))
        return part

    def _chosen(self, load: ir.Load) -> ir.Body:
        """For each lane, the element at the lane's number, chosen among all candidates."""
        memory, (number,) = self._array(load.memory), self.lanes.data_in(load.index)
        asked, dtype = self.value(self.numbers[number.args[0]]), load.target.dtype

        def element(value: int) -> ir.Value:
            at = load.index.with_variables(lambda v: index(value) if v == number else v)
            part = replace(self.fresh("part", dtype), width=memory.width)
            self.before.append(replace(load, target=part, memory=memory, index=at))
            return part if memory.width > 1 else self._let("all", dtype, "copy", part)

        def choice(value: int) -> tuple[ir.Value, ir.Value, ir.Value]:
            part = element(value)
            return self._let("is", BOOL, "eq", asked, number_of(value)), part, chosen

        chosen = element(number.lo)
        for value in range(number.lo + 1, number.hi):
            chosen = self._let("chosen", dtype, "select", *choice(value))
        return [ir.Let(self.value(load.target), "select", choice(number.hi))]

    def _scattered(self, store: ir.Store) -> ir.Body:
        """Stores the elements of all lanes one by one. The last lanes come first: lanes beyond the end store
        to the last valid lane's place, and that lane then overwrites it."""
        for lane in reversed(range(self.lanes.width)):
            value, at = store.value, self.lanes.at(self._number(lane), store.index)
            if self.lanes.differs(value):
                value = self._of_lane(value, lane, "part")  # type: ignore[arg-type]
            self.before.append(replace(store, index=at, value=value))
        return []

    def _while(self, loop: ir.While) -> ir.While:
        """A while that goes on while any lane does. Its statements are in vectors already."""
        assert isinstance(loop.holds, ir.Value)
        mask, carry = self.value(loop.holds), carry_of(loop)
        if self.lanes.end is not None:
            mask = self._let("active", BOOL, "and", mask, self.inside)
        holds = self._let("any", BOOL, "any", mask, width=1)
        head, self.before = [*loop.head, *self.before], []

        def blended(s: ir.Statement) -> ir.Body:
            if not isinstance(s, ir.Store) or s.memory.name not in carry:
                return [s]
            old, new = (self.fresh(what, s.value.dtype) for what in ("old", "new"))
            load = ir.Load(old, s.memory, s.index, origin=s.origin)
            let = ir.Let(new, "select", (mask, s.value, old), origin=s.origin)
            return [load, let, replace(s, value=new)]

        return replace(loop, head=[*head, *replaced(loop.body, blended)], holds=holds, body=[])

    # ---- parts of statements ----

    def fresh(self, what: str, dtype: np.dtype) -> ir.Value:
        """A vector with a unique name, since no other loop is over this axis."""
        self.count += 1
        return ir.Value(f"{self.lanes.axis}_{what}{self.count}", dtype, self.lanes.width)

    def _let(self, what: str, dtype: np.dtype, op: str, *args: Any, width: int = 0) -> ir.Value:
        """The result of an operation before the statement, with a fresh name."""
        target = self.fresh(what, dtype)
        target = replace(target, width=width) if width else target
        self.before.append(ir.Let(target, op, args))
        return target

    def _of_lane(self, value: ir.Value, lane: int, what: str) -> ir.Value:
        """A lane's element of a vector."""
        return self._let(what, value.dtype, "lane", self.value(value), number_of(lane), width=1)

    def _number(self, lane: int) -> Index:
        """The number of a lane's iteration; for a lane beyond the end, that of the last valid lane."""
        number, end = self.lanes.first + lane, self.lanes.end
        return number if end is None else number.min(end - 1)

    def value(self, value: ir.Value) -> ir.Value:
        return replace(value, width=self.lanes.width) if self.lanes.differs(value) else value

    def _array(self, memory: ir.Buffer | ir.PrivateArray) -> Any:
        is_vector = memory.name in self.lanes.varying or memory.name in self.sums
        if isinstance(memory, ir.PrivateArray) and is_vector and memory.width == 1:
            return replace(memory, width=self.lanes.width)
        return memory

    def _places(self, access: ir.Load | ir.Store) -> dict[str, Any]:
        """Where the lanes' elements begin, and where they end, or how far apart they are."""
        first = self.lanes.at_first(access.index)
        places = {"memory": self._array(access.memory), "index": first}
        if self.lanes.access(access) == "even":
            return places | {"stride": self.lanes.stride(access.index)}
        return places | {"end": self._end(access.memory, access.index, first)}

    def _end(self, memory: ir.Buffer | ir.PrivateArray, at: Index, first: Index) -> Index | None:
        """Where the elements of vectors from `first` on end, if lanes may be beyond the end. If only private
        arrays are stored to, lanes beyond the end may load any element that exists."""
        lanes, width = self.lanes, self.lanes.width
        if not lanes.stride(at) or lanes.end is None or lanes.is_in_bounds(memory, at):
            return None
        if isinstance(memory, ir.Buffer) and self.copies:
            return None if first.hi + width <= memory.size else index(memory.size)
        # A remainder may restart at 0 between these lanes and the end.
        if any(part.op == "%" and lanes.axis in part.names for part in at.parts()):
            return (first + (lanes.end - lanes.first).min(width)).min(memory.size)
        return lanes.at(lanes.end, at)

    def _operand(self, arg: ir.Argument) -> ir.Argument:
        """An operand: a value or an index, as a vector if it varies."""
        if isinstance(arg, ir.Value):
            return self.value(arg)
        if isinstance(arg, Index) and self.lanes.is_data(arg):
            return self.value(self.numbers[arg.args[0]])
        if not isinstance(arg, Index):
            return arg
        start = self.lanes.at_first(arg)
        if not (stride := self.lanes.stride(arg)):
            return start
        return self._let("at", INT32, "ramp", start, number_of(stride))

    def _repeated(self, value: ir.Scalar) -> ir.Scalar:
        """The value as a vector."""
        if self.lanes.differs(value):
            return self.value(value)  # type: ignore[arg-type]
        return self._let("all", value.dtype, "copy", value)


def number_of(number: int) -> ir.Const:
    return ir.Const(np.int32(number), INT32)
