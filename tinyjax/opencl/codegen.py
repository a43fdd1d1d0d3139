"""Code generation: a kernel of kernel_ir.py as OpenCL C.

After this file you can read the C of any kernel and say which line of the kernel it comes from: one
statement becomes one line. What differs between devices stands in one small `Target`. Builds on
kernel_ir and scalar_ops.

Source: the OpenCL C 1.2 specification, https://registry.khronos.org/OpenCL/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.dtypes import bfloat16, kind
from tinyjax.opencl.c_library import FUNCTIONS, functions_text
from tinyjax.opencl.kernel_ir import (
    Atom,
    Buffer,
    Combine,
    Const,
    For,
    IfLast,
    Index,
    Kernel,
    Lanes,
    Let,
    Load,
    MakeLanes,
    Statement,
    Store,
    Value,
)
from tinyjax.opencl.scalar_ops import scalar_ops

# ---- devices differ ----


@dataclass(frozen=True)
class Target:
    """What a kind of device wants of a kernel.

    `max_items`: how many work-items are worth having. `local_size`: work-items to a group, always
    given at launch (left to the driver, odd sizes can be very slow). `grain`: the elements that a
    work-item should have before another one is started. A reduction to few elements is shared out
    among `reduction_items`, at least `reduction_grain` elements to each. `lanes`: accumulators of
    one work-item, which the C compiler turns into vector registers."""

    name: str
    max_items: int
    local_size: int
    grain: int
    reduction_items: int
    reduction_grain: int
    lanes: int


# A CPU core runs one work-item at a time, and vectorises its loop: few items with long loops.
CPU = Target(
    "cpu", max_items=64, local_size=1, grain=4096,
    reduction_items=64, reduction_grain=4096, lanes=16,
)  # fmt: skip
# A GPU runs neighbouring items together: one element each, so that they touch neighbouring memory.
GPU = Target(
    "gpu", max_items=2**30, local_size=64, grain=1,
    reduction_items=4096, reduction_grain=64, lanes=1,
)  # fmt: skip

# ---- types ----

HALVES = (np.dtype("float16"), bfloat16)
C_TYPES = {
    np.dtype(name): c_type
    for name, c_type in {
        "int8": "char", "int16": "short", "int32": "int", "int64": "long",
        "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong",
        "float32": "float", "float64": "double", "bool": "bool",
    }.items()
}  # fmt: skip


def has_kernel_type(dtype: Any) -> bool:
    """Whether kernels can compute with `dtype`: all but complex numbers, float0 and keys."""
    return dtype in C_TYPES or dtype in HALVES


def c_type(dtype: np.dtype) -> str:
    """The type of a variable: half precision is a way to store floats, not to compute."""
    return "float" if dtype in HALVES else C_TYPES[dtype]


def storage_type(dtype: np.dtype) -> str:
    """The type of an element in memory: C gives bool no size, and halves travel as their bits."""
    if dtype == np.bool_:
        return "uchar"
    return "ushort" if dtype in HALVES else C_TYPES[dtype]


# Correct rounding, as NumPy does it, by way of the conversions that every OpenCL device has.
HALF_HELPERS = """\
float tj_load_float16(ushort bits) { return vload_half(0, (const half *)&bits); }
ushort tj_store_float16(float x) { ushort bits; vstore_half_rte(x, 0, (half *)&bits); return bits; }
float tj_load_bfloat16(ushort bits) { return as_float((uint)bits << 16); }
ushort tj_store_bfloat16(float x) {
  uint bits = as_uint(x);
  if (x != x) return (bits >> 16) | 64;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
"""

# ---- programs ----


def program_text(kernels: Sequence[Kernel]) -> str:
    """One OpenCL C program with all `kernels`; the same kernels always give the same text, so that
    an OpenCL driver's cache on disk recognises it. No kernels, no text."""
    if not kernels:
        return ""
    results = [pair for kernel in kernels for pair in _results(kernel.body)]
    dtypes = {buffer.dtype for kernel in kernels for buffer in kernel.buffers}
    dtypes |= {value.dtype for _, value in results}
    # Sums and products are rounded one by one, as NumPy does.
    parts = ["#pragma OPENCL FP_CONTRACT OFF"]
    if np.dtype("float64") in dtypes:
        parts.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    if dtypes & set(HALVES):
        parts.append(HALF_HELPERS)
    parts += functions_text(op for op, value in results if c_type(value.dtype) == "float")
    parts += map(kernel_text, kernels)
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _results(body: Sequence[Statement]) -> Iterator[tuple[str, Value]]:
    """The values that are computed or loaded, each with the operation."""
    for statement in body:
        if isinstance(statement, Let):
            yield statement.op, statement.target
        elif isinstance(statement, Load):
            yield "load", statement.target
        elif isinstance(statement, (For, IfLast)):
            yield from _results(statement.body)


def kernel_text(kernel: Kernel) -> str:
    """The kernel as an OpenCL C function."""
    parameters = ",\n    ".join(map(_parameter, kernel.buffers))
    lines = list(_lines(kernel.body, index_type(kernel), "  "))
    if kernel.items > 1:
        lines = [f"  const {index_type(kernel)} item = get_global_id(0);", *lines]
    return "\n".join([f"__kernel void {kernel.name}(\n    {parameters}) {{", *lines, "}"])


def index_type(kernel: Kernel) -> str:
    """int, unless some index needs more than 31 bits."""
    return "int" if max(_index_bounds(kernel.body), default=0) < 2**31 else "long"


def _index_bounds(body: Sequence[Statement]) -> Iterator[int]:
    for statement in body:
        if isinstance(statement, Let):
            found = [arg for arg in statement.args if isinstance(arg, Index)]
        elif isinstance(statement, (Load, Store, Combine)):
            found = [statement.index]
        elif isinstance(statement, For):
            found = [statement.start, statement.stop]
        else:
            found = []
        yield from (max(abs(part.lo), abs(part.hi)) for at in found for part in at.parts())
        if isinstance(statement, (For, IfLast)):
            yield from _index_bounds(statement.body)


def _parameter(buffer: Buffer) -> str:
    # A scratch buffer is written by some work-items and read by another while the kernel runs.
    qualifier = {"in": "const ", "out": "", "scratch": "volatile "}[buffer.role]
    restrict = "" if buffer.role == "scratch" else "restrict "
    return f"__global {qualifier}{storage_type(buffer.dtype)} *{restrict}{buffer.name}"


# ---- statements ----


def _lines(body: Sequence[Statement], index: str, indent: str) -> Iterator[str]:
    for statement in body:
        yield from (indent + line for line in _statement_lines(statement, index))


def _statement_lines(statement: Statement, index: str) -> Iterator[str]:
    match statement:
        case Let(target, op, args):
            yield _declare(target, operation_text(op, target.dtype, args))
        case Load(target, source, at):
            yield _declare(target, _load_text(source, at))
        case Store(destination, at, value):
            is_half = isinstance(destination, Buffer) and destination.dtype in HALVES
            text = atom_text(value)
            text = f"tj_store_{destination.dtype}({text})" if is_half else text
            yield f"{_element(destination, at)} = {text};"
        case MakeLanes(lanes, initial):
            if lanes.size == 1:
                yield f"{c_type(lanes.dtype)} {lanes.name} = {atom_text(initial)};"
                return
            yield f"{c_type(lanes.dtype)} {lanes.name}[{lanes.size}];"
            loop = f"for (int lane = 0; lane < {lanes.size}; ++lane)"
            yield f"{loop} {lanes.name}[lane] = {atom_text(initial)};"
        case Combine(lanes, at, op, value):
            so_far = Value(_element(lanes, at), lanes.dtype)
            yield f"{so_far} = {operation_text(op, lanes.dtype, [so_far, value])};"
        case For(variable, start, stop, body):
            yield f"for ({index} {variable} = {start}; {variable} < {stop}; ++{variable}) {{"
            yield from _lines(body, index, "  ")
            yield "}"
        case IfLast(ticket, body):
            yield "mem_fence(CLK_GLOBAL_MEM_FENCE);"
            yield f"if (atomic_inc({ticket.name}) == get_global_size(0) - 1) {{"
            yield "  mem_fence(CLK_GLOBAL_MEM_FENCE);"
            yield from _lines(body, index, "  ")
            yield f"  *{ticket.name} = 0;"
            yield "}"


def _element(memory: Buffer | Lanes, at: Index) -> str:
    """A single accumulator is a plain variable."""
    return memory.name if isinstance(memory, Lanes) and memory.size == 1 else f"{memory.name}[{at}]"


def _load_text(source: Buffer | Lanes, at: Index) -> str:
    is_half = isinstance(source, Buffer) and source.dtype in HALVES
    element = _element(source, at)
    return f"tj_load_{source.dtype}({element})" if is_half else element


def _declare(target: Value, text: str) -> str:
    return f"const {c_type(target.dtype)} {target.name} = {text};"


def operation_text(op: str, dtype: np.dtype, args: Sequence[Atom]) -> str:
    """`op` of `args` as a C expression of `dtype`."""
    if op == "convert":
        return conversion_text(args[0], dtype)
    if op == "bitcast":
        return f"as_{C_TYPES[dtype]}({atom_text(args[0])})"
    kind_of_first = "i" if isinstance(args[0], Index) else kind(args[0].dtype)
    texts = scalar_ops[op].c
    if kind_of_first not in texts:
        raise NotImplementedError(f"no C text for operation '{op}' on kind '{kind_of_first}'")
    if op in FUNCTIONS and c_type(dtype) == "float":
        return _rounded(f"tj_{op}({atom_text(args[0])})", dtype)
    integer_bits = dtype.itemsize * 8
    text = texts[kind_of_first].format(
        *map(atom_text, args),
        t=c_type(dtype),
        w="ulong" if integer_bits == 64 else "uint",
        same_width=C_TYPES[np.dtype(f"uint{integer_bits}")],
        same_width_signed=C_TYPES[np.dtype(f"int{integer_bits}")],
        bits=integer_bits,
    )
    exact = op in ("select", "copy", "neg", "max", "min", "abs")
    return text if exact else _rounded(text, dtype)


def _rounded(text: str, dtype: np.dtype) -> str:
    """Halves are computed in float and rounded after every operation, as NumPy does."""
    return f"tj_load_{dtype}(tj_store_{dtype}({text}))" if dtype in HALVES else text


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
    """A literal that C reads back as exactly this number."""
    value, of_kind = constant.value, kind(constant.dtype)
    if of_kind == "b":
        return "1" if value else "0"
    if of_kind == "f":
        return _float_text(float(value), constant.dtype == np.float64)
    suffix = {"i": "", "u": "u"}[of_kind] + ("L" if constant.dtype.itemsize == 8 else "")
    if of_kind == "i" and value == np.iinfo(constant.dtype).min:
        return f"(-{-(int(value) + 1)}{suffix} - 1)"  # C has no negative literals
    return f"({int(value)}{suffix})" if value < 0 else f"{int(value)}{suffix}"


def _float_text(value: float, is_double: bool) -> str:
    sign = "-" if np.signbit(value) else ""
    if not np.isfinite(value):
        word = "NAN" if np.isnan(value) else "INFINITY"
        return f"({sign}({'double' if is_double else 'float'}){word})"
    shortest = repr(abs(value) if is_double else np.float32(abs(value)).item())
    if not is_double:
        shortest = np.format_float_scientific(np.float32(abs(value)), unique=True, trim="-")
        plain = np.format_float_positional(np.float32(abs(value)), unique=True, trim="0")
        shortest = (plain if len(plain) <= 12 else shortest) + "f"
    if not is_double and "." not in shortest and "e" not in shortest:
        shortest = shortest.replace("f", ".0f")
    return f"({sign}{shortest})" if sign else shortest
