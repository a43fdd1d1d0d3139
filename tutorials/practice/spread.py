"""One entry for many leaves: prefixes of nested lists.

This is what `in_axes=[None, 0]` means for a whole model and its input.
"""

from __future__ import annotations

from typing import Any


def count_leaves(tree: Any) -> int:
    """Here a list is a node, and everything else a leaf."""
    return sum(map(count_leaves, tree)) if isinstance(tree, list) else 1


def spread(prefix: Any, tree: Any) -> list[Any]:
    """For each leaf of `tree`, in order, the entry of `prefix` that stands for it: the prefix is the same
    tree, cut off earlier, and an entry stands for all that is below it.

    Raises ValueError where the prefix is no such tree: a list where the tree has a leaf, or one of another
    length."""
    if not isinstance(prefix, list):
        return [prefix] * count_leaves(tree)
    if not isinstance(tree, list) or len(prefix) != len(tree):
        raise ValueError(f"{prefix} is no prefix of {tree}")
    return [entry for p, t in zip(prefix, tree) for entry in spread(p, t)]
