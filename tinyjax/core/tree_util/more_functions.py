"""The rest of jax.tree_util: small functions of trees and structures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from tinyjax.core.tree_util.key_paths import tree_flatten_with_path
from tinyjax.core.tree_util.pytrees import (
    LEAF,
    IsLeaf,
    PyTreeDef,
    tree_flatten,
    tree_leaves,
    tree_structure,
)


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether every leaf is true."""
    return all(tree_leaves(tree, is_leaf))


NO_VALUE = object()  # because None can be a value


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = NO_VALUE,
    is_leaf: IsLeaf = None,
) -> Any:
    """functools.reduce over the leaves. TypeError: no leaves and no initializer."""
    start = () if initializer is NO_VALUE else (initializer,)
    return functools.reduce(function, tree_leaves(tree, is_leaf), *start)


def tree_map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """As tree_map, with `f` called as f(key path, leaf, *others)."""
    pairs, treedef = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    others = [treedef.flatten_up_to(r, "tree_map_with_path tree") for r in rest]
    return treedef.unflatten(f(*pair, *xs) for pair, *xs in zip(pairs, *others))


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every item is a leaf."""
    return all(tree_structure(item, is_leaf) == LEAF for item in iterable)


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is a single node: a leaf, but also None or an empty container."""
    return treedef.num_nodes == 1


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of the topmost node."""
    return treedef.children()


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose items have these structures."""
    return PyTreeDef(tuple, None, treedefs)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = NO_VALUE,
    is_leaf: IsLeaf = None,
) -> Any:
    """The leaves reduced as a balanced tree, of logarithmic depth: ((a b) (c (d e))).

    Raises:
      TypeError: there are no leaves, and no identity is given."""

    def reduce(xs: list[Any]) -> Any:
        if len(xs) == 1:
            return xs[0]
        half = len(xs) // 2
        return operation(reduce(xs[:half]), reduce(xs[half:]))

    leaves = tree_leaves(tree, is_leaf)
    if not leaves and identity is NO_VALUE:
        raise TypeError("Must specify identity for parallel reduction of empty sequence.")
    return reduce(leaves) if leaves else identity


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """A list of dicts to a dict of lists: outer[inner[leaf]] to inner[outer[leaf]].

    Args:
      inner_treedef: None means the structure of the first subtree.
    Raises:
      TypeError: the tree does not have the structure outer of inner."""
    leaves, treedef = tree_flatten(pytree_to_transpose)
    if inner_treedef is None:
        inner_treedef = tree_structure(outer_treedef.flatten_up_to(pytree_to_transpose)[0])
    expected = outer_treedef.compose(inner_treedef)
    if treedef.num_leaves != expected.num_leaves:
        raise TypeError(
            f"Mismatch\n{treedef}\n != \n{expected}\n"
            "The tree must have outer_treedef with inner_treedef at each of its leaves."
        )
    size = inner_treedef.num_leaves
    columns = [leaves[i::size] for i in range(size)]
    return inner_treedef.unflatten(map(outer_treedef.unflatten, columns))
