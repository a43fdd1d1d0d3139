"""More ways to register a class as a node: by methods, by the fields of a dataclass, as static.

Source: https://docs.jax.dev/en/latest/custom_pytrees.html
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tinyjax.core.tree_util.key_paths import GetAttrKey
from tinyjax.core.tree_util.pytrees import kind_of, register_pytree_node


def is_tree_node(typ: type) -> bool:
    """Whether values of this type are nodes (built-in, registered or a namedtuple), not leaves."""
    return kind_of[typ] is not None


# ---- by functions or methods ----


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, tuple[Any, ...]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Like register_pytree_node, with (key, child) pairs instead of children."""

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


# ---- by fields ----


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
      ValueError: the lists overlap, or are not the fields that __init__ takes (less drop_fields)."""
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
    """Class decorator: a value becomes a node without children. It is its own aux data, so it must be
    hashable."""
    register_pytree_node(cls, lambda obj: ((), obj), lambda obj, _: obj)
    return cls
