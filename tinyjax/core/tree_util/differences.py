"""Where two trees differ, for messages: the key path of each place, and what differs there.

It gives PyTreeDef its `differences`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tinyjax.core.tree_util.key_paths import FlattenedIndexKey, KeyPath, child_keys, keystr
from tinyjax.core.tree_util.pytrees import PyTreeDef, kind_of


def equality_errors(first: PyTreeDef, second: PyTreeDef) -> Iterator[tuple[KeyPath, str, str, str]]:
    """(path, what `first` has there, what `second` has, why they differ) for each difference."""
    for path, what, a, b in _differences((), first, second, below_leaves=True):
        yield path, a, b, f"the {what} differ"


def _differences(
    path: KeyPath, first: PyTreeDef, second: PyTreeDef, below_leaves: bool
) -> Iterator[tuple[KeyPath, str, str, str]]:
    """The places where two structures differ, as (path, *result of _node_difference)."""
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
    """The keys that b lacks, and the keys that only b has."""
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
    """Only nodes have keys, so this builds a node from the structure, if its class allows that."""
    number = len(treedef.child_defs)
    if treedef.node_type is None:
        return []
    try:
        node = kind_of[treedef.node_type].unflatten(treedef.aux, (None,) * number)
        return child_keys(node)
    except Exception:
        return [FlattenedIndexKey(i) for i in range(number)]


def _with_paths_as_text(
    first: PyTreeDef, second: PyTreeDef, below_leaves: bool = True
) -> Iterator[tuple[str, str, str, str]]:
    for path, what, a, b in _differences((), first, second, below_leaves):
        yield keystr(path), what, a, b


PyTreeDef.differences = _with_paths_as_text  # type: ignore[assignment,method-assign]
