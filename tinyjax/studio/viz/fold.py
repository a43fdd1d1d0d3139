"""Fold programs of more than 500 equations, so that their pictures stay readable.

Inner jaxprs are folded first, the deepest before the others; then repetitions, such as a network's layers;
then any consecutive equations. Consecutive equations can be drawn as one, because their operands are all
computed before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tinyjax.core.bind import Primitive
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from tinyjax.core.tree_util.pytrees import tree_map

LIMIT = 500  # equations that are drawn individually
_LONGEST_PERIOD = 200  # equations of a possible repetition
_MANY = 4  # this many inputs or results of one folded equation are drawn as a count


class FoldedEqn(JaxprEqn):
    """An equation of a picture that represents several of the program."""

    __slots__ = ("inside",)

    def __init__(self, title: str, like: JaxprEqn, params: dict[str, Any], inside: list[JaxprEqn]):
        super().__init__(Primitive(title), like.invars, like.outvars, params)
        self.inside = inside


def folded(jaxpr: Jaxpr, limit: int = LIMIT, keep_ends: bool = False) -> tuple[Jaxpr, str]:
    """The program with about `limit` equations at most, and a remark about it; a small one is unchanged.

    Many inputs or results of only one folded equation are dropped."""
    total = count(jaxpr)
    if total <= limit:
        return jaxpr, ""
    depth = next((d for d in range(_depth(jaxpr), 0, -1) if count(jaxpr, d) <= limit), 0)
    jaxpr = _to_depth(jaxpr, depth)
    if len(jaxpr.eqns) > limit:
        jaxpr = _in_stretches(jaxpr, list(_repeats(jaxpr.eqns)))
    if len(jaxpr.eqns) > limit:
        size = -(-len(jaxpr.eqns) // (limit // 2))
        starts = range(0, len(jaxpr.eqns), size)
        jaxpr = _in_stretches(jaxpr, [Stretch(i, size, 1) for i in starts])
    remark = (
        f"{total:,} equations are too many to be drawn: a box with a double border holds several"
    )
    return jaxpr if keep_ends else _without_many_ends(jaxpr), remark


def count(jaxpr: Jaxpr, depth: int = 10**6) -> int:
    """The number of equations, those of inner jaxprs included, down to a depth."""
    inside = [count(j, depth - 1) for eqn in jaxpr.eqns for j in subjaxprs(eqn.params) if depth]
    return len(jaxpr.eqns) + sum(inside)


def _depth(jaxpr: Jaxpr) -> int:
    return max([1 + _depth(j) for eqn in jaxpr.eqns for j in subjaxprs(eqn.params)], default=0)


def all_eqns(eqns: Sequence[JaxprEqn]) -> Iterator[JaxprEqn]:
    """These equations and those inside them."""
    for eqn in eqns:
        yield from all_eqns(eqn.inside) if isinstance(eqn, FoldedEqn) else [eqn]
        for inner in subjaxprs(eqn.params):
            yield from all_eqns(inner.eqns)


# ---- jaxprs inside ----


def _to_depth(jaxpr: Jaxpr, depth: int) -> Jaxpr:
    """The jaxpr with inner jaxprs drawn down to this depth, and only counted below it."""

    def inner(item: Any) -> Any:
        if isinstance(item, ClosedJaxpr):
            return ClosedJaxpr(_to_depth(item.jaxpr, depth - 1), item.consts)
        return _to_depth(item, depth - 1) if isinstance(item, Jaxpr) else item

    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        number = sum(map(count, subjaxprs(eqn.params)))
        if number and depth == 0:
            name = {"name": eqn.params["name"]} if "name" in eqn.params else {}
            params = name | {"inside": f"{number:,} equations"}
            eqns.append(FoldedEqn(eqn.primitive.name, eqn, params, [eqn]))
        elif number:
            params = {key: tree_map(inner, value) for key, value in eqn.params.items()}
            eqns.append(eqn.replace(params=params))
        else:
            eqns.append(eqn)
    return jaxpr.replace(eqns=eqns)


# ---- stretches ----


class Stretch(NamedTuple):
    """`size` equations in a row, repeated `times` times."""

    start: int
    size: int
    times: int

    @property
    def stop(self) -> int:
        return self.start + self.size * self.times


def _in_stretches(jaxpr: Jaxpr, stretches: Sequence[Stretch]) -> Jaxpr:
    """The jaxpr with one equation per stretch."""
    eqns: list[JaxprEqn] = []
    place = 0
    for stretch in stretches:
        eqns += jaxpr.eqns[place : stretch.start]
        eqns.append(_as_one(jaxpr, stretch))
        place = stretch.stop
    return jaxpr.replace(eqns=eqns + jaxpr.eqns[place:])


def _as_one(jaxpr: Jaxpr, stretch: Stretch) -> JaxprEqn:
    group = jaxpr.eqns[stretch.start : stretch.stop]
    others = jaxpr.eqns[: stretch.start] + jaxpr.eqns[stretch.stop :]
    needed = {v for eqn in others for v in eqn.invars} | set(jaxpr.outvars)
    as_one = all_in_one(group, [v for eqn in group for v in eqn.outvars if v in needed])
    if stretch.times == 1:
        return as_one
    params = {"each": f"{stretch.size} equations"} | as_one.params
    return FoldedEqn(f"the same {stretch.times} times more", as_one, params, group)


def all_in_one(eqns: Sequence[JaxprEqn], results: Sequence[Var]) -> FoldedEqn:
    """One equation in place of several, with the needed results."""
    made = {v for eqn in eqns for v in eqn.outvars}
    read = dict.fromkeys(v for eqn in eqns for v in eqn.invars if isinstance(v, Var))
    operands = [v for v in read if v not in made]
    like = JaxprEqn(eqns[0].primitive, operands, results, {})
    names = " ".join(dict.fromkeys(eqn.primitive.name for eqn in eqns))
    return FoldedEqn(f"{len(eqns)} equations", like, {"primitives": names}, list(eqns))


def _repeats(eqns: Sequence[JaxprEqn]) -> Iterator[Stretch]:
    """Stretches that repeat at least twice, in order."""
    alike = _Alike(eqns)
    place = 0
    while place < len(eqns):
        sizes = range(1, min(_LONGEST_PERIOD, (len(eqns) - place) // 3) + 1)
        best = max((alike.repeated(place, size) for size in sizes), key=_saved, default=None)
        if best is None or best.times < 2:
            place += 1
        else:
            yield best
            place = best.stop


def _saved(stretch: Stretch) -> tuple[int, int]:
    return stretch.size * stretch.times * (stretch.times >= 2), -stretch.size


class _Alike:
    """Finds equations that do the same to operands at the same distance."""

    def __init__(self, eqns: Sequence[JaxprEqn]):
        maker = {v: (i, n) for i, eqn in enumerate(eqns) for n, v in enumerate(eqn.outvars)}
        self.what = [_meaning(eqn) for eqn in eqns]
        self.operands = [
            [(i - maker[v][0], maker[v][1]) if v in maker else (len(eqns), 0) for v in eqn.invars]
            for i, eqn in enumerate(eqns)
        ]

    def repeated(self, start: int, size: int) -> Stretch:
        """How often the equations from `start` on repeat."""
        i = start
        while i + size < len(self.what) and self.alike(i, i + size, size):
            i += 1
        return Stretch(start + size, size, (i - start) // size)

    def alike(self, i: int, j: int, size: int) -> bool:
        """Whether two equations are equal, with operands at the same distance, or from before the first
        repetition."""
        return self.what[i] == self.what[j] and all(
            a == b or (a[0] > size and b[0] > size)
            for a, b in zip(self.operands[i], self.operands[j])
        )


def _meaning(eqn: JaxprEqn) -> str:
    """A text that is equal for equations that differ only in their operands."""
    literals = [v.key if isinstance(v, Literal) else v.aval for v in eqn.invars]
    params = re.sub(r" at 0x[0-9a-f]+", "", str(eqn.params))
    return f"{eqn.primitive} {literals} {params}"


# ---- inputs and results of what is folded ----


def _without_many_ends(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr without the inputs and results that only folded equations use, if they are many."""
    single = [eqn for eqn in jaxpr.eqns if not isinstance(eqn, FoldedEqn)]
    seen: set[Any] = {v for eqn in single for v in [*eqn.invars, *eqn.outvars]}
    ends: set[Any] = {v for v in [*jaxpr.invars, *jaxpr.outvars] if v not in seen}
    eqns: list[JaxprEqn] = []
    gone: set[Any] = set()
    for eqn in jaxpr.eqns:
        if isinstance(eqn, FoldedEqn):
            found = {
                "inputs": {v for v in eqn.invars if v in ends and v in jaxpr.invars},
                "results": {v for v in eqn.outvars if v in ends},
            }
            many = {word: vs for word, vs in found.items() if len(vs) > _MANY}
            params = eqn.params | {word: f"{len(vs):,} more" for word, vs in many.items()}
            eqn = FoldedEqn(eqn.primitive.name, eqn, params, eqn.inside)
            eqn.invars = [v for v in eqn.invars if v not in many.get("inputs", ())]
            gone.update(*many.values())
        eqns.append(eqn)
    invars = [v for v in jaxpr.invars if v not in gone]
    return Jaxpr(jaxpr.constvars, invars, [v for v in jaxpr.outvars if v not in gone], eqns)
