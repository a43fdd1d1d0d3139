"""Sharing out: how many work-items a kernel is worth, and which iterations each of them is for.

After this file you can say why a loop over 10,000 elements has three work-items: each should have 4,096 or
more. Builds on indices.
"""

from __future__ import annotations

import math

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.indices import Index


def share(count: int, grain: int, most: int) -> tuple[int, int]:
    """(work-items, elements to each): at least `grain` elements to each, at most `most` items."""
    items = min(most, max(1, math.ceil(count / grain)))
    run = math.ceil(count / items)
    return math.ceil(count / run), run


def padded(items: int, target: Target) -> int:
    """Work-items come in whole groups; those beyond the last element find an empty loop."""
    return math.ceil(items / target.local_size) * target.local_size


def run_of(item: Index, run: int, count: int) -> tuple[Index, Index]:
    """Where the run of a work-item starts and stops."""
    return item * run, (item * run + run).min(count)
