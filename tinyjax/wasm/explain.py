"""The origin of each line of a WebAssembly module: its equations, and their lines of Python."""

from __future__ import annotations

from tinyjax.compile.explain import MappedLine, mapped_lines
from tinyjax.compile.plan import Plan
from tinyjax.wasm.module import module_lines
from tinyjax.wasm.webassembly import webassembly


def mapping_of_module(plan: Plan) -> list[MappedLine]:
    """All lines of all kernels, in the order of the module."""
    lines = list(enumerate(module_lines(webassembly(plan.all_kernels())), 1))
    return mapped_lines(
        plan, lambda kernel: [(n, text, made) for n, (of, text, made) in lines if of == kernel.name]
    )
