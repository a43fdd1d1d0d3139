"""Complex numbers in kernels: a pair of floats each, beside each other in memory.

A rule sees a pair as one scalar, and writes operations on it as on any other. The kernel has only floats: z *
w is four products, a difference and a sum, and a buffer of n complex numbers has 2 n floats.

Source: for the division, R. Smith, "Algorithm 116: Complex division", 1962, as in NumPy
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tinyjax.compile.kernel.functions.notation import (
    maximum,
    minimum,
    op,
    select,
    sqrt,
)
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Buffer, Const
from tinyjax.compile.kernel.writer import BOOL, Number, Writer

PART_DTYPES: dict[np.dtype, np.dtype] = {
    np.dtype("complex64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("float64"),
}


@dataclass(frozen=True)
class Pair:
    """A complex number of the kernel: its real and its imaginary part, scalars or Numbers."""

    real: Any
    imag: Any
    width = 1

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(self.real.dtype, np.complex64)


def of_parts(buffer: Buffer) -> Buffer:
    """The buffer with complex numbers as pairs of floats."""
    if buffer.dtype not in PART_DTYPES:
        return buffer
    return replace(buffer, dtype=PART_DTYPES[buffer.dtype], size=2 * buffer.size)


def constant_pair(value: Any, dtype: np.dtype) -> Pair:
    part, value = PART_DTYPES[dtype], dtype.type(value)
    return Pair(Const(value.real, part), Const(value.imag, part))


def pair_operation(writer: Writer, name: str, args: Sequence[Any], dtype: np.dtype) -> Any:
    """The result of an operation on pairs: a pair, or a float or a bool."""

    def with_operators(arg: Any) -> Any:
        if isinstance(arg, Pair):
            return Pair(with_operators(arg.real), with_operators(arg.imag))
        if isinstance(arg, Index):
            return writer.op("convert", arg, dtype=PART_DTYPES[dtype])
        return Number(writer, arg)

    operands = [with_operators(arg) for arg in args]
    found = _converted(operands[0], dtype) if name == "convert" else OPERATIONS[name](*operands)
    return Pair(found.real.value, found.imag.value) if isinstance(found, Pair) else found.value


def _converted(x: Any, dtype: np.dtype) -> Any:
    if dtype == BOOL:
        return (x.real != 0.0) | (x.imag != 0.0)
    part = PART_DTYPES.get(dtype, dtype)
    if dtype not in PART_DTYPES:
        return x.real.astype(part)
    if isinstance(x, Pair):
        return Pair(x.real.astype(part), x.imag.astype(part))
    return Pair(x.astype(part), x.writer.constant(0, part))


def _product(z: Any, w: Any) -> Pair:
    return Pair(z.real * w.real - z.imag * w.imag, z.real * w.imag + z.imag * w.real)


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
    """exp(x) (cos y + i sin y); real for real numbers. If x is infinite and y is not finite, the result is
    still infinite or 0."""
    x, y, size = z.real, z.imag, op("exp", z.real)
    real, imag = size * op("cos", y), size * op("sin", y)
    imag = select(y == 0.0, y, imag)
    is_angle = abs(y) < np.inf
    has_real = is_angle | (abs(x) < np.inf)
    has_imag = is_angle | (x != -np.inf)
    return Pair(select(has_real, real, size), select(has_imag, imag, size))


def _each_part(op: Callable[..., Number]) -> Callable[..., Pair]:
    return lambda *pairs: Pair(op(*(z.real for z in pairs)), op(*(z.imag for z in pairs)))


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": _each_part(operator.add), "sub": _each_part(operator.sub),
    "neg": _each_part(operator.neg), "copy": _each_part(functools.partial(op, "copy")),
    "select": lambda which, z, w: _each_part(functools.partial(select, which))(z, w),
    "mul": _product, "div": _quotient, "abs": _size, "exp": _exponential,
    "conj": lambda z: Pair(z.real, -z.imag),
    "complex": Pair, "real": lambda z: z.real, "imag": lambda z: z.imag,
    "eq": lambda z, w: (z.real == w.real) & (z.imag == w.imag),
    "ne": lambda z, w: (z.real != w.real) | (z.imag != w.imag),
}  # fmt: skip
