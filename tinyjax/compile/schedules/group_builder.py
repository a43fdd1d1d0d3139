"""Sharing out: how many work-items a kernel is worth.

After this file you can say why a loop over 10,000 elements has three work-items: each should have 4,096 or
more. Builds on nothing.
"""

from __future__ import annotations

import math


def share(count: int, grain: int, most: int) -> tuple[int, int]:
    """(work-items, elements to each): at least `grain` elements to each, at most `most` items."""
    items = min(most, max(1, math.ceil(count / grain)))
    run = math.ceil(count / items)
    return math.ceil(count / run), run
