"""A loop as two: one in whole vectors, and one for the rest.

With a hundred elements, the first loop takes 96: `i < 96; i += 16`. The language is that of toy_kernel.
"""

from __future__ import annotations

from dataclasses import replace

from practice.toy_kernel import Add, For, Load, Store


def vectors_and_rest(loop: For, width: int) -> list[For]:
    """The loop, which takes each iteration and has no loops inside, as one in vectors of `width` neighbours,
    and one with the iterations that are left. A loop without iterations is left out.

    Loads and stores at the loop's variable become that wide. Those at another index are the same in all
    iterations, and stay. A loop that adds up stays whole: several lanes can't add to one number."""
    if any(isinstance(s, Add) for s in loop.body):
        return [loop]
    middle = loop.start + (loop.stop - loop.start) // width * width
    wide = [
        replace(s, width=width) if isinstance(s, Load | Store) and s.index == loop.variable else s
        for s in loop.body
    ]
    vectors = replace(loop, stop=middle, body=wide, step=width)
    rest = replace(loop, start=middle)
    return [part for part in (vectors, rest) if part.start < part.stop]
