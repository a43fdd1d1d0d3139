"""The origin of each line of generated C: its equation, and its line of Python.

Statements of kernels keep the equation that they compute as their origin, and equations the user's line.
`mapping` returns that as data; `explain_lines` prints it, C on the left and Python on the right.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tinyjax.compile.codegen.codegen import kernel_lines, kernel_text
from tinyjax.compile.codegen.program import program_text
from tinyjax.compile.fusion.groups import KernelGroup
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.passes.loops import every_eqn
from tinyjax.compile.plan import Plan
from tinyjax.compile.record import short_text
from tinyjax.core.jaxpr import JaxprEqn, SourceLine

# ---- as data ----


@dataclass(frozen=True)
class MappedLine:
    """A line of a program: its number in `as_text("opencl")` or another printed form of kernels, the
    equations that it computes (by number in `numbered_eqns`), and their lines of Python.

    A line has several equations if it is a loop around several stores, or if equal groups share the kernel.
    The lines of a kernel's parameters have none."""

    kernel: str
    number: int
    text: str
    eqns: tuple[int, ...]
    sources: tuple[SourceLine, ...]


def numbered_eqns(plan: Plan) -> list[JaxprEqn]:
    """The equations of the simplified jaxpr in printed order, each followed by the equations of its bodies.
    An equation's number is its index here."""
    return [inner for eqn in plan.closed.eqns for inner in every_eqn(eqn)]


def mapping(plan: Plan) -> list[MappedLine]:
    """All lines of C of all kernels, in the order of the program."""
    program = program_text(plan.all_kernels())

    def lines_of(kernel: Kernel) -> Iterator[NumberedLine]:
        first = program[: program.index(kernel_text(kernel))].count("\n") + 1
        return ((number, *line) for number, line in enumerate(kernel_lines(kernel), first))

    return mapped_lines(plan, lines_of)


NumberedLine = tuple[int, str, Any]  # its number in the program, its text, what it computes


def mapped_lines(
    plan: Plan, lines_of: Callable[[Kernel], Iterable[NumberedLine]]
) -> list[MappedLine]:
    """The lines that `lines_of` returns for each kernel, with the equations that they compute."""
    numbers = {eqn_name(plan, eqn): number for number, eqn in enumerate(numbered_eqns(plan))}
    lines = []
    for kernel in plan.all_kernels():
        alike = _alike(plan, kernel)
        for number, text, origin in lines_of(kernel):
            made = origin if isinstance(origin, tuple) else (origin,)
            eqns = [eqn for one in made if one for eqn in alike.get(one, [one])]
            sources = dict.fromkeys(eqn.source_info for eqn in eqns if eqn.source_info)
            names = [eqn_name(plan, eqn) for eqn in eqns]
            known = tuple(numbers[name] for name in names if name in numbers)
            lines.append(MappedLine(kernel.name, number, text, known, tuple(sources)))
    return lines


def eqn_name(plan: Plan, eqn: JaxprEqn) -> Hashable:
    """An equation's identity: its primitive and the names of its results in the printed jaxpr. It stays the
    same when a loop is rewritten for one element of its arrays."""
    return eqn.primitive, tuple(plan.names.get(v, v) for v in eqn.outvars)


def _alike(plan: Plan, kernel: Kernel) -> dict[JaxprEqn, list[JaxprEqn]]:
    """Maps each equation that the kernel was made for to the equations that it computes in all groups."""
    groups = [
        group
        for part in plan.all_plans()
        for number, group in enumerate(part.groups)
        if isinstance(group, KernelGroup) and part.kernels.get(number) == kernel
    ]
    positions = zip(*(group.eqns for group in groups))
    return {eqn: list(eqns) for eqns in positions for eqn in eqns}


# ---- as text ----


def python_text(source: SourceLine | None) -> str:
    """file:number and the line itself, if the file is there."""
    if not (source and source[0]):
        return ""
    file, number, _ = source
    return f"{os.path.basename(file)}:{number}  {linecache.getline(file, number).strip()}".rstrip()


def explain_lines(plan: Plan, width: int = 64) -> Iterator[str]:
    """The kernels' C, and beside each line its equation and Python line, if they differ from those before."""
    eqns = numbered_eqns(plan)
    for line in mapping(plan):
        if line.text.startswith("__kernel"):
            yield ""
            before: tuple[tuple[int, ...], tuple[SourceLine, ...]] = (), ()
        remark = "".join(f" [{n}] {short_text(eqns[n], plan.names)}" for n in line.eqns)
        if line.sources and line.sources != before[1]:
            remark += f"  | {', '.join(map(python_text, line.sources))}"
        said = line.sources + line.eqns and line.text.strip() != "}"
        if (line.eqns, line.sources) == before or not said:
            remark = ""
        before = (line.eqns, line.sources) if said else before
        yield f"{line.number:4} {line.text:{width}}{' //' if remark else ''}{remark}".rstrip()
