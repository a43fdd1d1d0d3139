"""The scalar_ops that WebAssembly has an instruction for, and the definitions of the others.

An operation is the name of its instruction, or a line in the notation of kernel functions, which replaces
it. An instruction is of a type: `add` is f32.add of numbers, and f32x4.add of vectors of 128 bits.

Source: the WebAssembly Core Specification 2.0, https://webassembly.github.io/spec/core/
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.compile.kernel.functions.kernel_function import KernelFunction
from tinyjax.compile.kernel.functions.notation import (
    Definition,
    Number,
    as_float,
    as_int,
    op,
    repeat,
    select,
    sqrt,
    with_sign_of,
)
from tinyjax.compile.kernel.functions.table import function_of
from tinyjax.compile.kernel.scalar_ops import HALVES
from tinyjax.core.dtypes import kind
from tinyjax.wasm.module import OPCODES, Instruction

Code = list[Instruction]

BOOL, FLOAT32 = np.dtype(bool), np.dtype("float32")

# ---- types ----

VECTORS = {"i32": "i32x4", "i64": "i64x2", "f32": "f32x4", "f64": "f64x2"}


def number_type(dtype: np.dtype) -> str:
    """The type of a number: those of fewer than 32 bits are kept in 32, floats as float32."""
    if kind(dtype) == "f":
        return "f64" if dtype == np.float64 else "f32"
    return "i64" if dtype.itemsize == 8 else "i32"


def sign_of(dtype: np.dtype) -> str:
    return "s" if kind(dtype) == "i" else "u"


def is_small(dtype: np.dtype) -> bool:
    """Whether it is of integers that 32 bits stand for."""
    return kind(dtype) in "iu" and dtype.itemsize < 4


def constant(dtype: np.dtype, value: Any, is_vector: bool) -> Instruction:
    """Pushes a number, or a vector of it."""
    number = number_type(dtype)
    bits = int(number[1:])
    if number[0] == "f":
        value = float(value)
    elif (value := int(value) % 2**bits) >= 2 ** (bits - 1):
        value -= 2**bits  # bits are written as a signed number
    if not is_vector:
        return (f"{number}.const", value)
    value = -value if dtype == BOOL else value  # all bits of a lane
    return ("v128.const", VECTORS[number], *[value] * (128 // bits))


# ---- operations that are one instruction ----

# By the kinds of their operands; what is called otherwise has its name after a colon.
COMPARISONS = "eq ne lt le gt ge"
INSTRUCTIONS = {
    "f": f"{COMPARISONS} add sub mul div neg abs sqrt min max pmin pmax floor ceil round_to_even:nearest",
    "iu": f"{COMPARISONS} add sub mul and or xor quotient:div rest:rem left:shl right:shr "
    "ones:popcnt zeros:clz",
    "b": f"{COMPARISONS} xor and mul:and min:and or add:or max:or",
}  # fmt: skip
NAMES = {
    (letter, word.split(":")[0]): word.split(":")[-1]
    for kinds, words in INSTRUCTIONS.items()
    for letter in kinds
    for word in words.split()
}
SIGNED = ("lt", "le", "gt", "ge", "div", "rem", "shr")  # of integers
SHIFTS = ("left", "right")


def instruction(op: str, of: np.dtype, to: np.dtype, is_vector: bool) -> str | None:
    """The instruction of an operation on numbers or vectors of a dtype, with a result of another. Empty if it
    leaves the operand as it is; None if there is none."""
    source, target = number_type(of), number_type(to)
    if op in ("convert", "truncate"):  # what saturates is right for both
        found = _conversion(source, target, of, to)
        return of_vectors(found) if found and is_vector else found
    if op == "bitcast":
        return "" if source == target or is_vector else f"{target}.reinterpret_{source}"
    if op in ("copy", "any"):
        return ""
    if op == "select":
        return "v128.bitselect" if is_vector else "select"
    if (name := NAMES.get((kind(of), op))) is None:
        return None
    if is_vector and name in ("and", "or", "xor"):
        return f"v128.{name}"
    sign = f"_{sign_of(of)}" if kind(of) != "f" and name in SIGNED else ""
    found = f"{VECTORS[source] if is_vector else source}.{name}{sign}"
    return found if found in OPCODES else None


def _conversion(source: str, target: str, of: np.dtype, to: np.dtype) -> str:
    """Floats out of an integer's range saturate, and NaN becomes 0."""
    if source[0] == "f" and target[0] == "i":
        return f"{target}.trunc_sat_{source}_{'s' if is_small(to) else sign_of(to)}"
    if source[0] == "i" and target[0] == "f":
        return f"{target}.convert_{source}_{sign_of(of)}"
    change = {
        ("f32", "f64"): "f64.promote_f32",
        ("f64", "f32"): "f32.demote_f64",
        ("i64", "i32"): "i32.wrap_i64",
        ("i32", "i64"): f"i64.extend_i32_{sign_of(of)}",
    }
    return change.get((source, target), "")


def of_vectors(conversion: str) -> str | None:
    """The vector instruction for a conversion of numbers: f64x2.promote_low_f32x4 for f64.promote_f32, which
    takes the first two of four lanes. A conversion to two of four lanes sets the others to 0.
    """
    if conversion == "i32.wrap_i64":
        return ""  # the lower halves of the lanes
    to, rest = conversion.split(".")
    name, of, *sign = re.split("_(?=[if][36])|_(?=[su]$)", rest)
    to, of = VECTORS[to], VECTORS[of]
    low, zero = ("low_" if to[-1] < of[-1] else ""), ["zero"] * (to[-1] > of[-1])
    found = "_".join([f"{to}.{name}", low + of, *sign, *zero])
    return found if found in OPCODES else None


def narrowed(dtype: np.dtype) -> Code:
    """Wraps an integer of 8 or 16 bits around, which is kept in 32."""
    if not is_small(dtype):
        return []
    bits = dtype.itemsize * 8
    extended: Code = [(f"i32.extend{bits}_s",)]
    return extended if kind(dtype) == "i" else [("i32.const", 2**bits - 1), ("i32.and",)]


# ---- operations that are several ----


def _bits_as(x: Number, letter: str) -> Number:
    """The same bits as a signed or an unsigned integer."""
    name = f"{'u' if letter == 'u' else ''}int{_width(x)}"
    return x if x.dtype == name else op("bitcast", x, dtype=np.dtype(name))


def _of_bits(name: str, letter: str, x: Number, *more: Number | int) -> Number:
    """An operation on the bits as integers of a kind; the result is of the operands' own."""
    others = [y if isinstance(y, int) else _bits_as(y, letter) for y in more]
    return _bits_as(op(name, _bits_as(x, letter), *others), kind(x.dtype))


def _width(x: Number) -> int:
    return 8 * x.dtype.itemsize


def _shifted(name: str, letter: str, x: Number, places: Number | int) -> Number:
    """A shift: by the width or more, the result is 0, or copies of the sign."""
    last = x.dtype.type(_width(x) - 1)
    if isinstance(places, int):
        is_within = 0 <= places <= last
        if not is_within and letter == "u":
            return x ^ x
        return _of_bits(name, letter, x, places if is_within else int(last))
    inside = _bits_as(places, "u") < _width(x)
    if letter == "u":
        return select(inside, _of_bits(name, letter, x, places), x.dtype.type(0))
    return _of_bits(name, letter, x, select(inside, places, last))


def _divide(x: Number, y: Number) -> Number:
    """WebAssembly stops at a division by 0, and at that of the least number by -1."""
    one, ones = x.dtype.type(1), ~x.dtype.type(0)
    if kind(x.dtype) == "u":
        return select(y == 0, ones, op("quotient", x, select(y == 0, one, y)))
    quotient = op("quotient", x, select((y == 0) | (y == -1), one, y))
    return select(y == 0, ones, select(y == -1, 0 - x, quotient))


def _round_away(x: Number) -> Number:
    size = abs(x)
    whole = op("floor", size)
    return op("copysign", whole + select(size - whole >= 0.5, x.dtype.type(1), x.dtype.type(0)), x)


def _remainder(x: Number, y: Number) -> Number:
    """Takes off the largest 2**n y that fits, again and again: each difference is exact."""
    size, by = abs(x), abs(y)
    is_number = (by > 0.0) & (size < math.inf)
    rest, least = select(is_number, size, 0.0), select(is_number, by, 1.0)
    (most,) = repeat("most", lambda s: s + s <= rest, lambda s: [s + s], least)
    steps = lambda r, s: [select(r >= s, r - s, r), select(s > least, s * 0.5, 0.0)]  # noqa: E731
    rest, _ = repeat("rest", lambda r, s: s > 0.0, steps, rest, most)
    return select(is_number, with_sign_of(rest, x), math.nan)


def _next_after(x: Number, y: Number) -> Number:
    """Neighbours have neighbouring bits."""
    bits = as_int(x)
    one = bits.dtype.type(1)
    least = as_float(as_int(with_sign_of(abs(x), y)) | one)
    other = as_float(bits + select((x < y) ^ (x > 0.0), -one, one))
    number = select(x == y, y, select(x == 0.0, least, other))
    return select((x != x) | (y != y), x + y, number)


def _logistic(x: Number) -> Number:
    e = op("exp", -abs(x))
    return select(x < 0.0, e, x.dtype.type(1)) / (1.0 + e)


def _to_odd(x: Number) -> Number:
    """A float64 that is rounded to float32, and then to float16, may go the wrong way the second time. It
    does not if the first one keeps, in the last bit, that something was cut off."""
    y = x.astype("float32")
    near = y.astype("float64")
    bits = as_int(y) - select(abs(near) > abs(x), 1, 0)
    return as_float(bits | select(near != x, 1, 0))


FLOATS = {
    "mul_add": lambda x, y, z: x * y + z, "rsqrt": lambda x: 1.0 / sqrt(x),
    "is_finite": lambda x: abs(x) < math.inf, "copysign": with_sign_of, "round_away": _round_away,
    "sign": lambda x: select(x > 0.0, x.dtype.type(1), select(x < 0.0, x.dtype.type(-1), x)),
    "rem": _remainder, "nextafter": _next_after,
    "logistic": _logistic, "exp2": lambda x: op("pow", 2.0, x),
}  # fmt: skip
INTEGERS = {
    "neg": lambda x: 0 - x, "not": lambda x: x ^ ~x.dtype.type(0),
    "max": lambda x, y: select(x > y, x, y), "min": lambda x, y: select(x < y, x, y),
    "abs": lambda x: select(x < 0, 0 - x, x) if kind(x.dtype) == "i" else op("copy", x),
    "sign": lambda x: select(x > 0, x.dtype.type(1), select(x < 0, ~x.dtype.type(0), x)),
    "div": _divide, "rem": lambda x, y: select(y == 0, x, op("rest", x, select(y == 0, x.dtype.type(1), y))),
    "shift_left": lambda x, places: _shifted("left", "u", x, places),
    "shift_right_logical": lambda x, places: _shifted("right", "u", x, places),
    "shift_right_arithmetic": lambda x, places: _shifted("right", "i", x, places),
    "population_count": lambda x: _of_bits("ones", "u", x),
    "clz": lambda x: _of_bits("zeros", "u", x) - max(0, 32 - _width(x)),
}  # fmt: skip
MADE_OF: dict[str, dict[str, Any]] = {
    "f": FLOATS,
    "i": INTEGERS,
    "u": INTEGERS,
    "b": {"not": INTEGERS["not"]},
}
ROUNDED_TWICE = ("mul_add", "rsqrt")  # halves; all others are computed as float32


def _converted(of: np.dtype, to: np.dtype) -> Callable[..., Number] | None:
    """A conversion that is no instruction."""
    if to == BOOL:
        return lambda x: x != 0
    if of == BOOL:
        return lambda x: select(x, to.type(1), to.type(0))
    if (of, to) == (np.float64, np.float16):
        return _to_odd
    if kind(of) == "f" and is_small(to):
        info = np.iinfo(to)
        within = lambda x: op("min", op("max", x, info.min), info.max)  # noqa: E731
        return lambda x: op("truncate", within(x), dtype=to)
    return None


@functools.cache
def made_of(
    op: str, dtype: np.dtype, is_vector: bool, given: int | np.dtype | None
) -> KernelFunction | None:
    """The function in the kernel language that implements an operation on a dtype, if there is one. Vectors
    of integers are divided as float64. A shift by a given number of bits is a separate function, and so is a
    conversion to a given dtype: that is `given`."""
    function = function_of(f"{op}_{dtype}", dtype) if is_vector else None
    if (function := function or function_of(op, dtype)) is not None:
        return function
    if isinstance(given, np.dtype):
        found = _converted(dtype, given)
    elif (found := MADE_OF[kind(dtype)].get(op)) is not None and given is not None:
        of_two = found
        found = lambda x: of_two(x, given)  # noqa: E731
    if found is None:
        return None
    of: Any = FLOAT32 if dtype in HALVES and op not in ROUNDED_TWICE else dtype
    return Definition(found, of, f"{op}_{of}_{given}").kernel_function
