"""Logic and bits of bools and integers: and, or, xor, not, shifts, counts.

A shift by more than the width gives 0, as in XLA, or all sign bits for the arithmetic right shift. Integers
have no tangents: the JVPs are zero.
"""

from __future__ import annotations

import numpy as np

from tinyjax.lax.elementwise import BOOL_OR_INT, INTEGER, nary, of_one, of_two, unary, wrapping

# ---- impl rules ----


def _unsigned(x: np.ndarray) -> np.ndarray:
    """The same bits as unsigned integers."""
    return x.astype(f"u{x.dtype.itemsize}")


def _shift_right_logical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.right_shift(_unsigned(x), _unsigned(y)).astype(x.dtype)


def _shift_right_arithmetic(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Fills with the highest bit, even for unsigned integers."""
    signed = np.dtype(f"i{x.dtype.itemsize}")
    return np.right_shift(x.astype(signed), y.astype(signed)).astype(x.dtype)


def _clz(x: np.ndarray) -> np.ndarray:
    bits, width = _unsigned(x), 8 * x.dtype.itemsize
    shift = 1
    while shift < width:  # fills with ones from the highest one downwards
        bits = bits | np.right_shift(bits, bits.dtype.type(shift))
        shift *= 2
    return (width - np.bitwise_count(bits).astype(np.int64)).astype(x.dtype)


# ---- primitives ----

not_p = unary("not", BOOL_OR_INT, wrapping(np.invert))
bitwise_not = of_one(
    not_p, "Elementwise ~x: logical not for bools, all bits flipped for integers.", "bitwise_not"
)
and_p = nary("and", BOOL_OR_INT, np.bitwise_and)
bitwise_and = of_two(and_p, "Elementwise x & y of bools or integers.", "bitwise_and")
or_p = nary("or", BOOL_OR_INT, np.bitwise_or)
bitwise_or = of_two(or_p, "Elementwise x | y of bools or integers.", "bitwise_or")
xor_p = nary("xor", BOOL_OR_INT, np.bitwise_xor)
bitwise_xor = of_two(xor_p, "Elementwise x ^ y of bools or integers.", "bitwise_xor")
shift_left_p = nary("shift_left", INTEGER, np.left_shift)
shift_left = of_two(
    shift_left_p, "Elementwise x << y; 0 where y is negative or not below the number of bits."
)
shift_right_arithmetic_p = nary("shift_right_arithmetic", INTEGER, _shift_right_arithmetic)
shift_right_arithmetic = of_two(
    shift_right_arithmetic_p, "Elementwise x >> y, filled with the sign bit."
)
shift_right_logical_p = nary("shift_right_logical", INTEGER, _shift_right_logical)
shift_right_logical = of_two(shift_right_logical_p, "Elementwise x >> y, filled with zeros.")
population_count_p = unary(
    "population_count", INTEGER, lambda x: np.bitwise_count(_unsigned(x)).astype(x.dtype)
)
population_count = of_one(population_count_p, "The number of one bits of each integer.")
clz_p = unary("clz", INTEGER, _clz)
clz = of_one(clz_p, "The number of zero bits above the highest one bit of each integer.")
