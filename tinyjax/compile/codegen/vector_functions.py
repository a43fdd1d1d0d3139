"""The C functions on vectors that kernels call: loads and stores at any place, and c_library's for vectors.

After this file you can say how sine comes to sixteen elements at once: the text of the function is the same
with `float16` for `float`, as there is no branch in it. Builds on c_library, c_halves and c_integers.

Source: the OpenCL C 1.2 specification, 6.1.2 (vectors)
"""

from __future__ import annotations

import re

import numpy as np

from tinyjax.compile.codegen import c_halves, c_integers, c_library
from tinyjax.compile.codegen.c_text import C_TYPES, constant_text
from tinyjax.compile.kernel.kernel_ir import Const

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
