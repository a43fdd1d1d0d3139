"""A pytree, or two of one structure, as nodes with key paths, for the page and the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinyjax.core.tree_util.key_paths import flatten_one_level_with_keys, keystr
from tinyjax.core.tree_util.pytrees import kind_of
from tinyjax.studio.viz.arrays.elements import Elements, elements_of, number_text

_MISSING = object()  # a leaf that only one of two trees has
MAX_LEAVES = 1000


@dataclass
class Item:
    """A node or leaf. `path` leads here from the root, and `key` from the parent.

    A leaf has `elements` for each tree, or None where the tree has no such leaf. A node has `children`, and
    its type as `kind`."""

    path: str
    key: str
    kind: str = ""
    children: list[Item] = field(default_factory=list)
    elements: list[Elements | None] = field(default_factory=list)

    @property
    def is_leaf(self) -> bool:
        return bool(self.elements)

    def leaves(self) -> Iterator[Item]:
        if self.is_leaf:
            yield self
        for child in self.children:
            yield from child.leaves()

    def count_text(self) -> str:
        """12 arrays, 3.1 MB"""
        leaves = [leaf.elements[0] for leaf in self.leaves()]
        arrays = [leaf for leaf in leaves if leaf is not None and leaf.type]
        counts = f"{len(arrays):,} {'array' if len(arrays) == 1 else 'arrays'}"
        nbytes = sum(leaf.nbytes for leaf in arrays)
        return f"{counts}, {bytes_text(nbytes)}" if nbytes else counts


def item_of(trees: Sequence[Any], path: tuple[Any, ...] = ()) -> Item:
    """The item of one tree or of two."""
    key = str(path[-1]) if path else ""
    nodes = [is_node(tree) for tree in trees]
    if not all(is_node or tree is _MISSING for is_node, tree in zip(nodes, trees)):
        texts = [None if tree is _MISSING else _leaf(tree) for tree in trees]
        return Item(keystr(path), key, elements=texts)
    first = next(tree for tree in trees if tree is not _MISSING)
    below = [dict(_children(tree)) for tree in trees]
    keys = dict.fromkeys(key for children in below for key in children)
    children = [item_of([each.get(key, _MISSING) for each in below], (*path, key)) for key in keys]
    return Item(keystr(path), key, kind_text(first, len(children)), children)


def is_node(tree: Any) -> bool:
    return tree is not _MISSING and kind_of[type(tree)] is not None


def _leaf(tree: Any) -> Elements:
    """The elements of a leaf, or a marker where only the other tree has one."""
    if is_node(tree):
        return Elements("", (), None, kind_text(tree, len(_children(tree))))
    return elements_of(tree)


def _children(tree: Any) -> tuple[tuple[Any, Any], ...]:
    return tuple(flatten_one_level_with_keys(tree)[0]) if is_node(tree) else ()


def kind_text(tree: Any, count: int) -> str:
    """dict of 3; None, which is a node without children"""
    return "None" if tree is None else f"{type(tree).__name__} of {count}"


def bytes_text(nbytes: float) -> str:
    """12 bytes, 3.1 kB, 80 MB"""
    if nbytes < 1000:
        return f"{nbytes:,.0f} bytes"
    units = ["kB", "MB", "GB", "TB"]
    while nbytes >= 999_500 and len(units) > 1:
        nbytes, _ = nbytes / 1000, units.pop(0)
    return f"{nbytes / 1000:.3g} {units[0]}"


# ---- two leaves ----


def difference(a: Elements, b: Elements) -> np.ndarray | None:
    """a - b, or for bools whether they differ; None if the shapes differ or one has no elements."""
    if a.array is None or b.array is None or a.shape != b.shape:
        return None
    if a.array.dtype == bool and b.array.dtype == bool:
        return a.array ^ b.array
    with np.errstate(all="ignore"):
        return np.subtract(a.array, b.array, dtype=np.result_type(a.array, b.array, np.float32))


def types_text(a: Elements, b: Elements) -> str:
    return " and ".join(dict.fromkeys(filter(None, (a.type, b.type))))


def difference_text(a: Elements, b: Elements) -> str:
    """How two leaves differ: the number of unequal elements, and the place of the largest difference."""
    if a.array is None or b.array is None:
        return "they differ" if a != b else "equal"
    if a.shape != b.shape:
        return "the shapes differ"
    unequal = (a.array != b.array) & ~(_isnan(a.array) & _isnan(b.array))
    count = int(np.count_nonzero(unequal))
    if not count:
        return "equal" if a.type == b.type else "equal numbers"
    text = f"{count:,} of {unequal.size:,} differ" if a.shape else "they differ"
    apart = difference(a, b)
    if apart is None or apart.dtype == bool:
        return text
    with np.errstate(all="ignore"):
        sizes = np.where(np.isfinite(apart), np.abs(apart), 0)
    at = np.unravel_index(int(sizes.argmax()), sizes.shape)
    place = f", most at [{', '.join(str(int(n)) for n in at)}]:" if at else ""
    return f"{text}{place} by {number_text(float(sizes.max()))}"


def _isnan(array: np.ndarray) -> np.ndarray:
    return np.isnan(array) if array.dtype.kind in "fc" else np.zeros(array.shape, bool)
