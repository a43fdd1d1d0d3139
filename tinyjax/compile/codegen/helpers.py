"""The C helper functions of a program.

Source: the OpenCL C 1.2 specification, 6.1.2 (vectors)
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from tinyjax.compile.codegen.c_text import storage_type
from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.functions.kernel_function import KernelFunction, widened
from tinyjax.compile.kernel.functions.notation import definitions
from tinyjax.compile.kernel.scalar_ops import HALVES


@dataclass(frozen=True)
class Helper:
    """A C function, and the functions that it calls."""

    name: str
    text: str
    needs: tuple[Callee, ...] = ()


Callee = Helper | KernelFunction  # what C text calls


class Calls(list[Callee]):
    """The functions that some C text calls, filled in as the text is written."""

    def call(self, callee: Callee, *args: str) -> str:
        """A call as an expression."""
        self.append(callee)
        name = callee.name if isinstance(callee, Helper) else f"tj_{callee.name}"
        return f"{name}({', '.join(args)})"

    def of_half(self, what: str, dtype: np.dtype, width: int, text: str) -> str:
        """A 16-bit float loaded from its bits, stored as these, or rounded to one; others are as they are."""
        if dtype not in HALVES:
            return text
        return self.call(widened(definitions[f"{what}_{dtype}"].kernel_function, width), text)


# ---- memory ----

GLOBAL = "__global "
PRIVATE = {GLOBAL: "", "": "_private"}  # in the names of functions, by the memory's address space

# A vector may begin at any element: a separate type with a smaller alignment declares that to C.
LOAD = """\
{t}{w} {name}({space}const {t} *p) {{
  typedef {t}{w} anywhere __attribute__((aligned(sizeof({t}))));
  return *({space}const anywhere *)p;
}}
"""
STORE = """\
void {name}({t}{w} x, {space}{t} *p) {{
  typedef {t}{w} anywhere __attribute__((aligned(sizeof({t}))));
  *({space}anywhere *)p = x;
}}
"""
# As calls, these would take several times as long: vectors are handed over in memory.
LOAD_PART = """\
__attribute__((always_inline)) {t}{w} {name}({space}const {t} *p, long count) {{
  if (count >= {w}) return {whole}(p);
  {t}{w} x = p[0];
  for (int i = 1; i < count; ++i) (({t} *)&x)[i] = p[i];
  return x;
}}
"""
STORE_PART = """\
__attribute__((always_inline)) void {name}({t}{w} x, {space}{t} *p, long count) {{
  if (count >= {w}) {{
    {whole}(x, p);
    return;
  }}
  for (int i = 0; i < count; ++i) p[i] = (({t} *)&x)[i];
}}
"""
MEMORY = {"load": LOAD, "load_part": LOAD_PART, "store": STORE, "store_part": STORE_PART}

# No vector register survives a call. So C's compiler does not keep the constants of a tile's epilogue in
# registers from tile to tile, which the tile's sums need.
FREE_REGISTERS = Helper(
    "tj_free_registers",
    "__attribute__((noinline)) void tj_free_registers(void) {\n  volatile int something = 0;\n}\n",
)


@functools.cache
def memory_helper(kind: str, t: str, w: int, space: str = GLOBAL) -> Helper:
    """The function that loads or stores `w` neighbouring elements of the C type `t`."""
    of_whole = kind.removesuffix("_part")
    needs = () if of_whole == kind else (memory_helper(of_whole, t, w, space),)
    name, whole = f"tj_{kind}{PRIVATE[space]}{w}_{t}", needs[0].name if needs else ""
    return Helper(name, MEMORY[kind].format(name=name, whole=whole, space=space, t=t, w=w), needs)


# Every s-th element from `p` on: lanes of whole vectors from there on, two by two. A vector that would end
# after the last element begins so much earlier that it ends with it.
LOAD_BY = """\
{t}{w} {name}(__global const {t} *p) {{
  {t}{w} x = {whole}(p);
{lines}
  return x;
}}
"""
STORE_BY = """\
__attribute__((always_inline)) void {name}({parameters}, __global {t} *p) {{
  for (int i = 0; i < {w}; ++i) {{ {stores} }}
}}
"""


@functools.cache
def strided_load(t: str, w: int, s: int) -> Helper:
    """The function that loads `w` elements of the C type `t`, every `s`-th one."""
    name, whole = f"tj_load{w}_by{s}_{t}", memory_helper("load", t, w)
    lines = []
    for n in range(1, s):
        first = min(n * w, (w - 1) * (s - 1))
        before, upto = -(-n * w // s), min(w, -(-(n + 1) * w // s))  # lanes
        if before == upto:
            continue
        lanes = [k if k < before else w + k * s - first for k in range(upto)]
        if n == 1:
            lanes[:before] = range(0, before * s, s)
        numbers = ", ".join(map(str, [*lanes, *[-1] * (w - len(lanes))]))
        lines.append(f"  x = __builtin_shufflevector(x, {whole.name}(p + {first}), {numbers});")
    text = LOAD_BY.format(name=name, whole=whole.name, t=t, w=w, lines="\n".join(lines))
    return Helper(name, text, (whole,))


@functools.cache
def strided_store(t: str, w: int, s: int, count: int = 1) -> Helper:
    """The function that stores vectors of `w` elements of the C type `t`: the n-th one to every `s`-th place
    from the n-th on. As many as `s` fill all places, an element of each in turn."""
    name = f"tj_{'store' if count == 1 else 'interleave'}{w}_by{s}_{t}"
    parameters = ", ".join(f"{t}{w} x{n}" for n in range(count))
    stores = " ".join(f"p[i * {s} + {n}] = (({t} *)&x{n})[i];" for n in range(count))
    return Helper(name, STORE_BY.format(name=name, parameters=parameters, t=t, w=w, stores=stores))


# The first elements of a vector, as two smaller ones, which overlap.
LOAD_FIRST = """\
{t}{w} {name}({space}const {t} *p) {{
  return __builtin_shufflevector({part}(p), {part}(p + {rest}), {lanes});
}}
"""
STORE_FIRST = """\
__attribute__((always_inline)) void {name}({t}{w} x, {space}{t} *p) {{
  {part}(__builtin_shufflevector(x, x, {low}), p);
  {part}(__builtin_shufflevector(x, x, {high}), p + {rest});
}}
"""


@functools.cache
def first_helper(kind: str, t: str, w: int, count: int, space: str = GLOBAL) -> Helper:
    """The function that stores the first `count` of `w` elements, or loads them, the last one repeated."""
    size = 1 << (count.bit_length() - 1)
    rest, part = count - size, memory_helper(kind, t, size, space)
    places = [lane if lane < size else lane + size - rest for lane in range(count)]
    ranges = places + places[-1:] * (w - count), range(size), range(rest, count)
    lanes, low, high = (", ".join(map(str, numbers)) for numbers in ranges)
    parts = {"part": part.name, "rest": rest, "lanes": lanes, "low": low, "high": high}
    name = f"tj_{kind}_first{count}of{w}{PRIVATE[space]}_{t}"
    text = LOAD_FIRST if kind == "load" else STORE_FIRST
    return Helper(name, text.format(name=name, space=space, t=t, w=w, **parts), (part,))


def known_part(access: ir.Load | ir.Store) -> int:
    """How many elements there are before the end, if that is known and more than one; else 0."""
    if access.end is None:
        return 0
    count = access.end - access.index
    return count.lo if count.op == "const" and 1 < count.lo < ir.width_of(access) else 0


def vector_access(access: ir.Load | ir.Store, calls: Calls, *value: str) -> str:
    """A call that loads several neighbouring elements, or stores those of `value`."""
    kind = "load" if isinstance(access, ir.Load) else "store"
    memory, width = access.memory, ir.width_of(access)
    part = [] if access.end is None else [str(access.end - access.index)]
    t, space = storage_type(memory.dtype), GLOBAL
    if isinstance(memory, ir.PrivateArray):
        space = ""
        t = "float" if memory.dtype in HALVES else t  # the bits of halves are in buffers only
    if count := known_part(access):
        helper, part = first_helper(kind, t, width, count, space), []
    elif access.stride > 1:
        helper = (strided_load if kind == "load" else strided_store)(t, width, access.stride)
    else:
        helper = memory_helper(kind + "_part" * (access.end is not None), t, width, space)
    return calls.call(helper, *value, f"{memory.name} + {access.index}", *part)


# ---- loops that can be stopped ----

STOPPED = Helper(
    "tj_stopped",
    """\
int tj_stopped(__global volatile int *stop, int operations) {
  int left = *stop;
  if (left > 0) *stop = left = left > operations ? left - operations : -1;
  return left < 0;
}
""",
)


def stopped_text(operations: int, calls: Calls) -> str:
    """Whether a loop must end before an iteration that takes these operations: see STOP in kernel_ir.py."""
    return calls.call(STOPPED, ir.STOP, str(operations))


# ---- operations that C has no vector form of ----

ANY = "int tj_any{w}(int{w} x) {{ return {half}(x.lo | x.hi); }}\n"
ANY_OF_TWO = "int tj_any2(int2 x) { return (x.lo | x.hi) != 0; }\n"


@functools.cache
def any_helper(width: int) -> Helper:
    """Whether any element of a vector of bools is true."""
    if width == 2:
        return Helper("tj_any2", ANY_OF_TWO)
    half = any_helper(width // 2)
    return Helper(f"tj_any{width}", ANY.format(w=width, half=half.name), (half,))
