"""Values as C text: types and constants.

Source: the OpenCL C 1.2 specification, https://registry.khronos.org/OpenCL/
"""

from __future__ import annotations

import numpy as np

from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Argument, Const, PrivateArray, Value
from tinyjax.compile.kernel.scalar_ops import HALVES
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
    """The type of a scalar or vector variable. Bools of vectors are ints of all ones or all zeros."""
    if value.width == 1:
        return c_type(value.dtype)
    return f"{'int' if value.dtype == np.bool_ else c_type(value.dtype)}{value.width}"


def storage_type(dtype: np.dtype) -> str:
    """The type of an element in memory: C gives bool no size, and halves travel as their bits."""
    if dtype == np.bool_:
        return "uchar"
    return "ushort" if dtype in HALVES else C_TYPES[dtype]


# ---- operands ----


def atom_text(atom: Argument) -> str:
    """An operand as C text."""
    if isinstance(atom, Index):
        return f"({atom})" if atom.op not in ("const", "var") else str(atom)
    return constant_text(atom) if isinstance(atom, Const) else atom.name


def repeated_text(arg: Argument, width: int) -> str:
    """An operand as text; what is uniform is repeated for each element of a vector."""
    text = atom_text(arg)
    if arg.width == width:
        return text
    if isinstance(arg, Index):
        return f"(int{width})({text})"
    if arg.dtype == np.bool_:
        return f"(int{width})({text} ? -1 : 0)"
    return f"({c_type(arg.dtype)}{width})({text})"


def bits_text(constant: Const) -> str:
    """A constant that stands for its bits, in hexadecimal digits."""
    if constant.dtype.itemsize < 4:
        return constant_text(constant)
    value, suffix = int(constant.value), _suffix(constant.dtype)
    return f"{value:#x}{suffix}" if value >= 0 else f"~{~value:#x}{suffix}"


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
    shortest = repr(abs(value)) if is_double else f"{np.float32(abs(value))!s}f"
    return f"({sign}{shortest})" if sign else shortest
