"""Indices: integer expressions that know their range.

Index arithmetic propagates bounds, so a load can be proved to stay in its buffer. The same ranges simplify
the arithmetic: an index below 16, divided by 16, is 0.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Index:
    """A position in a buffer or a loop: a constant, a loop variable, or `op` of two indices.

    `lo` and `hi` bound its value (both inclusive). They make the arithmetic below simplify itself,
    and they let `check_kernel` prove that no load or store leaves its buffer."""

    op: str  # 'const', 'var', or one of + - * / % min max; 'long' of one index, in generated C only
    args: tuple[Any, ...]
    lo: int
    hi: int
    width: ClassVar[int] = 1

    def __add__(self, other: Index | int) -> Index:
        a, b = self, index(other)
        if a.is_const(0) or b.is_const(0):
            return b if a.is_const(0) else a
        if b.op == "+" and b.args[0].op == "%":
            return a + b.args[0] + b.args[1]
        if b.op == "%":  # an index split into rows and columns is put together again
            whole, columns = b.args[0], b.args[1].lo
            rows = a.args[0] if a.op == "*" and a.args[1].is_const(columns) else index(0)
            if (others := rows._without(whole // columns)) is not None:
                return others * columns + whole
        return _fold(Index("+", (a, b), a.lo + b.lo, a.hi + b.hi))

    def __sub__(self, other: Index | int) -> Index:
        a, b = self, index(other)
        if b.is_const(0):
            return a
        if a.op == "+" and b in a.args:
            return a.args[1 - a.args.index(b)]
        if a.op == "+":  # a common term cancels
            terms = b.args if b.op == "+" else (b, index(0))
            for number, term in enumerate(terms):
                if term in a.args:
                    return a.args[1 - a.args.index(term)] - terms[1 - number]
        return _fold(Index("-", (a, b), a.lo - b.hi, a.hi - b.lo))

    def __mul__(self, other: Index | int) -> Index:
        a, b = self, index(other)
        if b.is_const(1):
            return a
        if a.is_const(0) or b.is_const(0):
            return index(0)
        if a.op == "*" and a.args[1].op == b.op == "const":
            return a.args[0] * (a.args[1].lo * b.lo)
        corners = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return _fold(Index("*", (a, b), min(corners), max(corners)))

    def __floordiv__(self, divisor: int) -> Index:
        """Only of indices that are never negative: C rounds towards zero, Python down."""
        if divisor == 1 or self.hi < divisor:
            return self if divisor == 1 else index(0)
        if self.op == "*" and self.args[1].op == "const":
            times = self.args[1].lo
            if (common := math.gcd(times, divisor)) > 1:
                return self.args[0] * (times // common) // (divisor // common)
        if self.op in ("min", "max") and self.factor() % divisor == 0:
            return OPERATIONS[self.op](*(arg // divisor for arg in self.args))
        if self.op == "+":
            rows, column = self.args  # an element's row, from its place: row * columns + column
            if rows.factor() % divisor == 0 and rows.lo >= 0 and column.lo >= 0:
                return rows // divisor + column // divisor
            if self._is_in_step(divisor):
                return rows // divisor
        return _fold(Index("/", (self, index(divisor)), self.lo // divisor, self.hi // divisor))

    def __mod__(self, divisor: int) -> Index:
        """Only of indices that are never negative."""
        if self.hi < divisor:
            return self
        if self.lo == self.hi:
            return index(self.lo % divisor)
        if self.op == "%" and self.args[1].lo % divisor == 0:
            return self.args[0] % divisor
        terms = self._terms()
        rest = [term for term in terms if term.factor() % divisor]
        if len(rest) < len(terms) and (others := sum(rest, index(0))).lo >= 0:
            return others % divisor
        if self._is_in_step(divisor):
            return self.args[0] % divisor + self.args[1]
        step = math.gcd(self.factor(), divisor)
        return _fold(Index("%", (self, index(divisor)), 0, divisor - step))

    def _terms(self) -> list[Index]:
        """The terms of the sum; a factor of the sum multiplies each term."""
        if self.op == "*" and self.args[0].op == "+" and self.args[1].op == "const":
            return [term * self.args[1] for term in self.args[0].args]
        return list(self.args) if self.op == "+" else [self]

    def _without(self, term: Index) -> Index | None:
        """The sum of the other terms; None if it has no such term."""
        if self == term:
            return index(0)
        if self.op in ("+", "-"):
            first, last = self.args
            if (rest := first._without(term)) is not None:
                return rest + last if self.op == "+" else rest - last
            if self.op == "+" and (rest := last._without(term)) is not None:
                return first + rest
        return None

    def _is_in_step(self, divisor: int) -> bool:
        """Whether it is a multiple of a step that divides the divisor, plus less than the step."""
        if self.op != "+" or self.args[0].lo < 0:
            return False
        step = math.gcd(self.args[0].factor(), divisor)
        return 0 <= self.args[1].lo and self.args[1].hi < step

    def min(self, other: Index | int) -> Index:
        a, b = self, index(other)
        if a.hi <= b.lo or b.hi <= a.lo:
            return a if a.hi <= b.lo else b
        return Index("min", (a, b), min(a.lo, b.lo), min(a.hi, b.hi))

    def max(self, other: Index | int) -> Index:
        a, b = self, index(other)
        if a.lo >= b.hi or b.lo >= a.hi:
            return a if a.lo >= b.hi else b
        return Index("max", (a, b), max(a.lo, b.lo), max(a.hi, b.hi))

    def factor(self) -> int:
        """A number that its form shows it to be a multiple of."""
        match self.op:
            case "const":
                return self.args[0]
            case "+" | "-" | "min" | "max":
                return math.gcd(*(arg.factor() for arg in self.args))
            case "*":
                return math.prod(arg.factor() for arg in self.args)
            case "%":
                return math.gcd(self.args[0].factor(), self.args[1].lo)
        return 1

    def is_const(self, value: int) -> bool:
        return self.lo == self.hi == value

    def parts(self) -> list[Index]:
        """This index and all indices that it is computed from."""
        if self.op in ("const", "var"):
            return [self]
        return [self, *[part for arg in self.args for part in arg.parts()]]

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """The names of the variables that it is computed from."""
        return frozenset([v.args[0] for v in self.variables])

    @functools.cached_property
    def variables(self) -> list[Index]:
        """The variables that it is computed from, each with the range that it has here."""
        return [part for part in self.parts() if part.op == "var"]

    def with_variables(self, change: Callable[[Index], Index]) -> Index:
        """The index with change(v) instead of each variable v; simplified again, by the new ranges."""
        if self.op == "const":
            return self
        if self.op == "var":
            return change(self)
        first, second = self.args
        a, b = first.with_variables(change), second.with_variables(change)
        return self if a is first and b is second else OPERATIONS[self.op](a, b)

    def stride(self, variable: str, chunk: int = 1) -> int | None:
        """How much it grows as the named variable grows by one; None if that varies. With `chunk`, the
        variable stays between a multiple of `chunk` and the next one."""
        total = 0
        for part, factor in linear(self).items():
            if part is None or variable not in part.names:
                continue
            if part.op == "var":
                total += factor
            elif any([arg.stride(variable, chunk) != 0 for arg in part.args]):
                is_split = part.op in ("/", "%") and part.args[0].op == "var" and chunk > 1
                if not is_split or part.args[1].lo % chunk:
                    return None
                total += factor if part.op == "%" else 0
        return total

    def __str__(self) -> str:
        if self.op in ("const", "var"):
            return str(self.args[0])
        if self.op == "long":
            return f"(long)({self.args[0]})"
        if self.op in ("min", "max"):
            return f"{self.op}({self.args[0]}, {self.args[1]})"
        left, right = (_parenthesised(arg, self.op, i) for i, arg in enumerate(self.args))
        return f"{left} {self.op} {right}"


def _parenthesised(arg: Index, parent: str, position: int) -> str:
    """C's precedence, with more parentheses than it needs where / and % meet."""
    if arg.op in ("+", "-"):
        needed = parent in "*/%" or (parent == "-" and position == 1)
    else:
        needed = arg.op in ("*", "/", "%") and parent in "*/%" and arg.op + parent != "**"
    return f"({arg})" if needed else str(arg)


def _fold(expression: Index) -> Index:
    """A constant if the range has one value."""
    return index(expression.lo) if expression.lo == expression.hi else expression


def index(value: Index | int) -> Index:
    """A constant index (or the index itself)."""
    if isinstance(value, Index):
        return value
    number = int(value)  # jnp.split gives NumPy's integers
    return Index("const", (number,), number, number)


def index_var(name: str, lo: int, hi: int) -> Index:
    """A loop variable (or any named integer) that takes the values lo .. hi."""
    return Index("var", (name,), lo, hi)


# ---- sums ----

Linear = dict[Index | None, int]  # index -> its factor; None -> the constant term


def linear(at: Index) -> Linear:
    """The index as a sum: each variable and each non-linear part, with its factor."""
    if at.op == "const":
        return {None: at.args[0]}
    if at.op in ("+", "-"):
        total, sign = dict(linear(at.args[0])), 1 if at.op == "+" else -1
        for part, factor in linear(at.args[1]).items():
            total[part] = total.get(part, 0) + sign * factor
        return {part: factor for part, factor in total.items() if factor}
    if at.op == "*" and at.args[1].op == "const":
        return {part: factor * at.args[1].args[0] for part, factor in linear(at.args[0]).items()}
    return {at: 1}


def as_index(total: Linear, without: Linear) -> Index:
    """The sum as an index, less another."""
    result = index(total.get(None, 0) - without.get(None, 0))
    for part in {**total, **without}:
        factor = total.get(part, 0) - without.get(part, 0)
        if part is not None and factor:
            result = result + part * factor
    return result


# ---- values ----


def index_value(at: Index, scope: Mapping[str, Any]) -> int:
    """The integer that an index stands for."""
    if at.op == "const":
        return at.args[0]
    if at.op == "var":
        return int(scope[at.args[0]])
    a, b = at.args
    return ON_NUMBERS[at.op](index_value(a, scope), index_value(b, scope))


# Each operation on numbers, and on indices
ON_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv,
    "%": operator.mod, "min": min, "max": max,
}  # fmt: skip
OPERATIONS: dict[str, Callable[[Index, Index], Index]] = {
    **ON_NUMBERS, "/": lambda a, b: a // b.lo, "%": lambda a, b: a % b.lo,
    "min": Index.min, "max": Index.max,
}  # fmt: skip
