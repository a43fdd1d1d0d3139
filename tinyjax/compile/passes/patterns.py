"""Patterns of equations, as text: what a line of the table of rewrite rules matches, and what it gives.

`mul x 1` is a mul whose second operand is the number 1, `neg (neg x)` a neg of what a neg made, and the same
letter is the same value.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.core import primitives
from tinyjax.core.bind import Primitive, impl_rules
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import Atom, JaxprEqn, Literal, Var

Producer = Mapping[Var, JaxprEqn]  # which equation makes a variable
Simpler = Atom | JaxprEqn | None  # an atom in place of the result, another equation, or no change
Pattern = str | float | tuple[Any, ...]  # x, 1.0, or (primitive, *patterns)


@dataclass(frozen=True)
class Rule:
    """A line of the table: equations that fit `pattern` become `instead`, for results of some kinds of
    dtypes, as `why` no bit differs."""

    pattern: str
    instead: str
    kinds: str  # b bool, i and u integers, f floats, c complex, V random keys
    why: str
    apply: Callable[[JaxprEqn, Producer], Simpler]

    @property
    def primitive(self) -> str:
        """The name of the primitive of which all equations that match are."""
        return re.findall(r"\w+", self.pattern)[0]

    def __str__(self) -> str:
        return f"{self.pattern} = {self.instead}"


def parse(line: str) -> Rule:
    """The rule of a line: pattern | instead | kinds | why."""
    pattern, instead, kinds, why = (column.strip() for column in line.split("|"))
    name, *operands = _pattern(pattern)
    power = re.search(r"\[(\d+)\]", name)  # of integer_pow
    (result,) = _pattern(instead) if " " not in instead else [tuple(_pattern(instead))]
    rule = _PatternRule(None if power is None else int(power[1]), tuple(operands), result)
    return Rule(pattern, instead, kinds, why, rule)


def _pattern(text: str) -> list[Any]:
    """Words, numbers as floats, and a tuple for what is in parentheses."""
    found: list[list[Any]] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            found.append([])
        elif token == ")":
            inner = found.pop()
            found[-1].append(tuple(inner))
        else:
            is_number = re.fullmatch(r"-?(\d.*|inf)", token)
            found[-1].append(float(token) if is_number else token)
    return found[0]


# ---- does an equation match? ----


@dataclass(frozen=True)
class _PatternRule:
    """What is left of a pattern when the primitive is right: called as the function of a Rule."""

    power: int | None
    operands: tuple[Pattern, ...]
    result: Pattern

    def __call__(self, eqn: JaxprEqn, producer: Producer) -> Simpler:
        (out,), bound = eqn.outvars, dict[str, Atom]()
        if eqn.params.get("y") != self.power:
            return None
        if len(self.operands) != len(eqn.invars):  # a select_n of three cases, say
            return None
        for pattern, v in zip(self.operands, eqn.invars):
            if not matches(pattern, v, bound, producer):
                return None
        if isinstance(self.result, tuple):
            name, *parts = self.result
            operands = [bound[x] if isinstance(x, str) else _number(x, out) for x in parts]
            if not any(same_type(v, out) for v in operands):  # numbers alone, for an array
                return None
            return eqn.replace(primitive=primitive_named(name), invars=operands, params={})
        if isinstance(self.result, float):
            return full(eqn, self.result)
        return bound[self.result] if same_type(bound[self.result], out) else None


@functools.cache
def primitive_named(name: str) -> Primitive:
    """The primitive of that name that stands in a result."""
    return next(p for p in impl_rules if p.name == name)


def matches(pattern: Pattern, atom: Atom, bound: dict[str, Atom], producer: Producer) -> bool:
    """Whether the atom is what the pattern says; `bound` gets what the letters stand for."""
    if isinstance(pattern, str):
        return same(bound.setdefault(pattern, atom), atom)
    if isinstance(pattern, float):
        value = constant(atom, producer)
        return value is not None and _is_number(value, pattern)
    eqn = producer.get(atom) if isinstance(atom, Var) else None
    if eqn is None or eqn.primitive.name != pattern[0] or len(eqn.invars) != len(pattern) - 1:
        return False
    return all(matches(p, v, bound, producer) for p, v in zip(pattern[1:], eqn.invars))


def same(a: Atom, b: Atom) -> bool:
    """Whether two atoms have the same value for certain."""
    if isinstance(a, Var) or isinstance(b, Var):
        return a is b
    return a.key == b.key


def constant(atom: Atom, producer: Producer) -> Any:
    """The number that an atom is, or that a broadcast repeats; None for others."""
    while isinstance(atom, Var):
        eqn = producer.get(atom)
        if eqn is None or eqn.primitive is not primitives.broadcast_in_dim_p:
            return None
        (atom,) = eqn.invars
    return atom.val if kind(atom.aval.dtype) in "biuf" else None


def _is_number(value: Any, wanted: float) -> bool:
    return bool(value == wanted) and bool(np.signbit(value) == np.signbit(wanted))


def same_type(atom: Atom, out: Var) -> bool:
    """Whether an atom can take the place of a result."""
    return (atom.aval.shape, atom.aval.dtype) == (out.aval.shape, out.aval.dtype)


def full(eqn: JaxprEqn, value: float) -> Simpler:
    """A number in place of the equation's result."""
    (out,) = eqn.outvars
    number = _number(value, out)
    params = {"shape": out.aval.shape, "broadcast_dimensions": ()}
    if not out.aval.shape:
        return number
    return eqn.replace(primitive=primitives.broadcast_in_dim_p, invars=[number], params=params)


def _number(value: float, out: Var) -> Literal:
    """A scalar of a result's dtype."""
    return Literal(out.aval.dtype.type(value), out.aval.update(shape=()))
