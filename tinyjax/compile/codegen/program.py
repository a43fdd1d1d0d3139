"""Programs: kernels as OpenCL C, after the functions that they call.

After this file you can say why a program has just the functions that it needs: each statement of a kernel
says which C functions it calls, and each function of the kernel language which others. Builds on codegen
and helpers, and on functions/.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import numpy as np

from tinyjax.compile.codegen.c_text import EXACT, type_text
from tinyjax.compile.codegen.codegen import FusedKernel, Scope, kernel_text, lines_of
from tinyjax.compile.codegen.helpers import (
    Helper,
    any_helper,
    load_helper,
    saturate_helper,
    store_helper,
    with_needs,
)
from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.functions.branches import branched
from tinyjax.compile.kernel.functions.kernel_function import KernelFunction, widened
from tinyjax.compile.kernel.functions.notation import definitions
from tinyjax.compile.kernel.functions.table import called as called_function
from tinyjax.compile.kernel.indices import Index
from tinyjax.compile.kernel.scalar_ops import HALVES
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.core.dtypes import kind


def program_text(kernels: Sequence[ir.Kernel | FusedKernel]) -> str:
    """One OpenCL C program with all `kernels`; the same kernels always give the same text, so that
    an OpenCL driver's cache on disk recognises it. No kernels, no text."""
    if not kernels:
        return ""
    helpers = with_needs(helper for kernel in kernels for helper in _kernel_helpers(kernel))
    # What is rounded once instead of twice stands in a line of its own: mul_add. Everything else is one
    # operation a line, and rounded as NumPy does it.
    parts = ["#pragma OPENCL FP_CONTRACT ON"]
    if any(map(has_double, kernels)) or any(helper.has_double for helper in helpers):
        parts.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    parts += [*(helper.text for helper in helpers), *map(kernel_text, kernels)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def has_double(kernel: ir.Kernel | FusedKernel) -> bool:
    body = [] if isinstance(kernel, FusedKernel) else kernel.body
    parameters = {buffer.dtype for buffer in kernel.buffers}
    return np.dtype("float64") in parameters | set(_dtypes(body))


def _dtypes(body: Sequence[ir.Statement]) -> Iterator[np.dtype]:
    """The dtypes of what operations take and give: a constant may be the only float64 of a kernel."""
    for statement in every_statement(body):
        if isinstance(statement, ir.Let):
            atoms = (statement.target, *statement.args)
            yield from (atom.dtype for atom in atoms if not isinstance(atom, Index))


# ---- what a program has beside its kernels ----


def _kernel_helpers(kernel: ir.Kernel | FusedKernel) -> Iterator[Helper]:
    if isinstance(kernel, ir.Kernel):
        yield from helpers_of(kernel.body)
        return
    for called, _ in kernel.calls:
        text = kernel_text(called, is_called=True)
        needs = tuple(helpers_of(called.body))
        yield Helper(f"{called.name}_item", text, needs, has_double(called))


def helpers_of(body: Sequence[ir.Statement]) -> Iterator[Helper]:
    """The C functions that statements call."""
    for statement in every_statement(body):
        match statement:
            case ir.Let():
                yield from _operation_helpers(statement)
            case ir.Combine(array, _, op, value):
                so_far = ir.Value(array.name, array.dtype, array.width)
                yield from _operation_helpers(ir.Let(so_far, op, (so_far, value)))
            case ir.Load(target, source, _, end):
                if target.width > getattr(source, "width", 1):
                    yield load_helper(source, target.width, end is not None)
                if isinstance(source, ir.Buffer):
                    yield from _half_helper("load", source.dtype, target.width)
            case ir.Store(destination, _, value, end):
                width = getattr(value, "width", 1)
                if width > getattr(destination, "width", 1):
                    yield store_helper(destination, width, end is not None)
                if isinstance(destination, ir.Buffer):
                    yield from _half_helper("store", destination.dtype, width)


def _operation_helpers(let: ir.Let) -> Iterator[Helper]:
    target, first = let.target, let.args[0]
    function = called_function(let)
    if function is not None:
        yield function_helper(function)
    if let.op not in EXACT:
        yield from _half_helper("round", target.dtype, target.width)
    if isinstance(first, ir.Value) and first.width > 1:
        if let.op == "any":
            yield any_helper(first.width)
        if let.op == "convert" and kind(first.dtype) == "f" and kind(target.dtype) in "iu":
            of = np.dtype("float32") if first.dtype in HALVES else first.dtype
            yield saturate_helper(target.dtype, of, first.width)


def _half_helper(what: str, dtype: np.dtype, width: int) -> Iterator[Helper]:
    if dtype in HALVES:
        definition = definitions[f"{what}_{dtype}"]
        yield function_helper(widened(definition.kernel_function, width))


@functools.cache
def function_helper(function: KernelFunction) -> Helper:
    """A function of the kernel language as one of C."""
    if function.result.width == 1:
        function = branched(function)
    parameters = ", ".join(f"{type_text(p)} {p.name}" for p in function.parameters)
    name = f"tj_{function.name}"
    attribute = "__attribute__((noinline)) " if function.is_rare else ""
    lines = [
        f"{attribute}{type_text(function.result)} {name}({parameters}) {{",
        *(line for line, _ in lines_of(function.body, Scope(), "  ")),
        f"  return {function.result};",
        "}",
    ]
    is_double = np.dtype("float64") in _dtypes(function.body)
    return Helper(name, "\n".join(lines), tuple(helpers_of(function.body)), is_double)
