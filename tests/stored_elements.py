"""Where the stores of a loop nest go, as intervals.

A loop whose variable moves the index by a constant stretches an interval, as long as its iterations touch
each other; any other loop is gone through, all iterations at once in NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tinyjax.compile.kernel.indices import ON_NUMBERS, Index, index, linear

MAX_ITERATIONS = 2**20  # of one store that are gone through one by one: some 100 ms, and as many MB


class Unknown(Exception):
    """Why the intervals of a store are unknown."""


class TooMany(Exception):
    """There are more than MAX_ITERATIONS iterations to go through."""


@dataclass(frozen=True)
class IterationRange:
    """A loop of which all iterations have been: `variable` was start, start + step, ..., before stop."""

    variable: Index
    start: Index
    stop: Index
    step: int = 1


@dataclass(frozen=True)
class Where:
    """Of the loops around it, only those iterations in which the two indices are equal."""

    left: Index
    right: Index


@dataclass(frozen=True)
class Stored:
    """`width` elements from `at` on, but before `end`, in all iterations of the loops `around`."""

    at: Index
    end: Index | None
    width: int
    around: tuple[IterationRange | Where, ...] = ()

    def within(self, outer: IterationRange | Where) -> Stored:
        return replace(self, around=(outer, *self.around))

    def variables(self) -> set[Index]:
        """Those that say which elements."""
        ends = [] if self.end is None else [self.end]
        return variables(self.at, *ends, *_bounds(self.around))


# ---- indices ----


def renamed(at: Index, names: Mapping[Index, Index]) -> Index:
    """The index with other variables."""
    if at.op in ("const", "var"):
        return names.get(at, at)
    return replace(at, args=tuple(renamed(arg, names) for arg in at.args))


def variables(*indices: Index) -> set[Index]:
    return {part for at in indices for part in at.parts() if part.op == "var"}


def values(at: Index, known: Mapping[Index, np.ndarray], count: int) -> np.ndarray:
    """The index in `count` iterations, from its variables in these. Raises Unknown."""
    if at.op == "const":
        return np.full(count, at.args[0])
    if at.op == "var":
        if at not in known:
            raise Unknown(f"{at} is not known")
        return known[at]
    a, b = (values(arg, known, count) for arg in at.args)
    of_arrays = {"min": np.minimum, "max": np.maximum}
    return (ON_NUMBERS | of_arrays)[at.op](a, b)


def joined(stores: Iterable[Stored]) -> Iterator[Stored]:
    """The stores that have no end, those of neighbours in the same loops as one."""
    runs: dict[tuple, list[tuple[int, Stored]]] = {}
    for stored in stores:
        if stored.end is None:
            parts = linear(stored.at)
            first = parts.pop(None, 0)
            runs.setdefault((stored.around, frozenset(parts.items())), []).append((first, stored))
    for run in runs.values():
        run.sort(key=lambda pair: pair[0])
        (begin, so_far), *others = run
        for first, stored in others:
            if first <= begin + so_far.width:
                width = max(so_far.width, first - begin + stored.width)
                so_far = replace(so_far, width=width)
            else:
                yield so_far
                begin, so_far = first, stored
        yield so_far


# ---- intervals ----

Intervals = tuple[np.ndarray, np.ndarray]  # where each begins, and where it ends


def intervals(stored: Stored) -> Intervals:
    """What is stored. Raises Unknown if that depends on more than the loops, and TooMany."""
    if stored.end is not None and stored.end.op == "const":  # the same for all: cut off afterwards
        begin, end = intervals(replace(stored, end=None))
        inside = begin < stored.end.args[0]
        return begin[inside], np.minimum(end[inside], stored.end.args[0])
    around = _as_one_loop(stored)
    known: dict[Index, np.ndarray] = {}
    count, stretching = 1, []
    for number, outer in enumerate(around):
        if isinstance(outer, Where):
            pair = (values(at, known, count) for at in (outer.left, outer.right))
            chosen = np.flatnonzero(np.equal(*pair))
            known = {v: old[chosen] for v, old in known.items()}
        else:
            v, first = outer.variable, values(outer.start, known, count)
            span = np.maximum(values(outer.stop, known, count) - first, 0)
            iterations = -(-span // outer.step)
            if _stretches(v, stored, around[number + 1 :]):
                times = Index("var", (f"iterations of {v}",), 0, 0)
                stretching.append((v, outer.step, times))
                chosen = np.flatnonzero(iterations)
                known = {v: old[chosen] for v, old in (known | {v: first}).items()}
                known[times] = iterations[chosen]
            else:
                chosen, nth = _each_iteration(iterations)
                known = {v: old[chosen] for v, old in known.items()}
                known[v] = first[chosen] + outer.step * nth
        count = len(chosen)
    begin, factors = values(stored.at, known, count), linear(stored.at)
    lengths = np.full(count, stored.width)
    if stored.end is not None:
        lengths = np.minimum(lengths, values(stored.end, known, count) - begin)
    moves = [(factors.get(v, 0) * by, known[n]) for v, by, n in stretching]
    return _stretched(begin, lengths, moves)


def _stretched(
    begin: np.ndarray, lengths: np.ndarray, loops: list[tuple[int, np.ndarray]]
) -> Intervals:
    """The union of the intervals as each loop moves them by its stride, `iterations` times. Short strides
    come first: they may leave no gaps, and so make intervals long enough for longer strides."""
    loops = sorted(loops, key=lambda loop: -abs(loop[0]))
    while loops:
        *loops, (stride, iterations) = loops
        if stride < 0:
            begin, stride = begin + stride * (iterations - 1), -stride
        if np.all(stride <= lengths):
            lengths = lengths + stride * (iterations - 1)
        else:
            chosen, nth = _each_iteration(iterations)
            begin, lengths = begin[chosen] + stride * nth, lengths[chosen]
            loops = [(outer_stride, outer[chosen]) for outer_stride, outer in loops]
    return begin, begin + lengths


def _each_iteration(iterations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each of all iterations of some loops: the loop's number, and that of the iteration in it."""
    if iterations.sum() > MAX_ITERATIONS:
        raise TooMany
    loops = np.repeat(np.arange(len(iterations)), iterations)
    return loops, np.arange(len(loops)) - np.repeat(np.cumsum(iterations) - iterations, iterations)


def _stretches(v: Index, stored: Stored, inner: tuple[IterationRange | Where, ...]) -> bool:
    """Whether the variable only moves the store, and its end as far."""
    parts = linear(stored.at)
    moves = stored.at if stored.end is None else stored.end - stored.at
    others = [part for part in parts if part not in (None, v)]
    if stored.end is not None:
        others += [part for part in linear(moves) if part is not None]
    return v not in variables(*others, *_bounds(inner))


def _bounds(around: Iterable[IterationRange | Where]) -> list[Index]:
    """The indices that say which iterations there are."""
    pairs = (
        (outer.left, outer.right) if isinstance(outer, Where) else (outer.start, outer.stop)
        for outer in around
    )
    return [at for pair in pairs for at in pair]


def _as_one_loop(stored: Stored) -> tuple[IterationRange | Where, ...]:
    """The loops, with one in place of two where the inner one goes through the runs of the outer one:
    `for u in 0 .. 8: for v in u * 100 .. min(u * 100 + 100, 750)` is `for v in 0 .. 750`."""
    around = stored.around
    for inner in around:
        for outer in around[: around.index(inner)]:
            others = tuple(loop for loop in around if loop not in (inner, outer))
            used = replace(stored, around=others).variables()
            if (
                isinstance(outer, IterationRange)
                and isinstance(inner, IterationRange)
                and outer.variable not in used
            ):
                one = _one_for(outer, inner)
                if one is not None:
                    rest = (one if loop == inner else loop for loop in around if loop != outer)
                    return _as_one_loop(replace(stored, around=tuple(rest)))
    return around


def _one_for(outer: IterationRange, inner: IterationRange) -> IterationRange | None:
    """The loop that runs through all runs of `inner`, if each begins where the one before it ends; or if each
    takes every n-th iteration, and there are n of them."""
    if inner.step > 1 or outer.step > 1:
        is_whole = inner.start == outer.variable and outer.start.is_const(0)
        is_whole = is_whole and outer.stop.is_const(inner.step) and outer.step == 1
        return IterationRange(inner.variable, index(0), inner.stop) if is_whole else None
    stop, most = inner.stop, None
    if stop.op == "min" and stop.args[1].op == "const":
        stop, most = stop.args
    first, start = linear(inner.start), linear(stop - inner.start)
    run = first.get(outer.variable, 0)
    if outer.start.is_const(0) and set(first) == {outer.variable} and start == {None: run}:
        stop = outer.stop * run
        return IterationRange(inner.variable, index(0), stop if most is None else stop.min(most))
    return None


def covered(stores: Iterable[Stored]) -> Intervals:
    """What all of the stores store, as intervals in order that do not touch. Stores that are Unknown are
    left out."""
    begins, ends = [np.zeros(0, int)], [np.zeros(0, int)]
    for stored in stores:
        try:
            begin, end = intervals(stored)
        except Unknown:
            continue
        begins.append(begin)
        ends.append(end)
    begin, end = np.concatenate(begins), np.concatenate(ends)
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    apart = begin[1:] > end[:-1]
    return begin[np.append(True, apart)[: len(begin)]], end[
        np.append(apart, True)[-len(end) or 1 :]
    ]
