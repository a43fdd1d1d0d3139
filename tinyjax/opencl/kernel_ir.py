"""The kernel language: loops, loads, stores and one scalar operation a line.

After this file you can read a kernel as the compiler sees it, print it, and prove that it never
leaves its buffers. Every kernel runs `items` work-items side by side; each sees its own number as
the index `item`. Nothing here knows OpenCL: codegen.py writes a kernel as C, interpret.py runs it
in Python. Builds on dtypes alone.

    kernel k0_mul_add(a_in: f32[1000], b_in: f32[1000], d_out: f32[1000]), work-items: 1
      for i1 in 0 .. 1000:
        b:f32 = b_in[i1]
        a:f32 = a_in[i1]
        c:f32 = mul a b
        d:f32 = add c b
        d_out[i1] = d
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinyjax.dtypes import short_name

# ---- indices: integer expressions that know their range ----


@dataclass(frozen=True)
class Index:
    """A position in a buffer or a loop: a constant, a loop variable, or `op` of two indices.

    `lo` and `hi` bound its value (both inclusive). They make the arithmetic below simplify itself,
    and they let `check_kernel` prove that no load or store leaves its buffer."""

    op: str  # 'const', 'var', or one of + - * / % min max
    args: tuple[Any, ...]
    lo: int
    hi: int

    def __add__(self, other: Index | int) -> Index:
        a, b = self, index(other)
        if a.is_const(0) or b.is_const(0):
            return b if a.is_const(0) else a
        return _fold(Index("+", (a, b), a.lo + b.lo, a.hi + b.hi))

    def __sub__(self, other: Index | int) -> Index:
        a, b = self, index(other)
        if b.is_const(0):
            return a
        return _fold(Index("-", (a, b), a.lo - b.hi, a.hi - b.lo))

    def __mul__(self, other: Index | int) -> Index:
        a, b = self, index(other)
        if b.is_const(1):
            return a
        if a.is_const(0) or b.is_const(0):
            return index(0)
        corners = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
        return _fold(Index("*", (a, b), min(corners), max(corners)))

    def __floordiv__(self, divisor: int) -> Index:
        """Only of indices that are never negative: C rounds towards zero, Python down."""
        if divisor == 1 or self.hi < divisor:
            return self if divisor == 1 else index(0)
        return _fold(Index("/", (self, index(divisor)), self.lo // divisor, self.hi // divisor))

    def __mod__(self, divisor: int) -> Index:
        """Only of indices that are never negative."""
        if self.hi < divisor:
            return self
        return _fold(Index("%", (self, index(divisor)), 0, divisor - 1))

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

    def is_const(self, value: int) -> bool:
        return self.lo == self.hi == value

    def parts(self) -> Iterator[Index]:
        """This index and all that it is computed from."""
        yield self
        if self.op not in ("const", "var"):
            for arg in self.args:
                yield from arg.parts()

    def __str__(self) -> str:
        if self.op in ("const", "var"):
            return str(self.args[0])
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
    """A constant where the range leaves one value."""
    return index(expression.lo) if expression.lo == expression.hi else expression


def index(value: Index | int) -> Index:
    """A constant index (or the index itself)."""
    return value if isinstance(value, Index) else Index("const", (value,), value, value)


def index_var(name: str, lo: int, hi: int) -> Index:
    """A loop variable (or any named integer) that takes the values lo .. hi."""
    return Index("var", (name,), lo, hi)


# ---- scalars ----


@dataclass(frozen=True)
class Value:
    """A named scalar, assigned once."""

    name: str
    dtype: np.dtype

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Const:
    """A number written into the kernel."""

    value: Any
    dtype: np.dtype

    def __str__(self) -> str:
        return str(self.value)


Scalar = Value | Const
Atom = Value | Const | Index  # what an operation can take

# ---- statements ----


@dataclass(frozen=True)
class Buffer:
    """Memory of `size` elements that the kernel is given; role is 'in', 'out' or 'scratch'."""

    name: str
    dtype: np.dtype
    size: int
    role: str

    def __str__(self) -> str:
        return f"{self.name}: {short_name(self.dtype)}[{self.size}]"


@dataclass(frozen=True)
class Lanes:
    """A small array that belongs to one work-item: accumulators that advance side by side."""

    name: str
    dtype: np.dtype
    size: int


@dataclass(frozen=True)
class Let:
    """target = op(args): one operation of scalar_ops."""

    target: Value
    op: str
    args: tuple[Atom, ...]


@dataclass(frozen=True)
class Load:
    target: Value
    source: Buffer | Lanes
    index: Index


@dataclass(frozen=True)
class Store:
    destination: Buffer | Lanes
    index: Index
    value: Scalar


@dataclass(frozen=True)
class MakeLanes:
    """Makes `lanes`, each set to `initial`."""

    lanes: Lanes
    initial: Const


@dataclass(frozen=True)
class Combine:
    """lanes[index] = op(lanes[index], value)"""

    lanes: Lanes
    index: Index
    op: str
    value: Scalar


@dataclass(frozen=True)
class For:
    """Runs `body` with `variable` = start, start + 1, ..., stop - 1."""

    variable: Index
    start: Index
    stop: Index
    body: list[Any]


@dataclass(frozen=True)
class IfLast:
    """The work-item that arrives last runs `body`, and sees what all others stored before.

    `ticket` is an int32 buffer of one element that holds 0 before the kernel, and after it."""

    ticket: Buffer
    body: list[Any]


Statement = Let | Load | Store | MakeLanes | Combine | For | IfLast


@dataclass(frozen=True)
class Kernel:
    """`items` work-items run `body`, in any order or at once; `name` is unique in its program."""

    name: str
    buffers: list[Buffer]
    items: int
    body: list[Statement] = field(default_factory=list)

    def __str__(self) -> str:
        parameters = ", ".join(map(str, self.buffers))
        head = f"kernel {self.name}({parameters}), work-items: {self.items}"
        return "\n".join([head, *_lines(self.body, "  ")])


def item_index(items: int) -> Index:
    """The number of the work-item."""
    return index_var("item", 0, items - 1) if items > 1 else index(0)


# ---- printing ----


def _lines(body: Sequence[Statement], indent: str) -> Iterator[str]:
    for statement in body:
        yield from (indent + line for line in _statement_lines(statement))


def _statement_lines(statement: Statement) -> Iterator[str]:
    match statement:
        case Let(target, op, args):
            yield f"{target}:{short_name(target.dtype)} = {op} {' '.join(map(_argument, args))}"
        case Load(target, source, at):
            yield f"{target}:{short_name(target.dtype)} = {source.name}[{at}]"
        case Store(destination, at, value):
            yield f"{destination.name}[{at}] = {value}"
        case MakeLanes(lanes, initial):
            yield f"{lanes.name} = {lanes.size} lanes of {initial}:{short_name(lanes.dtype)}"
        case Combine(lanes, at, op, value):
            yield f"{lanes.name}[{at}] = {op} {lanes.name}[{at}] {value}"
        case For(variable, start, stop, body):
            yield f"for {variable} in {start} .. {stop}:"
            yield from _lines(body, "  ")
        case IfLast(ticket, body):
            yield f"the last work-item to take a {ticket.name}:"
            yield from _lines(body, "  ")


def _argument(arg: Atom) -> str:
    return f"({arg})" if isinstance(arg, Index) and arg.op not in ("const", "var") else str(arg)


# ---- checking ----


class KernelError(AssertionError):
    """A kernel breaks a rule of the kernel language: a fault of the compiler, not of the user."""


def check_kernel(kernel: Kernel) -> None:
    """Checks that names are defined once and before use, and that no index can leave its buffer.

    Raises KernelError that names the statement."""
    scope: dict[str, Any] = {buffer.name: buffer for buffer in kernel.buffers}
    if len(scope) != len(kernel.buffers):
        raise KernelError(f"kernel {kernel.name}: two buffers have the same name")
    scope["item"] = item_index(kernel.items)
    _check_body(kernel.body, scope)


def _check_body(body: Sequence[Statement], outer: dict[str, Any]) -> None:
    scope = dict(outer)
    for statement in body:
        try:
            _check_statement(statement, scope)
        except KernelError as error:
            if "\n" in str(error):
                raise
            raise KernelError(f"{error}, in:\n{'; '.join(_statement_lines(statement))}") from None


def _check_statement(statement: Statement, scope: dict[str, Any]) -> None:
    match statement:
        case Let(target, _, args):
            for arg in args:
                _check_atom(arg, scope)
            _define(scope, target.name, target)
        case Load(target, source, at):
            _check_access(source, at, scope)
            _require(target.dtype == source.dtype, f"{target} has not {source.name}'s dtype")
            _define(scope, target.name, target)
        case Store(destination, at, value):
            _check_access(destination, at, scope)
            _check_atom(value, scope)
            _require(
                value.dtype == destination.dtype, f"{value} has not {destination.name}'s dtype"
            )
            role = getattr(destination, "role", "out")
            _require(role != "in", f"{destination.name} is an input and cannot be stored to")
        case MakeLanes(lanes, _):
            _define(scope, lanes.name, lanes)
        case Combine(lanes, at, _, value):
            _check_access(lanes, at, scope)
            _check_atom(value, scope)
            _require(value.dtype == lanes.dtype, f"{value} has not {lanes.name}'s dtype")
        case For(variable, start, stop, body):
            _check_atom(start, scope)
            _check_atom(stop, scope)
            within = variable.lo <= start.lo and stop.hi - 1 <= variable.hi
            _require(within, f"loop variable {variable} can leave {variable.lo} .. {variable.hi}")
            inner = dict(scope)
            _define(inner, variable.args[0], variable)
            _check_body(body, inner)
        case IfLast(ticket, body):
            _require(scope.get(ticket.name) == ticket, f"{ticket.name} is no parameter")
            _check_body(body, scope)


def _check_access(memory: Buffer | Lanes, at: Index, scope: dict[str, Any]) -> None:
    _require(scope.get(memory.name) == memory, f"{memory.name} is not defined")
    _check_atom(at, scope)
    inside = 0 <= at.lo and at.hi < memory.size
    spans = f"index {at} spans {at.lo} .. {at.hi}"
    _require(inside, f"{spans}, {memory.name} has {memory.size} elements")


def _check_atom(atom: Atom, scope: dict[str, Any]) -> None:
    if isinstance(atom, Value):
        _require(scope.get(atom.name) == atom, f"{atom.name} is not defined")
    elif isinstance(atom, Index):
        for part in atom.parts():
            if part.op == "var":
                _require(part.args[0] in scope, f"index {part} is not defined")


def _define(scope: dict[str, Any], name: str, thing: Any) -> None:
    _require(name not in scope, f"{name} is defined twice")
    scope[name] = thing


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise KernelError(message)
