"""One operation of scalar_ops as WebAssembly instructions, for numbers and for vectors of 128 bits alike.

After this file you can add an operation to the WebAssembly printer: one line of words. WebAssembly is a
stack machine: operands come first, as on a pocket calculator of that kind. `0 1 add` is f32.add of two
numbers, and f32x4.add of vectors of four. What vectors have no instruction for is done lane by lane.
Builds on scalar_ops, functions/ and webassembly_module.

    0, 1, 2      the operands                      add, lt, ...   an instruction of their type, signed or not
    #2           2 as a number of their type       i.add, ...     of the integer type of that width
    %2           2 as an integer of that width     as_i, as_f     the same bits as that integer, and back
    =x, i=x, $x  sets a local of either type; gets it             i.shl:13  a shift by 13
    select       of: yes, no, condition            both, either, differ     of two conditions
    f!           calls the function f              round          to a float of 16 bits, if the type is one

Source: the WebAssembly Core Specification 2.0, https://webassembly.github.io/spec/core/
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tinyjax.compile.codegen.webassembly_module import OPCODES, Instruction
from tinyjax.compile.kernel.functions.table import function_of
from tinyjax.core.dtypes import kind

# ---- operations ----

FLOATS = {
    "add": "0 1 add", "sub": "0 1 sub", "mul": "0 1 mul", "div": "0 1 div", "neg": "0 neg",
    "mul_add": "0 1 mul round 2 add", "abs": "0 abs", "sqrt": "0 sqrt", "rsqrt": "#1 0 sqrt round div",
    "max": "0 1 max", "min": "0 1 min", "floor": "0 floor", "ceil": "0 ceil",
    "round_to_even": "0 nearest", "is_finite": "0 abs #inf lt",
    "round_away": "0 trunc #1 #-1 0 #0 gt select add  0 trunc  0 0 trunc sub abs #0.5 ge  select",
    # Neighbours have neighbouring bits.
    "nextafter": """0 1 add  1  %1 as_f %1 as_f neg 1 #0 gt select
        0 as_i %-1 %1 0 1 lt 0 #0 gt differ select i.add as_f
        0 #0 eq select  0 1 eq select  0 0 ne 1 1 ne either select""",
    # Takes off the largest 2**n y that fits, again and again: each difference is exact.
    "rem": """0 abs =r 1 abs =m $m =s $m #0 gt $r #inf lt both if
        loop $s $s add $r le if $s $s add =s br:1 end end
        loop $r $s ge if $r $s sub =r end $s $m gt if $s #0.5 mul =s br:1 end end
        else #nan =r end $r 0 copysign""",
    "logistic": "0 abs neg exp! =e $e #1 0 #0 lt select #1 $e add div",
    "exp2": "#2 0 pow!",
}  # fmt: skip
INTEGERS = {
    "add": "0 1 add", "sub": "0 1 sub", "mul": "0 1 mul", "neg": "#0 0 sub",
    "max": "0 1 0 1 gt select", "min": "0 1 0 1 lt select", "abs": "#0 0 sub 0 0 #0 lt select",
    "and": "0 1 and", "or": "0 1 or", "xor": "0 1 xor", "not": "0 #-1 xor",
    # WebAssembly stops at a division by 0, and at that of the least number by -1.
    "div": "#-1  #0 0 sub 0 #1 1 1 #-1 eq 1 #0 eq either select div 1 #-1 eq select  1 #0 eq select",
    "rem": "0  0 #1 1 1 #0 eq select rem  1 #0 eq select",
    "shift_left": "0 1 i.shl #0 1 #bits i.lt_u select",
    "shift_right_logical": "0 unsigned 1 i.shr_u #0 1 #bits i.lt_u select",
    "shift_right_arithmetic": "0 signed 1 #last 1 #bits i.lt_u select i.shr_s",
    "population_count": "0 unsigned popcnt", "clz": "0 unsigned clz #spare sub",
}  # fmt: skip
UNSIGNED = INTEGERS | {"abs": "0", "div": "#-1 0 #1 1 1 #0 eq select div 1 #0 eq select"}
BOOLS = {
    "and": "0 1 both", "mul": "0 1 both", "min": "0 1 both", "xor": "0 1 differ",
    "or": "0 1 either", "add": "0 1 either", "max": "0 1 either", "not": "0 true differ",
}  # fmt: skip
ALL = {
    "eq": "0 1 eq", "ne": "0 1 ne", "lt": "0 1 lt", "le": "0 1 le", "gt": "0 1 gt", "ge": "0 1 ge",
    "copy": "0", "any": "0", "select": "1 2 0 select",
}  # fmt: skip
SIGN = {"sign": "#1 #-1 0 0 #0 lt select 0 #0 gt select"}
OPERATIONS = {
    "f": ALL | SIGN | FLOATS, "i": ALL | SIGN | INTEGERS, "u": ALL | SIGN | UNSIGNED, "b": ALL | BOOLS
}  # fmt: skip
TWO_OPERANDS = ("pow", "atan2")
SHIFTS = {
    "shift_left": "0 i.shl:{}", "shift_right_logical": "0 unsigned i.shr_u:{}",
    "shift_right_arithmetic": "0 signed i.shr_s:{}",
}  # fmt: skip

# ---- types ----

BOOL = np.dtype(bool)
VECTORS = {"i32": "i32x4", "i64": "i64x2", "f32": "f32x4", "f64": "f64x2"}


def number_type(dtype: np.dtype) -> str:
    """The type of a number: those of fewer than 32 bits are kept in 32, floats as float32."""
    if kind(dtype) == "f":
        return "f64" if dtype == np.float64 else "f32"
    return "i64" if dtype.itemsize == 8 else "i32"


def sign_of(dtype: np.dtype) -> str:
    return "s" if kind(dtype) == "i" else "u"


@dataclass(frozen=True)
class Form:
    """What the operands of an operation are: numbers of a dtype, or vectors of them."""

    dtype: np.dtype
    is_vector: bool = False

    @property
    def number(self) -> str:
        return number_type(self.dtype)

    @property
    def integer(self) -> str:
        return "i" + self.number[1:]

    def lanes(self, number: str) -> str:
        return VECTORS[number] if self.is_vector else number

    def constant(self, number: str, value: float) -> Instruction:
        bits = int(number[1:])
        if number[0] == "f":
            value = float(value)
        elif (value := int(value) % 2**bits) >= 2 ** (bits - 1):
            value -= 2**bits  # bits are written as a signed number
        if self.is_vector:
            return ("v128.const", VECTORS[number], *[value] * (128 // bits))
        return (f"{number}.const", value)


# ---- words to instructions ----

Code = list[Instruction]


def constant_word(word: str, form: Form) -> Instruction:
    """A number, of the operands' type or of integers that wide."""
    bits, own = form.dtype.itemsize * 8, int(form.number[1:])
    named = {"bits": bits, "last": bits - 1, "spare": own - bits}
    value = named[word[1:]] if word[1:] in named else float(word[1:])
    return form.constant(form.number if word[0] == "#" else form.integer, value)


def word_instructions(word: str, form: Form) -> Code:
    """A word that stands for instructions by its name."""
    number, integer, is_vector = form.number, form.integer, form.is_vector
    match word.split(":"):
        case [shift, count] if shift.startswith("i."):
            by = "i32" if is_vector else integer
            return [(f"{by}.const", int(count)), (f"{form.lanes(integer)}{shift[1:]}",)]
        case ["br", count]:
            return [("br", int(count))]
        case ["true"]:
            return [("v128.const", "i32x4", *[-1] * 4) if is_vector else ("i32.const", 1)]
        case ["both" | "either" | "differ"]:
            op = {"both": "and", "either": "or", "differ": "xor"}[word]
            return [(f"v128.{op}" if is_vector else f"i32.{op}",)]
        case ["as_i" | "as_f"] if is_vector:
            return []
        case ["as_i"]:
            return [(f"{integer}.reinterpret_{number}",)]
        case ["as_f"]:
            return [(f"{number}.reinterpret_{integer}",)]
        case ["unsigned" | "signed"]:
            return narrowed(form.dtype.itemsize, word[0])
        case ["select"]:
            return [("v128.bitselect" if is_vector else "select",)]
        case ["and" | "or" | "xor" | "i.and" | "i.or"] if is_vector:
            return [(f"v128.{word.removeprefix('i.')}",)]
        case ["lt" | "le" | "gt" | "ge" | "div" | "rem"] if number == integer:
            return [(f"{form.lanes(number)}.{word}_{sign_of(form.dtype)}",)]
    if word.startswith("i."):
        return [(f"{form.lanes(integer)}{word[1:]}",)]
    return [(word,) if word in OPCODES else (f"{form.lanes(number)}.{word}",)]


def narrowed(itemsize: int, sign: str) -> Code:
    """An integer of 32 bits that stands for one of 8 or 16 becomes what that would be."""
    if itemsize >= 4:
        return []
    bits = itemsize * 8
    return [(f"i32.extend{bits}_s",)] if sign == "s" else [("i32.const", 2**bits - 1), ("i32.and",)]


# ---- what an operation's words are ----


def operation_words(op: str, of: np.dtype, to: np.dtype, count: int | None = None) -> str:
    """An operation on numbers of a dtype, with a result of another; `count` is the second operand of a shift,
    if it is a constant."""
    if op in SHIFTS and count is not None:
        is_too_far, last = not 0 <= count < of.itemsize * 8, of.itemsize * 8 - 1
        if is_too_far and op != "shift_right_arithmetic":
            return "#0"
        return SHIFTS[op].format(last if is_too_far else count)
    source, target = number_type(of), number_type(to)
    if op in ("convert", "truncate"):  # what saturates is right for both
        return _conversion_words(of, to)
    if (function := function_of(op, of)) is not None:
        return " ".join([*map(str, range(len(function.parameters))), f"{op}!"])
    if op == "bitcast":
        return "0" if source == target else f"0 {target}.reinterpret_{source}"
    return OPERATIONS[kind(of)].get(op) or ("0 1 " if op in TWO_OPERANDS else "0 ") + f"{op}!"


def _conversion_words(of: np.dtype, to: np.dtype) -> str:
    """Floats out of an integer's range saturate, and NaN becomes 0."""
    source, target = number_type(of), number_type(to)
    if to == BOOL:
        return "0" if of == BOOL else "0 #0 ne"
    if kind(of) == "f" and kind(to) in "iu":
        info = np.iinfo(to)
        within = f"#{info.min} max #{info.max} min" if to.itemsize < 4 else ""
        sign = "s" if within else sign_of(to)
        return f"0 {within} {target}.trunc_sat_{source}_{sign}"
    if kind(of) in "biu" and kind(to) == "f":
        return f"0 {target}.convert_{source}_{sign_of(of)}"
    if (of, to) == (np.float64, np.float16):
        return ROUND_TO_ODD
    change = {
        ("f32", "f64"): "f64.promote_f32",
        ("f64", "f32"): "f32.demote_f64",
        ("i64", "i32"): "i32.wrap_i64",
        ("i32", "i64"): f"i64.extend_i32_{sign_of(of)}",
    }
    return f"0 {change.get((source, target), '')}"


# A float64 that is rounded to float32, and then to float16, may go the wrong way the second time. It does
# not if the first one keeps, in the last bit, that something was cut off.
ROUND_TO_ODD = """0 f32.demote_f64 f64.promote_f32 =near
    0 f32.demote_f64 i32.reinterpret_f32 $near abs 0 abs gt i32.sub $near 0 ne i32.or f32.reinterpret_i32"""


def of_vectors(conversion: str) -> Instruction:
    """What converts vectors as an instruction does numbers: f64x2.promote_low_f32x4 for f64.promote_f32,
    which takes the first two lanes of four. What gives two lanes of four sets the others to 0."""
    to, rest = conversion.split(".")
    name, of, *sign = re.split("_(?=[if][36])|_(?=[su]$)", rest)
    to, of = VECTORS[to], VECTORS[of]
    low, zero = ("low_" if to[-1] < of[-1] else ""), ["zero"] * (to[-1] > of[-1])
    return ("_".join([f"{to}.{name}", low + of, *sign, *zero]),)


def joined(made: Callable[[int], Code | None], part: int, lanes: tuple[int, int]) -> Code | None:
    """Four lanes of 32 bits, from two of each of two vectors."""
    low, high = made(2 * part), made(2 * part + 1)
    if low is None or high is None:
        return None
    return [*low, *high, shuffle(*lanes, *(lane + 4 for lane in lanes))]


def shuffle(*lanes: int) -> Instruction:
    """Chooses lanes of 32 bits, of two vectors of four."""
    return ("i8x16.shuffle", *(4 * lane + byte for lane in lanes for byte in range(4)))
