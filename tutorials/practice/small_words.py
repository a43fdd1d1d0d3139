"""A round of Threefry on words of any size: mixed, and unmixed again.

Why do no two counters give the same two words?
"""

from __future__ import annotations


def rotated(x: int, distance: int, bits: int) -> int:
    """A word of `bits` bits, rotated to the left: the highest `distance` bits come back at the right."""
    return (x << distance | x >> (bits - distance)) % 2**bits


def one_round(x1: int, x2: int, distance: int, bits: int = 32) -> tuple[int, int]:
    """The two words after a round. The first becomes the sum of both, without what is carried beyond its
    bits; the second is rotated by `distance`, and then combined with the new first by an exclusive or."""
    x1 = (x1 + x2) % 2**bits
    return x1, rotated(x2, distance, bits) ^ x1


def undo_round(x1: int, x2: int, distance: int, bits: int = 32) -> tuple[int, int]:
    """The two words before a round, from those after it."""
    x2 = rotated(x2 ^ x1, bits - distance, bits)
    return (x1 - x2) % 2**bits, x2
