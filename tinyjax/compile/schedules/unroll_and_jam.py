"""Unroll and jam: several iterations of a loop in one, so that while one waits for its sum, others go on.

After this file you can read a kernel in which several vectors go through a loop together. In a
short loop each line needs the result of the line before, and a core that could issue two in each cycle
waits for three or four. Iterations that do not depend on each other are unrolled, their lines
written in turn, and the loops within them are jammed into one loop. Builds on substitution.

    for i1 in 0 .. 8:                for i2 in 0 .. 4:
      a:f32 x16 = ...                  a:f32 x16 = ...
      for i3 in 0 .. 10:               a_x1:f32 x16 = ...
        ...                            for i3 in 0 .. 10:
                                         ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tinyjax.compile.kernel.indices import index_var
from tinyjax.compile.kernel.kernel_ir import Allocate, For, Statement
from tinyjax.compile.kernel.substitution import defined_names, every_statement, substituted

SHORT = 24  # statements of an iteration


def unroll_and_jam(loop: For, count: int, name: str) -> list[Statement]:
    """`loop`, `count` iterations at a time, and then those that are left. They do not depend on each
    other, and it starts at a multiple of `count`; `name` is that of the new loop's variable."""
    iterations = loop.variable.hi + 1
    groups = index_var(name, 0, iterations // count - 1)
    own = set(defined_names(loop.body))
    copies = []
    for number in range(count):
        renamed = {n: f"{n}_x{number}" for n in own} if number else {}
        places = {loop.variable.args[0]: groups * count + number}
        copies.append(substituted(loop.body, places, renamed))
    jammed = For(groups, loop.start // count, loop.stop // count, _jammed(copies))
    if iterations % count == 0:
        return [jammed]
    return [jammed, replace(loop, start=loop.stop // count * count)]


def is_short(body: Sequence[Statement]) -> bool:
    """Whether a loop with this body is better off jammed: its iterations are few lines, and all that they
    keep may be in registers."""
    made = [s.array.size for s in every_statement(body) if isinstance(s, Allocate)]
    return len(list(every_statement(body))) <= SHORT and max(made, default=1) == 1


def _jammed(bodies: Sequence[list[Statement]]) -> list[Statement]:
    """The statements of all bodies in turn, and their loops as one."""
    result: list[Statement] = []
    for statements in zip(*bodies, strict=True):
        first, *others = statements
        if isinstance(first, For) and all(
            (first.start, first.stop) == (other.start, other.stop) for other in others
        ):
            result.append(replace(first, body=_jammed([s.body for s in statements])))
        else:
            result += statements
    return result
