"""Classes as containers, and functions that hold arrays."""

import collections
import dataclasses
import functools

import pytest

from tinyjax.core import tree_util

structure = tree_util.tree_structure


def test_a_type_is_registered_once():
    with pytest.raises(ValueError, match="Duplicate custom PyTreeDef type registration"):
        tree_util.register_pytree_node(tuple, lambda xs: (xs, None), lambda _, xs: tuple(xs))


def test_a_type_may_be_met_before_it_is_registered():
    Pair = collections.namedtuple("Pair", "value name")
    assert tree_util.tree_leaves(Pair(1, "a")) == [1, "a"]
    tree_util.register_pytree_node(Pair, lambda p: (p[:1], p.name), lambda n, xs: Pair(*xs, n))
    assert tree_util.tree_map(lambda x: x + 1, Pair(1, "a")) == Pair(2, "a")
    assert tree_util.is_tree_node(Pair) and not tree_util.is_tree_node(int)


@pytest.mark.parametrize("result", [3, (3, 3), ([1],)])
def test_a_flatten_function_returns_children_and_aux_data(result):
    class Bad:
        pass

    tree_util.register_pytree_node(Bad, lambda _: result, lambda *_: None)
    with pytest.raises(ValueError, match=r"should return a \(children, aux_data\) tuple"):
        tree_util.tree_flatten(Bad())


@pytest.mark.parametrize(
    "data, meta, error, text",
    [
        (["x"], [], ValueError, "Missing fields: {'y'}"),
        (["x", "y", "z"], [], ValueError, "Unexpected fields: {'z'}"),
        (["x", "y"], ["y"], ValueError, "must not overlap. Overlapping fields: {'y'}"),
        (["x", "y"], None, TypeError, "data_fields and meta_fields must both be specified"),
    ],
)
def test_the_fields_of_a_dataclass_are_each_data_or_meta(data, meta, error, text):
    @dataclasses.dataclass
    class Pair:
        x: int
        y: int

    with pytest.raises(error, match=text):
        tree_util.register_dataclass(Pair, data, meta)


def test_a_dropped_field_takes_its_default():
    @functools.partial(
        tree_util.register_dataclass, data_fields=["x"], meta_fields=[], drop_fields=["cache"]
    )
    @dataclasses.dataclass
    class Cached:
        x: int
        cache: int = 0

    assert tree_util.tree_map(lambda x: x, Cached(1, 9)) == Cached(1, 0)


def test_partial_binds_its_arguments_as_leaves():
    def f(*args, **kwargs):
        return args, kwargs

    inner = tree_util.Partial(f, 1)
    outer = tree_util.Partial(inner, 2, x=3)
    assert tree_util.tree_leaves(outer) == [2, 3]
    doubled = tree_util.tree_map(lambda x: 2 * x, outer)
    assert doubled(5, y=6) == ((1, 4, 5), {"x": 6, "y": 6})
    assert structure(outer) == structure(tree_util.Partial(inner, 0, x=0))
