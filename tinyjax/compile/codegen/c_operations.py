"""Operations as C text: one of scalar_ops on any operands, as an expression.

A value that is a `float16` holds the elements of sixteen neighbours: they go through a loop together, each
until its own condition fails. A bool is then an int with all bits equal, as C's comparisons of vectors give
it. Operations without a vector form in C are written once for each element.

Source: the OpenCL C 1.2 specification, 6.1.2 (vectors) and 6.3 (operators)
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from tinyjax.compile.codegen.c_text import (
    C_TYPES,
    atom_text,
    bits_text,
    repeated_text,
    type_text,
)
from tinyjax.compile.codegen.helpers import Calls, any_helper
from tinyjax.compile.kernel.functions.division import saturated
from tinyjax.compile.kernel.functions.kernel_function import widened
from tinyjax.compile.kernel.functions.table import called
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Argument, Const, Value
from tinyjax.compile.kernel.scalar_ops import EXACT, HALVES, scalar_ops
from tinyjax.core.dtypes import kind

BOOL, INT32, FLOAT32 = map(np.dtype, ("bool", "int32", "float32"))

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "is_finite")
BITWISE = ("and", "or", "xor")
# Of a vector and a number, C repeats the number.
REPEATS = {*COMPARISONS, *BITWISE, *"add sub mul mul_add div".split()}
HALF = {"low": "lo", "high": "hi"}


def operation_text(op: str, target: Value, args: Sequence[Argument], calls: Calls) -> str:
    """`op` of `args` as a C expression of the target's dtype. If some are vectors, others are uniform.

    Halves are computed in float and rounded after every operation, as NumPy does."""
    op, args = _without_infinity(op, args)
    text = _operation_text(op, target, args, calls)
    return text if op in EXACT else calls.of_half("round", target.dtype, target.width, text)


def _without_infinity(op: str, args: Sequence[Argument]) -> tuple[str, Sequence[Argument]]:
    """x >= -infinity as x == x, and so on. (LLVM 14 takes a NaN for a number in chains of such tests.)"""
    for number, limit in enumerate(args):
        if op not in ("ge", "le") or not isinstance(limit, Const) or limit.dtype.kind != "f":
            continue
        if np.isinf(limit.value):
            x = args[1 - number]
            holds = (limit.value < 0) == ((op == "ge") == (number == 1))
            return "eq", (x, x if holds else limit)
    return op, args


def _operation_text(op: str, target: Value, args: Sequence[Argument], calls: Calls) -> str:
    first = args[0]
    width = max(target.width, *[arg.width for arg in args])
    if (function := called(op, args, width)) is not None:
        return calls.call(function, *[repeated_text(arg, width) for arg in args])
    texts = [_operand_text(op, arg, width) for arg in args]
    match op:
        case "any" if width > 1:
            return calls.call(any_helper(width), texts[0])
        case "low" | "high":
            half = f"{first}.{HALF[op]}"
            return f"{half} != 0" if target.dtype == BOOL and target.width == 1 else half
        case "vector":
            sign = "-" if target.dtype == BOOL else ""
            return f"({type_text(target)})({', '.join(sign + atom_text(arg) for arg in args)})"
        case "lane":
            return atom_text(_element(first, int(args[1].value)))  # type: ignore[union-attr]
        case "reverse":
            return f"{first}.s{'0123456789abcdef'[width - 1 :: -1]}"
        case "ramp":
            numbers = ", ".join(map(str, range(width)))
            return f"{atom_text(first)} + (int{width})({numbers}) * {atom_text(args[1])}"
        case "bitcast":
            return f"as_{C_TYPES[target.dtype]}{width if width > 1 else ''}({texts[0]})"
        case "convert":
            return _conversion_text(texts[0], _computed_in(first), target, calls)
        case "truncate" if width > 1:
            return converted_text(texts[0], type_text(target))
        case "select" if width > 1 and (mask := _mask_type(target.dtype)) != "int":
            texts[0] = converted_text(texts[0], f"{mask}{width}")  # as wide as what is chosen
    return _table_text(op, target, args, width, texts, calls)


def _table_text(
    op: str, target: Value, args: Sequence[Argument], width: int, texts: Sequence[str], calls: Calls
) -> str:
    """An operation that is a line of scalar_ops: by the kind of its first operand, a capital of vectors."""
    dtype = _computed_in(args[0])
    of_kind = kind(dtype) if width == 1 else kind(dtype).upper()
    text = scalar_ops[op].c.get(of_kind)
    if text is None and width > 1:
        return _lane_by_lane(op, target, args, calls)
    if text is None:
        raise NotImplementedError(f"no C text for operation '{op}' on kind '{of_kind}'")
    unsigned = {}
    if "{u" in text:
        unsigned = {f"u{n}": _unsigned_text(arg, width) for n, arg in enumerate(args)}
    bits, result = dtype.itemsize * 8, type_text(target)
    text = text.format(*texts, **unsigned, **_bit_texts(bits, width), t=result)
    is_other = width > 1 and op in COMPARISONS and bits != 32  # C's bools have as many bits
    return converted_text(text, result) if is_other else text


def _mask_type(dtype: np.dtype) -> str:
    """The C type of what a vector's elements are chosen by: an integer with as many bits."""
    is_int = dtype == BOOL or dtype in HALVES
    return "int" if is_int else C_TYPES[np.dtype(f"int{dtype.itemsize * 8}")]


def _computed_in(first: Argument) -> np.dtype:
    """The dtype in which an operation computes: its first operand's."""
    if isinstance(first, Index):
        return INT32
    return FLOAT32 if first.dtype in HALVES else first.dtype


@functools.cache
def _bit_texts(bits: int, width: int) -> dict[str, str]:
    """What texts of operations say of the bits of a number, or of each in a vector of some width."""
    if bits == 64:
        signed, all_but_sign, infinity = "long", "0x7fffffffffffffffL", "0x7ff0000000000000L"
    else:
        signed, all_but_sign, infinity = "int", "0x7fffffff", "0x7f800000"
    return {
        "bits": str(bits), "w": "ulong" if bits == 64 else "uint",
        "same_width": C_TYPES[np.dtype(f"uint{bits}")],
        "same_width_signed": C_TYPES[np.dtype(f"int{bits}")],
        "signed": signed + (str(width) if width > 1 else ""),
        "all_but_sign": all_but_sign, "infinity": infinity,
    }  # fmt: skip


# ---- operands ----


def _operand_text(op: str, arg: Argument, width: int) -> str:
    """An operand as text; a constant is repeated where C does not do so itself."""
    if isinstance(arg, Const) and arg.dtype != BOOL and op in REPEATS:
        return bits_text(arg) if op in BITWISE else atom_text(arg)
    return repeated_text(arg, width)


def _unsigned_text(arg: Argument, width: int) -> str:
    """An integer operand as unsigned text, which wraps around."""
    bits = _computed_in(arg).itemsize * 8
    unsigned = np.dtype(f"uint{bits}")
    if isinstance(arg, Const):
        return repeated_text(Const(int(arg.value) % 2**bits, unsigned), width)
    return f"as_{C_TYPES[unsigned]}{width}({repeated_text(arg, width)})"


def _lane_by_lane(op: str, target: Value, args: Sequence[Argument], calls: Calls) -> str:
    one = Value(target.name, FLOAT32 if target.dtype in HALVES else target.dtype)
    texts = [
        f"({operation_text(op, one, [_element(arg, lane) for arg in args], calls)})"
        for lane in range(target.width)
    ]
    if target.dtype == BOOL:
        texts = [f"-{text}" for text in texts]
    return f"({type_text(target)})({', '.join(texts)})"


def _element(arg: Argument, lane: int) -> Argument:
    """One lane of a vector: x.s0, x.s1, ..., x.sf."""
    if not isinstance(arg, Value) or arg.width == 1:
        return arg
    text = f"{arg.name}.s{lane:x}"
    return Value(f"({text} != 0)" if arg.dtype == BOOL else text, arg.dtype)


# ---- conversions ----

# Floats out of an integer's range saturate and NaN becomes 0, as in XLA.


def _conversion_text(text: str, of: np.dtype, target: Value, calls: Calls) -> str:
    """A number converted, or each element of a vector."""
    to, result = FLOAT32 if target.dtype in HALVES else target.dtype, type_text(target)
    if kind(of) == "f" and kind(to) in "iu":
        return calls.call(widened(saturated(of, to), target.width), text)
    if target.width == 1:
        return f"{text} != 0" if to == BOOL else f"({result}){text}"
    if of == to:
        return text
    if of == BOOL:
        return converted_text(f"{text} & 1", result)
    if to == BOOL:
        return converted_text(f"{text} != ({C_TYPES[of]})0", result)
    return converted_text(text, result)


def converted_text(text: str, to: str) -> str:
    """C's conversion of each element. OpenCL's own convert_ functions say the same, but some drivers
    call them as functions: that takes longer than the conversion, and so do vload and vstore."""
    return f"__builtin_convertvector({text}, {to})"
