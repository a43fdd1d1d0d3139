"""Code generation: a kernel of kernel_ir.py as OpenCL C.

One statement becomes one line.

Source: the OpenCL C 1.2 specification, https://registry.khronos.org/OpenCL/
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tinyjax.compile.codegen.c_operations import converted_text, operation_text
from tinyjax.compile.codegen.c_text import atom_text, repeated_text, storage_type, type_text
from tinyjax.compile.codegen.helpers import (
    FREE_REGISTERS,
    Calls,
    stopped_text,
    strided_store,
    vector_access,
)
from tinyjax.compile.codegen.index_type import index_type, with_long_minima
from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.indices import Index, as_index, linear
from tinyjax.compile.kernel.scalar_ops import HALVES

# ---- kernels ----

Line = tuple[str, Any]  # a line of C, and the equation that it computes
Memory = ir.Buffer | ir.PrivateArray
MANY_SUMS = 8  # vectors that take most of the registers
UNROLLED = 4  # iterations of a loop over rows of vectors that C's compiler unrolls


def kernel_text(kernel: ir.Kernel, calls: Calls | None = None) -> str:
    """The kernel as an OpenCL C function; `calls` gets what it calls."""
    return "\n".join([line for line, _ in kernel_lines(kernel, calls)])


def kernel_lines(
    kernel: ir.Kernel, calls: Calls | None = None, is_called: bool = False
) -> list[Line]:
    """The lines of kernel_text, each with the equation that it computes (None if it is for several). A kernel
    that others call does the work of one work-item."""
    calls = Calls() if calls is None else calls
    index = index_type(kernel)
    parameters = list(map(parameter_text, kernel.buffers))
    head, items = f"__kernel void {kernel.name}(", "get_global_size(0)"
    if is_called:
        # It stays a function: equal layers of a network would else be compiled again for each, and all of
        # them as one long function.
        head = f"static __attribute__((noinline)) void {kernel.name}_item("
        parameters, items = [f"const {index} item", *parameters], str(kernel.items)
    lines: list[Line] = [(line, None) for line in head_lines(head, parameters)]
    is_group = kernel.local_size > 1
    if is_group:
        items = "get_num_groups(0)"
        lines.append((f"  const {index} group_id = get_group_id(0);", None))
        lines.append((f"  const {index} local_id = get_local_id(0);", None))
    elif kernel.items > 1 and not is_called:
        lines.append((f"  const {index} item = get_global_id(0);", None))
    body = with_long_minima(kernel.body) if index == "long" else kernel.body
    scope = Scope(index, items, is_group, calls)
    return [*lines, *lines_of(body, scope, "  "), ("}", None)]


def head_lines(start: str, parameters: Sequence[str]) -> list[str]:
    """The first lines of a function, with a line for each parameter."""
    *others, last = parameters
    return [start, *[f"    {parameter}," for parameter in others], f"    {last}) {{"]


def parameter_text(buffer: ir.Buffer, is_restricted: bool = True) -> str:
    """The buffer as a parameter; `restrict` promises that no other parameter is the same memory."""
    # A scratch buffer is written by some work-items and read by another while the kernel runs.
    qualifier = {"in": "const ", "scratch": "volatile "}.get(buffer.role, "")
    restrict = "restrict " if is_restricted and buffer.role != "scratch" else ""
    return f"__global {qualifier}{storage_type(buffer.dtype)} *{restrict}{buffer.name}"


# ---- statements ----


@dataclass(frozen=True)
class Scope:
    """The context of statements in their function: the type of indices, the expressions for the number of
    work-items and of work-groups, and the helpers that they call."""

    index: str = "int"
    items: str = "1"
    is_group: bool = False
    calls: Calls = field(default_factory=Calls)


def lines_of(body: ir.Body, scope: Scope, indent: str) -> Iterator[Line]:
    """The statements as lines of C."""
    sums = [s for s in body if isinstance(s, ir.Allocate) and s.array.width >= 8]
    if len(sums) >= MANY_SUMS and any([isinstance(s, ir.For) for s in body]):
        yield f"{indent}{scope.calls.call(FREE_REGISTERS)};", None
    for statement in _with_stores_together(body):
        if isinstance(statement, list):  # one call for strided stores that fill all places
            first, values = statement[0], [_stored_text(s, scope.calls) for s in statement]
            t = storage_type(first.memory.dtype)
            helper = strided_store(t, ir.width_of(first), first.stride, len(values))
            text = scope.calls.call(helper, *values, f"{first.memory.name} + {first.index}")
            yield f"{indent}{text};", first.origin
            continue
        for line, origin in _statement_lines(statement, scope):
            yield indent + line, origin


def _with_stores_together(body: ir.Body) -> list[ir.Statement | list[ir.Store]]:
    """The statements, with a list in place of strided stores that together fill all the places from the first
    one on, such as the real and imaginary parts of complex numbers. They take the place of the last one."""
    found: list[Any] = []
    for s in body:
        places = _companions(s, found) if isinstance(s, ir.Store) and s.stride > 1 else []
        together = [found.pop(place) for place in places]
        found.append([*reversed(together), s] if together else s)
    return found


def _companions(last: ir.Store, before: Sequence[Any]) -> list[int]:
    """The places of the stores that fill all places with the last one, from the nearest to the first; none
    if a statement after one of them may read or write that memory."""
    places: list[int] = []
    for place, s in reversed(list(enumerate(before))):
        if isinstance(s, ir.Store) and s.memory == last.memory:
            is_like = s.stride == last.stride and ir.width_of(s) == ir.width_of(last)
            if not is_like or not (last.index - s.index).is_const(len(places) + 1):
                return []
            places.append(place)
            if len(places) == last.stride - 1:
                return places
        elif not isinstance(s, (ir.Let, ir.Load, ir.Store)):
            return []
        elif isinstance(s, ir.Load) and s.memory == last.memory:
            return []
    return []


def _statement_lines(statement: ir.Statement, scope: Scope) -> Iterator[Line]:
    origin = statement.origin
    match statement:
        case ir.Let(target, op, args):
            yield _declare(target, operation_text(op, target, args, scope.calls)), origin
        case ir.Load(target):
            yield _declare(target, _load_text(statement, scope.calls)), origin
        case ir.Store():
            yield _store_text(statement, scope.calls) + ";", origin
        case ir.Allocate(array, initial):
            for line in _allocation_lines(array, initial):
                yield line, origin
        case ir.Combine(array, at, op, value):
            so_far = ir.Value(_element(array, at), array.dtype, array.width)
            yield f"{so_far} = {operation_text(op, so_far, [so_far, value], scope.calls)};", origin
        case ir.For():
            yield from _nested_lines(_with_rows(statement), scope)
        case ir.While() | ir.If():
            yield from _nested_lines(statement, scope)
        case ir.Barrier():
            yield "barrier(CLK_LOCAL_MEM_FENCE);", origin
        case ir.IfLast(ticket, body):
            yield from ((line, origin) for line in _arrival_lines(ticket, scope))
            yield "  mem_fence(CLK_GLOBAL_MEM_FENCE);", origin
            yield from lines_of(body, scope, "  ")
            once = "if (local_id == 0) " if scope.is_group else ""
            yield f"  {once}*{ticket.name} = 0;", origin
            yield "}", origin


def _nested_lines(statement: ir.For | ir.While | ir.If, scope: Scope) -> Iterator[Line]:
    """A statement around others. The lines of these are indented by two spaces and keep their origins; those
    around them have the statement's own, and the type of a loop's variable is `scope.index`. A loop with
    `operations` also ends when `stopped_text` is true: `i < n && !tj_stopped(...)`, and
    `!more || tj_stopped(...)`."""
    origin = statement.origin
    match statement:
        case ir.For(variable, start, stop, body, step, each):
            advance = f"++{variable}" if step == 1 else f"{variable} += {step}"
            also = f" && !{stopped_text(each, scope.calls)}" if each else ""
            head = f"{scope.index} {variable} = {start}; {variable} < {stop}{also}; {advance}"
            yield f"for ({head}) {{", origin
            yield from lines_of(body, scope, "  ")
        case ir.While(head, holds, body, each):
            yield "for (;;) {", origin
            yield from lines_of(head, scope, "  ")
            also = f" || {stopped_text(each, scope.calls)}" if each else ""
            yield f"  if (!{atom_text(holds)}{also}) break;", origin
            yield from lines_of(body, scope, "  ")
        case ir.If(condition, body, otherwise):
            yield f"if ({atom_text(condition)}) {{", origin
            yield from lines_of(body, scope, "  ")
            if otherwise:
                yield "} else {", origin
                yield from lines_of(otherwise, scope, "  ")
    yield "}", origin


def _with_rows(loop: ir.For) -> ir.For:
    """The loop, in which each row has an address where numbers of several rows are multiplied with vectors.
    Otherwise C extends the sum of row and column to 64 bits in each iteration, for each row: with AVX2, a
    matrix product took a third longer. Rows that overlap, as windows do, have no addresses of their own: C
    unrolls a short loop over them, and loads what they share once."""
    loads = [s for s in loop.body if isinstance(s, ir.Load)]
    rows = [linear(s.index) for s in loads if s.target.width == 1]
    if len(rows) < 2 or len(rows) == len(loads):
        return loop
    count = (loop.stop - loop.start).hi
    apart = [as_index(b, a) for a, b in itertools.pairwise(rows)]
    if count <= UNROLLED and any(0 < d.lo == d.hi < count for d in apart):
        return loop

    def changed(s: ir.Statement) -> ir.Statement:
        if not isinstance(s, ir.Load) or s.target.width > 1 or s.index.op != "+":
            return s
        row, column = s.index.args
        if str(loop.variable) in row.names or not isinstance(s.memory, ir.Buffer):
            return s
        memory = replace(s.memory, name=f"({s.memory.name} + {row})")
        return replace(s, memory=memory, index=column)

    return replace(loop, body=[changed(s) for s in loop.body])


def _arrival_lines(ticket: ir.Buffer, scope: Scope) -> list[str]:
    """Takes a ticket; in a group, the first work-item takes it and shares it with the others."""
    is_last = f"atomic_inc({ticket.name}) == {scope.items} - 1"
    if not scope.is_group:
        return ["mem_fence(CLK_GLOBAL_MEM_FENCE);", f"if ({is_last}) {{"]
    first = f"if (local_id == 0) tj_is_last = {is_last};"
    both = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
    stored = "mem_fence(CLK_GLOBAL_MEM_FENCE);"  # of each work-item, before its group's ticket
    return ["__local int tj_is_last;", stored, both, first, both, "if (tj_is_last) {"]


def _allocation_lines(array: ir.PrivateArray, initial: ir.Const | None) -> list[str]:
    count = f"[{array.size}]" if array.size > 1 else ""
    if array.is_local:
        return [f"__local {type_text(array)} {array.name}{count};"]
    if array.size >= 16 and array.width == 1:  # vectors of it lie in one line of the cache each
        count += " __attribute__((aligned(64)))"
    declaration = f"{type_text(array)} {array.name}{count}"
    if initial is None:
        return [f"{declaration};"]
    start = repeated_text(initial, array.width)
    if array.size == 1:
        return [f"{declaration} = {start};"]
    loop = f"for (int lane = 0; lane < {array.size}; ++lane)"
    return [f"{declaration};", f"{loop} {array.name}[lane] = {start};"]


def _element(memory: Memory, at: Index) -> str:
    """A single accumulator is a plain variable."""
    is_single = isinstance(memory, ir.PrivateArray) and memory.size == 1
    return memory.name if is_single else f"{memory.name}[{at}]"


def _load_text(load: ir.Load, calls: Calls) -> str:
    """An element, or several in a buffer or in a private array of numbers."""
    memory, width = load.memory, load.target.width
    is_vector = width > memory.width
    text = _element(memory, load.index)
    if is_vector:
        text = vector_access(load, calls)
    if isinstance(memory, ir.Buffer) and memory.dtype in HALVES:
        bits = converted_text(text, f"int{width}") if is_vector else text
        return calls.of_half("load", memory.dtype, width, bits)
    is_bool = is_vector and memory.dtype == np.bool_
    return converted_text(text, f"int{width}") + " != 0" if is_bool else text


def _store_text(store: ir.Store, calls: Calls) -> str:
    text = _stored_text(store, calls)
    if ir.width_of(store) <= store.memory.width:
        return f"{_element(store.memory, store.index)} = {text}"
    return vector_access(store, calls, text)


def _stored_text(store: ir.Store, calls: Calls) -> str:
    """The value as it is in memory."""
    memory, value, width = store.memory, store.value, ir.width_of(store)
    is_vector = width > memory.width
    text = atom_text(value)
    if is_vector and value.dtype == np.bool_:
        text = converted_text(f"{text} & 1", f"uchar{width}")
    if isinstance(memory, ir.Buffer) and value.dtype in HALVES:
        text = calls.of_half("store", value.dtype, width, text)
        text = converted_text(text, f"ushort{width}") if is_vector else text
    return text


def _declare(target: ir.Value, text: str) -> str:
    return f"const {type_text(target)} {target.name} = {text};"
