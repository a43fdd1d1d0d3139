"""Complex numbers in kernels: a pair of floats each, beside each other in memory.

A rule sees a pair as one scalar, and writes operations on it as on any other. The kernel has only floats: z *
w is four products, a difference and a sum, and a buffer of n complex numbers has 2 n floats.

Source: for the division, R. Smith, "Algorithm 116: Complex division", 1962, as in NumPy
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from tinyjax.compile.kernel.functions.notation import maximum, minimum, op, select, sqrt
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Buffer, Const, PrivateArray
from tinyjax.compile.kernel.scalar_ops import PART_DTYPES
from tinyjax.compile.kernel.writer import BOOL, Number, Writer

Memory = TypeVar("Memory", Buffer, PrivateArray)


@dataclass(frozen=True)
class Pair:
    """A complex number of the kernel: its real and its imaginary part, scalars or (for operators) Numbers."""

    real: Any
    imag: Any
    width = 1

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(self.real.dtype, np.complex64)

    @property
    def value(self) -> Pair:
        """The same pair as scalars instead of Numbers."""
        return Pair(self.real.value, self.imag.value)

    def __add__(self, w: Pair) -> Pair:
        return Pair(self.real + w.real, self.imag + w.imag)

    def __sub__(self, w: Pair) -> Pair:
        return Pair(self.real - w.real, self.imag - w.imag)

    def __neg__(self) -> Pair:
        return Pair(-self.real, -self.imag)

    def __mul__(self, w: Pair) -> Pair:
        real = self.real * w.real - self.imag * w.imag
        return Pair(real, self.real * w.imag + self.imag * w.real)


def as_numbers(writer: Writer, z: Any) -> Any:
    """A scalar or a pair of scalars as a Number or a pair of Numbers."""
    if isinstance(z, Pair):
        return Pair(Number(writer, z.real), Number(writer, z.imag))
    return Number(writer, z)


def of_parts(memory: Memory) -> Memory:
    """The memory with complex numbers as pairs of floats."""
    if memory.dtype not in PART_DTYPES:
        return memory
    return replace(memory, dtype=PART_DTYPES[memory.dtype], size=2 * memory.size)


def constant_pair(value: Any, dtype: np.dtype) -> Pair:
    part, value = PART_DTYPES[dtype], dtype.type(value)
    return Pair(Const(value.real, part), Const(value.imag, part))


def pair_operation(writer: Writer, name: str, args: Sequence[Any], dtype: np.dtype) -> Any:
    """The result of an operation on pairs: a pair, or a float or a bool."""
    if name == "convert" and isinstance(args[0], Index):
        args = [writer.op("convert", args[0], dtype=PART_DTYPES[dtype]).value]
    operands = [as_numbers(writer, arg) for arg in args]
    found = _converted(operands[0], dtype) if name == "convert" else OPERATIONS[name](*operands)
    return found.value


def _converted(x: Any, dtype: np.dtype) -> Any:
    if dtype == BOOL:
        return (x.real != 0.0) | (x.imag != 0.0)
    part = PART_DTYPES.get(dtype, dtype)
    if dtype not in PART_DTYPES:
        return x.real.astype(part)
    if isinstance(x, Pair):
        return Pair(x.real.astype(part), x.imag.astype(part))
    return Pair(x.astype(part), x.writer.constant(0, part))


def _quotient(z: Any, w: Any) -> Pair:
    """Both parts of w are divided by the larger one first, so that no square is too large."""
    x, y = abs(w.real), abs(w.imag)
    is_real = x >= y
    large, small = select(is_real, w.real, w.imag), select(is_real, w.imag, w.real)
    is_zero = x + y == 0.0
    ratio = select(is_zero, 0.0, small / large)
    divisor = select(is_zero, abs(large), large + small * ratio)
    scale = 1.0 / divisor
    a, b = select(is_real, z.real, z.imag), select(is_real, z.imag, z.real)
    real = select(is_zero, a, a + b * ratio)
    part = a * ratio
    imag = select(is_zero, b, select(is_real, b - part, part - b))
    return Pair(real * scale, imag * scale)


def _size(z: Any) -> Number:
    """The larger part, times sqrt(1 + ratio**2); infinite if one part is."""
    x, y = abs(z.real), abs(z.imag)
    large, small = maximum(x, y), minimum(x, y)
    ratio = select(large == 0.0, 0.0, small / large)
    size = large * sqrt(1.0 + ratio * ratio)
    return select((x == np.inf) | (y == np.inf), np.inf, size)


def _exponential(z: Any) -> Pair:
    """exp(x) (cos y + i sin y), real for real numbers. exp(inf) stays infinite, exp(-inf) 0, for any y."""
    x, y, size = z.real, z.imag, op("exp", z.real)
    real, imag = size * op("cos", y), size * op("sin", y)
    imag = select(y == 0.0, y, imag)
    is_angle = abs(y) < np.inf
    has_real = is_angle | (abs(x) < np.inf)
    has_imag = is_angle | (x != -np.inf)
    return Pair(select(has_real, real, size), select(has_imag, imag, size))


def _chosen(which: Number, z: Any, w: Any) -> Pair:
    return Pair(select(which, z.real, w.real), select(which, z.imag, w.imag))


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "neg": operator.neg, "mul": operator.mul,
    "copy": lambda z: Pair(op("copy", z.real), op("copy", z.imag)), "select": _chosen,
    "div": _quotient, "abs": _size, "exp": _exponential,
    "conj": lambda z: Pair(z.real, -z.imag),
    "complex": Pair, "real": lambda z: z.real, "imag": lambda z: z.imag,
    "eq": lambda z, w: (z.real == w.real) & (z.imag == w.imag),
    "ne": lambda z, w: (z.real != w.real) | (z.imag != w.imag),
}  # fmt: skip
