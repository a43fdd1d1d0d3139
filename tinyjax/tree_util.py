"""Pytrees: nested containers taken apart into leaves and a structure, and put together again.

After this file you can say how `grad` and `jit` take a dict of arrays although their rules know
only flat lists: flatten on the way in, unflatten on the way out. You can also teach them a class of
your own. Builds on nothing.

    leaves, treedef = tree_flatten({"b": [1, 2], "a": 3})    # [3, 1, 2], {'a': *, 'b': [*, *]}
    tree_unflatten(treedef, leaves)                          # {'a': 3, 'b': [1, 2]}

Source: https://docs.jax.dev/en/latest/pytrees.html
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

IsLeaf = Callable[[Any], bool] | None
KeyPath = tuple[Any, ...]

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


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A key path as text: "['a'][0]", or 'a/0' with simple=True, separator='/'."""
    return separator.join(map(_simple_key if simple else str, keys))


def _simple_key(key: Any) -> str:
    match key:
        case SequenceKey(name) | DictKey(name) | GetAttrKey(name) | FlattenedIndexKey(name):
            return str(name)
    return str(key)


# ---- kinds: how one node is taken apart ----


class _Kind(NamedTuple):
    """What is known of one type of node. Any type that has no kind is a leaf.

    `aux` is all that is needed beside the children to build the node again, such as a dict's keys.
    """

    flatten: Callable[[Any], tuple[Sequence[Any], Any]]  # node -> (children, aux)
    unflatten: Callable[[Any, tuple[Any, ...]], Any]  # (aux, children) -> node
    keys: Callable[[Any], Sequence[Any]]  # node -> a key for each child


def _sorted_keys(d: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(d))
    except Exception as e:
        raise ValueError(
            "Comparator raised exception while sorting pytree dictionary keys.\n"
            f"The keys are {list(d)!r}. A dict is flattened in the order of its keys: use keys "
            "of one type, or an OrderedDict, which is flattened in the order of insertion."
        ) from e


def _flatten_dict(d: dict[Any, Any]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    keys = _sorted_keys(d)
    return tuple(map(d.__getitem__, keys)), keys


def _flatten_defaultdict(d: Any) -> tuple[tuple[Any, ...], Any]:
    values, keys = _flatten_dict(d)
    return values, (d.default_factory, keys)


def _sequence_keys(xs: Sequence[Any]) -> list[Any]:
    return [SequenceKey(i) for i in range(len(xs))]


def _sorted_dict_keys(d: dict[Any, Any]) -> list[Any]:
    return [DictKey(k) for k in _sorted_keys(d)]


# The types that were registered. Subclasses are not included: a subclass of dict is a leaf.
_registry: dict[type, _Kind] = {
    tuple: _Kind(lambda xs: (xs, None), lambda _, xs: tuple(xs), _sequence_keys),
    list: _Kind(lambda xs: (xs, None), lambda _, xs: list(xs), _sequence_keys),
    dict: _Kind(_flatten_dict, lambda keys, xs: dict(zip(keys, xs)), _sorted_dict_keys),
    type(None): _Kind(lambda _: ((), None), lambda *_: None, lambda _: ()),
    collections.OrderedDict: _Kind(
        lambda d: (tuple(d.values()), tuple(d)),
        lambda keys, xs: collections.OrderedDict(zip(keys, xs)),
        lambda d: [DictKey(k) for k in d],
    ),
    collections.defaultdict: _Kind(
        _flatten_defaultdict,
        lambda aux, xs: collections.defaultdict(aux[0], zip(aux[1], xs)),
        _sorted_dict_keys,
    ),
}


def _namedtuple_kind(cls: Any) -> _Kind:
    return _Kind(
        lambda xs: (xs, None),
        lambda _, xs: cls(*xs),
        lambda _: [GetAttrKey(name) for name in cls._fields],
    )


class _KindOf(dict[Any, Any]):
    """Type -> its kind, None for a leaf; decided once a type, so that a look-up is no call."""

    def __missing__(self, cls: type) -> _Kind | None:
        kind = _registry.get(cls)
        if kind is None and issubclass(cls, tuple) and hasattr(cls, "_fields"):
            kind = _namedtuple_kind(cls)
        self[cls] = kind
        return kind


_kind_of = _KindOf()


def is_tree_node(typ: type) -> bool:
    """Whether values of this type are nodes (built-in, registered or a namedtuple), not leaves."""
    return _kind_of[typ] is not None


def _kind_or_error(tree: Any) -> _Kind:
    kind = _kind_of[type(tree)]
    if kind is None:
        raise ValueError(
            f"can't tree-flatten type: {type(tree)}\n"
            "It is a leaf; make it a node with register_pytree_node or register_dataclass."
        )
    return kind


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Any]:
    """The children of the topmost node and its aux data. ValueError: `tree` is a leaf."""
    return _kind_or_error(tree).flatten(tree)


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[tuple[Any, Any]], Any]:
    """The (key, child) pairs of the topmost node and its aux data. ValueError: a leaf."""
    kind = _kind_or_error(tree)
    children, aux = kind.flatten(tree)
    return tuple(zip(kind.keys(tree), children)), aux


# ---- PyTreeDef: a tree without its leaves ----


class PyTreeDef:
    """A structure: the type of a node, its aux data, and the structures of its children.

    A leaf is the one without a type. Structures are values: equal ones compare equal, and one can
    be the key of a dict, as it is in the cache of jit.
    """

    __slots__ = ("_type", "_aux", "_children", "num_leaves", "num_nodes")

    def __init__(self, node_type: type | None, aux: Any, children: Iterable[PyTreeDef]):
        self._type = node_type
        self._aux = aux
        self._children = tuple(children)
        self.num_leaves = 1 if node_type is None else 0
        self.num_nodes = 1
        for child in self._children:
            self.num_leaves += child.num_leaves
            self.num_nodes += child.num_nodes

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PyTreeDef)
            and self._type is other._type
            and self._aux == other._aux
            and self._children == other._children
        )

    def __hash__(self) -> int:
        # Cheap, and aux data need not be hashable; structures that collide are told apart by ==.
        return hash((self._type, self.num_leaves, self.num_nodes))

    def __repr__(self) -> str:
        return f"PyTreeDef({self._text()})"

    def _text(self) -> str:
        if self._type is None:
            return "*"
        parts = [child._text() for child in self._children]
        inside = ", ".join(parts)
        if self._type is type(None):
            return "None"
        if self._type is tuple:
            return f"({inside},)" if len(parts) == 1 else f"({inside})"
        if self._type is list:
            return f"[{inside}]"
        if self._type is dict:
            return "{" + ", ".join(f"{k!r}: {v}" for k, v in zip(self._aux, parts)) + "}"
        name = self._type.__name__
        head = f"{name}[{self._aux}]" if self._type in _registry else f"namedtuple[{name}]"
        return f"CustomNode({head}, [{inside}])"

    def children(self) -> list[PyTreeDef]:
        """The structures of the children of the topmost node."""
        return list(self._children)

    def node_data(self) -> tuple[type, Any] | None:
        """The topmost node's (type, aux data); None for a leaf."""
        if self._type is None:
            return None
        return self._type, list(self._aux) if self._type is dict else self._aux

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with these leaves. ValueError: too few or too many leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            few = len(leaves) < self.num_leaves
            raise ValueError(
                f"Too {'few' if few else 'many'} leaves for PyTreeDef; expected {self.num_leaves}"
                + (f", got {len(leaves)}" if few else f".\nGot {len(leaves)}")
                + f"\nfor the structure {self}. Give one value for each * of it."
            )
        return leaves[0] if self._type is None else self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        children = []
        for child in self._children:
            children.append(next(leaves) if child._type is None else child._build(leaves))
        return _kind_of[self._type].unflatten(self._aux, tuple(children))

    def flatten_up_to(self, tree: Any, name: str = "treedef") -> list[Any]:
        """The subtrees of `tree` that stand where this structure has its leaves.

        Raises:
          ValueError: this structure is no prefix of that of `tree`; `name` is its name in the text.
        """
        subtrees: list[Any] = []
        if not self._collect_subtrees(tree, subtrees):
            raise next(prefix_errors(name, self, tree_structure(tree)))
        return subtrees

    def _collect_subtrees(self, tree: Any, subtrees: list[Any]) -> bool:
        """Appends the subtrees under the leaves; False where the structures part."""
        if self._type is None:
            subtrees.append(tree)
            return True
        if type(tree) is not self._type:
            return False
        children, aux = _kind_of[self._type].flatten(tree)
        if len(children) != len(self._children) or aux != self._aux:
            return False
        for treedef, child in zip(self._children, children):
            if treedef._type is None:
                subtrees.append(child)
            elif not treedef._collect_subtrees(child, subtrees):
                return False
        return True

    def is_prefix(self, other: PyTreeDef) -> bool:
        """Whether `other` is this structure with leaves replaced by whole subtrees."""
        return next(_differences((), self, other, prefix=True), None) is None

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """This structure with `inner` in place of each leaf."""
        if self._type is None:
            return inner
        return PyTreeDef(self._type, self._aux, [c.compose(inner) for c in self._children])

    def from_iterable_tree(self, xs: Any) -> Any:
        """The tree of this structure with the values of `xs`, a tree of any iterables.

        Raises:
          ValueError: a container of `xs` has not as many items as the node has children.
        """
        if self._type is None:
            return xs
        xs = list(xs)
        if len(xs) != len(self._children):
            raise ValueError(
                "Arity mismatch between trees\n"
                f"expected {len(self._children)} items for {self}, got {len(xs)}: {xs!r}"
            )
        children = tuple(c.from_iterable_tree(x) for c, x in zip(self._children, xs))
        return _kind_of[self._type].unflatten(self._aux, children)


_LEAF = PyTreeDef(None, None, ())


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether the structure is a single node: a leaf, but also None or an empty container."""
    return treedef.num_nodes == 1


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of the children of the topmost node."""
    return treedef.children()


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple whose items have these structures."""
    return PyTreeDef(tuple, None, treedefs)


# ---- flatten and unflatten ----


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], PyTreeDef]:
    """The leaves of a tree, depth first from left to right, and its structure.

    Args:
      is_leaf: asked at every subtree; where it says True, the subtree is taken as one leaf.
    Raises:
      ValueError: the keys of a dict cannot be sorted, or `is_leaf` returned no bool.
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, is_leaf, leaves)


def _flatten(tree: Any, is_leaf: IsLeaf, leaves: list[Any]) -> PyTreeDef:
    kind = _kind_of[type(tree)]
    if (is_leaf is not None and _stops(is_leaf, tree)) or kind is None:
        leaves.append(tree)
        return _LEAF
    children, aux = kind.flatten(tree)
    treedefs = []
    for child in children:
        if is_leaf is None and _kind_of[type(child)] is None:  # most children: not worth a call
            leaves.append(child)
            treedefs.append(_LEAF)
        else:
            treedefs.append(_flatten(child, is_leaf, leaves))
    return PyTreeDef(type(tree), aux, treedefs)


def _stops(is_leaf: Callable[..., bool], *args: Any) -> bool:
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


def all_leaves(iterable: Iterable[Any], is_leaf: IsLeaf = None) -> bool:
    """Whether every item is a leaf."""
    return all(tree_structure(item, is_leaf) == _LEAF for item in iterable)


def build_tree(treedef: PyTreeDef, xs: Any) -> Any:
    """The tree of this structure with the values of the nested iterables `xs`."""
    return treedef.from_iterable_tree(xs)


# ---- functions of whole trees ----


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """`f` of each leaf of `tree` (and of what stands at the same place in `rest`), as a tree.

    Raises:
      ValueError: `tree` is no prefix of one of `rest`.
    """
    leaves, treedef = tree_flatten(tree, is_leaf)
    others = [treedef.flatten_up_to(r, "tree_map tree") for r in rest]
    return treedef.unflatten(map(f, leaves, *others))


def tree_all(tree: Any, *, is_leaf: IsLeaf = None) -> bool:
    """Whether every leaf is true."""
    return all(tree_leaves(tree, is_leaf))


_NO_VALUE = object()


def tree_reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _NO_VALUE,
    is_leaf: IsLeaf = None,
) -> Any:
    """functools.reduce over the leaves. TypeError: no leaves and no initializer."""
    start = () if initializer is _NO_VALUE else (initializer,)
    return functools.reduce(function, tree_leaves(tree, is_leaf), *start)


def tree_reduce_associative(
    operation: Callable[[Any, Any], Any],
    tree: Any,
    *,
    identity: Any = _NO_VALUE,
    is_leaf: IsLeaf = None,
) -> Any:
    """The leaves reduced as a balanced tree, of logarithmic depth: ((a b) (c (d e))).

    Raises:
      TypeError: there are no leaves, and no identity is given.
    """

    def reduce(xs: list[Any]) -> Any:
        if len(xs) == 1:
            return xs[0]
        half = len(xs) // 2
        return operation(reduce(xs[:half]), reduce(xs[half:]))

    leaves = tree_leaves(tree, is_leaf)
    if not leaves and identity is _NO_VALUE:
        raise TypeError("Must specify identity for parallel reduction of empty sequence.")
    return reduce(leaves) if leaves else identity


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """A list of dicts to a dict of lists: outer[inner[leaf]] to inner[outer[leaf]].

    Args:
      inner_treedef: None to read it from the first of the subtrees.
    Raises:
      TypeError: the tree has not the structure outer of inner.
    """
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


# ---- key paths ----


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """As tree_flatten, with each leaf as a pair (key path, leaf).

    Args:
      is_leaf_takes_path: `is_leaf` is called with (key path, subtree).
    """
    stop = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        stop = lambda _, subtree: is_leaf(subtree)  # noqa: E731
    pairs: list[tuple[KeyPath, Any]] = []
    return pairs, _flatten_with_path((), tree, stop, pairs)


def _flatten_with_path(
    path: KeyPath, tree: Any, is_leaf: Callable[..., bool] | None, pairs: list[Any]
) -> PyTreeDef:
    kind = _kind_of[type(tree)]
    if (is_leaf is not None and _stops(is_leaf, path, tree)) or kind is None:
        pairs.append((path, tree))
        return _LEAF
    children, aux = kind.flatten(tree)
    treedefs = [
        _flatten_with_path((*path, key), child, is_leaf, pairs)
        for key, child in zip(kind.keys(tree), children)
    ]
    return PyTreeDef(type(tree), aux, treedefs)


def tree_leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """The (key path, leaf) pairs of a tree."""
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


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


# ---- registration: nodes of your own ----


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
    Source: https://docs.jax.dev/en/latest/custom_pytrees.html
    """
    if nodetype in _registry:
        raise ValueError(
            f"Duplicate custom PyTreeDef type registration for {nodetype}.\n"
            "A type is registered once; define the class anew to register it differently."
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

    def keys(node: Any) -> list[Any]:
        if flatten_with_keys_func is None:
            return [FlattenedIndexKey(i) for i in range(len(flatten(node)[0]))]
        return [key for key, _ in flatten_with_keys_func(node)[0]]

    _registry[nodetype] = _Kind(flatten, unflatten_func, keys)
    _kind_of.pop(nodetype, None)  # it may have been met before, as a leaf or as a namedtuple


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, tuple[Any, ...]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """As register_pytree_node, with (key, child) pairs in place of children."""

    def without_keys(node: Any) -> tuple[list[Any], Any]:
        pairs, aux = flatten_with_keys(node)
        return [child for _, child in pairs], aux

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: Any) -> Any:
    """Class decorator: registers by the methods tree_flatten(self) and tree_unflatten(aux, xs)."""
    register_pytree_node(cls, operator.methodcaller("tree_flatten"), cls.tree_unflatten)
    return cls


def register_pytree_with_keys_class(cls: Any) -> Any:
    """Class decorator: registers by the methods tree_flatten_with_keys and tree_unflatten."""
    flatten = operator.methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    flatten_with_keys = operator.methodcaller("tree_flatten_with_keys")
    register_pytree_with_keys(cls, flatten_with_keys, cls.tree_unflatten, flatten)
    return cls


def register_dataclass(
    nodetype: Any,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Any:
    """Class decorator: the data fields become children, the meta fields aux data.

    Without the lists, a dataclass's fields are data unless marked field(metadata={"static": True}).

    Raises:
      TypeError: only one list is given, or neither, and `nodetype` is no dataclass.
      ValueError: the lists overlap, or are not the fields that __init__ takes (less drop_fields).
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be specified"
            f" when either is specified. Got {data_fields=} {meta_fields=}."
        )
    fields = dataclasses.fields(nodetype) if dataclasses.is_dataclass(nodetype) else None
    if data_fields is None or meta_fields is None:
        if fields is None:
            raise TypeError(
                "register_dataclass: data_fields and meta_fields are required when"
                f" nodetype is not a dataclass. Got {nodetype=}."
            )
        data_fields = [f.name for f in fields if not f.metadata.get("static")]
        meta_fields = [f.name for f in fields if f.metadata.get("static")]
    data, meta = tuple(data_fields), tuple(meta_fields)
    if fields is not None:
        _check_fields({f.name for f in fields if f.init} - {*drop_fields}, {*data, *meta})
    if overlap := {*data} & {*meta}:
        raise ValueError(
            "data_fields and meta_fields must not overlap. Overlapping fields:"
            f" {overlap}. List each as one of them."
        )

    def flatten_with_keys(node: Any) -> tuple[list[Any], Any]:
        pairs = [(GetAttrKey(name), getattr(node, name)) for name in data]
        return pairs, tuple(getattr(node, name) for name in meta)

    def unflatten(aux: Any, children: Iterable[Any]) -> Any:
        return nodetype(**dict(zip(data, children)), **dict(zip(meta, aux)))

    register_pytree_with_keys(nodetype, flatten_with_keys, unflatten)
    return nodetype


def _check_fields(expected: set[str], got: set[str]) -> None:
    if got == expected:
        return
    message = (
        "data_fields and meta_fields must include all dataclass fields with"
        " ``init=True`` and only them."
    )
    if missing := expected - got:
        message += f" Missing fields: {missing}. Add them to drop_fields to suppress this error."
    if unexpected := got - expected:
        message += f" Unexpected fields: {unexpected}."
    raise ValueError(message)


def register_static(cls: Any) -> Any:
    """Class decorator: a value is a node without children, itself its aux data (so hashable)."""
    register_pytree_node(cls, lambda obj: ((), obj), lambda obj, _: obj)
    return cls


@dataclasses.dataclass(frozen=True)
class _Callable:
    """Hides that `fun` is a partial: functools.partial would merge its arguments with our own."""

    fun: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)


class Partial(functools.partial):
    """functools.partial as a node: the bound arguments are children, the function is aux data."""

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        func = _Callable(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, func, *args, **kwargs)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)

# ---- prefixes: one value for a whole subtree, as in vmap's in_axes ----


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> Any:
    """The full tree with each leaf replaced by the leaf of the prefix tree above it."""
    return tree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a prefix tree, each once for every leaf that the full tree has under it.

    Raises:
      ValueError: `prefix_tree` is no prefix of `full_tree`.
    """
    leaves: list[Any] = []
    full = tree_structure(full_tree)
    if not _broadcast(prefix_tree, full, is_leaf, leaves):
        prefix = tree_structure(prefix_tree, is_leaf)
        raise next(prefix_errors("broadcast_prefix prefix_tree", prefix, full))
    return leaves


def _broadcast(prefix: Any, full: PyTreeDef, is_leaf: IsLeaf, leaves: list[Any]) -> bool:
    """Appends the repeated leaves of `prefix`; False where the structures part."""
    kind = _kind_of[type(prefix)]
    if kind is None or (is_leaf is not None and _stops(is_leaf, prefix)):
        leaves.extend([prefix] * full.num_leaves)
        return True
    if type(prefix) is not full._type:
        return False
    children, aux = kind.flatten(prefix)
    if len(children) != len(full._children) or aux != full._aux:
        return False
    for child, treedef in zip(children, full._children):
        if not _broadcast(child, treedef, is_leaf, leaves):
            return False
    return True


def _is_none(x: Any) -> bool:
    return x is None


def flatten_axes(
    name: str, treedef: PyTreeDef, axis_tree: Any, *, kws: bool = False
) -> list[int | None]:
    """The axis of each leaf of `treedef`, from a prefix of it such as vmap's in_axes.

    Args:
      name: of the specification in messages, such as "vmap in_axes".
      axis_tree: a tree prefix whose leaves are axes; None (not mapped) is a leaf here.
      kws: both are pairs (positional, keywords), of which messages show the first.
    Raises:
      ValueError: `axis_tree` is no prefix of `treedef`.
    """
    axes: list[int | None] = []
    if _broadcast(axis_tree, treedef, _is_none, axes):
        return axes
    if kws:
        treedef, axis_tree = treedef.children()[0], axis_tree[0]
    errors = list(prefix_errors(name, tree_structure(axis_tree, _is_none), treedef))
    raise ValueError(
        f"{name} specification must be a tree prefix of the corresponding value; \n"
        f"  Mismatch details ({len(errors)} found):\n  " + "\n  ".join(map(str, errors))
    )


# ---- explaining a mismatch ----


def _differences(
    path: KeyPath, first: PyTreeDef, second: PyTreeDef, prefix: bool
) -> Iterator[tuple[KeyPath, str, str, str, str]]:
    """The places where two structures part, as (path, *what _node_difference says of it).

    Below a leaf of a prefix nothing is compared.
    """
    if first._type is None and (prefix or second._type is None):
        return
    if difference := _node_difference(first, second):
        yield path, *difference
        return
    for key, a, b in zip(_child_keys(first), first._children, second._children):
        yield from _differences((*path, key), a, b, prefix)


def _node_difference(a: PyTreeDef, b: PyTreeDef) -> tuple[str, str, str, str] | None:
    """(what differs, how it is in a, how it is in b, explanation) of the topmost nodes."""
    if a._type is not b._type:
        return "types", _type_text(a), _type_text(b), "their Python types differ"
    m, n = len(a._children), len(b._children)
    if m != n and a._type in (tuple, list):
        of = f"{a._type.__name__} of length"
        return (
            f"lengths of {a._type.__name__}",
            f"{of} {m}",
            f"{of} {n}",
            "the lengths do not match",
        )
    if m != n:
        explanation = "the numbers of children do not match"
        return "numbers of pytree children", _children_text(a), _children_text(b), explanation
    if a._aux != b._aux:
        texts = [f"{_type_text(t)} with pytree metadata {t._aux}" for t in (a, b)]
        return "pytree metadata", texts[0], texts[1], "the pytree node metadata does not match"
    return None


def _type_text(treedef: PyTreeDef) -> str:
    return "pytree leaf" if treedef._type is None else str(treedef._type)


def _children_text(treedef: PyTreeDef) -> str:
    n = len(treedef._children)
    keys = "".join(f" {key}" for key in _child_keys(treedef))
    return f"{treedef._type} with {n} {'child' if n == 1 else 'children'}{keys}"


def _child_keys(treedef: PyTreeDef) -> Sequence[Any]:
    """Keys are a matter of trees, so one is made for the purpose, if its class lets us."""
    kind = _kind_of[treedef._type]
    try:
        return kind.keys(kind.unflatten(treedef._aux, (None,) * len(treedef._children)))
    except Exception:
        return [FlattenedIndexKey(i) for i in range(len(treedef._children))]


def prefix_errors(name: str, prefix: PyTreeDef, full: PyTreeDef) -> Iterator[ValueError]:
    """An error for each place where `prefix` (called `name` in the text) is no prefix of `full`."""
    for path, of, expected, got, _ in _differences((), prefix, full, prefix=True):
        message = (
            f"pytree structure error: different {of} at key path\n    {name}{keystr(path)}\n"
            f"expected {expected}, as {name} has it there, but got {got}.\n"
            f"Give both trees the same structure down to the leaves of {name}."
        )
        if expected == str(type(None)):
            message += " (None is a node without leaves, unless is_leaf=lambda x: x is None.)"
        yield ValueError(message)


def equality_errors(first: PyTreeDef, second: PyTreeDef) -> Iterator[tuple[KeyPath, str, str, str]]:
    """(path, what `first` has there, what `second` has, why they differ) for each difference."""
    for path, _, a, b, explanation in _differences((), first, second, prefix=False):
        yield path, a, b, explanation
