"""Programs: kernels as OpenCL C, after the functions that they call.

A program has just the functions that it needs: those that its kernels call, and those that these call.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from tinyjax.compile.codegen.c_text import type_text
from tinyjax.compile.codegen.codegen import Scope, kernel_text, lines_of
from tinyjax.compile.codegen.helpers import Callee, Calls, Helper
from tinyjax.compile.kernel import kernel_ir as ir
from tinyjax.compile.kernel.functions.kernel_function import KernelFunction

DOUBLE = re.compile(r"\bdouble")  # also double2 to double16


class OtherKernel(Protocol):
    """A kernel that writes its text itself."""

    @property
    def name(self) -> str: ...
    @property
    def buffers(self) -> list[ir.Buffer]: ...
    @property
    def items(self) -> int: ...
    @property
    def local_size(self) -> int: ...
    def text(self, calls: Calls) -> str: ...


def program_text(kernels: Sequence[ir.Kernel | OtherKernel]) -> str:
    """One OpenCL C program with all `kernels`; the same kernels always give the same text, so that
    an OpenCL driver's cache on disk recognises it. No kernels, no text."""
    if not kernels:
        return ""
    calls = Calls()
    texts = [
        kernel_text(kernel, calls) if isinstance(kernel, ir.Kernel) else kernel.text(calls)
        for kernel in kernels
    ]
    texts = [*[helper.text for helper in with_needs(calls)], *texts]
    # mul_add, which is rounded once instead of twice, is on a separate line. Everything else is one operation
    # a line, rounded as NumPy does.
    parts = ["#pragma OPENCL FP_CONTRACT ON"]
    if any([DOUBLE.search(text) for text in texts]):
        parts.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    parts += texts
    return "\n\n".join([part.strip() for part in parts]) + "\n"


def with_needs(calls: Iterable[Callee]) -> list[Helper]:
    """The called functions, each once and after the functions that it needs."""
    found: dict[str, Helper] = {}
    for callee in calls:
        helper = callee if isinstance(callee, Helper) else function_helper(callee)
        if helper.name not in found:
            for part in with_needs(helper.needs):
                found.setdefault(part.name, part)
            found[helper.name] = helper
    return list(found.values())


@functools.cache
def function_helper(function: KernelFunction) -> Helper:
    """A function of the kernel language as one of C."""
    parameters = ", ".join(f"{type_text(p)} {p.name}" for p in function.parameters)
    name, scope = f"tj_{function.name}", Scope()
    attribute = "__attribute__((noinline)) " if function.is_rare else ""
    lines = [
        f"{attribute}{type_text(function.result)} {name}({parameters}) {{",
        *(line for line, _ in lines_of(function.body, scope, "  ")),
        f"  return {function.result};",
        "}",
    ]
    return Helper(name, "\n".join(lines), tuple(scope.calls))
