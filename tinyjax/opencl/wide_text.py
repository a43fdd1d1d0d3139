"""Operations on several elements side by side, as C text: OpenCL's vector types.

After this file you can read a kernel in which a value is a `float16`, the elements of sixteen
neighbours in one variable: sixteen pixels go through a loop together, each until its own condition
fails. A bool is then an int with all bits equal, as C's comparisons of vectors give it. What C has no
vector form of is written once for each element. Builds on c_text and c_library.

Source: the OpenCL C 1.2 specification, 6.1.2 (vectors) and 6.3 (operators on them)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from tinyjax.dtypes import kind
from tinyjax.opencl import c_library
from tinyjax.opencl.c_text import C_TYPES, atom_text, operation_text, storage_type, type_text
from tinyjax.opencl.kernel_ir import (
    Atom,
    Buffer,
    Index,
    Kernel,
    Lanes,
    Load,
    Store,
    Value,
    inner_bodies,
)
from tinyjax.opencl.scalar_ops import scalar_ops

BOOL, FLOAT32 = np.dtype(bool), np.dtype("float32")


def has_wide_type(dtype: np.dtype) -> bool:
    """Whether values of `dtype` can be computed side by side: all of 32 and 64 bits, and bools."""
    return dtype == BOOL or (dtype in C_TYPES and dtype.itemsize >= 4)


# ---- operations ----

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "is_finite")
# Operations whose C text means the same for vectors, by the kind of the first operand
SAME_TEXT = {
    "f": "add sub mul mul_add div neg max min abs sign sqrt rsqrt floor ceil round_to_even".split(),
    "i": "max min and or not xor".split(),
    "u": "max min and or not xor".split(),
}
WRAPPED = {"add": "+", "sub": "-", "mul": "*"}  # integers wrap around as unsigned ones
LOGIC = {
    "and": "{0} & {1}", "mul": "{0} & {1}", "min": "{0} & {1}", "or": "{0} | {1}",
    "add": "{0} | {1}", "max": "{0} | {1}", "xor": "{0} ^ {1}", "ne": "{0} ^ {1}",
    "eq": "~({0} ^ {1})", "not": "~{0}",
}  # fmt: skip
SHIFTS = {
    "shift_left": "({1} < {bits} ? {0} << {1} : 0)",
    "shift_right_logical": "({1} < {bits} ? {0} >> {1} : 0)",
}


def wide_operation_text(op: str, target: Value, args: Sequence[Atom]) -> str:
    """`op` of `args`, some of them wide, as a C expression; others are the same for all elements."""
    first = args[0]
    if op == "any":
        return f"any({atom_text(first)})"
    if op == "side_by_side":
        return f"({type_text(target)})({', '.join(map(atom_text, args))})"
    width = max(target.width, *(getattr(arg, "width", 1) for arg in args))
    texts = [_wide(arg, width) for arg in args]
    dtype = np.dtype("int32") if isinstance(first, Index) else first.dtype
    of_kind, bits, result = kind(dtype), dtype.itemsize * 8, type_text(target)
    if op == "copy":
        return texts[0]
    if op == "select":
        return f"{_mask(texts[0], target.dtype, width)} ? {texts[1]} : {texts[2]}"
    if op == "bitcast":
        return f"as_{result}({texts[0]})"
    if op == "convert":
        converted = _conversion_text(texts[0], dtype, target.dtype, result, width)
        return converted or _one_by_one(op, target, args)
    if of_kind == "b":
        return LOGIC[op].format(*texts) if op in LOGIC else _one_by_one(op, target, args)
    if op in COMPARISONS:
        text = scalar_ops[op].c[of_kind].format(*texts)
        return text if bits == 32 else f"convert_int{width}({text})"
    if op in c_library.FUNCTIONS and dtype == FLOAT32:
        return f"tj_{op}{width}({texts[0]})"
    if op in SAME_TEXT.get(of_kind, ()):
        return scalar_ops[op].c[of_kind].format(*texts, t=result)
    unsigned = [f"as_{C_TYPES[np.dtype(f'uint{bits}')]}{width}({text})" for text in texts]
    if of_kind in "iu" and op in WRAPPED:
        return f"as_{result}({f' {WRAPPED[op]} '.join(unsigned)})"
    if of_kind in "iu" and op == "neg":
        return f"as_{result}(-{unsigned[0]})"
    if of_kind in "iu" and op in SHIFTS:
        return f"as_{result}({SHIFTS[op].format(*unsigned, bits=bits)})"
    return _one_by_one(op, target, args)


def _wide(arg: Atom, width: int) -> str:
    """An operand as text; what is one for all is repeated."""
    text = atom_text(arg)
    if getattr(arg, "width", 1) > 1:
        return text
    if isinstance(arg, Index):
        return f"(int{width})({text})"
    if arg.dtype == BOOL:
        return f"(int{width})({text} ? -1 : 0)"
    return f"({C_TYPES[arg.dtype]}{width})({text})"


def _mask(text: str, dtype: np.dtype, width: int) -> str:
    """A wide bool as the condition of a choice between values of `dtype`: of their size."""
    is_long = dtype != BOOL and dtype.itemsize == 8
    return f"convert_long{width}({text})" if is_long else text


def _conversion_text(
    text: str, dtype: np.dtype, to: np.dtype, result: str, width: int
) -> str | None:
    """`text` converted, or None where that has to be done one by one."""
    if dtype == to:
        return text
    if dtype == BOOL:
        return f"convert_{result}({text} & 1)"
    if to == BOOL:
        return f"convert_int{width}({text} != 0)"
    if kind(dtype) == "f" and kind(to) in "iu":
        return None
    return f"convert_{result}({text})"


def _one_by_one(op: str, target: Value, args: Sequence[Atom]) -> str:
    one = Value(target.name, target.dtype)
    texts = [
        f"({operation_text(op, one, [_element(arg, lane) for arg in args])})"
        for lane in range(target.width)
    ]
    if target.dtype == BOOL:
        texts = [f"-{text}" for text in texts]
    return f"({type_text(target)})({', '.join(texts)})"


def _element(arg: Atom, lane: int) -> Atom:
    """One element of a wide value: x.s0, x.s1, ..., x.sf."""
    if not isinstance(arg, Value) or arg.width == 1:
        return arg
    text = f"{arg.name}.s{lane:x}"
    return Value(f"({text} != 0)" if arg.dtype == BOOL else text, arg.dtype)


# ---- memory ----

# Vectors that stand anywhere in memory. PoCL calls vload and vstore as functions, for each vector.
PACKED = "typedef {t}{w} tj_packed{w}_{t} __attribute__((aligned({size})));"
PARTIAL = """\
{t}{w} tj_load{w}_{t}(__global const {t} *p, int count) {{
  if (count >= {w}) return *(__global const tj_packed{w}_{t} *)p;
  {t}{w} x = p[0];
  for (int i = 1; i < count; ++i) (({t} *)&x)[i] = p[i];
  return x;
}}
void tj_store{w}_{t}({t}{w} x, __global {t} *p, int count) {{
  if (count >= {w}) {{
    *(__global tj_packed{w}_{t} *)p = x;
    return;
  }}
  for (int i = 0; i < count; ++i) p[i] = (({t} *)&x)[i];
}}
"""


def wide_load_text(target: Value, source: Buffer | Lanes, at: Index, end: Index | None) -> str:
    """Neighbouring elements of a buffer, or of a private array."""
    pointer, width, c_type = f"{source.name} + {at}", target.width, storage_type(source.dtype)
    if end is None:
        space = "__global const " if isinstance(source, Buffer) else ""
        text = f"*({space}tj_packed{width}_{c_type} *)({pointer})"
    else:
        text = f"tj_load{width}_{c_type}({pointer}, {end - at})"
    return f"convert_int{width}({text}) != 0" if source.dtype == BOOL else text


def wide_store_text(destination: Buffer, at: Index, value: Value, end: Index | None) -> str:
    """Stores neighbouring elements of a buffer."""
    pointer, width = f"{destination.name} + {at}", value.width
    c_type = storage_type(destination.dtype)
    text = f"convert_uchar{width}({value} & 1)" if value.dtype == BOOL else str(value)
    if end is None:
        return f"*(__global tj_packed{width}_{c_type} *)({pointer}) = {text}"
    return f"tj_store{width}_{c_type}({text}, {pointer}, {end - at})"


# ---- functions ----


def wide_helpers(kernels: Iterable[Kernel], results: Iterable[tuple[str, Value]]) -> list[str]:
    """The C functions that wide operations, loads and stores need."""
    texts: dict[str, None] = {}
    for op, value in results:
        if value.width > 1 and value.dtype == FLOAT32:
            for text in c_library.FUNCTIONS.get(op, ()):
                texts[_widened(text, value.width)] = None
    for kernel in kernels:
        for dtype, width, end in _accesses(kernel.body):
            names = {"t": storage_type(dtype), "w": width, "size": dtype.itemsize}
            texts[PACKED.format(**names)] = None
            if end is not None:
                texts[PARTIAL.format(**names)] = None
    return list(texts)


def _accesses(body: Sequence) -> Iterator[tuple[np.dtype, int, Index | None]]:
    """Type, width and end of the loads and stores of several elements."""
    for statement in body:
        match statement:
            case Load(Value(width=width), memory, _, end) if width > getattr(memory, "width", 1):
                yield memory.dtype, width, end
            case Store(memory, _, Value(width=width), end) if width > getattr(memory, "width", 1):
                yield memory.dtype, width, end
        for inner in inner_bodies(statement):
            yield from _accesses(inner)


def _widened(text: str, width: int) -> str:
    """A function of c_library for vectors: the same text with float16 for float, int16 for int. What is
    set only `if` something is set for some elements only."""
    wide = re.sub(r"\b((?:as_|convert_)?(?:float|int)|tj_[a-z0-9]+)\b", rf"\g<1>{width}", text)

    def one_by_one(found: re.Match) -> str:
        condition, name, value = found.groups()
        element = re.compile(r"\bx\b")
        one = "((float *)&x)[lane]"
        return (
            f"if (any({condition})) for (int lane = 0; lane < {width}; ++lane)\n"
            f"    if ({element.sub(one, condition)}) "
            f"((float *)&{name})[lane] = {element.sub(one, value)};"
        )

    return re.sub(r"if \((.*)\) (\w+) = (.*);", one_by_one, wide)
