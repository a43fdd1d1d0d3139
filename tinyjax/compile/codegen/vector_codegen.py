"""Operations on vectors, as C text: OpenCL's vector types.

After this file you can read a kernel in which a value is a `float16`, the elements of sixteen
neighbours in one variable: sixteen pixels go through a loop together, each until its own condition
fails. A bool is then an int with all bits equal, as C's comparisons of vectors give it. What C has no
vector form of is written once for each element. Builds on c_text, and on helpers for what is called.

Source: the OpenCL C 1.2 specification, 6.1.2 (vectors) and 6.3 (operators on them)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyjax.compile.codegen.c_text import (
    C_TYPES,
    EXACT,
    atom_text,
    bit_texts,
    c_type,
    operand_text,
    operation_text,
    plain_shift,
    type_text,
)
from tinyjax.compile.codegen.helpers import any_helper, load_helper, saturate_helper, store_helper
from tinyjax.compile.kernel.functions.table import called
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Atom, Buffer, Const, Let, PrivateArray, Value
from tinyjax.compile.kernel.scalar_ops import HALVES, scalar_ops
from tinyjax.core.dtypes import kind

BOOL, FLOAT32 = np.dtype(bool), np.dtype("float32")


# ---- operations ----

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "is_finite")
HALF = {"low": "lo", "high": "hi"}
# Of a vector and a number, C repeats the number.
REPEATS = {*COMPARISONS, *"add sub mul mul_add div and or xor".split()}


def vector_operation_text(op: str, target: Value, args: Sequence[Atom]) -> str:
    """`op` of `args`, some of them vectors, as a C expression; others are uniform."""
    text = _operation_text(op, target, args)
    is_exact = target.dtype not in HALVES or target.width == 1 or op in EXACT
    return text if is_exact else f"tj_round_{target.dtype}_{target.width}({text})"


def _operation_text(op: str, target: Value, args: Sequence[Atom]) -> str:
    first = args[0]
    if op == "any" and isinstance(first, Value):
        return f"{any_helper(first.width).name}({first})"
    if op in ("low", "high"):
        half = f"{first}.{HALF[op]}"
        return f"{half} != 0" if target.dtype == BOOL and target.width == 1 else half
    if op == "vector":
        return f"({type_text(target)})({', '.join(map(atom_text, args))})"
    if op == "lane":
        return f"(({type_text(target)} *)&{first})[{args[1]}]"
    width = max(target.width, *(getattr(arg, "width", 1) for arg in args))
    if op == "ramp":
        numbers = ", ".join(map(str, range(width)))
        return f"{atom_text(first)} + (int{width})({numbers}) * {atom_text(args[1])}"
    function = called(Let(target, op, tuple(args)))
    if function is not None:
        return f"tj_{function.name}({', '.join(repeated_text(arg, width) for arg in args)})"
    texts = [_operand_text(op, arg, width) for arg in args]
    dtype = np.dtype("int32") if isinstance(first, Index) else first.dtype
    dtype = FLOAT32 if dtype in HALVES else dtype  # halves are computed in that
    of_kind, bits, result = kind(dtype), dtype.itemsize * 8, type_text(target)
    if op == "copy":
        return texts[0]
    if op == "select":
        return f"{_mask(texts[0], target.dtype, width)} ? {texts[1]} : {texts[2]}"
    if op == "bitcast" and target.dtype not in HALVES:
        return f"as_{result}({texts[0]})"
    if op == "convert":
        return _conversion_text(texts[0], dtype, target.dtype, result, width)
    if op == "truncate":
        return converted_text(texts[0], result)
    if shift := plain_shift(op, args):
        return f"{first} {shift} {args[1]}"
    text = scalar_ops[op].c.get(of_kind.upper(), "")
    if not text:
        return _lane_by_lane(op, target, args)
    unsigned = {}
    if "{u" in text:
        unsigned = {f"u{n}": _unsigned_text(arg, width, bits) for n, arg in enumerate(args)}
    text = text.format(*texts, **unsigned, **bit_texts(bits, str(width)), t=result)
    return converted_text(text, result) if op in COMPARISONS and bits == 64 else text


def repeated_text(arg: Atom, width: int) -> str:
    """An operand as text; what is uniform is repeated."""
    text = atom_text(arg)
    if getattr(arg, "width", 1) == width:
        return text
    if isinstance(arg, Index):
        return f"(int{width})({text})"
    if arg.dtype == BOOL:
        return f"(int{width})({text} ? -1 : 0)"
    return f"({c_type(arg.dtype)}{width})({text})"


def _operand_text(op: str, arg: Atom, width: int) -> str:
    """An operand as text; a constant is repeated where C does not do so itself."""
    is_plain = op in REPEATS and isinstance(arg, Const) and arg.dtype != BOOL
    return operand_text(op, arg) if is_plain else repeated_text(arg, width)


def _unsigned_text(arg: Atom, width: int, bits: int) -> str:
    """An integer operand as unsigned text, which wraps around."""
    unsigned = np.dtype(f"uint{bits}")
    if isinstance(arg, Const):
        return atom_text(Const(int(arg.value) % 2**bits, unsigned))
    return f"as_{C_TYPES[unsigned]}{width}({repeated_text(arg, width)})"


def _mask(text: str, dtype: np.dtype, width: int) -> str:
    """A vector of bools as the condition of a choice between values of `dtype`: of their size."""
    is_long = dtype != BOOL and dtype.itemsize == 8
    return converted_text(text, f"long{width}") if is_long else text


def _conversion_text(text: str, dtype: np.dtype, to: np.dtype, result: str, width: int) -> str:
    """`text` converted; floats out of an integer's range saturate and NaN becomes 0, as in XLA."""
    if dtype == to or (dtype == FLOAT32 and to in HALVES):
        return text
    if dtype == BOOL:
        return converted_text(f"{text} & 1", result)
    if to == BOOL:
        return converted_text(f"{text} != 0", f"int{width}")
    if kind(dtype) == "f" and kind(to) in "iu":
        return f"{saturate_helper(to, dtype, width).name}({text})"
    return converted_text(text, result)


def converted_text(text: str, to: str) -> str:
    """C's conversion of each element. OpenCL's own convert_ functions say the same, but some drivers
    call them as functions: that takes longer than the conversion, and so do vload and vstore."""
    return f"__builtin_convertvector({text}, {to})"


def _lane_by_lane(op: str, target: Value, args: Sequence[Atom]) -> str:
    one = Value(target.name, FLOAT32 if target.dtype in HALVES else target.dtype)
    texts = [
        f"({operation_text(op, one, [_element(arg, lane) for arg in args])})"
        for lane in range(target.width)
    ]
    if target.dtype == BOOL:
        texts = [f"-{text}" for text in texts]
    return f"({type_text(target)})({', '.join(texts)})"


def _element(arg: Atom, lane: int) -> Atom:
    """One lane of a vector: x.s0, x.s1, ..., x.sf."""
    if not isinstance(arg, Value) or arg.width == 1:
        return arg
    text = f"{arg.name}.s{lane:x}"
    return Value(f"({text} != 0)" if arg.dtype == BOOL else text, arg.dtype)


# ---- memory ----


def vector_load_text(
    target: Value, source: Buffer | PrivateArray, at: Index, end: Index | None
) -> str:
    """Neighbouring elements of a buffer, or of a private array."""
    width, part = target.width, "" if end is None else f", {end - at}"
    text = f"{load_helper(source, width, end is not None).name}({source.name} + {at}{part})"
    if source.dtype in HALVES and isinstance(source, Buffer):
        return _loaded(text, target)
    return converted_text(text, f"int{width}") + " != 0" if source.dtype == BOOL else text


def _loaded(text: str, target: Value) -> str:
    """Halves as float32, from their bits."""
    return f"tj_load_{target.dtype}_{target.width}({converted_text(text, f'int{target.width}')})"


def _stored(text: str, value: Value) -> str:
    """The bits of halves, from float32."""
    bits = f"tj_store_{value.dtype}_{value.width}({text})"
    return converted_text(bits, f"ushort{value.width}")


def vector_store_text(
    destination: Buffer | PrivateArray, at: Index, value: Value, end: Index | None
) -> str:
    """Stores neighbouring elements of a buffer, or of a private array of scalars."""
    text, part = str(value), "" if end is None else f", {end - at}"
    if value.dtype == BOOL:
        text = converted_text(f"{value} & 1", f"uchar{value.width}")
    if value.dtype in HALVES and isinstance(destination, Buffer):
        text = _stored(text, value)
    helper = store_helper(destination, value.width, end is not None)
    return f"{helper.name}({text}, {destination.name} + {at}{part})"
