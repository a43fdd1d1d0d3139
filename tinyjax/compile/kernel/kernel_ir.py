"""The kernel language: loops, loads, stores and one scalar operation a line.

Every kernel runs `items` work-items in parallel; each sees its own number as the index `item`. In groups that
share memory, it sees the group's number, `group_id`, and its own within the group, `local_id`. Nothing here
knows OpenCL: check_kernel.py proves that a kernel never leaves its buffers, codegen.py writes it as C,
interpret.py runs it in Python.

    kernel k0_mul_add(a_in: f32[1000], b_in: f32[1000], d_out: f32[1000]), work-items: 1
      for i1 in 0 .. 1000:
        b:f32 = b_in[i1]
        a:f32 = a_in[i1]
        c:f32 = mul a b
        d:f32 = add c b
        d_out[i1] = d
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from tinyjax.compile.kernel.indices import Index, index, index_var
from tinyjax.core.dtypes import short_name


class KernelError(AssertionError):
    """A kernel breaks a rule of the kernel language: an internal compiler error."""


# ---- scalars ----


@dataclass(frozen=True)
class Value:
    """A named scalar, assigned once; or a vector of `width` of them, for neighbouring elements."""

    name: str
    dtype: np.dtype
    width: int = 1

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Const:
    """A number written into the kernel."""

    value: Any
    dtype: np.dtype
    width: ClassVar[int] = 1

    def __str__(self) -> str:
        return str(self.value)


Scalar = Value | Const
Argument = Value | Const | Index  # an operand of an operation

# ---- where a statement comes from ----


class _Making(threading.local):
    origin: Any = None


_making = _Making()


def origin() -> Any:
    """The origin of statements that are made now."""
    return _making.origin


class statements_of:  # noqa: N801 (used as a statement is)
    """Statements that are made within the block have this origin: the equation that they compute."""

    def __init__(self, eqn: Any):
        self.eqn = eqn

    def __enter__(self) -> None:
        self.before, _making.origin = _making.origin, self.eqn

    def __exit__(self, *exception: object) -> None:
        _making.origin = self.before


@dataclass(frozen=True)
class HasOrigin:
    """A statement has its equation, a loop several as a tuple; statements that do the same are equal."""

    origin: Any = field(default_factory=origin, kw_only=True, compare=False, repr=False)


# ---- statements ----


@dataclass(frozen=True)
class Buffer:
    """Memory of `size` elements that is passed to the kernel. Its role is 'in'; 'out', which is stored
    completely; 'inout', which holds an input first; 'kept', which nothing reads; 'scratch', which is zero at
    first and persists between launches; or 'work', which is used only during a launch."""

    name: str
    dtype: np.dtype
    size: int
    role: str
    width: ClassVar[int] = 1

    def __str__(self) -> str:
        return f"{self.name}: {short_name(self.dtype)}[{self.size}]"


@dataclass(frozen=True)
class PrivateArray:
    """A small array that belongs to one work-item: accumulators, say, or the carry of a loop. With one
    element it is a variable that can be assigned again. One that `is_local` belongs to a work-group."""

    name: str
    dtype: np.dtype
    size: int
    width: int = 1  # of each element
    is_local: bool = False


@dataclass(frozen=True)
class Let(HasOrigin):
    """target = op(args): one operation of scalar_ops."""

    target: Value
    op: str
    args: tuple[Argument, ...]


@dataclass(frozen=True)
class Load(HasOrigin):
    """target = memory[index]; a vector takes the elements from there on, or every `stride`-th of them.

    With `end`, the memory has elements before `end` only: what lies beyond is a copy of the first."""

    target: Value
    memory: Buffer | PrivateArray
    index: Index
    end: Index | None = None
    stride: int = 1


@dataclass(frozen=True)
class Store(HasOrigin):
    """memory[index] = value; a vector goes to the elements from there on, and before `end`, or to every
    `stride`-th of them. Another iteration `repeats` it for some elements where chunks of a loop overlap."""

    memory: Buffer | PrivateArray
    index: Index
    value: Scalar
    end: Index | None = None
    stride: int = 1
    repeats: bool = False


@dataclass(frozen=True)
class Allocate(HasOrigin):
    """Allocates a private array. Without `initial`, its elements must be stored before they are loaded."""

    array: PrivateArray
    initial: Const | None


@dataclass(frozen=True)
class Combine(HasOrigin):
    """memory[index] = op(memory[index], value)"""

    memory: PrivateArray
    index: Index
    op: str
    value: Scalar


Access = Load | Store | Combine


def width_of(access: Access) -> int:
    """The elements of the vector that is loaded, stored or combined; one of a number."""
    return (access.target if isinstance(access, Load) else access.value).width


def reach(access: Load | Store) -> int:
    """The number of elements from the first to the last one that a strided access touches."""
    return (width_of(access) - 1) * access.stride + 1


@dataclass(frozen=True)
class For(HasOrigin):
    """Runs `body` with `variable` = start, start + step, ..., as long as that is less than stop."""

    variable: Index
    start: Index
    stop: Index
    body: list[Any]
    step: int = 1
    operations: int = 0  # of an iteration, if the loop can be stopped: see STOP


@dataclass(frozen=True)
class While(HasOrigin):
    """Runs `head`, which computes `holds`, and then `body`, as long as that is true."""

    head: list[Any]
    holds: Scalar
    body: list[Any]
    operations: int = 0  # as those of For


@dataclass(frozen=True)
class If(HasOrigin):
    """Runs `body` if `condition` is true, else `otherwise`."""

    condition: Scalar
    body: list[Any]
    otherwise: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Barrier(HasOrigin):
    """Each work-item waits for all others of its group, and then sees what they stored in local memory."""


@dataclass(frozen=True)
class IfLast(HasOrigin):
    """The work-item, or work-group, that arrives last runs `body`, and sees what all others stored before.

    `ticket` is an int32 buffer of one element that holds 0 before the kernel, and after it."""

    ticket: Buffer
    body: list[Any]


Statement = Let | Load | Store | Allocate | Combine | For | While | If | Barrier | IfLast
Body = list[Statement]  # in the order in which they run


# The fields that are lists of statements, in the order in which they run.
BODIES = {For: ("body",), While: ("head", "body"), If: ("body", "otherwise"), IfLast: ("body",)}


def inner_bodies(statement: Statement) -> list[Body]:
    """The bodies of statements that this statement has."""
    return [getattr(statement, name) for name in BODIES.get(type(statement), ())]


def every_statement(body: Sequence[Statement]) -> Body:
    """All statements; those inside of another come after it."""
    found = []
    for statement in body:
        found.append(statement)
        for name in BODIES.get(type(statement), ()):
            found += every_statement(getattr(statement, name))
    return found


# The scratch buffer of kernels that may run long: an int32 that is negative if their loops must end now.
# If it is positive, that many operations may run: each iteration takes off its own, and the last makes it
# negative. If it is 0, any number may.
STOP = "stop"


@dataclass(frozen=True)
class Kernel:
    """`items` work-items run `body`, in any order or at once; `name` is unique in its program. With a
    `local_size` each group has that many of them.

    `form` says how a loop became the kernel. A scheduled kernel keeps its directives, and the naive loop nest
    to which they were applied."""

    name: str
    buffers: list[Buffer]
    items: int
    body: Body = field(default_factory=list)
    form: str = ""
    local_size: int = 1
    naive: Kernel | None = field(default=None, compare=False, repr=False)
    schedule: tuple[Any, ...] = field(default=(), compare=False, repr=False)

    @cached_property
    def statements(self) -> Body:
        """All statements; those inside of another come after it."""
        return every_statement(self.body)

    def __str__(self) -> str:
        parameters = ", ".join(map(str, self.buffers))
        head = f"kernel {self.name}({parameters}), work-items: {self.items}"
        head += f" in groups of {self.local_size}" if self.local_size > 1 else ""
        return "\n".join([head, *_lines(self.body, "  ")])


def item_index(items: int) -> Index:
    """The number of the work-item."""
    return index_var("item", 0, items - 1) if items > 1 else index(0)


def group_indices(kernel: Kernel) -> tuple[Index, Index]:
    """The number of the work-group, and of the work-item in it."""
    groups = kernel.items // kernel.local_size
    group = index_var("group_id", 0, groups - 1) if groups > 1 else index(0)
    return group, index_var("local_id", 0, kernel.local_size - 1)


# ---- printing ----


def _unless_stopped(loop: For | While) -> str:
    return ", unless stopped" if loop.operations else ""


def _lines(body: Body, indent: str) -> Iterator[str]:
    for statement in body:
        yield from (indent + line for line in statement_lines(statement))


def statement_lines(statement: Statement) -> Iterator[str]:
    """The statement as text."""
    match statement:
        case Let(target, op, args):
            yield f"{_typed(target)} = {op} {' '.join(map(_argument, args))}"
        case Load(target, memory, at, end, stride):
            yield f"{_typed(target)} = {_element(memory, at, target, end, stride)}"
        case Store(memory, at, value, end, stride):
            yield f"{_element(memory, at, value, end, stride)} = {value}"
        case Allocate(array, initial):
            what = "variable" if array.size == 1 else f"{array.size} elements"
            what += "" if initial is None else f" of {initial}"
            what += ", one for the group" if array.is_local else ""
            yield f"{array.name}:{short_name(array.dtype)}{_width(array)} = {what}"
        case Combine(array, at, op, value):
            yield f"{array.name}[{at}] = {op} {array.name}[{at}] {value}"
        case For(variable, start, stop, body, step):
            by = f" by {step}" if step > 1 else ""
            yield f"for {variable} in {start} .. {stop}{by}{_unless_stopped(statement)}:"
            yield from _lines(body, "  ")
        case While(head, holds, body):
            yield f"while{_unless_stopped(statement)}:"
            yield from _lines(head, "  ")
            yield f"  stop unless {holds}"
            yield from _lines(body, "  ")
        case If(condition, body, otherwise):
            yield f"if {condition}:"
            yield from _lines(body, "  ")
            if otherwise:
                yield "else:"
                yield from _lines(otherwise, "  ")
        case Barrier():
            yield "barrier"
        case IfLast(ticket, body):
            yield f"the last to take a {ticket.name}:"
            yield from _lines(body, "  ")


def _typed(target: Value) -> str:
    return f"{target}:{short_name(target.dtype)}{_width(target)}"


def _width(value: Scalar | PrivateArray) -> str:
    """`x16` for a vector of sixteen elements."""
    return f" x{value.width}" if value.width > 1 else ""


def _element(
    memory: Buffer | PrivateArray, at: Index, value: Scalar, end: Index | None, stride: int
) -> str:
    if isinstance(memory, PrivateArray) and memory.size == 1:
        return memory.name
    by, before = "" if stride == 1 else f" by {stride}", "" if end is None else f" before {end}"
    return f"{memory.name}[{at}{_width(value)}{by}{before}]"


def _argument(arg: Argument) -> str:
    return f"({arg})" if isinstance(arg, Index) and arg.op not in ("const", "var") else str(arg)
