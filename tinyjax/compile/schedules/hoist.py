"""Hoist: what is the same in all iterations of a loop is computed before it.

After this file you can say which loads of a loop's body run once: those that read no memory that the loop
stores to, at a place that no iteration changes, and what is computed from such values. Builds on nests.

    for i1 in 0 .. 9:                  a:f32 = a_in[0]
      a:f32 = a_in[0]                  b:f32 = sin a
      b:f32 = sin a                    for i1 in 0 .. 9:
      c:f32 = carry                      c:f32 = carry
      ...                                ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinyjax.compile.kernel.kernel_ir import For, Kernel, Let, Load, Statement, While
from tinyjax.compile.kernel.substitution import defined_names
from tinyjax.compile.schedules.directive import (
    Directive,
    axis_of,
    loops_of,
    main_loop,
    no_main_loop,
    with_statement,
)
from tinyjax.compile.schedules.nests import names_in, stored_names


@dataclass(frozen=True)
class Hoist(Directive):
    """What is the same in all iterations of the loop over `axis` (without one, of the outermost while)."""

    axis: str = ""

    def why_not(self, kernel: Kernel) -> str:
        loop = main_loop(kernel, self.axis)
        if loop is None:
            return no_main_loop(kernel, self.axis)
        return "" if _parted(loop)[0] else "its iterations compute nothing that is the same in all"

    def _applied(self, kernel: Kernel) -> Kernel:
        loop = main_loop(kernel, self.axis)
        assert loop is not None
        same, rest = _parted(loop)
        return replace(kernel, body=with_statement(kernel.body, loop, [*same, rest]))


def _parted(loop: For | While) -> tuple[list[Statement], For | While]:
    """What can go out of the loop, and the loop without it."""
    axes = map(axis_of, loops_of([loop]))
    varying = {*defined_names([loop]), *axes, *stored_names([loop])}
    same: list[Statement] = []

    def rest_of(body: Sequence[Statement]) -> list[Statement]:
        rest = []
        for s in body:
            if isinstance(s, Let | Load) and not (names_in(s) - {s.target.name}) & varying:
                varying.discard(s.target.name)
                same.append(s)
            else:
                rest.append(s)
        return rest

    if isinstance(loop, For):
        return same, replace(loop, body=rest_of(loop.body))
    head = rest_of(loop.head)
    return same, replace(loop, head=head, body=rest_of(loop.body))
