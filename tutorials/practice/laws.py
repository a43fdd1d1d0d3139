"""Laws of school, tried on the numbers that break them: which of them may a compiler use?

For which kinds of numbers is a rewrite rule wrong? A right one can be a line of the table in
compile/passes/rewrite_rules.py. No trial proves a law, but a wrong one seldom survives all hard numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

DTYPES = {"i": np.int32, "u": np.uint32, "f": np.float32}  # kinds of numbers, and one of each
Function = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Law:
    """`before` is to become `after`, in the words of the table; the same as functions of x and y."""

    before: str
    after: str
    left: Function
    right: Function
    why: str


def two(x: np.ndarray) -> np.ndarray:
    return x.dtype.type(2)


LAWS = [
    Law("sub x (neg y)", "add x y", lambda x, y: x - -y, lambda x, y: x + y, "the sign is turned twice"),
    Law("neg (sub x y)", "sub y x", lambda x, y: -(x - y), lambda x, y: y - x, "the other way round"),
    Law("mul (neg x) (neg y)", "mul x y", lambda x, y: -x * -y, lambda x, y: x * y, "two signs"),
    Law("abs (neg x)", "abs x", lambda x, y: abs(-x), lambda x, y: abs(x), "the sign does not count"),
    Law("mul x 2", "add x x", lambda x, y: x * two(x), lambda x, y: x + x, "twice x, rounded once"),
    Law("sub (add x y) y", "x", lambda x, y: x + y - y, lambda x, y: x, "what is added is taken away"),
    Law("max x (min x y)", "x", lambda x, y: np.maximum(x, np.minimum(x, y)), lambda x, y: x, "x or less"),
]  # fmt: skip


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of one dtype have the same bits, element by element; of a NaN, any bits will do.

    0.0 and -0.0 are equal, and not the same."""
    unsigned = f"u{a.dtype.itemsize}"
    both_nan = np.isnan(a) & np.isnan(b)
    return bool(np.all((a.view(unsigned) == b.view(unsigned)) | both_nan))


def hard_numbers(dtype: type[np.generic]) -> np.ndarray:
    """Numbers to try laws on, in an array of this dtype, one of those in DTYPES.

    Integers: 0, 1, -1 if there is a sign, the smallest and the largest. Floats: both zeros, some ordinary
    numbers of either sign, also fractions that are rounded, such as 0.1; the largest one, the smallest
    one above 0 (half of it is 0), both infinities, and NaN."""
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        signed = [-1, -7] if limits.min < 0 else []
        return np.array([0, 1, 2, 7, *signed, limits.min, limits.max], dtype)
    top = float(np.finfo(dtype).max)
    small = float(np.finfo(dtype).tiny)
    ordinary = [0.0, -0.0, 1.0, -1.0, 3.0, 0.1, -0.7, 1e8]
    return np.array([*ordinary, top, -top, small, 1e-45, np.inf, -np.inf, np.nan], dtype)


def entry(law: Law) -> str:
    """The law as a line of the table, `before | after | kinds | why`, with those of the kinds "iuf", in this
    order, for which both sides have the same bits for all pairs of hard numbers. Empty if there are none."""
    kinds = ""
    for kind, dtype in DTYPES.items():
        numbers = hard_numbers(dtype)
        x, y = (each.reshape(-1) for each in np.meshgrid(numbers, numbers))
        with np.errstate(all="ignore"):
            kinds += kind if same_bits(law.left(x, y), law.right(x, y)) else ""
    return f"{law.before} | {law.after} | {kinds} | {law.why}" if kinds else ""
