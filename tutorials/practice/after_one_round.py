"""What one iteration of a loop hands on: a toy body, in which each line names a value and what it is made of.

The rules of `while_loop` and `scan` run until such a body adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Body:
    """The body of a loop, as lessons print it: what it takes, its lines, and the carry that it gives.

    A line ("c", ("a", "b")) means that c is made of a and b. Each name is made once, before it is used."""

    takes: tuple[str, ...]  # a name for each part of the carry
    lines: tuple[tuple[str, tuple[str, ...]], ...]
    gives: tuple[str, ...]  # the next carry: as many names


def after_one_round(body: Body, flags: Sequence[bool]) -> tuple[bool, ...]:
    """Which parts of the carry have a property (a tangent, a batch dim) after one iteration, if those that
    are flagged have it before.

    What is made of something that has it, has it. All else has not: a part that had it before, and is made of
    other things, has lost it."""
    have = {name for name, flag in zip(body.takes, flags) if flag}
    for result, operands in body.lines:
        if have.intersection(operands):
            have.add(result)
    return tuple(name in have for name in body.gives)
