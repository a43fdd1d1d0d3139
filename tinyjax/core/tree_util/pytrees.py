"""Pytrees: nested containers taken apart into leaves and a structure, and put together again.

Rules know only flat lists: `grad` and `jit` flatten their arguments on the way in and unflatten the results
on the way out. You can register your own classes as containers.

    leaves, treedef = tree_flatten({"b": [1, 2], "a": 3})    # [3, 1, 2], {'a': *, 'b': [*, *]}
    tree_unflatten(treedef, leaves)                          # {'a': 3, 'b': [1, 2]}

Source: https://docs.jax.dev/en/latest/pytrees.html.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

IsLeaf = Callable[[Any], bool] | None

# ---- kinds: how one node is taken apart ----


class Kind(NamedTuple):
    """What is known of one type of node. Any type that has no kind is a leaf.

    `aux` is all that is needed beside the children to build the node again, such as a dict's keys."""

    flatten: Callable[[Any], tuple[Sequence[Any], Any]]  # node -> (children, aux)
    unflatten: Callable[[Any, tuple[Any, ...]], Any]  # (aux, children) -> node
    flatten_with_keys: Callable[[Any], Any] | None = None  # for key_paths: (key, child) pairs, aux


def _flatten_dict(d: dict[Any, Any]) -> tuple[Sequence[Any], tuple[Any, ...]]:
    """The values in the order of the sorted keys, and these keys.

    Raises:
      ValueError: keys that cannot be sorted ("Comparator raised exception while sorting ...")."""
    try:
        keys = tuple(sorted(d))
    except Exception as e:
        raise ValueError(
            "Comparator raised exception while sorting pytree dictionary keys.\n"
            f"The keys are {list(d)!r}. A dict is flattened in the order of its keys: use keys "
            "of one type, or an OrderedDict, which is flattened in the order of insertion."
        ) from e
    return tuple(map(d.__getitem__, keys)), keys


def _flatten_defaultdict(d: Any) -> tuple[Sequence[Any], Any]:
    values, keys = _flatten_dict(d)
    return values, (d.default_factory, keys)


# The types that were registered. Subclasses are not included: a subclass of dict is a leaf.
registry: dict[type, Kind] = {
    type(None): Kind(lambda _: ((), None), lambda *_: None),
    tuple: Kind(lambda xs: (xs, None), lambda _, xs: xs),
    list: Kind(lambda xs: (xs, None), lambda _, xs: list(xs)),
    dict: Kind(_flatten_dict, lambda keys, xs: dict(zip(keys, xs))),
    collections.OrderedDict: Kind(
        lambda d: (tuple(d.values()), tuple(d)),
        lambda keys, xs: collections.OrderedDict(zip(keys, xs)),
    ),
    collections.defaultdict: Kind(
        _flatten_defaultdict, lambda aux, xs: collections.defaultdict(aux[0], zip(aux[1], xs))
    ),
}


class _KindOf(dict[Any, Any]):
    """Type -> its kind, None for a leaf. Decided once per type; later look-ups need no Python call."""

    def __missing__(self, cls: Any) -> Kind | None:
        kind = registry.get(cls)
        if kind is None and issubclass(cls, tuple) and hasattr(cls, "_fields"):  # a namedtuple
            kind = Kind(lambda xs: (xs, None), lambda _, xs: cls(*xs))
        self[cls] = kind
        return kind


kind_of = _KindOf()


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, tuple[Any, ...]], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Makes values of type `nodetype` nodes.

    Args:
      flatten_func: node -> (children, aux); aux is comparable, and hashable for jit.
      unflatten_func: (aux, children) -> node. The children may be tracers, None or any object.
      flatten_with_keys_func: node -> (pairs of (key, child), aux), for key paths.
    Raises:
      ValueError: the type is registered already.
    Source: https://docs.jax.dev/en/latest/custom_pytrees.html"""
    if nodetype in registry:
        raise ValueError(
            f"Duplicate custom PyTreeDef type registration for {nodetype}.\n"
            "A type is registered once; define the class again to register it differently."
        )

    def flatten(node: Any) -> tuple[tuple[Any, ...], Any]:
        out = flatten_func(node)
        if not (isinstance(out, tuple) and len(out) == 2 and hasattr(out[0], "__iter__")):
            raise ValueError(
                "The to_iterable function for a custom PyTree node should return a "
                f"(children, aux_data) tuple where 'children' is iterable, got {out!r} "
                f"from the function registered for {nodetype}."
            )
        return tuple(out[0]), out[1]

    registry[nodetype] = Kind(flatten, unflatten_func, flatten_with_keys_func)
    kind_of.pop(nodetype, None)  # it may be cached already, as a leaf or as a namedtuple


# ---- PyTreeDef: a tree without its leaves ----


class PyTreeDef:
    """A structure: the type of a node, its aux data, and the structures of its children.

    A leaf is the one without a type. Structures are values: equal ones compare equal, and one can
    be the key of a dict, as it is in the cache of jit."""

    __slots__ = ("node_type", "aux", "child_defs", "num_leaves", "num_nodes", "_key")
    _key: tuple[type | None, Any, list[tuple]]

    def __init__(self, node_type: type | None, aux: Any, child_defs: Iterable[PyTreeDef]):
        self.node_type = node_type
        self.aux = aux
        self.child_defs = tuple(child_defs)
        self.num_leaves = 1 if node_type is None else 0
        self.num_nodes = 1
        child_keys = []
        for child in self.child_defs:
            self.num_leaves += child.num_leaves
            self.num_nodes += child.num_nodes
            child_keys.append(child._key)
        # All of it: tuples and lists are compared without a Python call for each node.
        self._key = node_type, aux, child_keys

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PyTreeDef) and self._key == other._key

    def __hash__(self) -> int:
        # Cheap, and aux data don't have to be hashable; == distinguishes structures whose hashes collide.
        return hash((self.node_type, self.num_leaves, self.num_nodes))

    def __repr__(self) -> str:
        return f"PyTreeDef({self._text()})"

    def _text(self) -> str:
        if self.node_type is None:
            return "*"
        if self.node_type is type(None):
            return "None"
        parts = [child._text() for child in self.child_defs]
        inside = ", ".join(parts)
        if self.node_type is tuple:
            return f"({inside},)" if len(parts) == 1 else f"({inside})"
        if self.node_type is list:
            return f"[{inside}]"
        if self.node_type is dict:
            return "{" + ", ".join(f"{k!r}: {v}" for k, v in zip(self.aux, parts)) + "}"
        name = self.node_type.__name__
        head = f"{name}[{self.aux}]" if self.node_type in registry else f"namedtuple[{name}]"
        return f"CustomNode({head}, [{inside}])"

    def children(self) -> list[PyTreeDef]:
        """The structures of the children of the topmost node."""
        return list(self.child_defs)

    def node_data(self) -> tuple[type, Any] | None:
        """The topmost node's (type, aux data); None for a leaf."""
        if self.node_type is None:
            return None
        return self.node_type, list(self.aux) if self.node_type is dict else self.aux

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """This structure with `inner` in place of each leaf."""
        if self.node_type is None:
            return inner
        return PyTreeDef(self.node_type, self.aux, [c.compose(inner) for c in self.child_defs])

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves.

        Raises:
          ValueError: too few or too many leaves ("Too few leaves for PyTreeDef; expected 2, got 1")."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            few = len(leaves) < self.num_leaves
            raise ValueError(
                f"Too {'few' if few else 'many'} leaves for PyTreeDef; expected {self.num_leaves}"
                + (f", got {len(leaves)}" if few else f".\nGot {len(leaves)}")
                + f"\nfor the structure {self}. Give one value for each * of it."
            )
        return leaves[0] if self.node_type is None else self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        """The tree of this structure, of the next leaves of the iterator. The structure must be a node's:
        for a single leaf, `unflatten` returns the leaf itself."""
        children = []
        for child in self.child_defs:
            children.append(next(leaves) if child.node_type is None else child._build(leaves))
        return kind_of[self.node_type].unflatten(self.aux, tuple(children))

    def flatten_up_to(self, tree: Any, name: str = "treedef") -> list[Any]:
        """The subtrees of `tree` that stand where this structure has its leaves.

        Raises:
          ValueError: this structure is no prefix of that of `tree`; `name` is its name in the text."""
        subtrees: list[Any] = []
        if not self._collect_subtrees(tree, subtrees):
            raise mismatch_error(name, self, tree_structure(tree))
        return subtrees

    def differences(
        self, other: PyTreeDef, below_leaves: bool = True
    ) -> Iterator[tuple[str, str, str, str]]:
        """The places where two structures differ, for messages: (key path, what differs, how it is here,
        and in `other`). core/tree_util/differences.py replaces this by a method that finds all of them."""
        yield "", "structures", str(self), str(other)

    def _collect_subtrees(self, tree: Any, subtrees: list[Any]) -> bool:
        """Appends the subtrees under the leaves; returns False if the structures differ."""
        if self.node_type is None:
            subtrees.append(tree)
            return True
        if type(tree) is not self.node_type:
            return False
        children, aux = kind_of[self.node_type].flatten(tree)
        if len(children) != len(self.child_defs) or aux != self.aux:
            return False
        return all(d._collect_subtrees(c, subtrees) for d, c in zip(self.child_defs, children))


def prefix_errors(name: str, prefix: PyTreeDef, full: PyTreeDef) -> Iterator[ValueError]:
    """An error for each place where `prefix` (called `name` in the text) is no prefix of `full`."""
    for path, what, expected, got in prefix.differences(full, below_leaves=False):
        message = (
            f"pytree structure error: different {what} at key path\n    {name}{path}\n"
            f"expected {expected} as in {name}, but got {got}.\n"
            f"Give both trees the same structure down to the leaves of {name}."
        )
        if expected == str(type(None)):
            message += " (None is a node without leaves, unless is_leaf=lambda x: x is None.)"
        yield ValueError(message)


def mismatch_error(name: str, prefix: PyTreeDef, full: PyTreeDef) -> ValueError:
    """The error for the first place where `prefix` is no prefix of `full`."""
    return next(prefix_errors(name, prefix, full))


LEAF = PyTreeDef(None, None, ())


# ---- flatten and unflatten ----


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, depth first from left to right, and its structure.

    Args:
      is_leaf: called with every subtree; where it returns True, the subtree is one leaf.
    Raises:
      ValueError: the keys of a dict cannot be sorted, or `is_leaf` returned no bool."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, is_leaf, leaves)


def _flatten(tree: Any, is_leaf: IsLeaf, leaves: list[Any]) -> PyTreeDef:
    """The structure of `tree`, whose leaves are appended to `leaves`."""
    kind = kind_of[type(tree)]
    if (is_leaf is not None and stops(is_leaf, tree)) or kind is None:
        leaves.append(tree)
        return LEAF
    children, aux = kind.flatten(tree)
    child_defs = []
    for child in children:
        if is_leaf is None and kind_of[type(child)] is None:  # most children: not worth a call
            leaves.append(child)
            child_defs.append(LEAF)
        else:
            child_defs.append(_flatten(child, is_leaf, leaves))
    return PyTreeDef(type(tree), aux, child_defs)


def stops(is_leaf: Callable[..., bool], *args: Any) -> bool:
    """The result of `is_leaf`. ValueError: it is neither a bool nor None."""
    answer = is_leaf(*args)
    if answer is not None and not isinstance(answer, bool):
        raise ValueError(
            f"is_leaf predicate returned a non-boolean value {answer!r}; expected a boolean"
        )
    return bool(answer)


def tree_unflatten(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves. ValueError: too few or too many leaves."""
    return treedef.unflatten(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree, depth first from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> PyTreeDef:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


# ---- functions of whole trees ----


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """`f` of each leaf of `tree` (and of what stands at the same place in `rest`), as a tree.

    Raises:
      ValueError: `tree` is no prefix of one of `rest`."""
    leaves, treedef = tree_flatten(tree, is_leaf)
    others = [treedef.flatten_up_to(r, "tree_map tree") for r in rest]
    return treedef.unflatten(f(*xs) for xs in zip(leaves, *others))
