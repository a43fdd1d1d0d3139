"""Operations on vectors, as C text: OpenCL's vector types.

After this file you can read a kernel in which a value is a `float16`, the elements of sixteen
neighbours in one variable: sixteen pixels go through a loop together, each until its own condition
fails. A bool is then an int with all bits equal, as C's comparisons of vectors give it. What C has no
vector form of is written once for each element. Builds on c_text, c_library and c_integers.

Source: the OpenCL C 1.2 specification, 6.1.2 (vectors) and 6.3 (operators on them)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tinyjax.compile.codegen import c_halves, c_integers, c_library
from tinyjax.compile.codegen.c_text import (
    C_TYPES,
    EXACT,
    atom_text,
    c_type,
    constant_text,
    operation_text,
    storage_type,
    type_text,
)
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.kernel_ir import Atom, Buffer, Const, PrivateArray, Value
from tinyjax.compile.kernel.scalar_ops import HALVES, scalar_ops
from tinyjax.core.dtypes import kind

BOOL, FLOAT32 = np.dtype(bool), np.dtype("float32")


# ---- operations ----

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "is_finite")
# Operations whose C text means the same for vectors, by the kind of the first operand
SAME_TEXT = {
    "f": "add sub mul mul_add div neg max min sign sqrt rsqrt floor ceil round_to_even".split(),
    "i": "max min and or not xor".split(),
    "u": "max min and or not xor".split(),
}
# Of floats, by way of their bits: all but the sign, and what those of infinity are
ON_BITS = {
    "abs": "as_{signed}({0}) & {size}",
    "is_finite": "(as_{signed}({0}) & {size}) < {infinity}",
}
SIZE_AND_INFINITY = {
    32: ("0x7fffffff", "0x7f800000"),
    64: ("0x7fffffffffffffffL", "0x7ff0000000000000L"),
}
HALF = {"low": "lo", "high": "hi"}
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


def vector_operation_text(op: str, target: Value, args: Sequence[Atom]) -> str:
    """`op` of `args`, some of them vectors, as a C expression; others are uniform."""
    text = _operation_text(op, target, args)
    is_exact = target.dtype not in HALVES or target.width == 1 or op in EXACT
    return text if is_exact else f"tj_round_{target.dtype}_{target.width}({text})"


def _operation_text(op: str, target: Value, args: Sequence[Atom]) -> str:
    first = args[0]
    if op == "any":
        return f"tj_any{getattr(first, 'width', 1)}({first})"
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
    texts = [repeated_text(arg, width) for arg in args]
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
    if of_kind == "b":
        return LOGIC[op].format(*texts) if op in LOGIC else _lane_by_lane(op, target, args)
    if op in ON_BITS and of_kind == "f":
        signed = C_TYPES[np.dtype(f"int{bits}")] + str(width)
        size, infinity = SIZE_AND_INFINITY[bits]
        text = ON_BITS[op].format(*texts, signed=signed, size=size, infinity=infinity)
        return f"as_{result}({text})" if op == "abs" else converted_text(text, f"int{width}")
    if op in COMPARISONS:
        text = scalar_ops[op].c[of_kind].format(*texts)
        return text if bits == 32 else converted_text(text, f"int{width}")
    if op in c_library.FUNCTIONS and dtype == FLOAT32:
        return f"tj_{op}_{width}({', '.join(texts)})"
    if op in SAME_TEXT.get(of_kind, ()):
        return scalar_ops[op].c[of_kind].format(*texts, t=result)
    # (C compilers make a product of the division by a constant.)
    if f"{op}_{C_TYPES[dtype]}" in c_integers.BY_NAME and isinstance(args[1], Value):
        return f"tj_{op}_{C_TYPES[dtype]}_{width}({', '.join(texts)})"
    unsigned = [f"as_{C_TYPES[np.dtype(f'uint{bits}')]}{width}({text})" for text in texts]
    if of_kind in "iu" and op in WRAPPED:
        return f"as_{result}({f' {WRAPPED[op]} '.join(unsigned)})"
    if of_kind in "iu" and op == "neg":
        return f"as_{result}(-{unsigned[0]})"
    if of_kind in "iu" and op in SHIFTS:
        return f"as_{result}({SHIFTS[op].format(*unsigned, bits=bits)})"
    return _lane_by_lane(op, target, args)


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
        return f"tj_saturate_{result}_{C_TYPES[dtype]}({text})"
    return converted_text(text, result)


def converted_text(text: str, to: str) -> str:
    """C's conversion of each element. OpenCL's own convert_ functions say the same, but some drivers
    call them as functions: that takes longer than the conversion, and so do vload and vstore."""
    return f"__builtin_convertvector({text}, {to})"


def _lane_by_lane(op: str, target: Value, args: Sequence[Atom]) -> str:
    one = Value(target.name, target.dtype)
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

# Bytes of an array that no cache keeps until it is read: it is stored past the caches, which spares
# reading what was in that memory before.
STREAMED = 2**25


def vector_load_text(
    target: Value, source: Buffer | PrivateArray, at: Index, end: Index | None
) -> str:
    """Neighbouring elements of a buffer, or of a private array."""
    pointer, width, of = f"{source.name} + {at}", target.width, storage_type(source.dtype)
    if isinstance(source, PrivateArray):
        of = "float" if source.dtype in HALVES else of  # bits are in buffers only
        text = f"tj_load_private{width}_{of}({pointer})"
    elif end is None:
        text = f"tj_load{width}_{of}({pointer})"
    else:
        text = f"tj_load_part{width}_{of}({pointer}, {end - at})"
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


def vector_store_text(destination: Buffer, at: Index, value: Value, end: Index | None) -> str:
    """Stores neighbouring elements of a buffer."""
    pointer, width, of = f"{destination.name} + {at}", value.width, storage_type(destination.dtype)
    text = str(value)
    if value.dtype == BOOL:
        text = converted_text(f"{value} & 1", f"uchar{width}")
    if value.dtype in HALVES:
        text = _stored(text, value)
    is_large = destination.size * destination.dtype.itemsize >= STREAMED
    store = "tj_stream" if is_large else "tj_store"
    if end is None:
        return f"{store}{width}_{of}({text}, {pointer})"
    return f"{store}_part{width}_{of}({text}, {pointer}, {end - at})"


# ---- functions ----

# A vector may begin at any element: C is told so by a type of its own.
LOAD = """\
{t}{w} tj_load{w}_{t}(__global const {t} *p) {{
  typedef {t}{w} anywhere __attribute__((aligned(sizeof({t}))));
  return *(__global const anywhere *)p;
}}
"""
LOAD_PRIVATE = """\
{t}{w} tj_load_private{w}_{t}(const {t} *p) {{
  typedef {t}{w} anywhere __attribute__((aligned(sizeof({t}))));
  return *(const anywhere *)p;
}}
"""
STORE = """\
void tj_store{w}_{t}({t}{w} x, __global {t} *p) {{
  typedef {t}{w} anywhere __attribute__((aligned(sizeof({t}))));
  *(__global anywhere *)p = x;
}}
"""
# As calls, these two would take several times as long: vectors are handed over in memory.
LOAD_PART = """\
__attribute__((always_inline)) {t}{w} tj_load_part{w}_{t}(__global const {t} *p, long count) {{
  if (count >= {w}) return tj_load{w}_{t}(p);
  {t}{w} x = p[0];
  for (int i = 1; i < count; ++i) (({t} *)&x)[i] = p[i];
  return x;
}}
"""
STORE_PART = """\
__attribute__((always_inline)) void tj_store_part{w}_{t}({t}{w} x, __global {t} *p, long count) {{
  if (count >= {w}) {{
    tj_store{w}_{t}(x, p);
    return;
  }}
  for (int i = 0; i < count; ++i) p[i] = (({t} *)&x)[i];
}}
"""
# Stores past the caches need a place that is a multiple of 16 bytes.
STREAM = """\
__attribute__((always_inline)) void tj_stream{w}_{t}({t}{w} x, __global {t} *p) {{
  typedef {t}{w} aligned __attribute__((aligned(16)));
  if ((ulong)p % 16 == 0) __builtin_nontemporal_store(x, (__global aligned *)p);
  else tj_store{w}_{t}(x, p);
}}
"""
MEMORY = {
    "load": LOAD, "store": STORE, "load_part": LOAD_PART, "store_part": STORE_PART,
    "load_private": LOAD_PRIVATE, "stream": STREAM,
    "stream_part": STORE_PART.replace("tj_store", "tj_stream"),
}  # fmt: skip
ANY = "int tj_any{w}(int{w} x) {{ return tj_any{half}(x.lo | x.hi); }}\n"
ANY_OF_TWO = "int tj_any2(int2 x) { return (x.lo | x.hi) != 0; }\n"
CONVERT = "#define tj_convert_{t}{w}(x) __builtin_convertvector(x, {t}{w})\n"
SATURATE = """\
{t}{w} tj_saturate_{t}{w}_{f}({f}{w} x) {{
  const {f}{w} inside = x > {low} ? (x < {high} ? x : {high}) : {low};
  const {t}{w} y = __builtin_convertvector(inside, {t}{w});
  const {i}{w} is_above = __builtin_convertvector(x >= {limit}, {i}{w});
  const {i}{w} is_nan = __builtin_convertvector(x != x, {i}{w});
  return is_nan ? 0 : is_above ? {most} : y;
}}
"""


def vector_helpers(text: str) -> list[str]:
    """The C functions on vectors that `text` calls, each after those that it calls itself."""
    found: dict[str, str] = {}

    def add(text: str) -> None:
        for name in re.findall(r"\btj_\w+", text):
            if name not in found and (definition := _definition(name)):
                add(definition.replace(name, ""))
                found[name] = definition

    add(text)
    return list(found.values())


def _definition(name: str) -> str | None:
    """The C function that has this name, if it is one on vectors."""
    if found := re.fullmatch(
        r"tj_(load|store|stream|load_part|store_part|stream_part|load_private)(\d+)_(\w+)", name
    ):
        kind_of, w, t = found.groups()
        return MEMORY[kind_of].format(t=t, w=w)
    if found := re.fullmatch(r"tj_any(\d+)", name):
        w = int(found[1])
        return ANY.format(w=w, half=w // 2) if w > 2 else ANY_OF_TWO
    if found := re.fullmatch(r"tj_convert_([a-z]+)(\d+)", name):
        return CONVERT.format(t=found[1], w=found[2])
    if found := re.fullmatch(r"tj_saturate_(\w+?)(\d+)_(\w+)", name):
        return _saturate(*found.groups())
    functions = c_library.BY_NAME | c_halves.BY_NAME | c_integers.BY_NAME
    if (found := re.fullmatch(r"tj_(\w+)_(\d+)", name)) and found[1] in functions:
        return _vectorized(functions[found[1]], int(found[2]))
    return None


def _saturate(t: str, w: str, f: str) -> str:
    to, of = ({c_type: dtype for dtype, c_type in C_TYPES.items()}[name] for name in (t, f))
    info, limit = np.iinfo(to), of.type(2.0) ** np.iinfo(to).bits
    limit = limit / of.type(2) if info.min else limit
    low, high = of.type(info.min), np.nextafter(limit, of.type(0))
    texts = {
        name: constant_text(Const(value, dtype))
        for name, value, dtype in (
            ("low", low, of), ("high", high, of), ("limit", limit, of), ("most", info.max, to)
        )
    }  # fmt: skip
    return SATURATE.format(t=t, w=w, f=f, i="int" if to.itemsize == 4 else "long", **texts)


def _vectorized(text: str, width: int) -> str:
    """A function of c_library for vectors: the same text with float16 for float, int16 for int. What is
    set only `if` something is set for some elements only."""
    vector = re.sub(r"\b(tj_\w+)\(", rf"\1_{width}(", text)
    vector = re.sub(r"\b((?:as_|convert_)?(?:float|u?int|double|long))\b", rf"\g<1>{width}", vector)
    vector = vector.replace("convert_", "tj_convert_")

    def lane_by_lane(found: re.Match) -> str:
        condition, name, value = found.groups()
        element = re.compile(r"\bx\b")
        one = "((float *)&x)[lane]"
        return (
            f"if (tj_any{width}({condition})) for (int lane = 0; lane < {width}; ++lane)\n"
            f"    if ({element.sub(one, condition)}) "
            f"((float *)&{name})[lane] = {element.sub(one, value)};"
        )

    return re.sub(r"if \((.*)\) (\w+) = (.*);", lane_by_lane, vector)
