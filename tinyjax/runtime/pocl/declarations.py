"""Shorter compile times: less source to read, and each kernel optimised only once.

Before each program PoCL's compiler reads a header with all of OpenCL's functions for all types: 18,500 lines,
200 ms, while a kernel itself is compiled in 20 to 100. A macro marks the header as already read, so we define
that macro, and declare only what the program calls. PoCL also makes two more functions of each kernel, which
launch it in two ways, and inlines it into both: LLVM optimises all three. A function marked as not inlinable
exists once, which takes a quarter less time.

Source: the OpenCL C 1.2 specification, 6.12 (built-in functions)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

SKIP_HEADER = "-D_OPENCL_H_"

FLOATS = ("float", "double")
INTEGERS = ("char", "short", "int", "long", "uchar", "ushort", "uint", "ulong")
WIDTHS = (2, 4, 8, 16)  # of vectors

OF_ONE_FLOAT = """
    acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp2 expm1 fabs floor lgamma log
    log1p rint round sin sinh sqrt tan tanh tgamma trunc
""".split()
OF_TWO_FLOATS = "atan2 copysign fmod nextafter pow".split()
# PoCL's own are computed one by one; of these, LLVM makes vectors.
OF_ONE_INTEGER = {
    "clz": "x ? __builtin_clz{l}(({u})x) - {spare} : {bits}",
    "popcount": "__builtin_popcount{l}(({u})x)",
}
OF_TWO_INTEGERS = "max min".split()
OTHERS = {
    "get_global_id": "size_t TJ_VALUE get_global_id(uint);",
    "get_global_size": "size_t TJ_VALUE get_global_size(uint);",
    "mem_fence": "void TJ_MEMORY mem_fence(uint);",
    "atomic_inc": "int TJ_MEMORY atomic_inc(volatile __global int *);",
    "atomic_dec": "int TJ_MEMORY atomic_dec(volatile __global int *);",
    "atomic_xchg": "int TJ_MEMORY atomic_xchg(volatile __global int *, int);",
}
START = """\
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
#define INFINITY (__builtin_inff())
#define NAN (as_float(0x7fffffff))
#define CLK_GLOBAL_MEM_FENCE 2
#define TJ_VALUE __attribute__((overloadable, const))
#define TJ_MEMORY __attribute__((overloadable))
"""


def is_pocl_3(cl_device: Any) -> bool:
    """Whether the device's driver is one that this was tried with."""
    is_pocl = cl_device.platform.name == "Portable Computing Language"
    return is_pocl and cl_device.driver_version.startswith("3.")


def with_declarations(text: str) -> str | None:
    """The program with what it calls declared, to be built with SKIP_HEADER; None if it calls functions
    that are not known here."""
    called = set(re.findall(r"\b(?!tj_|as_|__|sizeof|aligned)\w+(?=\()", text))
    called -= set(re.findall(r"\bvoid (\w+)\(", text))
    enable_double = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"
    has_double = enable_double in text
    floats = FLOATS if has_double else FLOATS[:1]
    lines = [enable_double] if has_double else []
    lines += START.splitlines()
    for scalar in (*floats, *INTEGERS):
        lines.append(f"#define as_{scalar}(x) __builtin_astype((x), {scalar})")
        for width in WIDTHS:
            vector = f"{scalar}{width}"
            lines.append(f"typedef {scalar} {vector} __attribute__((ext_vector_type({width})));")
            lines.append(f"#define as_{vector}(x) __builtin_astype((x), {vector})")
    for name in sorted(called):
        declared = _declared(name, floats)
        if not declared:
            return None
        lines += declared
    return "\n".join([*lines, "#line 1", text])


def _declared(name: str, floats: Sequence[str]) -> list[str]:
    """A function on all types that it may be called with."""
    if name in OTHERS:
        return [OTHERS[name]]
    if name in OF_ONE_FLOAT:
        return [line for scalar in floats for line in _of_all_widths(name, scalar, ["x"])]
    if name in OF_TWO_FLOATS:
        return [line for scalar in floats for line in _of_all_widths(name, scalar, ["x", "y"])]
    if name in OF_ONE_INTEGER:
        return [_of_bits(name, t) for t in INTEGERS]
    if name in OF_TWO_INTEGERS:
        return [f"{t} TJ_VALUE {name}({t}, {t});" for t in INTEGERS]
    if name == "isfinite":
        return [f"int TJ_VALUE isfinite({t});" for t in floats]
    if found := re.fullmatch(r"convert_([a-z]+)(_sat)?", name):
        return [f"{found[1]} TJ_VALUE {name}({t});" for t in (*floats, *INTEGERS)]
    return []


def _of_bits(name: str, t: str) -> str:
    """A function of the bits of an integer, by a builtin of Clang for 32 or 64 bits."""
    bits = {"char": 8, "short": 16, "int": 32, "long": 64}[t.removeprefix("u")]
    unsigned, suffix = "u" + t.removeprefix("u"), "l" if bits == 64 else ""
    text = OF_ONE_INTEGER[name].format(u=unsigned, l=suffix, bits=bits, spare=max(0, 32 - bits))
    return f"static {t} TJ_VALUE {name}({t} x) {{ return {text}; }}"


def _of_all_widths(name: str, scalar: str, parameters: Sequence[str]) -> list[str]:
    """A function on floats and vectors of them. Vectors of 64 bytes and more go in halves: on AMD's Zen 4
    PoCL 3 takes functions compiled for AVX-512, but compiles for Zen 3, whose calls pass such vectors in
    another way; the process would abort."""
    lines = []
    most = {"float": 8, "double": 4}[scalar]
    for width in (1, *WIDTHS):
        t = scalar if width == 1 else f"{scalar}{width}"
        declared = f"{t} TJ_VALUE {name}({', '.join(f'{t} {x}' for x in parameters)})"
        if width <= most:
            lines.append(f"{declared};")
        else:
            low, high = (", ".join(f"{x}.{half}" for x in parameters) for half in ("lo", "hi"))
            lines.append(f"static {declared} {{ return ({t})({name}({low}), {name}({high})); }}")
    return lines


# ---- kernels ----

KERNEL = re.compile(r"^__kernel void (\w+)\(\n(.*?)\) \{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
OF_GROUPS = re.compile(r"\b(get_local_id|get_group_id|get_num_groups|barrier)\(")


def with_bodies(text: str) -> str:
    """The program with each kernel's body in a function, but those whose work-items work together."""
    return KERNEL.sub(_called, text)


def _called(kernel: re.Match[str]) -> str:
    name, parameters, body = kernel.groups()
    if OF_GROUPS.search(body):
        return kernel[0]
    body = body.replace("get_global_id(0)", "tj_id").replace("get_global_size(0)", "tj_size")
    names = ", ".join(re.findall(r"\w+(?=,\n|$)", parameters))
    return (
        f"static __attribute__((noinline)) void {name}_body(size_t tj_id, size_t tj_size,\n"
        f"{parameters}) {{\n{body}}} "
        f"__kernel void {name}({' '.join(parameters.split())}) "
        f"{{ {name}_body(get_global_id(0), get_global_size(0), {names}); }}"
    )
