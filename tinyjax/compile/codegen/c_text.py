"""Values and operations as C text: types, constants, and one operation as an expression.

After this file you can write any operation of scalar_ops on any operands as C, and say what halves and
bools become. Builds on kernel_ir and scalar_ops.

Source: the OpenCL C 1.2 specification, https://registry.khronos.org/OpenCL/
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyjax.compile.kernel.functions.table import function_of
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Atom, Const, PrivateArray, Value
from tinyjax.compile.kernel.scalar_ops import HALVES, scalar_ops
from tinyjax.core.dtypes import kind

# ---- types ----

C_TYPES = {
    np.dtype(name): c_type
    for name, c_type in {
        "int8": "char", "int16": "short", "int32": "int", "int64": "long",
        "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong",
        "float32": "float", "float64": "double", "bool": "bool",
    }.items()
}  # fmt: skip


def c_type(dtype: np.dtype) -> str:
    """The type of a variable: half precision is a way to store floats, not to compute."""
    return "float" if dtype in HALVES else C_TYPES[dtype]


def type_text(value: Value | PrivateArray) -> str:
    """The type of a variable that holds a scalar or a vector: a vector's bools are ints, all of
    whose bits are the same."""
    if value.width == 1:
        return c_type(value.dtype)
    return f"{'int' if value.dtype == np.bool_ else c_type(value.dtype)}{value.width}"


def storage_type(dtype: np.dtype) -> str:
    """The type of an element in memory: C gives bool no size, and halves travel as their bits."""
    if dtype == np.bool_:
        return "uchar"
    return "ushort" if dtype in HALVES else C_TYPES[dtype]


# ---- operations ----

# What gives a half of halves without being rounded
EXACT = "select copy neg max min abs low high lane any".split()


BITWISE = ("and", "or", "xor")
# Shifts by a constant that is less than the width are C's own, by the kind of what is shifted.
PLAIN_SHIFTS = {
    ("shift_left", "i"): "<<", ("shift_left", "u"): "<<",
    ("shift_right_arithmetic", "i"): ">>", ("shift_right_logical", "u"): ">>",
}  # fmt: skip


def plain_shift(op: str, args: Sequence[Atom]) -> str | None:
    """C's operator that shifts by this constant, if `op` is one that C has."""
    x, places = args[0], args[-1]
    if not isinstance(x, Value) or x.dtype.itemsize < 4 or not isinstance(places, Const):
        return None
    is_within = 0 <= places.value < x.dtype.itemsize * 8
    return PLAIN_SHIFTS.get((op, kind(x.dtype))) if is_within else None


def operand_text(op: str, arg: Atom) -> str:
    """An operand as C text; a constant that stands for its bits is written in hexadecimal digits."""
    if op in BITWISE and isinstance(arg, Const) and arg.dtype.itemsize >= 4:
        value, suffix = int(arg.value), _suffix(arg.dtype)
        return f"{value:#x}{suffix}" if value >= 0 else f"~{~value:#x}{suffix}"
    return atom_text(arg)


def operation_text(op: str, target: Value, args: Sequence[Atom]) -> str:
    """`op` of `args` as a C expression of the target's dtype."""
    dtype = target.dtype
    if op == "convert":
        return conversion_text(args[0], dtype)
    if op == "bitcast":
        return f"as_{C_TYPES[dtype]}({atom_text(args[0])})"
    function = None if isinstance(args[0], Index) else function_of(op, args[0].dtype)
    if function is not None:
        return _rounded(f"tj_{function.name}({', '.join(map(atom_text, args))})", dtype)
    if shift := plain_shift(op, args):
        return f"{args[0]} {shift} {args[1]}"
    kind_of_first = "i" if isinstance(args[0], Index) else kind(args[0].dtype)
    texts = scalar_ops[op].c
    if kind_of_first not in texts:
        raise NotImplementedError(f"no C text for operation '{op}' on kind '{kind_of_first}'")
    bits = dtype.itemsize * 8
    text = texts[kind_of_first].format(
        *(operand_text(op, arg) for arg in args),
        t=c_type(dtype),
        w="ulong" if bits == 64 else "uint",
        same_width=C_TYPES[np.dtype(f"uint{bits}")],
        same_width_signed=C_TYPES[np.dtype(f"int{bits}")],
        **bit_texts(bits),
    )
    return text if op in EXACT else _rounded(text, dtype)


def bit_texts(bits: int, width: str = "") -> dict[str, str]:
    """What texts of operations say of the bits of a number, or of each in a vector of some width."""
    if bits == 64:
        signed, all_but_sign, infinity = "long", "0x7fffffffffffffffL", "0x7ff0000000000000L"
    else:
        signed, all_but_sign, infinity = "int", "0x7fffffff", "0x7f800000"
    known = {"signed": signed + width, "all_but_sign": all_but_sign, "infinity": infinity}
    return known | {"bits": str(bits)}


def _rounded(text: str, dtype: np.dtype) -> str:
    """Halves are computed in float and rounded after every operation, as NumPy does."""
    return f"tj_round_{dtype}({text})" if dtype in HALVES else text


def conversion_text(arg: Atom, to: np.dtype) -> str:
    """`arg` converted; floats out of an integer's range saturate and NaN becomes 0, as in XLA."""
    text = atom_text(arg)
    if to in HALVES:
        return _rounded(f"(float){text}", to)
    if isinstance(arg, Index):
        return f"({c_type(to)}){text}"
    if to == np.bool_:
        return f"{text} != 0"
    if kind(arg.dtype) == "f" and kind(to) in "iu":
        return f"{text} != {text} ? 0 : convert_{c_type(to)}_sat({text})"
    return f"({c_type(to)}){text}"


# ---- constants ----


def atom_text(atom: Atom) -> str:
    """An operand as C text."""
    if isinstance(atom, Index):
        return f"({atom})" if atom.op not in ("const", "var") else str(atom)
    return constant_text(atom) if isinstance(atom, Const) else atom.name


def constant_text(constant: Const) -> str:
    """A literal that C reads back as exactly this number, of its type: C's literals have 32 bits or more,
    and functions of integers count the bits of what they are given."""
    value, of_kind = constant.value, kind(constant.dtype)
    if of_kind == "b":
        return "1" if value else "0"
    if of_kind == "f":
        return _float_text(float(value), constant.dtype == np.float64)
    if constant.dtype.itemsize < 4:
        return f"({C_TYPES[constant.dtype]}){int(value)}"
    suffix = _suffix(constant.dtype)
    if of_kind == "i" and value == np.iinfo(constant.dtype).min:
        return f"(-{-(int(value) + 1)}{suffix} - 1)"  # C has no negative literals
    return f"({int(value)}{suffix})" if value < 0 else f"{int(value)}{suffix}"


def _suffix(dtype: np.dtype) -> str:
    """What says the type of an integer literal."""
    return ("u" if kind(dtype) == "u" else "") + ("L" if dtype.itemsize == 8 else "")


def _float_text(value: float, is_double: bool) -> str:
    if np.isnan(value):  # C's NAN may have other bits
        if is_double:
            return f"as_double(0x{np.float64(value).view(np.uint64):016x}L)"
        return f"as_float(0x{np.float32(value).view(np.uint32):08x})"
    sign = "-" if np.signbit(value) else ""
    if np.isinf(value):
        return f"({sign}({'double' if is_double else 'float'})INFINITY)"
    shortest = repr(abs(value))
    if not is_double:
        size = np.float32(abs(value))
        plain = np.format_float_positional(size, unique=True, trim="0")
        scientific = np.format_float_scientific(size, unique=True, trim="-")
        shortest = (plain if len(plain) <= 12 else scientific) + "f"
    return f"({sign}{shortest})" if sign else shortest
