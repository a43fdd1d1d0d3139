"""Division of vectors of 32-bit integers: CPUs have no instruction that divides them.

After this file you can say why a division of float64s, rounded down, is exact: a fraction x / y that is no
integer is at least 1 / |y| away from one, and that is more than a float64 of its size is wrong by. Division
by zero gives -1, and the remainder is then x, as in JAX. Builds on notation.
"""

from __future__ import annotations

from tinyjax.compile.kernel.functions.notation import (
    Number,
    convert,
    definition_of,
    select,
    truncate,
)


# -2**31 / -1 is 2**31, which is no int32: it becomes -2**31.
@definition_of("int32")
def div_int32(x: Number, y: Number) -> Number:
    q = convert(x, "float64") / convert(select(y == 0, 1, y), "float64")
    inside = select(q < 2147483648.0, q, -2147483648.0)
    return select(y == 0, -1, truncate(inside, "int32"))


@definition_of("uint32")
def div_uint32(x: Number, y: Number) -> Number:
    q = convert(x, "float64") / convert(select(y == 0, 1, y), "float64")
    return select(y == 0, 0xFFFFFFFF, truncate(q, "uint32"))


@definition_of("int32")
def rem_int32(x: Number, y: Number) -> Number:
    return x - div_int32(x, y) * y


@definition_of("uint32")
def rem_uint32(x: Number, y: Number) -> Number:
    return x - div_uint32(x, y) * y
