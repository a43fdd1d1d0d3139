"""Dependences: whether the iterations of a loop could run in any order.

Loops can be interchanged, distributed or jammed if no iteration of the outer one reads or stores what another
one stores. Memory allocated in an iteration is private to it. In other memory, each iteration must keep to a
separate part: the loop's variable must move every access, and further than the inner loops do.

Source: R. Allen, K. Kennedy, "Optimizing Compilers for Modern Architectures", chapters 2 and 5, 2001
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, Linear, index, index_var, linear
from tinyjax.compile.kernel.substitution import allocated, defined_names, every_statement
from tinyjax.compile.schedules.directive import axis_of, carried
from tinyjax.compile.schedules.nests import names_in


@dataclass(frozen=True)
class _Access:
    """An access to at most `reach` elements of the named memory, from index `at` on."""

    memory: str
    at: Linear
    reach: int
    end: Linear | None  # elements from there on are not accessed
    is_store: bool


def why_dependent(loop: ir.For) -> str:
    """Why the iterations can't run in any order; empty if they can."""
    if iterations(loop) <= 1:
        return ""
    inside = list(every_statement(loop.body))
    if any(isinstance(s, ir.IfLast) for s in inside):
        return f"'{loop.variable}' has a part that is for the last work-item"
    own = {array.name for array in allocated(loop.body)}
    accesses = list(_accesses(loop.body, {loop.variable: loop}))
    for memory in {a.memory for a in accesses if a.is_store} - own:
        if not _are_apart(loop, [a for a in accesses if a.memory == memory]):
            return f"iterations of '{loop.variable}' may store the same elements of {memory}"
    return ""


def why_in_order(loop: ir.For) -> str:
    """Why the iterations wait for each other; empty if they do not."""
    if (left := carried(loop)) and why_dependent(loop):
        return f"an iteration of {axis_of(loop)} needs what others leave in {left}"
    return ""


def _are_apart(loop: ir.For, accesses: Sequence[_Access]) -> bool:
    """Whether each iteration has separate elements. The varying parts of an index must be like the digits of
    a number: each is worth more than all smaller ones together."""
    inside = _made_within(loop)
    variable = _counter(loop)
    first, last, stops, alike, larger = [], [], [], set(), dict[int, int]()
    for access in accesses:
        parts = dict(access.at)
        factor, start = parts.pop(variable, 0), parts.pop(None, 0)
        if any({variable.args[0], axis_of(loop)} & names_in(part) for part in parts):
            return False
        inner = {part: f for part, f in parts.items() if part and names_in(part) & inside}
        outer = dict(parts.items() - inner.items())
        alike.add((factor, frozenset(outer.items())))
        low = start + sum(min(part.lo * f, part.hi * f) for part, f in inner.items())
        high = low + access.reach - 1
        for part, f in inner.items():
            span = abs(f) * (part.hi - part.lo)
            if abs(f) <= abs(factor):
                high += span
            else:
                larger[abs(f)] = max(span, larger.get(abs(f), 0))
        end = dict(access.end or {})
        stop = end.pop(None, 0)
        # No iteration goes beyond an end that is the same for all, such as the end of a row.
        is_same = access.end and end == parts and factor > 0
        stops.append(stop + high + 1 - access.reach - start if is_same else math.inf)
        if end == {variable: factor, **outer}:
            high = min(high, stop - 1)
        first.append(low)
        last.append(high)
    ((factor, _), *others) = alike
    if first == last and not larger and factor and not others:
        # One element each: does a later iteration access the same element?
        reach = abs(factor) * (variable.hi - variable.lo)
        gaps = {abs(a - b) for a in first for b in first} - {0}
        return not any(gap % factor == 0 and gap <= reach for gap in gaps)
    total: float = max(last) - min(first)
    if others or abs(factor) <= total:
        return False
    total = min(total + abs(factor) * variable.hi, max(stops) - min(first) - 1)
    for f, span in sorted(larger.items()):
        if f <= total:
            return False
        total += span
    return True


def _made_within(loop: ir.For) -> set[str]:
    """The names of the values that an iteration computes, and of its inner loops."""
    loops = [s for s in every_statement(loop.body) if isinstance(s, ir.For)]
    counters = {_counter(s).args[0] for s in loops}
    return {*defined_names(loop.body), *map(axis_of, loops), *counters}


# ---- accesses ----


def _accesses(body: ir.Body, loops: Mapping[Index, ir.For]) -> Iterator[_Access]:
    for statement in body:
        if isinstance(statement, ir.Access):
            reach, end = _reach(statement), getattr(statement, "end", None)
            at, last = _sum(statement.index, loops), None if end is None else _sum(end, loops)
            is_store = not isinstance(statement, ir.Load)
            yield _Access(statement.memory.name, at, reach, last, is_store)
        inner = {statement.variable: statement} if isinstance(statement, ir.For) else {}
        for part in ir.inner_bodies(statement):
            yield from _accesses(part, {**loops, **inner})


def _reach(access: ir.Access) -> int:
    """How many elements an access takes; of a private array of vectors, one."""
    if isinstance(access, ir.Combine) or getattr(access.memory, "width", 1) > 1:
        return 1
    return ir.reach(access)


def _counter(loop: ir.For) -> Index:
    """The number of the iteration, from 0."""
    return index_var(f"number of {loop.variable}", 0, max(0, iterations(loop) - 1))


def _sum(at: Index, loops: Mapping[Index, ir.For]) -> Linear:
    """The index as a sum. If a loop's start depends on outer loops, start + counter replaces its variable. In
    a loop of at most n iterations from a multiple of n on, v % n is the counter."""
    total: Linear = {}
    whole, *inside = loops
    inner = {variable.args[0] for variable in inside}

    def add(part: Index | None, factor: int) -> None:
        loop = loops.get(part)  # type: ignore[arg-type]
        if loop is not None and (part == whole or names_in(loop.start) - inner):
            if part == whole or iterations(loop) > 1:
                add(_counter(loop), factor)
            for p, f in linear(loop.start).items():
                add(p, f * factor)
        elif part is not None and part.op == "%" and _counts(part, loops):
            add(_counter(loops[part.args[0]]), factor)
        else:
            total[part] = total.get(part, 0) + factor

    for part, factor in linear(at).items():
        add(part, factor)
    return total


def _counts(remainder: Index, loops: Mapping[Index, ir.For]) -> bool:
    variable, size = remainder.args
    loop = loops.get(variable)
    return loop is not None and iterations(loop) <= size.lo and loop.start.factor() % size.lo == 0


# ---- iterations ----


def iterations(loop: ir.For) -> int:
    """The largest number of iterations."""
    return min(max(0, (end - loop.start).hi) for end in ends(loop.stop))


def inner_iterations(body: ir.Body) -> int:
    """The largest number of iterations of the loops in a body, inner ones included; one without loops."""
    loops = [s for s in body if isinstance(s, ir.For)]
    return max(1, sum(iterations(loop) * inner_iterations(loop.body) for loop in loops))


def ends(stop: Index) -> list[Index]:
    """Where a loop stops, whichever comes first."""
    return [end for arg in stop.args for end in ends(arg)] if stop.op == "min" else [stop]


def why_not_numbered(loop: ir.For) -> str:
    """Why `numbers` can't count the loop's iterations from 0; empty if it can."""
    if loop.start.factor() % iterations(loop) == 0:
        return ""
    return f"{loop.variable} starts at {loop.start}, no multiple of {iterations(loop)}"


def numbers(loops: Sequence[ir.For]) -> tuple[Index, int]:
    """A number for each iteration of the nest, and how many numbers there are. The last loop's count is
    rounded up to a power of two, to fit a whole vector."""
    number, count = index(0), 1
    for loop in loops:
        size = iterations(loop)
        if loop is loops[-1]:
            size = 1 << (size - 1).bit_length()
        at = loop.variable if loop.start.is_const(0) else loop.variable % iterations(loop)
        number, count = number * size + at, count * size
    return number, count
