"""Prefixes: a tree whose leaves stand for whole subtrees of another, as in vmap's in_axes.

    broadcast_prefix((0, 1), ("a", {"b": 5, "c": 6}))    # [0, 1, 1]

Source: https://docs.jax.dev/en/latest/pytrees.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tinyjax.core.tree_util.pytrees import (
    IsLeaf,
    PyTreeDef,
    mismatch_error,
    prefix_errors,
    tree_flatten,
    tree_structure,
)

# ---- one value for a whole subtree ----


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """The full tree with each leaf replaced by the leaf of the prefix tree above it."""
    return tree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a prefix tree, each once for every leaf that the full tree has under it.

    Raises:
      ValueError: `prefix_tree` is no prefix of `full_tree`."""
    leaves, prefix = tree_flatten(prefix_tree, is_leaf)
    full = tree_structure(full_tree)
    counts = list(_leaf_counts(prefix, full))
    if None in counts:
        raise mismatch_error("broadcast_prefix prefix_tree", prefix, full)
    return _repeat(leaves, counts)


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any, *, kws: bool = False) -> list[Any]:
    """The axis of each leaf of `treedef`, from a prefix of it such as vmap's in_axes.

    Args:
      name: of the specification in messages, such as "vmap in_axes".
      axis_tree: a tree prefix whose leaves are axes; None (not mapped) is a leaf here.
      kws: both are pairs (positional, keywords), of which messages show the first.
    Raises:
      ValueError: `axis_tree` is no prefix of `treedef`."""
    axes, prefix = tree_flatten(axis_tree, is_leaf=lambda x: x is None)
    counts = list(_leaf_counts(prefix, treedef))
    if None not in counts:
        return _repeat(axes, counts)
    if kws:
        prefix, treedef = prefix.child_defs[0], treedef.child_defs[0]
    errors = list(prefix_errors(name, prefix, treedef))
    raise ValueError(
        f"{name} specification must be a tree prefix of the corresponding value; \n"
        f"  Mismatch details ({len(errors)} found):\n  " + "\n  ".join(map(str, errors))
    )


def _leaf_counts(prefix: PyTreeDef, full: PyTreeDef) -> Iterator[int | None]:
    """How many leaves `full` has under each leaf of `prefix`; None where the two differ, as nodes do that
    do not `_agree`."""
    if prefix.node_type is None:
        yield full.num_leaves
    elif not _agree(prefix, full):
        yield None
    else:
        for a, b in zip(prefix.child_defs, full.child_defs):
            yield from _leaf_counts(a, b)


def _agree(a: PyTreeDef, b: PyTreeDef) -> bool:
    """Whether the topmost nodes are alike: of one type, with as many children and equal aux data."""
    return a.node_type is b.node_type and len(a.child_defs) == len(b.child_defs) and a.aux == b.aux


def _repeat(leaves: list[Any], counts: list[Any]) -> list[Any]:
    return [leaf for leaf, count in zip(leaves, counts) for _ in range(count)]


def structures_differ(a_name: str, a: PyTreeDef, b_name: str, b: PyTreeDef) -> str:
    """A line for each place where two structures differ, for messages."""
    return "".join(
        f"\n  * {a_name}{path} is a {ours}, but {b_name}{path} is a {theirs}"
        for path, _, ours, theirs in a.differences(b)
    )
