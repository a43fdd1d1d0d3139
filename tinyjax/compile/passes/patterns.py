"""Patterns of equations, as text: what a line of the table of rewrite rules matches, and the replacement.

`mul x 1` is a mul whose second operand is the number 1, `neg (neg x)` is a neg of a neg's result, and equal
letters are equal values.
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

Producer = Mapping[Var, JaxprEqn]  # the equation that makes a variable
Simpler = Atom | JaxprEqn | None  # an atom that replaces the result, another equation, or no change
Pattern = str | float | tuple[Any, ...]  # x, 1.0, or (primitive, *patterns)


@dataclass(frozen=True)
class Rule:
    """A line of the table: equations that match `pattern` become `instead`, for results of some kinds of
    dtypes. `why` gives the reason that no bit differs.
    """

    pattern: str
    instead: str
    kinds: str  # b bool, i and u integers, f floats, c complex, V random keys
    why: str
    apply: Callable[[JaxprEqn, Producer], Simpler]

    @property
    def primitive(self) -> str:
        """The primitive's name in all equations that match."""
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
    """A pattern's matcher once the primitive is right: called as the function of a Rule."""

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
    """The primitive of that name, for a result."""
    return next(p for p in impl_rules if p.name == name)


def matches(pattern: Pattern, atom: Atom, bound: dict[str, Atom], producer: Producer) -> bool:
    """Whether the atom matches the pattern; `bound` gets the values of the letters."""
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


def _is_number(value: Any, wanted: float) -> bool:
    return bool(value == wanted) and bool(np.signbit(value) == np.signbit(wanted))


def same_type(atom: Atom, out: Var) -> bool:
    """Whether an atom can replace a result."""
    return (atom.aval.shape, atom.aval.dtype) == (out.aval.shape, out.aval.dtype)


def full(eqn: JaxprEqn, value: float) -> Simpler:
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
