"""Rewriting equations: the walk through a jaxpr that passes share, and the patterns of rewrite rules.

`mul x 1` is a mul whose second operand is the number 1, `neg (neg x)` is a neg of a neg's result, equal
letters are equal values, and `stack x ...` has one operand or more.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.core import primitives
from tinyjax.core.bind import Primitive, impl_rules
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, substitute


class Producer(dict[Any, JaxprEqn]):
    """The equation that makes a variable, of those of a jaxpr that a walk has passed."""

    jaxpr: Jaxpr

    @functools.cached_property
    def readers(self) -> Counter[Any]:
        """How often the jaxpr's equations and results read a variable, before the walk."""
        return Counter([v for eqn in self.jaxpr.eqns for v in eqn.invars] + self.jaxpr.outvars)


# ---- the walk ----


def walk(
    closed: ClosedJaxpr, change: Callable[[JaxprEqn, Producer], Sequence[Any] | None]
) -> ClosedJaxpr:
    """One walk through the equations. `change` returns the equations that replace one, or an atom for each of
    its results, which their readers then read; or None to keep it."""
    jaxpr = closed.jaxpr
    producer = Producer()
    producer.jaxpr = jaxpr
    replaced: dict[Var, Atom] = {}
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        if replaced:
            eqn = eqn.replace(invars=substitute(eqn.invars, replaced))
        found = change(eqn, producer)
        for each in [eqn] if found is None else found:
            if isinstance(each, JaxprEqn):
                eqns.append(each)
                for v in each.outvars:
                    producer[v] = each
            else:
                replaced.update(zip(eqn.outvars, found))  # type: ignore[arg-type]
                break
    if eqns == jaxpr.eqns:
        return closed
    outvars = substitute(jaxpr.outvars, replaced)
    return closed.replace(jaxpr.replace(eqns=eqns, outvars=outvars))


def copied(eqns: Iterable[JaxprEqn], atoms: dict[Var, Atom]) -> list[JaxprEqn]:
    """Copies of equations, which read `atoms` in place of variables and make new variables; `atoms` gets
    these."""
    copies = []
    for eqn in eqns:
        outvars = [Var(v.aval) for v in eqn.outvars]
        copies.append(eqn.replace(invars=substitute(eqn.invars, atoms), outvars=outvars))
        atoms.update(zip(eqn.outvars, outvars))
    return copies


# ---- rules ----

Simpler = Atom | JaxprEqn | None  # an atom that replaces the result, another equation, or no change
Pattern = str | float | tuple[Any, ...]  # x, 1.0, or (primitive, *patterns)


@dataclass(frozen=True)
class Rule:
    """Equations that match `pattern` become `text`, for results of some kinds of dtypes. `why` gives the
    reason that no bit differs, and `replacement` computes the result."""

    pattern: str
    text: str
    kinds: str  # b bool, i and u integers, f floats, c complex, V random keys
    why: str
    primitive: str
    power: int | None  # of integer_pow
    operands: tuple[Pattern, ...]
    replacement: Callable[[JaxprEqn, Match], Simpler]

    def __str__(self) -> str:
        return f"{self.pattern} = {self.text}"

    def apply(self, eqn: JaxprEqn, producer: Producer) -> Simpler:
        """The replacement of an equation of the primitive; None if its operands don't match."""
        if eqn.params.get("y") != self.power:
            return None
        match = Match(producer)
        fits = match.operands(self.operands, eqn.invars)
        return self.replacement(eqn, match) if fits else None


def parse(line: str, replacement: Callable[[JaxprEqn, Match], Simpler] | None = None) -> Rule:
    """The rule of a line: pattern | text | kinds | why. Without a function, the text is a pattern too, of at
    most one operation. Raises ValueError for more, and for a line that isn't one."""
    columns = [column.strip() for column in line.split("|")]
    if len(columns) != 4 or not all(columns) or not set(columns[2]) <= set("biufcV"):
        form = "pattern | replacement | kinds of dtypes, such as biufcV | why no bit differs"
        raise ValueError(f"{line.strip()}: a rule is {form}")
    pattern, text, kinds, why = columns
    name, *operands = _pattern(pattern)
    power = re.search(r"\[(\d+)\]", name)
    if replacement is None:
        first, *others = _pattern(text)
        if "(" in text:
            more = "a replacement has one operation; write a @rule function"
            raise ValueError(f"{line.strip()}: {more}")
        replacement = functools.partial(_filled_in, line, (first, *others) if others else first)
    return Rule(
        pattern, text, kinds, why, re.findall(r"\w+", name)[0],
        power and int(power[1]), tuple(operands), replacement,
    )  # fmt: skip


def _pattern(text: str) -> list[Any]:
    """Words, numbers as floats, and a tuple for what is in parentheses."""
    found: list[list[Any]] = [[]]
    for token in re.findall(r"\w+\[.*?\]|[()]|[^\s()]+", text):
        if token == "(":
            found.append([])
        elif token == ")":
            inner = found.pop()
            found[-1].append(tuple(inner))
        else:
            is_number = re.fullmatch(r"-?(\d[\d.]*|inf)", token)
            found[-1].append(float(token) if is_number else token)
    return found[0]


# ---- does an equation match? ----


class Match:
    """What a pattern matched: the values of its letters, and the equations in its parentheses."""

    __slots__ = ("producer", "letters", "eqns")

    def __init__(self, producer: Producer):
        self.producer = producer
        self.letters: dict[str, Atom] = {}
        self.eqns: list[JaxprEqn] = []

    def operands(self, patterns: Sequence[Pattern], atoms: Sequence[Atom]) -> bool:
        """Whether operands match, each its pattern."""
        if patterns[-1] == "...":
            patterns = patterns[:-1]
        elif len(patterns) != len(atoms):  # a select_n of three cases, say
            return False
        for pattern, atom in zip(patterns, atoms):
            if not self.atom(pattern, atom):
                return False
        return True

    def atom(self, pattern: Pattern, atom: Atom) -> bool:
        if isinstance(pattern, str):
            return same(self.letters.setdefault(pattern, atom), atom)
        if isinstance(pattern, float):
            value = constant(atom, self.producer)
            is_same = value is not None and value == pattern  # 0.0 is not -0.0
            return bool(is_same and np.signbit(value) == np.signbit(pattern))
        eqn = self.producer.get(atom)
        if eqn is None or eqn.primitive.name != pattern[0]:
            return False
        self.eqns.append(eqn)
        return self.operands(pattern[1:], eqn.invars)


def _filled_in(line: str, result: Pattern, eqn: JaxprEqn, match: Match) -> Simpler:
    """The replacement that a table gives: a number, a letter's value, or an equation of these."""
    (out,) = eqn.outvars
    if isinstance(result, float):
        return full(eqn, result)
    if isinstance(result, str):
        value = match.letters[result]
        return value if same_type(value, out) else None
    name, *parts = result
    operands = [match.letters[x] if isinstance(x, str) else _number(x, out) for x in parts]
    if name == eqn.primitive.name:
        return eqn.replace(invars=operands)
    if not any(same_type(v, out) for v in operands):  # numbers alone, for an array
        return None
    return eqn.replace(primitive=primitive_named(name, line), invars=operands, params={})


@functools.cache
def primitive_named(name: str, line: str) -> Primitive:
    """The primitive of that name in the line of a rule. Raises ValueError if there is none."""
    named = {primitive.name: primitive for primitive in impl_rules}
    if name not in named:
        import difflib

        like = difflib.get_close_matches(name, named, cutoff=0.4)
        names = f"similar names are {', '.join(like)}" if like else f"they are {', '.join(named)}"
        raise ValueError(f"{line.strip()}: there is no primitive {name!r}; {names}")
    return named[name]


def same(a: Atom, b: Atom) -> bool:
    """Whether two atoms certainly have the same value."""
    if isinstance(a, Var) or isinstance(b, Var):
        return a is b
    return a.key == b.key


def constant(atom: Atom, producer: Producer) -> Any:
    """The number that an atom stands for or that a broadcast repeats; else None."""
    while isinstance(atom, Var):
        eqn = producer.get(atom)
        if eqn is None or eqn.primitive is not primitives.broadcast_in_dim_p:
            return None
        (atom,) = eqn.invars
    return atom.val if kind(atom.aval.dtype) in "biuf" else None


def same_type(atom: Atom, out: Var) -> bool:
    """Whether an atom can replace a result."""
    return (atom.aval.shape, atom.aval.dtype) == (out.aval.shape, out.aval.dtype)


def full(eqn: JaxprEqn, value: float) -> Atom | JaxprEqn:
    """A number that replaces the equation's result."""
    (out,) = eqn.outvars
    number = _number(value, out)
    params = {"shape": out.aval.shape, "broadcast_dimensions": ()}
    if not out.aval.shape:
        return number
    return eqn.replace(primitive=primitives.broadcast_in_dim_p, invars=[number], params=params)


def _number(value: float, out: Var) -> Literal:
    """A scalar of a result's dtype."""
    return Literal(out.aval.dtype.type(value), out.aval.update(shape=()))
