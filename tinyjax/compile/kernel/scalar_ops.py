"""The scalar operations of kernels: what each means in OpenCL C, and what it means in NumPy.

One line gives an operation's C text, used by codegen.py, and its NumPy function, of scalars and of arrays,
used by interpret.py; a test compares the two. Operations are named as the primitives they come from. What is
more than one operation in float32 (exp, say) is defined in functions/.

In C text `{0}`, `{1}`, ... are the operands, `{t}` is the C type of the result, and `{w}` an unsigned
type in which its integers wrap around as NumPy's do (in C, signed overflow is undefined). `{bits}` is
its width, `{same_width}` and `{same_width_signed}` are the integer types of that width. `{signed}` is the
integer type that has the bits of a C float or double, `{all_but_sign}` its mask, and `{infinity}` what those
of infinity are. A text may differ by the kind of the first operand: b(ool), i(nt), u(nsigned) or f(loat).

A capital letter is the kind of a vector: there `{t}` and `{signed}` are vectors' types, `{u0}` and `{u1}` the
operands as unsigned integers, and a bool is an int of equal bits. Without such a text, an operation is
computed lane by lane.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.core.dtypes import bfloat16

# ---- what kernels compute with: these dtypes, and complex numbers as pairs; not float0 and keys ----

HALVES = (np.dtype("float16"), bfloat16)
KERNEL_DTYPES = frozenset(HALVES).union(
    map(np.dtype, "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split())
)
PART_DTYPES = {np.dtype(f"complex{2 * n}"): np.dtype(f"float{n}") for n in (32, 64)}


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
    texts = {"biufBIUF": c} if isinstance(c, str) else c
    by_kind = {kind: text for kinds, text in texts.items() for kind in kinds}
    scalar_ops[name] = ScalarOp(by_kind, numpy, cost)


# Operations whose results on half-precision floats are exact, and don't have to be rounded
EXACT = frozenset("select copy neg max min abs low high vector lane any".split())

# ---- arithmetic ----

WRAP = "({t})(({w}){0} %s ({w}){1})"
WRAP_VECTOR = "as_{t}({u0} %s {u1})"
WRAPPED_NEGATIVE = "({t})(({w})0 - ({w}){0})"
# XLA's integer division: x / 0 is all ones, x % 0 is x, and INT_MIN / -1 is INT_MIN.
DIV = {
    "fF": "{0} / {1}",
    "i": "{1} == 0 ? ({t})-1 : {1} == -1 ? " + WRAPPED_NEGATIVE + " : ({t})({0} / {1})",
    "u": "{1} == 0 ? ({t})-1 : ({t})({0} / {1})",
}
REM = {
    "f": "fmod({0}, {1})",
    "i": "{1} == 0 ? {0} : {1} == -1 ? ({t})0 : ({t})({0} % {1})",
    "u": "{1} == 0 ? {0} : ({t})({0} % {1})",
}
# OpenCL's fmax and fmin lose a NaN; these keep it.
EXTREME = {"fF": "({0} %s {1}) | ({0} != {0}) ? {0} : {1}", "iuIU": "{0} %s {1} ? {0} : {1}"}
MAX = {kinds: text % ">" for kinds, text in EXTREME.items()} | {"b": "{0} || {1}", "B": "{0} | {1}"}
MIN = {kinds: text % "<" for kinds, text in EXTREME.items()} | {"b": "{0} && {1}", "B": "{0} & {1}"}
# Some drivers' fabs is a call, which keeps a loop from being vectorized: all bits but the sign.
ABS = {
    "fF": "as_{t}(as_{signed}({0}) & {all_but_sign})",
    "i": "{0} < 0 ? " + WRAPPED_NEGATIVE + " : {0}",
    "u": "{0}",
}
SIGN = {
    "fF": "{0} > 0 ? ({t})1 : {0} < 0 ? ({t})-1 : {0}",
    "i": "({t})(({0} > 0) - ({0} < 0))",
    "u": "({t})({0} > 0)",
}


def _divide(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    by_zero = y == 0
    quotient, rest = np.divmod(x, np.where(by_zero, y.dtype.type(1), y))
    # C truncates, Python floors.
    return np.where(by_zero, ~x.dtype.type(0), quotient + ((rest != 0) & ((x < 0) != (y < 0))))


def _remainder(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, y.dtype.type(1), y)))


ADD = {"iu": WRAP % "+", "I": WRAP_VECTOR % "+", "fFU": "{0} + {1}"}
SUB = {"iu": WRAP % "-", "I": WRAP_VECTOR % "-", "fFU": "{0} - {1}"}
MUL = {"iu": WRAP % "*", "I": WRAP_VECTOR % "*", "fFU": "{0} * {1}"}
define("add", {**ADD, "b": "{0} || {1}", "B": "{0} | {1}"}, operator.add)
define("sub", SUB, operator.sub)
define("mul", {**MUL, "b": "{0} && {1}", "B": "{0} & {1}"}, operator.mul)
# x * y + z, the only operation that may be rounded once instead of twice: see program_text in program.py.
define("mul_add", {"fF": "{0} * {1} + {2}"}, lambda x, y, z: x * y + z)
define("neg", {"iu": WRAPPED_NEGATIVE, "IU": "as_{t}(-{u0})", "fF": "-{0}"}, operator.neg)
define("div", DIV, _divide, DIVISION)
define("rem", REM, _remainder, DIVISION)
define("max", MAX, np.maximum)
define("min", MIN, np.minimum)
define("abs", ABS, np.abs)
define("sign", SIGN, lambda x: np.where(x == 0, x, np.sign(x)))

# ---- comparison and choice ----

define("eq", {"biufIUF": "{0} == {1}", "B": "~({0} ^ {1})"}, operator.eq)
define("ne", {"biufIUF": "{0} != {1}", "B": "{0} ^ {1}"}, operator.ne)
define("lt", {"biufIUF": "{0} < {1}"}, operator.lt)
define("le", {"biufIUF": "{0} <= {1}"}, operator.le)
define("gt", {"biufIUF": "{0} > {1}"}, operator.gt)
define("ge", {"biufIUF": "{0} >= {1}"}, operator.ge)
# select(condition, if_true, if_false)
define("select", "{0} ? {1} : {2}", np.where)
BELOW_INFINITY = "(as_{signed}({0}) & {all_but_sign}) < {infinity}"
define("is_finite", {"f": "isfinite({0})", "F": BELOW_INFINITY}, np.isfinite)
define("copy", "{0}", lambda x: x)
# The integer of a float, which must fit into the integer's type
define("truncate", {"f": "({t}){0}"}, np.trunc)
define("any", {"b": "{0}"}, np.any)  # of a vector's lanes, one bool
# What a rule never writes: a vector of scalars, one lane of a vector, and its lanes in reverse
define("vector", {}, lambda *scalars: np.array(scalars))
define("lane", {}, lambda vector, number: vector[number])
define("reverse", {}, lambda vector: vector[::-1])

# ---- bits ----

define("and", {"b": "{0} && {1}", "iuBIU": "{0} & {1}"}, operator.and_)
define("or", {"b": "{0} || {1}", "iuBIU": "{0} | {1}"}, operator.or_)
define("xor", {"b": "{0} != {1}", "iuBIU": "{0} ^ {1}"}, operator.xor)
define("not", {"b": "!{0}", "iuBIU": "~{0}"}, operator.invert)


def _bits(x: Any) -> int:
    return x.dtype.itemsize * 8


def _too_far(x: Any, shift: Any) -> Any:
    return (shift < 0) | (shift >= _bits(x))


def _left(x: Any, shift: Any) -> Any:
    too_far = _too_far(x, shift)
    return np.where(too_far, 0, np.left_shift(x, np.where(too_far, 0, shift)))


def _logical_right(x: Any, shift: Any) -> Any:
    too_far, unsigned = _too_far(x, shift), x.view(f"u{x.dtype.itemsize}")
    places = np.where(too_far, 0, shift).astype(unsigned.dtype)
    return np.where(too_far, 0, np.right_shift(unsigned, places)).astype(x.dtype)


def _arithmetic_right(x: Any, shift: Any) -> Any:
    """Fills with the highest bit, of unsigned integers too."""
    signed = x.view(f"i{x.dtype.itemsize}")
    places = np.where(_too_far(x, shift), _bits(x) - 1, shift).astype(signed.dtype)
    return np.right_shift(signed, places).astype(x.dtype)


def _leading_zeros(x: Any) -> Any:
    ones = x.view(f"u{x.dtype.itemsize}")
    for places in (1, 2, 4, 8, 16, 32):  # from the first one on, all bits become ones
        if places < _bits(x):
            ones = ones | ones >> ones.dtype.type(places)
    return _bits(x) - np.bitwise_count(ones)


# In C a shift by the width or more is undefined; XLA shifts everything out.
LEFT = "({w}){1} < {bits} ? ({t})(({w}){0} << {1}) : ({t})0"
LOGICAL_RIGHT = "({w}){1} < {bits} ? ({t})(({same_width}){0} >> {1}) : ({t})0"
SHIFT_VECTOR = "as_{t}({u1} < ({same_width}){bits} ? {u0} %s {u1} : ({same_width})0)"
ARITHMETIC_VECTOR = "{u1} < ({same_width}){bits} ? {0} >> {1} : {0} >> ({bits} - 1)"
ARITHMETIC_RIGHT = "({t})(({same_width_signed}){0} >> (({w}){1} < {bits} ? {1} : {bits} - 1))"

define("shift_left", {"iu": LEFT, "IU": SHIFT_VECTOR % "<<"}, _left)
define("shift_right_logical", {"iu": LOGICAL_RIGHT, "IU": SHIFT_VECTOR % ">>"}, _logical_right)
define(
    "shift_right_arithmetic", {"iu": ARITHMETIC_RIGHT, "I": ARITHMETIC_VECTOR}, _arithmetic_right
)


def _ones(x: Any) -> Any:
    return np.bitwise_count(x.view(f"u{x.dtype.itemsize}"))  # of a negative number's own bits


define("population_count", {"iu": "({t})popcount({0})"}, _ones)
define("clz", {"iu": "({t})clz({0})"}, _leading_zeros)

# ---- rounding ----


def _round_away(x: Any) -> Any:
    truncated = np.trunc(x)
    is_far = abs(x - truncated) >= 0.5
    return np.where(is_far, truncated + np.sign(x), np.copysign(truncated, x))


# Where a compiler knows that the operand is NaN, some drivers' functions leave the result undefined: these
# are asked about numbers only.
OF_NUMBERS = "{0} != {0} ? {0} : "

define("floor", {"fF": OF_NUMBERS + "floor({0})"}, np.floor)
define("ceil", {"fF": OF_NUMBERS + "ceil({0})"}, np.ceil)
define("round_to_even", {"fF": "rint({0})"}, np.rint)
define("round_away", {"f": OF_NUMBERS + "round({0})"}, _round_away)
define("nextafter", {"f": "nextafter({0}, {1})"}, np.nextafter)

# ---- functions ----


def _logistic(x: Any) -> Any:
    one, e = x.dtype.type(1), np.exp(-abs(x))
    return np.where(x < 0, e, one) / (one + e)


# They are defined in functions/, and have no other text.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "exp": np.exp,
    "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "logistic": _logistic,
    "pow": np.power, "atan2": np.arctan2,
}  # fmt: skip
for _name, _function in FUNCTIONS.items():
    define(_name, {}, _function, FUNCTION)
for _name in ("sin", "cos"):  # OpenCL's own, for large angles
    define(f"{_name}_of_driver", {"f": f"{_name}({{0}})"}, FUNCTIONS[_name], FUNCTION)
define("sqrt", {"fF": "sqrt({0})"}, np.sqrt, DIVISION)
define("rsqrt", {"fF": "1 / sqrt({0})"}, lambda x: x.dtype.type(1) / np.sqrt(x), DIVISION)
