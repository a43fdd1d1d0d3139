"""Key paths: the name of each leaf's place in a tree, such as ['params'][0].

    tree_flatten_with_path({"a": [5]})[0]    # [((DictKey(key='a'), SequenceKey(idx=0)), 5)]

Source: https://docs.jax.dev/en/latest/key-paths.html
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from tinyjax.core.tree_util.pytrees import LEAF, PyTreeDef, kind_of, registry, stops

# ---- keys: how one step down into a tree is written ----


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """Item `idx` of a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@dataclasses.dataclass(frozen=True)
class DictKey:
    """The value at `key` of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The attribute `name` of an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclasses.dataclass(frozen=True)
class FlattenedIndexKey:
    """Child number `key` of a registered class that names no keys."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyEntry = Hashable  # one of the above, or what a registered class gives as its keys
KeyPath = tuple[Any, ...]


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A key path as text: "['a'][0]", or 'a/0' with simple=True, separator='/'."""
    return separator.join(map(_simple_key if simple else str, keys))


def _simple_key(key: Any) -> str:
    match key:
        case SequenceKey(name) | DictKey(name) | GetAttrKey(name) | FlattenedIndexKey(name):
            return str(name)
    return str(key)


# ---- one node ----


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """The children of the topmost node and its aux data. ValueError: `tree` is a leaf."""
    kind = kind_of[type(tree)]
    if kind is None:
        raise ValueError(
            f"can't tree-flatten type: {type(tree)}\n"
            "It is a leaf; make it a node with register_pytree_node or register_dataclass."
        )
    return kind.flatten(tree)


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """The (key, child) pairs of the topmost node and its aux data. ValueError: a leaf."""
    children, aux = flatten_one_level(tree)
    return tuple(zip(child_keys(tree), children)), aux


def child_keys(node: Any) -> list[Any]:
    """A key for each child: as its type was registered, or as a container is indexed."""
    cls, kind = type(node), kind_of[type(node)]
    if kind.flatten_with_keys is not None:
        return [key for key, _ in kind.flatten_with_keys(node)[0]]
    if cls not in registry:
        return [GetAttrKey(name) for name in cls._fields]  # a namedtuple
    children, aux = kind.flatten(node)
    if cls in (dict, collections.OrderedDict):
        return [DictKey(key) for key in aux]
    if cls is collections.defaultdict:
        return [DictKey(key) for key in aux[1]]
    key_type = SequenceKey if cls in (tuple, list) else FlattenedIndexKey
    return [key_type(i) for i in range(len(children))]


# ---- flatten, with paths ----


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """As tree_flatten, with each leaf as a pair (key path, leaf).

    Args:
      is_leaf_takes_path: `is_leaf` is called with (key path, subtree)."""
    stop = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        stop = lambda _, subtree: is_leaf(subtree)  # noqa: E731
    pairs: list[tuple[KeyPath, Any]] = []
    return pairs, _flatten_with_path((), tree, stop, pairs)


def _flatten_with_path(
    path: KeyPath, tree: Any, is_leaf: Callable[..., bool] | None, pairs: list[Any]
) -> PyTreeDef:
    if (is_leaf is not None and stops(is_leaf, path, tree)) or kind_of[type(tree)] is None:
        pairs.append((path, tree))
        return LEAF
    children, aux = flatten_one_level_with_keys(tree)
    child_defs = [
        _flatten_with_path((*path, key), child, is_leaf, pairs) for key, child in children
    ]
    return PyTreeDef(type(tree), aux, child_defs)


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The (key path, leaf) pairs of a tree."""
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]
