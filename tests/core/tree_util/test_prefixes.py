"""One value for a whole subtree: in_axes and similar arguments."""

import collections

import pytest

from tinyjax.core import tree_util
from tinyjax.core.tree_util import tree
from tinyjax.core.tree_util.prefixes import _leaf_counts, structures_differ

structure = tree_util.tree_structure


@pytest.mark.parametrize(
    "in_axes, expected",
    [
        (0, [0, 0, 0]),
        (None, [None, None, None]),
        ((0, 1), [0, 1, 1]),
        ((None, 0), [None, 0, 0]),
        (({"a": 0}, (1, None)), [0, 1, None]),
    ],
)
def test_an_axis_stands_for_its_whole_subtree(in_axes, expected):
    treedef = structure(({"a": 0}, (0, 0)))
    assert tree_util.flatten_axes("vmap in_axes", treedef, in_axes) == expected


@pytest.mark.parametrize(
    "in_axes, what, where",
    [
        ((0,), "different lengths of tuple", ""),
        ([0, 1], "different types", ""),
        (({"b": 0}, 0), "different pytree metadata", "[0]"),
        ((0, (1, (2, 3))), "different types", "[1][1]"),
    ],
)
def test_in_axes_must_be_a_prefix_of_the_arguments(in_axes, what, where):
    treedef = structure((({"a": 0}, (0, 0)), {}))
    with pytest.raises(ValueError) as error:
        got = tree_util.flatten_axes("vmap in_axes", treedef, (in_axes, 0), kws=True)
        pytest.fail(f"{in_axes} has {what}, but was taken for a prefix: {got}")
    lines = str(error.value).split("\n")
    assert lines[0].startswith("vmap in_axes specification must be a tree prefix of the")
    assert lines[2] == f"  pytree structure error: {what} at key path"
    assert lines[3].strip() == f"vmap in_axes{where}"


Pair = collections.namedtuple("Pair", "x y")


def test_of_three_entries_each_stands_for_all_below_it_however_deep():
    full = ([0, (0, {"a": 0})], (), Pair(0, [0, 0]), collections.OrderedDict(b=0, a=0))
    entries = ([1, 2], 3, 4, collections.OrderedDict(b=5, a=6))
    found = tree.broadcast(entries, full)
    assert found == ([1, (2, {"a": 2})], (), Pair(4, [4, 4]), entries[3])


def test_where_two_nodes_part_the_others_are_counted_all_the_same():
    counts = list(_leaf_counts(structure((0, [1], 2)), structure((0, (0, 0), (0, 0)))))
    assert counts == [1, None, 2], "a list is no prefix of a pair, and what follows is counted"
    prefix, full = [[(0,), (0, 0), 0], 0], [[[0], (0, [0, 0]), (0,)], [0] * 4]
    assert list(_leaf_counts(structure(prefix), structure(full))) == [None, 1, 2, 1, 4], (
        "further down too"
    )
    many = structure([[0] * k for k in range(20)])
    assert list(_leaf_counts(structure([0] * 20), many)) == list(range(20)), "of twenty children"
    empty = structure(((), [], {}, None, 0))
    assert list(_leaf_counts(empty, empty)) == [1], "what has no leaves is not counted"


@pytest.mark.parametrize(
    "prefix, full",
    [
        ((1, 2), Pair(0, 0)),
        (Pair(1, 2), (0, 0)),
        ({"a": 1}, collections.OrderedDict(a=0)),
        (collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=0, a=0)),
        ((1, 2, (3,)), (0, 0, [0])),
        ((1, 2, (3,)), (0, 0, 0)),
        ((), (0,)),
        ([], ()),
    ],
)
def test_nodes_of_another_type_or_order_are_no_prefix(prefix, full):
    with pytest.raises(ValueError):
        got = tree.broadcast(prefix, full)
        pytest.fail(f"{prefix} is no prefix of {full}, but gave {got}")


def test_broadcast_repeats_the_leaves_of_a_prefix():
    assert tree.broadcast((1, 2), ((0, 0), [0, {"a": 0}])) == ((1, 1), [2, {"a": 2}])
    assert tree_util.broadcast_prefix((1, None), (0, (0, 0)), lambda x: x is None) == [
        1,
        None,
        None,
    ]
    with pytest.raises(ValueError, match="different lengths of tuple"):
        tree.broadcast((1, 2), (0, 0, 0))


def test_keys_that_only_one_tree_has_are_named():
    with pytest.raises(ValueError, match=r"without \['b'\], with \['c'\]"):
        tree.map(max, {"a": 1, "b": 2}, {"a": 1, "c": 2})
    with pytest.raises(ValueError, match=r"without \['b'\]"):
        tree.map(max, {"a": 1, "b": 2}, {"a": 1})


def test_a_line_says_where_and_how_two_structures_differ():
    first, second = structure(({"a": 0}, 1)), structure(({"b": 0}, (1,)))
    lines = structures_differ("primals", first, "tangents", second).split("\n  * ")
    assert lines[1].startswith("primals[0] is a <class 'dict'> with pytree metadata ('a',), but")
    assert lines[2] == "primals[1] is a pytree leaf, but tangents[1] is a <class 'tuple'>"
