"""Prefixes: a tree whose leaves stand for whole subtrees of another, as in vmap's in_axes.

After this file you know how `in_axes=(0, None)` reaches every array in the arguments, and how a
message finds the place where two trees part. Builds on pytrees and key_paths.

    broadcast_prefix((0, 1), ("a", {"b": 5, "c": 6}))    # [0, 1, 1]

Source: https://docs.jax.dev/en/latest/pytrees.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tinyjax.core.tree_util import pytrees
from tinyjax.core.tree_util.key_paths import FlattenedIndexKey, KeyPath, child_keys, keystr
from tinyjax.core.tree_util.pytrees import IsLeaf, PyTreeDef, kind_of, tree_flatten, tree_structure

# ---- one value for a whole subtree ----


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """The full tree with each leaf replaced by the leaf of the prefix tree above it."""
    return tree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a prefix tree, each once for every leaf that the full tree has under it.

    Raises:
      ValueError: `prefix_tree` is no prefix of `full_tree`.
    """
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
      ValueError: `axis_tree` is no prefix of `treedef`.
    """
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
    """How many leaves `full` has under each leaf of `prefix`; None where the two part, which
    `_node_difference` says of two nodes."""
    if prefix.node_type is None:
        yield full.num_leaves
    elif _node_difference(prefix, full):
        yield None
    else:
        for a, b in zip(prefix.child_defs, full.child_defs):
            yield from _leaf_counts(a, b)


def _repeat(leaves: list[Any], counts: list[Any]) -> list[Any]:
    return [leaf for leaf, count in zip(leaves, counts) for _ in range(count)]


# ---- explaining a mismatch ----


def prefix_errors(name: str, prefix: PyTreeDef, full: PyTreeDef) -> Iterator[ValueError]:
    """An error for each place where `prefix` (called `name` in the text) is no prefix of `full`."""
    for path, what, expected, got in _differences((), prefix, full, below_leaves=False):
        message = (
            f"pytree structure error: different {what} at key path\n    {name}{keystr(path)}\n"
            f"expected {expected} as in {name}, but got {got}.\n"
            f"Give both trees the same structure down to the leaves of {name}."
        )
        if expected == str(type(None)):
            message += " (None is a node without leaves, unless is_leaf=lambda x: x is None.)"
        yield ValueError(message)


def mismatch_error(name: str, prefix: PyTreeDef, full: PyTreeDef) -> ValueError:
    """The error for the first place where `prefix` is no prefix of `full`."""
    return next(prefix_errors(name, prefix, full))


pytrees.mismatch_error = mismatch_error


def equality_errors(first: PyTreeDef, second: PyTreeDef) -> Iterator[tuple[KeyPath, str, str, str]]:
    """(path, what `first` has there, what `second` has, why they differ) for each difference."""
    for path, what, a, b in _differences((), first, second, below_leaves=True):
        yield path, a, b, f"the {what} differ"


def structures_differ(a_name: str, a: PyTreeDef, b_name: str, b: PyTreeDef) -> str:
    """A line for each place where two structures differ, for messages."""
    return "".join(
        f"\n  * {a_name}{keystr(path)} is a {ours}, but {b_name}{keystr(path)} is a {theirs}"
        for path, ours, theirs, _ in equality_errors(a, b)
    )


def _differences(
    path: KeyPath, first: PyTreeDef, second: PyTreeDef, below_leaves: bool
) -> Iterator[tuple[KeyPath, str, str, str]]:
    """The places where two structures part, as (path, *what _node_difference says of it)."""
    if first.node_type is None and not below_leaves:
        return
    if difference := _node_difference(first, second):
        yield path, *difference
        return
    for key, a, b in zip(_keys_of_treedef(first), first.child_defs, second.child_defs):
        yield from _differences((*path, key), a, b, below_leaves)


def _node_difference(a: PyTreeDef, b: PyTreeDef) -> tuple[str, str, str] | None:
    """(what differs, how it is in a, how it is in b) of the topmost nodes."""
    if a.node_type is not b.node_type:
        return "types", _type_text(a), _type_text(b)
    m, n = len(a.child_defs), len(b.child_defs)
    if m != n and a.node_type in (tuple, list):
        name = a.node_type.__name__
        return f"lengths of {name}", f"{name} of length {m}", f"{name} of length {n}"
    if m != n:
        texts = _children_text(a), _children_text(b) + _different_keys(a, b)
        return "numbers of pytree children", *texts
    if a.aux != b.aux:
        texts = f"{_type_text(a)} with pytree metadata {a.aux}", f"{_type_text(b)} with {b.aux}"
        return "pytree metadata", texts[0], texts[1] + _different_keys(a, b)
    return None


def _different_keys(a: PyTreeDef, b: PyTreeDef) -> str:
    """Which keys b lacks, and which it has beside those of a."""
    ours, theirs = ([str(key) for key in _keys_of_treedef(t)] for t in (a, b))
    missing = [key for key in ours if key not in theirs]
    added = [key for key in theirs if key not in ours]
    parts = [f"without {' '.join(missing)}"] * bool(missing) + [f"with {' '.join(added)}"] * bool(
        added
    )
    return f" ({', '.join(parts)})" if parts else ""


def _type_text(treedef: PyTreeDef) -> str:
    return "pytree leaf" if treedef.node_type is None else str(treedef.node_type)


def _children_text(treedef: PyTreeDef) -> str:
    n = len(treedef.child_defs)
    keys = "".join(f" {key}" for key in _keys_of_treedef(treedef))
    return f"{treedef.node_type} with {n} {'child' if n == 1 else 'children'}{keys}"


def _keys_of_treedef(treedef: PyTreeDef) -> list[Any]:
    """Keys are a matter of nodes, so one is made for the purpose, if its class lets us."""
    number = len(treedef.child_defs)
    if treedef.node_type is None:
        return []
    try:
        node = kind_of[treedef.node_type].unflatten(treedef.aux, (None,) * number)
        return child_keys(node)
    except Exception:
        return [FlattenedIndexKey(i) for i in range(number)]
