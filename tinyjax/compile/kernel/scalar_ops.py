"""The scalar operations of kernels: what each means in OpenCL C, and what it means in NumPy.

After this file you can add an operation to the compiler: one line gives its C text, used by
codegen.py, and its NumPy function, used by interpret.py; a test compares the two. Operations are
named as the primitives they come from. Builds on dtypes.

In C text `{0}`, `{1}`, ... are the operands, `{t}` is the C type of the result, and `{w}` an unsigned
type in which its integers wrap around as NumPy's do (in C, signed overflow is undefined). `{bits}` is
its width, `{same_width}` and `{same_width_signed}` are the integer types of that width. A text may
differ by the kind of the first operand: b(ool), i(nt), u(nsigned) or f(loat).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.core.dtypes import bfloat16

# ---- what kernels compute with ----

HALVES = (np.dtype("float16"), bfloat16)
_KERNEL_DTYPES = frozenset(
    map(np.dtype, "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split())
)


def has_kernel_type(dtype: Any) -> bool:
    """Whether kernels can compute with `dtype`: all but complex numbers, float0 and keys."""
    return dtype in _KERNEL_DTYPES or dtype in HALVES


def has_vector_type(dtype: np.dtype) -> bool:
    """Whether there are vectors of `dtype`: all of 32 and 64 bits, halves and bools."""
    return dtype == np.bool_ or dtype in HALVES or (dtype in _KERNEL_DTYPES and dtype.itemsize >= 4)


# ---- the table ----


@dataclass(frozen=True)
class ScalarOp:
    """`c` maps a kind to C text; `numpy` computes the same; `cost` counts simple operations."""

    c: dict[str, str]
    numpy: Callable[..., Any]
    cost: int = 1


scalar_ops: dict[str, ScalarOp] = {}

CHEAP, DIVISION, FUNCTION = 1, 4, 20  # rough costs of an operation


def define(name: str, c: str | dict[str, str], numpy: Callable, cost: int = CHEAP) -> None:
    """Adds an operation; a plain string is its text for all kinds, keys may join kinds ("iu")."""
    texts = {"biuf": c} if isinstance(c, str) else c
    by_kind = {kind: text for kinds, text in texts.items() for kind in kinds}
    scalar_ops[name] = ScalarOp(by_kind, numpy, cost)


# ---- arithmetic ----

WRAP = "({t})(({w}){0} %s ({w}){1})"
WRAPPED_NEGATIVE = "({t})(({w})0 - ({w}){0})"
# XLA's integer division: x / 0 is all ones, x % 0 is x, and INT_MIN / -1 is INT_MIN.
DIV = {
    "f": "{0} / {1}",
    "i": "{1} == 0 ? ({t})-1 : {1} == -1 ? " + WRAPPED_NEGATIVE + " : ({t})({0} / {1})",
    "u": "{1} == 0 ? ({t})-1 : ({t})({0} / {1})",
}
REM = {
    "f": "fmod({0}, {1})",
    "i": "{1} == 0 ? {0} : {1} == -1 ? ({t})0 : ({t})({0} % {1})",
    "u": "{1} == 0 ? {0} : ({t})({0} % {1})",
}
# OpenCL's fmax and fmin lose a NaN; these keep it.
MAX = {
    "f": "({0} > {1}) | ({0} != {0}) ? {0} : {1}",
    "iu": "{0} > {1} ? {0} : {1}",
    "b": "{0} || {1}",
}
MIN = {
    "f": "({0} < {1}) | ({0} != {0}) ? {0} : {1}",
    "iu": "{0} < {1} ? {0} : {1}",
    "b": "{0} && {1}",
}
ABS = {"f": "fabs({0})", "i": "{0} < 0 ? " + WRAPPED_NEGATIVE + " : {0}", "u": "{0}"}
SIGN = {
    "f": "{0} > 0 ? ({t})1 : {0} < 0 ? ({t})-1 : {0}",
    "i": "({t})(({0} > 0) - ({0} < 0))",
    "u": "({t})({0} > 0)",
}


def _divide(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    if y == 0:
        return ~x.dtype.type(0)
    # C truncates, Python floors.
    quotient = abs(int(x)) // abs(int(y)) * (-1 if (int(x) < 0) != (int(y) < 0) else 1)
    return np.asarray(quotient).astype(x.dtype)[()]


def _remainder(x: Any, y: Any) -> Any:
    return x if x.dtype.kind in "iu" and y == 0 else np.fmod(x, y)


define("add", {"iu": WRAP % "+", "f": "{0} + {1}", "b": "{0} || {1}"}, np.add)
define("sub", {"iu": WRAP % "-", "f": "{0} - {1}"}, np.subtract)
define("mul", {"iu": WRAP % "*", "f": "{0} * {1}", "b": "{0} && {1}"}, np.multiply)
# x * y + z, the only operation that may be rounded once instead of twice: see kernel_text in codegen.py.
define("mul_add", {"f": "{0} * {1} + {2}"}, lambda x, y, z: x * y + z)
define("neg", {"iu": WRAPPED_NEGATIVE, "f": "-{0}"}, np.negative)
define("div", DIV, _divide, DIVISION)
define("rem", REM, _remainder, DIVISION)
define("max", MAX, np.maximum)
define("min", MIN, np.minimum)
define("abs", ABS, np.abs)
define("sign", SIGN, lambda x: x if x == 0 else np.sign(x))

# ---- comparison and choice ----

define("eq", "{0} == {1}", np.equal)
define("ne", "{0} != {1}", np.not_equal)
define("lt", "{0} < {1}", np.less)
define("le", "{0} <= {1}", np.less_equal)
define("gt", "{0} > {1}", np.greater)
define("ge", "{0} >= {1}", np.greater_equal)
# select(condition, if_true, if_false)
define("select", "{0} ? {1} : {2}", lambda condition, yes, no: yes if condition else no)
define("is_finite", {"f": "isfinite({0})"}, np.isfinite)
define("copy", "{0}", lambda x: x)
define("any", {"b": "{0}"}, np.any)  # of a vector's lanes, one bool
# What a rule never writes: a vector of scalars, and one lane of a vector
define("vector", {}, lambda *scalars: np.array(scalars))
define("lane", {}, lambda vector, number: vector[number])

# ---- bits ----

define("and", {"b": "{0} && {1}", "iu": "{0} & {1}"}, np.bitwise_and)
define("or", {"b": "{0} || {1}", "iu": "{0} | {1}"}, np.bitwise_or)
define("xor", {"b": "{0} != {1}", "iu": "{0} ^ {1}"}, np.bitwise_xor)
define("not", {"b": "!{0}", "iu": "~{0}"}, np.invert)


def _bits(x: Any) -> int:
    return x.dtype.itemsize * 8


def _too_far(x: Any, shift: Any) -> bool:
    return not 0 <= int(shift) < _bits(x)


def _left(x: Any, shift: Any) -> Any:
    return x.dtype.type(0) if _too_far(x, shift) else np.left_shift(x, shift)


def _logical_right(x: Any, shift: Any) -> Any:
    unsigned = x.view(f"u{x.dtype.itemsize}")
    shifted = 0 if _too_far(x, shift) else int(unsigned) >> int(shift)
    return unsigned.dtype.type(shifted).view(x.dtype)


def _arithmetic_right(x: Any, shift: Any) -> Any:
    """Fills with the highest bit, of unsigned integers too."""
    signed = x.view(f"i{x.dtype.itemsize}")
    last = _bits(x) - 1
    return np.right_shift(signed, min(int(shift), last) if shift >= 0 else last).view(x.dtype)


def _ones(x: Any) -> Any:
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}"))  # of a negative number's own bits


def _leading_zeros(x: Any) -> Any:
    return x.dtype.type(_bits(x) - int(x.view(f"u{x.dtype.itemsize}")).bit_length())


# In C a shift by the width or more is undefined; XLA shifts everything out.
LEFT = "({w}){1} < {bits} ? ({t})(({w}){0} << {1}) : ({t})0"
LOGICAL_RIGHT = "({w}){1} < {bits} ? ({t})(({same_width}){0} >> {1}) : ({t})0"
ARITHMETIC_RIGHT = "({t})(({same_width_signed}){0} >> (({w}){1} < {bits} ? {1} : {bits} - 1))"

define("shift_left", {"iu": LEFT}, _left)
define("shift_right_logical", {"iu": LOGICAL_RIGHT}, _logical_right)
define("shift_right_arithmetic", {"iu": ARITHMETIC_RIGHT}, _arithmetic_right)
define("population_count", {"iu": "({t})popcount({0})"}, _ones)
define("clz", {"iu": "({t})clz({0})"}, _leading_zeros)

# ---- rounding ----


def _round_away(x: Any) -> Any:
    truncated = np.trunc(x)
    return truncated + np.sign(x) if abs(x - truncated) >= 0.5 else np.copysign(truncated, x)


# Where a compiler knows that the operand is NaN, some drivers' functions leave the result undefined: these
# are asked about numbers only.
OF_NUMBERS = "{0} != {0} ? {0} : "

define("floor", {"f": OF_NUMBERS + "floor({0})"}, np.floor)
define("ceil", {"f": OF_NUMBERS + "ceil({0})"}, np.ceil)
define("round_to_even", {"f": "rint({0})"}, np.rint)
define("round_away", {"f": OF_NUMBERS + "round({0})"}, _round_away)
define("nextafter", {"f": "nextafter({0}, {1})"}, np.nextafter)

# ---- functions ----

FUNCTIONS = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log1p": np.log1p, "cbrt": np.cbrt,
}  # fmt: skip
for _name, _function in FUNCTIONS.items():
    define(_name, {"f": OF_NUMBERS + _name + "({0})"}, _function, FUNCTION)


def _logistic(x: Any) -> Any:
    one, e = x.dtype.type(1), np.exp(-abs(x))
    return (e if x < 0 else one) / (one + e)


define("erf", {"f": "erf({0})"}, lambda x: x.dtype.type(math.erf(x)), FUNCTION)
define("erfc", {"f": "erfc({0})"}, lambda x: x.dtype.type(math.erfc(x)), FUNCTION)
define("sqrt", {"f": "sqrt({0})"}, np.sqrt, DIVISION)
define("rsqrt", {"f": "1 / sqrt({0})"}, lambda x: x.dtype.type(1) / np.sqrt(x), DIVISION)
LOGISTIC = OF_NUMBERS + "({0} < 0 ? exp({0}) : 1) / (1 + exp(-fabs({0})))"
define("logistic", {"f": LOGISTIC}, _logistic, FUNCTION)
define("pow", {"f": "pow({0}, {1})"}, np.power, FUNCTION)
define("atan2", {"f": "atan2({0}, {1})"}, np.arctan2, FUNCTION)
