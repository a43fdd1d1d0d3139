"""A program that differs, cut down to a small one that still does."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from random_programs.compare import Disagreement, disagreements
from random_programs.program import Argument, Program, Statement, Variable
from random_programs.writer import argument_values, kind_of


def shrunk(found: Disagreement, reference: Any = None, seconds: float = 30) -> Disagreement:
    """The disagreement with a program from which nothing more can be taken away."""
    if "beside" in found.way:
        return found
    error = found.message.split(":")[0] if not found.output else ""
    until = time.monotonic() + seconds
    # Programs are copied, and not every error of what was refused can be.
    found = found._replace(program=replace(found.program, refused=[]))

    def still(program: Program) -> Disagreement | None:
        if time.monotonic() > until:
            return None
        contenders = lambda program: [found.contender]  # noqa: E731
        for other in disagreements([program], reference, [found.way], contenders):
            if other.way == found.way and (not error or other.message.startswith(error)):
                return other
        return None

    outputs = [found.output] if found.output else found.program.outputs
    for output in outputs:
        if other := still(found.program.with_outputs([output])):
            found = other
            break
    while time.monotonic() < until:
        smaller = _first(still, _cuts(found.program))
        if smaller is None:
            break
        found = smaller
    return found


def _first(
    still: Callable[[Program], Disagreement | None], programs: Iterator[Program]
) -> Disagreement | None:
    return next((found for program in programs if (found := still(program))), None)


def _cuts(program: Program) -> Iterator[Program]:
    """Programs with one statement less, or a simpler one."""
    top = len(program.main.statements)
    for at in range(top):
        if (cut := _as_arguments(program, at)) is not None:
            yield cut
    for at, statement in enumerate(list(program.main.all_statements())):
        for text in statement.simpler:
            yield _with(program, at, text)
        constants = [_constant(v) for v in statement.targets]
        if None not in constants and statement.text != ", ".join(map(str, constants)):
            yield _with(program, at, ", ".join(map(str, constants)))


def _as_arguments(program: Program, at: int) -> Program | None:
    """The program with the statement's results for arguments."""
    targets = program.main.statements[at].targets
    if any(v.name in program.outputs or kind_of(v.dtype) == "k" for v in targets):
        return None
    cut = copy.deepcopy(program)
    del cut.main.statements[at]
    cut.args += [Argument(v.name, argument_values(v, 7), True) for v in targets]
    return cut.with_outputs(cut.outputs)


def _constant(v: Variable) -> str | None:
    value = {"p": "True", "i": "1", "f": "0.5", "z": "0.5"}.get(kind_of(v.dtype))
    return value and f"jnp.full({v.shape}, {value}, {v.dtype!r})"


def _with(program: Program, at: int, text: str) -> Program:
    """The program with another text for a statement."""
    cut = copy.deepcopy(program)
    statement: Statement = list(cut.main.all_statements())[at]
    statement.text, statement.simpler = text, []
    called = [f for f in statement.functions if f.name in text]
    statement.functions = called
    statement.after = [line for line in statement.after if called]
    return cut.with_outputs(cut.outputs)
