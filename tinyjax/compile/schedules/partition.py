"""Partition: a loop in pieces, in each of which every test of its variable has one answer.

A padded array tests each element for being inside, a concatenation tests which operand it is in, and a vector
tests where it ends. The answer changes at few places: the loop is cut there. In a piece the variable has a
smaller range, so indices simplify, and comparisons and the choices that depend on them are known. The longest
piece keeps the names of the loop; in the others, loop names end in _border and a number.

    for i1 in 0 .. 100:                        for i1_border1 in 0 .. 1:
      t1:bool = ge i1 1                          y_out[0] = 0.0
      a:f32 = x_in[max(i1 - 1, 0)]             for i1 in 0 .. 99:
      b:f32 = select t1 a 0.0                    a:f32 = x_in[i1]
      y_out[i1] = b                              y_out[i1 + 1] = a

Source: TVM's LoopPartition pass, https://tvm.apache.org/docs/reference/api/python/tir/transform.html
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, Linear, index, index_var, linear
from tinyjax.compile.kernel.known import known_result, truth
from tinyjax.compile.kernel.substitution import (
    defined_names,
    every_statement,
    substituted,
    with_parts,
)
from tinyjax.compile.schedules.directive import LoopDirective, axis_of, loops_of, with_loop
from tinyjax.compile.schedules.nests import Fresh, without_unused

# A comparison of a and b as one of a - b with 0: the answer changes where the difference reaches these.
CHANGES = {"ge": (0,), "lt": (0,), "gt": (1,), "le": (1,), "eq": (0, 1), "ne": (0, 1)}
# What a value is known to equal: another value, a constant, or the first of consecutive numbers.
Known = dict[str, ir.Scalar | Index]


@dataclass(frozen=True)
class Partition(LoopDirective):
    """The loop over `axis` in pieces, cut wherever the answer to a test changes; with `into_three`, only at
    both ends of the longest piece.

    With a `multiple`, such as the width of vectors, pieces are also cut so that all but short ones have a
    multiple of that many iterations. All of at least half as many keep the name of the axis: they become
    vectors together."""

    into_three: bool = False
    multiple: int = 1

    def _why_not(self, kernel: ir.Kernel, loop: ir.For) -> str:
        first, last = _range(loop)
        has_rest = (last + 1 - first) % self.multiple > 0
        if any(isinstance(s, ir.While) for s in every_statement(loop.body)):
            return "it has a while inside"
        if borders(loop) or has_rest or (first == last and _is_fixed(loop)):
            return ""
        return f"no test of {self.axis} has an answer that changes at a number"

    def _applied(self, kernel: ir.Kernel) -> ir.Kernel:
        fresh = Fresh(kernel)
        return with_loop(kernel, self.axis, lambda loop: self._pieces(loop, fresh))

    def _pieces(self, loop: ir.For, fresh: Fresh) -> ir.Body:
        """The loop in pieces; names in borders are new."""
        first, last = _range(loop)
        cuts = [first, *borders(loop), last + 1]
        if first == last and _is_fixed(loop):
            return _simplified(substituted(loop.body, {self.axis: loop.start}), {})
        longest = max(itertools.pairwise(cuts), key=lambda piece: piece[1] - piece[0])
        if self.into_three:
            cuts = sorted({cuts[0], *longest, cuts[-1]})
        if self.multiple > 1:
            cuts = sorted({*cuts, *self._wholes(loop, cuts)})
        pieces: ir.Body = []
        for start, stop in itertools.pairwise(cuts):
            names = {} if (start, stop) == longest else _border_names([loop], fresh)
            if self.multiple > 1 and self._is_long(loop, start, stop):
                names.pop(self.axis, None)
            pieces.append(_piece(loop, start, stop, names))
        return pieces

    def _wholes(self, loop: ir.For, cuts: Sequence[int]) -> Iterator[int]:
        """Where whole vectors begin and end between the cuts; at multiples if work-items share the loop."""
        for start, stop in itertools.pairwise(cuts):
            first = start if _is_fixed(loop) else -(-start // self.multiple) * self.multiple
            if (count := (stop - first) // self.multiple) > 0:
                yield from (first, first + count * self.multiple)

    def _is_long(self, loop: ir.For, start: int, stop: int) -> bool:
        """Whether a piece is for vectors."""
        in_step = _is_fixed(loop) or start % self.multiple == 0
        return in_step and 2 * (stop - start) >= self.multiple


def _piece(loop: ir.For, start: int, stop: int, names: dict[str, str]) -> ir.For:
    """The iterations from `start` to before `stop`, from 0 on if both are constants, with new `names`."""
    axis = axis_of(loop)
    is_fixed = _is_fixed(loop)
    first, count = (start, stop - start) if is_fixed else (0, stop)
    variable = index_var(names.get(axis, axis), start - first, count - 1)
    place = index(start) if stop - start == 1 else variable + first
    body = _simplified(substituted(loop.body, {axis: place}, names), {})
    if is_fixed:
        return ir.For(variable, index(0), index(count), body, origin=loop.origin)
    start_here, stop_here = loop.start.max(start), loop.stop.min(stop)
    return replace(loop, variable=variable, start=start_here, stop=stop_here, body=body)


def _is_fixed(loop: ir.For) -> bool:
    """Whether all work-items run all iterations."""
    return loop.start.op == loop.stop.op == "const"


def _border_names(body: ir.Body, fresh: Fresh) -> dict[str, str]:
    """New names for the values and loop axes that the statements define."""
    names = {name: fresh(f"{name}_") for name in defined_names(body)}
    axes = map(axis_of, loops_of(body))
    return names | {axis: fresh(f"{axis.removesuffix('_inner')}_border") for axis in axes}


# ---- where answers change ----


def _range(loop: ir.For) -> tuple[int, int]:
    """The least and the greatest value that the loop's variable can have: the last iterations of an unrolled
    loop begin later than the variable's range does."""
    return max(loop.variable.lo, loop.start.lo), min(loop.variable.hi, loop.stop.hi - 1)


def borders(loop: ir.For) -> list[int]:
    """The values of the loop's variable, after the first one, at which the answer to some test changes."""
    axis, found = axis_of(loop), set[int]()
    either = list[tuple[int, int]]()  # on both sides of either number, the larger of two is known
    for statement in every_statement(loop.body):
        for difference, numbers in _tests(statement):
            found.update(cut for to in numbers for cut in _crossing(difference, axis, to))
        for difference in _clamps(statement):
            cuts = [cut for to in (0, 1) for cut in _crossing(difference, axis, to)]
            either += [(min(cuts), max(cuts))] if cuts else []
    low, high = _range(loop)
    for first, last in either:
        if found.isdisjoint((first, last)) and low < first and last <= high:
            found.add(first)
    return sorted(at for at in found if low < at <= high)


def _tests(statement: ir.Statement) -> Iterator[tuple[Linear, tuple[int, ...]]]:
    """Sums of indices, and numbers: the answer depends on whether the sum is less than each number."""
    match statement:
        case ir.Let(_, op, (Index() as a, Index() as b)) if op in CHANGES:
            yield linear(a - b), CHANGES[op]
        case ir.Load(ir.Value(_, _, width), _, at, Index() as end):
            yield linear(end - at), (width,)
        case ir.Store(_, at, ir.Value(_, _, width), Index() as end):
            yield linear(end - at), (width,)


def _clamps(statement: ir.Statement) -> Iterator[Linear]:
    """Sums of indices whose sign decides a minimum or a maximum."""
    for at in (*vars(statement).values(), *getattr(statement, "args", ())):
        if isinstance(at, Index):
            for part in at.parts():
                if part.op in ("min", "max"):
                    yield linear(part.args[0] - part.args[1])


def _crossing(difference: Linear, axis: str, to: int) -> Iterator[int]:
    """The value of the variable from which on a sum is at least `to` (or less than it); none if other
    variables matter."""
    factors = {part: factor for part, factor in difference.items() if part is not None and factor}
    match list(factors.items()):
        case [(Index("var", (name,)), factor)] if name == axis:
            at = to - difference.get(None, 0)
            yield -(-at // factor) if factor > 0 else (-at) // -factor + 1


# ---- what is known in a piece ----


def _simplified(body: ir.Body, known: Known) -> ir.Body:
    """The statements without known tests and the values these don't select. Adds to `known`."""
    return without_unused(_with_answers(body, known))


def _with_answers(body: ir.Body, known: Known) -> ir.Body:
    result: ir.Body = []

    def part(thing: Any) -> Any:
        found = known.get(thing.name) if isinstance(thing, ir.Value) else None
        return thing if found is None or isinstance(found, Index) else found

    for statement in body:
        statement = with_parts(statement, part)
        match statement:
            case ir.Let(target):
                if (found := _answer(statement, known)) is not None:
                    statement = replace(statement, op="copy", args=(found,))  # an index may name it
                    if getattr(found, "width", 1) == target.width or _is_condition(target, body):
                        known[target.name] = found
                result.append(statement)
            case ir.Load(index=at, end=Index() as end) | ir.Store(index=at, end=Index() as end):
                is_whole = _is_before(at, ir.width_of(statement), end)
                result.append(replace(statement, end=None) if is_whole else statement)
            case ir.If(ir.Const(value)):
                result += _with_answers(statement.body if value else statement.otherwise, known)
            case ir.For() | ir.If() | ir.IfLast():
                names = ir.BODIES[type(statement)]
                parts: Any = {n: _simplified(getattr(statement, n), dict(known)) for n in names}
                result.append(replace(statement, **parts))
            case _:
                result.append(statement)
    return result


def _is_condition(target: ir.Value, body: ir.Body) -> bool:
    """Whether it is a bool that nothing stores. One bool then serves all lanes; a store needs each lane's."""
    stores = (s for s in every_statement(body) if isinstance(s, ir.Store | ir.Combine))
    return target.dtype == bool and all(s.value != target for s in stores)


def _answer(let: ir.Let, known: Known) -> ir.Scalar | None:
    """What an operation's result is known to equal."""
    match let:
        case ir.Let(target, "ramp", (Index() as first, ir.Const(1))):
            known[target.name] = first
        case ir.Let(_, "lt", (ir.Value(name, _, width), Index() as end)):
            start = known.get(name)
            is_before = isinstance(start, Index) and _is_before(start, width, end)
            return truth(True) if is_before else None
    return known_result(let.op, let.args, let.target.dtype)


def _is_before(first: Index, width: int, end: Index) -> bool:
    """Whether `width` elements from the first on are always before the end."""
    return (end - first).lo >= width
