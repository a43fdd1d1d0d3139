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
import itertools
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.functions.kernel_function import KernelFunction, changed, made
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.writer import Number, Operand, Writer

# ---- the trace of a definition ----


class _Trace(Writer):
    """The statements of a definition so far; `names` has those of its values that a variable held."""

    def __init__(self) -> None:
        self.body: list[ir.Statement] = []
        self.names: dict[str, str] = {}
        self.count = 0

    def value(self, dtype: np.dtype) -> Number:
        self.count += 1
        return Number(self, ir.Value(f"?{self.count}", dtype))

    def let(self, op: str, args: Sequence[ir.Argument], dtype: np.dtype) -> ir.Scalar:
        self.read_names()
        result = self.value(dtype).value
        self.body.append(ir.Let(result, op, tuple(args)))
        return result

    def read_names(self) -> None:
        """Values get the names of the variables that hold them in the definition, before the next statement
        is made: a variable may be assigned again."""
        frame = sys._getframe(1)
        while frame.f_globals["__name__"] in (__name__, Writer.__module__) and frame.f_back:
            frame = frame.f_back
        for name, held in frame.f_locals.items():
            if isinstance(held, Number) and held.writer is self:
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


def absolute(x: Number) -> Number:
    """|x|, of NaN too."""
    return op("abs", x)


def nearest_integer(x: Number) -> Number:
    return op("round_to_even", x)


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


def convert(x: Number, dtype: str) -> Number:
    return op("convert", x, dtype=np.dtype(dtype))


def truncate(x: Number, dtype: str) -> Number:
    """A float without its fraction, as an integer of a dtype that has it."""
    return op("truncate", x, dtype=np.dtype(dtype))


def _variables(name: str, numbers: Sequence[Number]) -> list[ir.PrivateArray]:
    """Variables that can be assigned again, which hold the numbers first."""
    trace = numbers[0].writer
    arrays = [ir.PrivateArray(f"{name}_{n}", x.dtype, 1) for n, x in enumerate(numbers, 1)]
    trace.body += [ir.Allocate(array, None) for array in arrays]
    trace.body += [ir.Store(array, index(0), x.value) for array, x in zip(arrays, numbers)]
    return arrays


def _held(trace: _Trace, arrays: Sequence[ir.PrivateArray]) -> list[Number]:
    """What variables hold now."""
    held = [trace.value(array.dtype) for array in arrays]
    trace.body += [ir.Load(x.value, array, index(0)) for x, array in zip(held, arrays)]
    return held


def where_any(
    condition: Number, rare: Callable[[], Sequence[Number]], usual: Sequence[Number]
) -> list[Number]:
    """`rare()` where the condition is true, and `usual` elsewhere; nothing of it is computed where the
    condition is false for all elements of a vector."""
    trace = condition.writer
    arrays = _variables("chosen", usual)
    is_any = op("any", condition)
    outer, trace.body = trace.body, []
    for array, x, y in zip(arrays, rare(), usual):
        trace.body.append(ir.Store(array, index(0), select(condition, x, y).value))
    outer.append(ir.If(is_any.value, trace.body))
    trace.body = outer
    return _held(trace, arrays)


def repeat(
    name: str, holds: Callable[..., Number], step: Callable[..., Sequence[Number]], *first: Number
) -> list[Number]:
    """`step` of the numbers for which `holds`, in variables of a name, as long as that is so for any element
    of a vector."""
    trace, arrays = first[0].writer, _variables(name, first)
    outer, trace.body = trace.body, []
    now = _held(trace, arrays)
    goes_on = holds(*now)
    is_any = op("any", goes_on)
    head, trace.body = trace.body, []
    for array, x, y in zip(arrays, step(*now), now):
        trace.body.append(ir.Store(array, index(0), select(goes_on, x, y).value))
    outer.append(ir.While(head, is_any.value, trace.body))
    trace.body = outer
    return _held(trace, arrays)


# ---- definitions ----

definitions: dict[str, Definition] = {}


class Definition:
    """A function in this notation, with the dtype of its parameters. Called from another definition, it is
    one operation there."""

    def __init__(
        self, function: Callable[..., Number], dtype: np.typing.DTypeLike, is_rare: bool = False
    ):
        self.function, self.dtype, self.name = function, np.dtype(dtype), function.__name__
        self.is_rare = is_rare

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


def definition(function: Callable[..., Number]) -> Definition:
    """The definition of a function of float32."""
    return definition_of("float32")(function)


def definition_of(
    dtype: str, is_rare: bool = False
) -> Callable[[Callable[..., Number]], Definition]:
    """The definition of a function of parameters of `dtype`, which may be one that is rarely called."""

    def add(function: Callable[..., Number]) -> Definition:
        definitions[function.__name__] = made = Definition(function, dtype, is_rare)
        return made

    return add


def _named(function: KernelFunction, names: dict[str, str]) -> KernelFunction:
    """The function with names for its values: those of the variables that held them. What no variable held
    has a number, and the name of the next value that one did."""
    base, bases = "result", {}
    for value in reversed(made(function.body)):
        base = bases[value] = names.get(value, base)
    bases[function.result.name] = names.get(function.result.name, "result")
    arrays = [s.array for s in function.body if isinstance(s, ir.Allocate)]
    new = {
        name: name for name in [*(p.name for p in function.parameters), *(a.name for a in arrays)]
    }
    taken = set(new)
    for value, base in reversed(bases.items()):
        is_held = value in names or value == function.result.name
        numbered = (f"{base}_{number}" for number in itertools.count(1))
        options = itertools.chain([base] if is_held else [], numbered)
        new[value] = next(name for name in options if name not in taken)
        taken.add(new[value])
    return changed(function, lambda value: replace(value, name=new.get(value.name, value.name)))
