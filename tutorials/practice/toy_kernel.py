"""A kernel language of five statements, which run in Python, and print as C.

A jaxpr becomes this when it is lowered, and it takes little to print. tinyjax's own language, in
compile/kernel/kernel_ir.py, has ten statements, and types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Index = str | int  # the variable of a loop, or a number


@dataclass(frozen=True)
class Load:
    """target = memory[index]; of a greater width, that many neighbours from there on."""

    target: str
    memory: str
    index: Index
    width: int = 1


@dataclass(frozen=True)
class Let:
    """target = op(args), of numbers or of vectors"""

    target: str
    op: str
    args: tuple[str, ...]


@dataclass(frozen=True)
class Store:
    """memory[index] = value, a variable or a number; of a greater width, to that many neighbours."""

    memory: str
    index: Index
    value: str | float
    width: int = 1


@dataclass(frozen=True)
class Add:
    """memory[index] += value"""

    memory: str
    index: Index
    value: str


@dataclass(frozen=True)
class For:
    """The body, with variable = start, start + step, ..., as long as that is less than stop."""

    variable: str
    start: int
    stop: int
    body: list[Any]
    step: int = 1


Statement = Load | Let | Store | Add | For
OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
}  # C's; all other operations are functions
NUMPY = {"sub": np.subtract, "mul": np.multiply, "div": np.divide}  # where NumPy's name is another


def run(
    body: Sequence[Statement], memory: dict[str, np.ndarray], scope: dict[str, Any] | None = None
) -> int:
    """Run the statements; gives how many were run (a loop counts as what runs inside)."""
    scope = {} if scope is None else scope
    count = 0
    for s in body:
        at = scope.get(s.index, s.index) if hasattr(s, "index") else 0
        count += not isinstance(s, For)
        match s:
            case Load(target, source, _, width):
                scope[target] = memory[source][at : at + width].copy()
            case Let(target, op, args):
                function = NUMPY.get(op) or getattr(np, op)
                scope[target] = function(*(scope[arg] for arg in args))
            case Store(destination, _, value, width):
                memory[destination][at : at + width] = scope.get(value, value)
            case Add(destination, _, value):
                memory[destination][at] += scope[value].item()
            case For(variable, start, stop, inner, step):
                for scope[variable] in range(start, stop, step):
                    count += run(inner, memory, scope)
    return count


def c_lines(body: Sequence[Statement]) -> list[str]:
    """The statements as lines of C; none is wider than 1.

    Load and Let: `const float a = a_in[i];`, `const float c = a * b;` for what is in OPERATORS, and
    `const float b = sin(a);` for all else. Store and Add: `c_out[i] = c;`, `c_out[0] += c;`. For:

        for (int i = 0; i < 100; ++i) {
          const float a = a_in[i];
        }

    with `i += 4` in place of `++i` if that is the step. What is inside is indented by two spaces."""
    lines: list[str] = []
    for s in body:
        match s:
            case Load(target, memory, index):
                lines.append(f"const float {target} = {memory}[{index}];")
            case Let(target, op, (x, y)) if op in OPERATORS:
                lines.append(f"const float {target} = {x} {OPERATORS[op]} {y};")
            case Let(target, op, args):
                lines.append(f"const float {target} = {op}({', '.join(args)});")
            case Store(memory, index, value):
                lines.append(f"{memory}[{index}] = {value};")
            case Add(memory, index, value):
                lines.append(f"{memory}[{index}] += {value};")
            case For(i, start, stop, inner, step):
                advance = f"++{i}" if step == 1 else f"{i} += {step}"
                lines.append(f"for (int {i} = {start}; {i} < {stop}; {advance}) {{")
                lines += ["  " + line for line in c_lines(inner)]
                lines.append("}")
    return lines
