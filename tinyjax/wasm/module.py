"""WebAssembly modules: a list of instructions as text, and the same list as bytes.

A module is a row of sections (types, imports, functions, exports, code), numbers are LEB128 (seven bits a
byte, the highest tells whether more follow), and an instruction is its opcode, then its immediate operands. A
browser has no assembler, so the bytes are made here; the text has the same content, for people to read.

Source: the WebAssembly Core Specification 2.0, https://webassembly.github.io/spec/core/
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Its name, and what it is given: names of locals, numbers. One called ;; is a remark, in the text alone: it
# has the words, and the equation that the instructions after it compute, or None.
Instruction = tuple[Any, ...]

# ---- opcodes ----

# Runs of instructions with neighbouring opcodes: prefix, first opcode, names. In a name, what is before
# a colon is that of all up to the next one.
_RUNS = """
00 02 block loop if else
00 0b end br br_if
00 10 call
00 1b select
00 20 local.get local.set local.tee
00 28 i32:load i64:load f32:load f64:load i32:load8_s load8_u load16_s load16_u
00 36 i32:store i64:store f32:store f64:store i32:store8 store16
00 41 i32:const i64:const f32:const f64:const
00 45 i32:eqz eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u
00 50 i64:eqz eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u
00 5b f32:eq ne lt gt le ge f64:eq ne lt gt le ge
00 67 i32:clz ctz popcnt add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u
00 79 i64:clz ctz popcnt add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u
00 8b f32:abs neg ceil floor trunc nearest sqrt add sub mul div min max copysign
00 99 f64:abs neg ceil floor trunc nearest sqrt add sub mul div min max copysign
00 a7 i32:wrap_i64
00 ac i64:extend_i32_s extend_i32_u
00 b2 f32:convert_i32_s convert_i32_u convert_i64_s convert_i64_u demote_f64
00 b7 f64:convert_i32_s convert_i32_u convert_i64_s convert_i64_u promote_f32
00 bc i32:reinterpret_f32 i64:reinterpret_f64 f32:reinterpret_i32 f64:reinterpret_i64
00 c0 i32:extend8_s extend16_s
fc 00 i32:trunc_sat_f32_s trunc_sat_f32_u trunc_sat_f64_s trunc_sat_f64_u
fc 04 i64:trunc_sat_f32_s trunc_sat_f32_u trunc_sat_f64_s trunc_sat_f64_u
fd 00 v128:load
fd 03 v128:load16x4_s load16x4_u
fd 0b v128:store const i8x16:shuffle
fd 11 i32x4:splat i64x2:splat f32x4:splat f64x2:splat
fd 1b i32x4:extract_lane replace_lane i64x2:extract_lane replace_lane
fd 1f f32x4:extract_lane replace_lane f64x2:extract_lane replace_lane
fd 37 i32x4:eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u
fd 41 f32x4:eq ne lt gt le ge f64x2:eq ne lt gt le ge
fd 4d v128:not and andnot or xor bitselect any_true
fd 5a v128:store32_lane store64_lane load32_zero load64_zero
fd 5e f32x4:demote_f64x2_zero f64x2:promote_low_f32x4
fd 66 i8x16:narrow_i16x8_u f32x4:ceil floor trunc nearest
fd 74 f64x2:ceil floor
fd 7a f64x2:trunc
fd 85 i16x8:narrow_i32x4_s narrow_i32x4_u
fd 89 i16x8:extend_low_i8x16_u
fd 94 f64x2:nearest
fd a9 i32x4:extend_low_i16x8_u
fd ab i32x4:shl shr_s shr_u add
fd b1 i32x4:sub
fd b5 i32x4:mul min_s min_u max_s max_u
fd c7 i64x2:extend_low_i32x4_s extend_high_i32x4_s extend_low_i32x4_u extend_high_i32x4_u
fd cb i64x2:shl shr_s shr_u add
fd d1 i64x2:sub
fd d5 i64x2:mul eq ne lt_s gt_s le_s ge_s
fd e0 f32x4:abs neg
fd e3 f32x4:sqrt add sub mul div min max pmin pmax
fd ec f64x2:abs neg
fd ef f64x2:sqrt add sub mul div min max pmin pmax
fd f8 i32x4:trunc_sat_f32x4_s trunc_sat_f32x4_u f32x4:convert_i32x4_s convert_i32x4_u
fd fc i32x4:trunc_sat_f64x2_s_zero trunc_sat_f64x2_u_zero f64x2:convert_low_i32x4_s convert_low_i32x4_u
"""


def _opcodes() -> Iterator[tuple[str, bytes]]:
    for line in _RUNS.split("\n")[1:-1]:
        prefix, first, *names = line.split()
        start, lane = int(prefix, 16), ""
        for number, name in enumerate(names, int(first, 16)):
            lane, _, name = name.rpartition(":") if ":" in name else (lane, "", name)
            opcode = bytes([start]) + unsigned(number) if start else bytes([number])
            yield (f"{lane}.{name}" if lane else name), opcode


def unsigned(value: int) -> bytes:
    """LEB128 of a number that is not negative."""
    more, low = value >> 7, value & 0x7F
    return bytes([low | 0x80]) + unsigned(more) if more else bytes([low])


def signed(value: int) -> bytes:
    """LEB128 of two's complement: the last byte's bit 6 is the sign."""
    more, low = value >> 7, value & 0x7F
    if more == (-1 if low & 0x40 else 0):
        return bytes([low])
    return bytes([low | 0x80]) + signed(more)


OPCODES = dict(_opcodes())
TYPES = {"i32": b"\x7f", "i64": b"\x7e", "f32": b"\x7d", "f64": b"\x7c", "v128": b"\x7b"}
_PACKED = {"i32": "i", "i64": "q", "f32": "f", "f64": "d"}

# ---- modules ----


@dataclass
class Function:
    """Its parameters and locals are pairs of a name and a type; one that is `exported` can be called from
    outside, and one that is imported is the host's: Math.exp is `exp` of its object `Math`."""

    name: str
    parameters: list[tuple[str, str]]
    result: str | None = None
    locals: list[tuple[str, str]] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)
    exported: bool = False
    is_imported: bool = False


@dataclass
class Module:
    """Functions that share an imported memory; `numbers` are exported as globals."""

    functions: list[Function]
    numbers: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """The module in WebAssembly's text format: what leaves nothing on the stack is a line."""
        return "\n".join(text for _, text, _ in module_lines(self))

    def __bytes__(self) -> bytes:
        """The module as a browser takes it."""
        # Imports are numbered first.
        functions = sorted(self.functions, key=lambda f: not f.is_imported)
        numbers = {f.name: number for number, f in enumerate(functions)}
        own = [f for f in functions if not f.is_imported]
        types = list(dict.fromkeys(map(_type, functions)))
        imports = [_name("env") + _name("memory") + b"\x02\x00\x00"]
        imports += [
            b"".join(map(_name, f.name.split("."))) + b"\x00" + unsigned(types.index(_type(f)))
            for f in functions
            if f.is_imported
        ]
        constants = [b"\x7f\x00\x41" + signed(n) + b"\x0b" for n in self.numbers.values()]
        exports = [_name(n) + b"\x03" + unsigned(i) for i, n in enumerate(self.numbers)]
        exports += [_name(f.name) + b"\x00" + unsigned(numbers[f.name]) for f in own if f.exported]
        sections = {
            1: types,
            2: imports,
            3: [unsigned(types.index(_type(f))) for f in own],
            6: constants,
            7: exports,
            10: [_sized(_code(f, numbers)) for f in own],
        }
        parts = [bytes([n]) + _sized(_vector(items)) for n, items in sections.items() if items]
        return b"\x00asm\x01\x00\x00\x00" + b"".join(parts)


def make_constants_first(function: Function) -> None:
    """Creates each constant vector once, before all loops. V8 rebuilds it at every use, by three
    instructions; zeros by one."""
    names: dict[bytes, str] = {}
    first: list[Instruction] = []
    for place, one in enumerate(function.body):
        if one[0] != "v128.const" or not any(bits := _encoded(one, {})[2:]):
            continue
        if bits not in names:
            names[bits] = f".constant{len(names) + 1}"
            first += [one, ("local.set", names[bits])]
        function.body[place] = ("local.get", names[bits])
    function.locals += [(name, "v128") for name in names.values()]
    function.body[:0] = first


# ---- bytes ----


def _type(function: Function) -> bytes:
    results = [TYPES[function.result]] if function.result else []
    return b"\x60" + _vector([TYPES[of] for _, of in function.parameters]) + _vector(results)


def _vector(items: Sequence[bytes]) -> bytes:
    return unsigned(len(items)) + b"".join(items)


def _sized(content: bytes) -> bytes:
    return unsigned(len(content)) + content


def _name(text: str) -> bytes:
    return _sized(text.encode())


def _code(function: Function, functions: dict[str, int]) -> bytes:
    names = {name: i for i, (name, _) in enumerate([*function.parameters, *function.locals])}
    runs: list[list[Any]] = []  # neighbouring locals of one type are declared together
    for _, of in function.locals:
        if runs and runs[-1][1] == of:
            runs[-1][0] += 1
        else:
            runs.append([1, of])
    locals_ = _vector([unsigned(count) + TYPES[of] for count, of in runs])
    names |= functions
    body = b"".join(_encoded(one, names) for one in function.body if one[0] != ";;")
    return locals_ + body + OPCODES["end"]


def _encoded(instruction: Instruction, names: dict[str, int]) -> bytes:
    name, *given = instruction
    return OPCODES[name] + _immediates(name, given, names)


def _immediates(name: str, given: list[Any], names: dict[str, int]) -> bytes:
    if name in ("block", "loop", "if"):
        return b"\x40"  # leaves nothing on the stack
    if name.startswith("local.") or name == "call":
        return unsigned(names[given[0]])
    if name in ("i32.const", "i64.const"):
        return signed(given[0])
    if name == "v128.const":
        lanes, values = given[0][:3], given[1:]
        return struct.pack(f"<{len(values)}{_PACKED[lanes]}", *values)
    if name.endswith(".const"):
        return struct.pack("<" + _PACKED[name[:3]], given[0])
    if width := access_bytes(name):
        offset, *lane = given
        return unsigned(width.bit_length() - 1) + unsigned(offset) + bytes(lane)
    return b"".join(map(unsigned, given))  # numbers of lanes, of enclosing blocks


def access_bytes(name: str) -> int:
    """How many bytes of memory an instruction loads or stores; 0 for one that does neither."""
    if not (found := re.fullmatch(r"[ifv](\d+)\.(?:load|store)(\d*)(x4)?\w*", name)):
        return 0
    bits = int(found[2] or found[1]) * (4 if found[3] else 1)
    return bits // 8


# ---- text ----


Line = tuple[str, str, Any]  # of which function it is, its text, and the equation that it computes


def module_lines(module: Module) -> list[Line]:
    """The lines of the text, each with its origin."""
    lines = ["(module", '  (import "env" "memory" (memory 0))']
    for function in module.functions:
        if function.is_imported:
            where = " ".join(f'"{part}"' for part in function.name.split("."))
            lines.append(f"  (import {where} (func {_signature(function)}))")
    for name, value in module.numbers.items():
        lines.append(f'  (global (export "{name}") i32 (i32.const {value}))')
    own = [f for f in module.functions if not f.is_imported]
    of_functions = [(f.name, text, origin) for f in own for text, origin in _function_lines(f)]
    return [*(("", line, None) for line in lines), *of_functions, ("", ")", None)]


def _signature(function: Function) -> str:
    parts = [f"${function.name}"]
    if function.exported:
        parts.append(f'(export "{function.name}")')
    parts += [f"(param ${name} {of})" for name, of in function.parameters]
    parts += [f"(result {function.result})"] if function.result else []
    return " ".join(parts)


def _function_lines(function: Function) -> Iterator[tuple[str, Any]]:
    """Lines, each with its origin."""
    yield f"  (func {_signature(function)}", None
    for start in range(0, len(function.locals), 6):
        some = function.locals[start : start + 6]
        yield "    " + " ".join(f"(local ${name} {of})" for name, of in some), None
    indent, line, origin = "    ", [], None
    for instruction in function.body:
        name = instruction[0]
        if name == ";;":
            origin = instruction[2]
        if name in ("end", "else"):
            indent = indent[2:]
        line.append(_instruction_text(instruction))
        if name in _ENDS_A_LINE or ".store" in name:  # the stack is empty
            yield indent + " ".join(line), origin
            line = []
        if name in ("block", "loop", "if", "else"):
            indent += "  "
    if line:
        yield indent + " ".join(line), origin
    yield "  )", None


_ENDS_A_LINE = {";;", "local.set", "block", "loop", "if", "else", "end", "br", "br_if"}


def _instruction_text(instruction: Instruction) -> str:
    name, *given = instruction
    if name.startswith("local.") or name == "call":
        return f"{name} ${given[0]}"
    if name == ";;":
        return f";; {given[0]}"
    if access_bytes(name):
        offset, *lane = given
        return " ".join([name, *([f"offset={offset}"] if offset else []), *map(str, lane)])
    is_single = "f32" in (name[:3], str(given[:1])[2:5])
    return " ".join([name, *(_number_text(number, is_single) for number in given)])


def _number_text(number: Any, is_single: bool) -> str:
    """The shortest text that is read as this number."""
    if not isinstance(number, float):
        return str(number)
    if number != number:
        return "nan" if struct.pack("<d", number)[-1] < 128 else "-nan"
    return str(np.float32(number) if is_single else number)
