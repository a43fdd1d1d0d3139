"""A notation for functions of kernels: Python's operators, on numbers that are not known yet.

A definition is traced once, as a jaxpr is: it is called with a `Number` for each parameter, and each operator
adds a statement. What a Python variable holds has its name in the kernel too.

    @definition                                  function square_plus_1(x: f32):
    def square_plus_1(x):                          z:f32 = mul x x
        z = x * x                                  result:f32 = add z 1.0
        return z + 1.0                             return result

`a * b + c` is rounded twice, as NumPy does it; `mul_add(a, b, c)` once, where the processor has an
instruction for it, which takes half the time. No function has a branch on one of its numbers: what is
chosen by `select` is computed for all, so that the same statements do for vectors.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.functions.kernel_function import KernelFunction, changed
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.writer import Number, Operand, Writer

T = TypeVar("T")

# ---- writing statements ----


class StatementWriter(Writer):
    """Writes statements into `body`."""

    fresh: Callable[[str], str]  # a new name that begins with this one

    def __init__(self) -> None:
        self.body: ir.Body = []

    def new_value(self, name: str, dtype: np.dtype) -> ir.Value:
        """A value that the next statement makes."""
        return ir.Value(self.fresh(name), dtype)

    @contextmanager
    def block(self) -> Iterator[ir.Body]:
        """Statements within the block go to a separate body."""
        outer, self.body = self.body, []
        try:
            yield self.body
        finally:
            self.body = outer

    @contextmanager
    def when(self, condition: Number) -> Iterator[None]:
        """The statements within the block run if the condition holds."""
        with self.block() as body:
            yield
        self.body.append(ir.If(condition.value, body))

    def array(self, name: str, dtype: np.dtype, size: int = 1, initial: Any = 0) -> Array:
        """A private array, all of whose elements are `initial` if given; of one element, a variable."""
        memory = ir.PrivateArray(self.fresh(name), dtype, size)
        first = None if initial is None else ir.Const(dtype.type(initial), dtype)
        self.body.append(ir.Allocate(memory, first))
        return Array(self, memory)

    def variable(self, name: str, first: Number) -> Array:
        """A variable that can be assigned again, and holds that number first."""
        made = self.array(name, first.dtype, initial=None)
        made.now = first
        return made


class Array:
    """A private array of Numbers: a[i] loads one, a[i] = x stores one. A variable has just a.now."""

    def __init__(self, writer: StatementWriter, memory: ir.PrivateArray):
        self.writer, self.memory = writer, memory

    def __getitem__(self, at: Index) -> Number:
        target = self.writer.new_value("t", self.memory.dtype)
        self.writer.body.append(ir.Load(target, self.memory, at))
        return Number(self.writer, target)

    def __setitem__(self, at: Index, x: Number) -> None:
        self.writer.body.append(ir.Store(self.memory, at, x.value))

    @property
    def now(self) -> Number:
        return self[index(0)]

    @now.setter
    def now(self, x: Number) -> None:
        self[index(0)] = x

    def combine(self, op: str, x: Number) -> None:
        """now = op(now, x), in the dtype of the array"""
        value = x.astype(self.memory.dtype).value
        self.writer.body.append(ir.Combine(self.memory, index(0), op, value))


class _Trace(StatementWriter):
    """The statements of a definition so far; `names` has those of its values that a variable held."""

    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, str] = {}
        self.taken: Counter[str] = Counter()

    def fresh(self, name: str) -> str:
        self.taken[name] += 1
        return f"{name}_{self.taken[name]}"

    def let(self, op: str, args: Sequence[ir.Argument], dtype: np.dtype) -> ir.Scalar:
        self.read_names()
        result = self.new_value("t", dtype)
        self.body.append(ir.Let(result, op, tuple(args)))
        return result

    def read_names(self) -> None:
        """Values get the names of the variables that hold them in the definition, before the next statement
        is made: a variable may be assigned again."""
        frame = sys._getframe(1)
        while frame.f_globals["__name__"] in (__name__, Writer.__module__) and frame.f_back:
            frame = frame.f_back
        for name, held in frame.f_locals.items():
            if isinstance(held, Number) and held.writer is self and not held.is_known:
                self.names.setdefault(held.value.name, name)


def op(name: str, *args: Operand, dtype: np.dtype | None = None) -> Number:
    """Writes an operation of the kernel language: see Writer.op."""
    writer = next(arg.writer for arg in args if isinstance(arg, Number))
    return writer.op(name, *args, dtype=dtype)


# ---- operations without an operator ----


def mul_add(x: Operand, y: Operand, z: Operand) -> Number:
    """x * y + z, rounded once or twice."""
    return op("mul_add", x, y, z)


def polynomial(x: Number, *coefficients: Operand) -> Number:
    """The last coefficient is that of 1, the one before that of x, and so on: Horner's scheme."""
    first, *others = coefficients
    y = first
    for coefficient in others:
        y = mul_add(y, x, coefficient)
    assert isinstance(y, Number)
    return y


def select(condition: Number, yes: Operand, no: Operand) -> Number:
    """C's `condition ? yes : no`."""
    return op("select", condition, yes, no)


def clamp(x: Number, low: float, high: float) -> Number:
    """The nearest number to x from `low` to `high`; NaN stays NaN."""
    above = select(x < low, low, x)
    return select(above > high, high, above)


def minimum(x: Operand, y: Operand) -> Number:
    return op("min", x, y)


def maximum(x: Operand, y: Operand) -> Number:
    return op("max", x, y)


def sqrt(x: Number) -> Number:
    return op("sqrt", x)


def as_int(x: Number) -> Number:
    """The bits of a float as an integer."""
    return op("bitcast", x, dtype=np.dtype(f"int{8 * x.dtype.itemsize}"))


def as_float(bits: Number) -> Number:
    """The float that has these bits."""
    return op("bitcast", bits, dtype=np.dtype(f"float{8 * bits.dtype.itemsize}"))


def with_sign_of(y: Number, x: Number) -> Number:
    """y, which is not negative, with the sign of x; that of 0 and NaN too."""
    sign_bit = -(2 ** (8 * x.dtype.itemsize - 1))
    return as_float(as_int(y) | (as_int(x) & sign_bit))


def truncate(x: Number, dtype: str) -> Number:
    """A float without its fraction, as an integer of a dtype that has it."""
    return op("truncate", x, dtype=np.dtype(dtype))


def where_any(
    condition: Number, rare: Callable[[], Sequence[Number]], usual: Sequence[Number]
) -> list[Number]:
    """`rare()` where the condition is true, and `usual` elsewhere; nothing of it is computed where the
    condition is false for all elements of a vector."""
    trace = condition.writer
    chosen = [trace.variable("chosen", x) for x in usual]
    with trace.when(op("any", condition)):
        for variable, x, y in zip(chosen, rare(), usual):
            variable.now = select(condition, x, y)
    return [variable.now for variable in chosen]


def repeat(
    name: str, holds: Callable[..., Number], step: Callable[..., Sequence[Number]], *first: Number
) -> list[Number]:
    """Applies `step` to numbers for which `holds`, until there are none. Variables of this name have them."""
    trace = first[0].writer
    variables = [trace.variable(name, x) for x in first]
    with trace.block() as head:
        now = [variable.now for variable in variables]
        goes_on = holds(*now)
        is_any = op("any", goes_on)
    with trace.block() as body:
        for variable, x, y in zip(variables, step(*now), now):
            variable.now = select(goes_on, x, y)
    trace.body.append(ir.While(head, is_any.value, body))
    return [variable.now for variable in variables]


def of_precision(x: Number, single: T, double: T) -> T:
    """What a formula has for the dtype of x, float32 or float64."""
    return double if x.dtype == np.float64 else single


# ---- definitions ----

definitions: dict[str, Definition] = {}


class Definition:
    """A function of parameters of a dtype. Called from another definition, it is one operation there."""

    def __init__(
        self, function: Callable[..., Number], dtype: np.typing.DTypeLike, name: str = "",
        is_rare: bool = False,
    ):  # fmt: skip
        self.function, self.dtype, self.is_rare = function, np.dtype(dtype), is_rare
        self.name = name or function.__name__

    def __call__(self, *args: Number) -> Number:
        return op(self.name, *args, dtype=self.kernel_function.result.dtype)

    @functools.cached_property
    def kernel_function(self) -> KernelFunction:
        """The statements that the definition stands for."""
        trace = _Trace()
        code = self.function.__code__
        names = code.co_varnames[: code.co_argcount]
        parameters = [Number(trace, ir.Value(name, self.dtype)) for name in names]
        with ir.statements_of(None):
            result = self.function(*parameters).value
        values = tuple(parameter.value for parameter in parameters)
        function = KernelFunction(self.name, values, trace.body, result, self.is_rare)
        return _named(function, trace.names)


def definition_of(*dtypes: str, is_rare: bool = False) -> Callable[..., Callable[..., Number]]:
    """The definition of a function of parameters of a dtype, which may be one that is rarely called. Of
    several dtypes, there is one for each, whose name ends with the dtype unless that is float32: called from
    another definition, it is the one for its argument's dtype."""

    def add(function: Callable[..., Number]) -> Callable[..., Number]:
        made = {}
        for dtype in dtypes:
            is_plain = len(dtypes) == 1 or dtype == "float32"
            name = function.__name__ if is_plain else f"{function.__name__}_{dtype}"
            definitions[name] = made[np.dtype(dtype)] = Definition(function, dtype, name, is_rare)
        return lambda *args: made[args[0].dtype](*args)

    return add


definition = definition_of("float32")
float_definition = definition_of("float32", "float64")


def _named(function: KernelFunction, names: dict[str, str]) -> KernelFunction:
    """The function with the names of the variables that held its values, with a number if others have it."""
    new = {parameter.name: parameter.name for parameter in function.parameters}
    for value, name in {function.result.name: "result", **names}.items():
        is_free = name not in new.values()
        new.setdefault(value, name if is_free else name + value.removeprefix("t"))
    return changed(function, lambda value: replace(value, name=new.get(value.name, value.name)))
