"""Vectors of integers: divided, for which CPUs have no instruction, and made of floats.

A division of float64s, rounded down, is exact: a fraction x / y that is no integer is at least 1 / |y| away
from one, more than the error of a float64 of its size. Division by zero gives -1, and the remainder is then
x, as in JAX.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from tinyjax.compile.kernel.functions.kernel_function import KernelFunction
from tinyjax.compile.kernel.functions.notation import (
    Definition,
    Number,
    definition_of,
    op,
    select,
    truncate,
)


# -2**31 / -1 is 2**31, which is no int32: it becomes -2**31.
@definition_of("int32")
def div_int32(x: Number, y: Number) -> Number:
    q = x.astype("float64") / select(y == 0, 1, y).astype("float64")
    inside = select(q < 2147483648.0, q, -2147483648.0)
    return select(y == 0, -1, truncate(inside, "int32"))


@definition_of("uint32")
def div_uint32(x: Number, y: Number) -> Number:
    q = x.astype("float64") / select(y == 0, 1, y).astype("float64")
    return select(y == 0, 0xFFFFFFFF, truncate(q, "uint32"))


@definition_of("int32")
def rem_int32(x: Number, y: Number) -> Number:
    return x - div_int32(x, y) * y


@definition_of("uint32")
def rem_uint32(x: Number, y: Number) -> Number:
    return x - div_uint32(x, y) * y


@functools.cache
def saturated(of: np.dtype, to: np.dtype) -> KernelFunction:
    """Floats as the nearest integers that there are; NaN becomes 0."""
    info = np.iinfo(to)
    limit = of.type(2.0) ** (info.bits - (info.min < 0))
    low, high = of.type(info.min), np.nextafter(limit, of.type(0))

    def saturate(x: Number) -> Number:
        y = op("truncate", select(x > low, select(x < high, x, high), low), dtype=to)
        return select(x != x, to.type(0), select(x >= limit, to.type(info.max), y))

    return replace(Definition(saturate, of).kernel_function, name=f"saturate_{of}_{to}")
