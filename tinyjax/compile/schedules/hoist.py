"""Hoist: what is the same in all iterations of a loop is computed before it.

Loads that read no memory that the loop stores to, at a place that no iteration changes, run once, and so does
what is computed from them.

    for i1 in 0 .. 9:                  a:f32 = a_in[0]
      a:f32 = a_in[0]                  b:f32 = sin a
      b:f32 = sin a                    for i1 in 0 .. 9:
      c:f32 = carry                      c:f32 = carry
      ...                                ...
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tinyjax.compile.kernel.kernel_ir import (
    BODIES,
    For,
    Kernel,
    Let,
    Load,
    Statement,
    While,
    inner_bodies,
)
from tinyjax.compile.schedules.directive import LoopDirective
from tinyjax.compile.schedules.nests import the_same, varying_in, without


@dataclass(frozen=True)
class Hoist(LoopDirective):
    """What is the same in all iterations of the loop over `axis` (without one, of the outermost while)."""

    may_be_while = True

    def _why_not(self, kernel: Kernel, loop: For | While) -> str:
        return "" if _same(loop) else "its iterations compute nothing that is the same in all"

    def _changed(self, loop: For | While) -> list[Statement]:
        same = _same(loop)
        bodies: Any = {name: without(getattr(loop, name), same) for name in BODIES[type(loop)]}
        return [*same, replace(loop, **bodies)]


def _same(loop: For | While) -> list[Let | Load]:
    """What can go out of the loop."""
    return the_same(sum(inner_bodies(loop), []), varying_in(loop))
