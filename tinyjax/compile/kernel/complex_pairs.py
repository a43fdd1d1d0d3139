"""Complex numbers in kernels: a pair of floats each, beside each other in memory.

A rule sees a pair as one scalar, and writes operations on it as on any other. The kernel has only floats: z *
w is four products, a difference and a sum, and a buffer of n complex numbers has 2 n floats.

Source: for the division, R. Smith, "Algorithm 116: Complex division", 1962, as in NumPy
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Argument, Buffer, Const, Scalar

Write = Callable[..., Scalar]  # write(op, *args): an operation on floats
BOOL = np.dtype(bool)
PART_DTYPES: dict[np.dtype, np.dtype] = {
    np.dtype("complex64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("float64"),
}


@dataclass(frozen=True)
class Pair:
    """A complex number of the kernel, as its real and its imaginary part."""

    real: Scalar
    imag: Scalar
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


def pair_operation(write: Write, op: str, args: Sequence[Argument | Pair], dtype: np.dtype) -> Any:
    """The result of an operation on pairs: a pair, or a float or a bool."""
    if op == "select":
        condition, z, w = args
        pairs: Any = (z.real, w.real), (z.imag, w.imag)  # type: ignore[union-attr]
        return Pair(*(write("select", condition, *pair, dtype=pair[0].dtype) for pair in pairs))
    if op == "convert":
        return _converted(write, args[0], dtype)
    return OPERATIONS[op](write, *args)


def _converted(write: Write, x: Argument | Pair, dtype: np.dtype) -> Any:
    part = PART_DTYPES.get(dtype)
    if not isinstance(x, Pair):
        assert part is not None
        real = (
            x if not isinstance(x, Index) and x.dtype == part else write("convert", x, dtype=part)
        )
        return Pair(real, Const(part.type(0), part))
    if part is None:
        zero = Const(x.real.dtype.type(0), x.real.dtype)
        if dtype == BOOL:
            parts = (write("ne", part, zero, dtype=BOOL) for part in (x.real, x.imag))
            return write("or", *parts, dtype=BOOL)
        return x.real if x.real.dtype == dtype else write("convert", x.real, dtype=dtype)
    return Pair(
        *(p if p.dtype == part else write("convert", p, dtype=part) for p in (x.real, x.imag))
    )


def _product(write: Write, z: Pair, w: Pair) -> Pair:
    real = write("sub", write("mul", z.real, w.real), write("mul", z.imag, w.imag))
    imag = write("add", write("mul", z.real, w.imag), write("mul", z.imag, w.real))
    return Pair(real, imag)


def _quotient(write: Write, z: Pair, w: Pair) -> Pair:
    """Both parts of w are divided by the larger one first, so that no square is too large."""
    sizes = write("abs", w.real), write("abs", w.imag)
    is_real = write("ge", *sizes, dtype=BOOL)
    one, zero = (Const(w.real.dtype.type(n), w.real.dtype) for n in (1, 0))

    def either(a: Scalar, b: Scalar) -> Scalar:
        return write("select", is_real, a, b, dtype=w.real.dtype)

    def unless_zero(zero: Scalar, other: Scalar) -> Scalar:
        return write("select", is_zero, zero, other, dtype=w.real.dtype)

    large, small = either(w.real, w.imag), either(w.imag, w.real)
    is_zero = write("eq", write("add", *sizes), zero, dtype=BOOL)
    ratio = unless_zero(zero, write("div", small, large))
    divisor = unless_zero(write("abs", large), write("add", large, write("mul", small, ratio)))
    scale = write("div", one, divisor)
    a, b = either(z.real, z.imag), either(z.imag, z.real)
    real = unless_zero(a, write("add", a, write("mul", b, ratio)))
    part = write("mul", a, ratio)
    imag = unless_zero(b, either(write("sub", b, part), write("sub", part, b)))
    return Pair(write("mul", real, scale), write("mul", imag, scale))


def _size(write: Write, z: Pair) -> Scalar:
    """The larger part, times sqrt(1 + ratio**2); infinite if one part is."""
    x, y = write("abs", z.real), write("abs", z.imag)
    zero, one, infinity = (Const(x.dtype.type(n), x.dtype) for n in (0, 1, np.inf))
    large, small = write("max", x, y), write("min", x, y)
    is_zero = write("eq", large, zero, dtype=BOOL)
    ratio = write("select", is_zero, zero, write("div", small, large), dtype=x.dtype)
    size = write("mul", large, write("sqrt", write("add", one, write("mul", ratio, ratio))))
    infinite = (write("eq", part, infinity, dtype=BOOL) for part in (x, y))
    return write("select", write("or", *infinite, dtype=BOOL), infinity, size, dtype=x.dtype)


def _exponential(write: Write, z: Pair) -> Pair:
    """exp(x) (cos y + i sin y); real for real numbers. If x is infinite and y is not finite, the result is
    still infinite or 0."""
    x, y, size = z.real, z.imag, write("exp", z.real)
    zero, infinity, least = (Const(x.dtype.type(n), x.dtype) for n in (0, np.inf, -np.inf))
    real, imag = write("mul", size, write("cos", y)), write("mul", size, write("sin", y))
    imag = write("select", write("eq", y, zero, dtype=BOOL), y, imag, dtype=x.dtype)
    is_angle = write("lt", write("abs", y), infinity, dtype=BOOL)
    is_finite = write("lt", write("abs", x), infinity, dtype=BOOL)
    has_real = write("or", is_angle, is_finite, dtype=BOOL)
    has_imag = write("or", is_angle, write("ne", x, least, dtype=BOOL), dtype=BOOL)
    real = write("select", has_real, real, size, dtype=x.dtype)
    return Pair(real, write("select", has_imag, imag, size, dtype=x.dtype))


def _conjugate(write: Write, z: Any) -> Pair:
    return Pair(z.real, write("neg", z.imag))


def _each_part(op: str) -> Callable[..., Pair]:
    def rule(write: Write, *pairs: Pair) -> Pair:
        return Pair(write(op, *(z.real for z in pairs)), write(op, *(z.imag for z in pairs)))

    return rule


def _both(op: str, of_parts: str) -> Callable[..., Scalar]:
    """The bool from comparing both parts."""

    def rule(write: Write, z: Pair, w: Pair) -> Scalar:
        parts = ((z.real, w.real), (z.imag, w.imag))
        return write(op, *(write(of_parts, *pair, dtype=BOOL) for pair in parts), dtype=BOOL)

    return rule


OPERATIONS: dict[str, Callable[..., Any]] = {
    **{op: _each_part(op) for op in ("add", "sub", "neg", "copy")},
    "mul": _product, "div": _quotient, "abs": _size, "exp": _exponential, "conj": _conjugate,
    "eq": _both("and", "eq"), "ne": _both("or", "ne"),
}  # fmt: skip
