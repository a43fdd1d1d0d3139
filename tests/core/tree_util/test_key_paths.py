"""The name of a leaf's place."""

import collections

import pytest

from tinyjax.core import tree_util
from tinyjax.core.tree_util import tree

Point = collections.namedtuple("Point", "x y")


class Box:
    """A node whose children have no names."""

    def __init__(self, *items, label="box"):
        self.items, self.label = items, label


tree_util.register_pytree_node(
    Box, lambda box: (box.items, box.label), lambda label, items: Box(*items, label=label)
)


@tree_util.register_pytree_with_keys_class
class Named:
    """A node whose children have names."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def tree_flatten_with_keys(self):
        return ((tree_util.GetAttrKey("x"), self.x), (tree_util.GetAttrKey("y"), self.y)), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


def test_map_with_path():
    got = tree.map_with_path(lambda path, x, y: (tree_util.keystr(path), x + y), [1, [2]], [3, [4]])
    assert got == [("[0]", 4), [("[1][0]", 6)]]


def test_is_leaf_may_ask_for_the_path():
    def at_depth_one(path, subtree):
        return len(path) == 1

    pairs = tree.leaves_with_path((1, {"a": 2}), is_leaf=at_depth_one, is_leaf_takes_path=True)
    assert [leaf for _, leaf in pairs] == [1, {"a": 2}]


def test_key_paths_as_text():
    path, _ = tree_util.tree_leaves_with_path([Point({"a": Box(1)}, 2)])[0]
    assert tree_util.keystr(path) == "[0].x['a'][<flat index 0>]"
    assert tree_util.keystr(path, simple=True, separator="/") == "0/x/a/0"


def test_keys_are_values():
    assert tree_util.SequenceKey(0) == tree_util.SequenceKey(0) != tree_util.FlattenedIndexKey(0)
    assert {tree_util.DictKey("a"): 1}[tree_util.DictKey("a")] == 1
    assert repr(tree_util.GetAttrKey("x")) == "GetAttrKey(name='x')"


def test_one_level():
    assert tree_util.flatten_one_level({"b": [1], "a": 2}) == ((2, [1]), ("a", "b"))
    pairs, aux = tree_util.flatten_one_level_with_keys(Named(1, [2]))
    assert [(str(key), child) for key, child in pairs] == [(".x", 1), (".y", [2])]
    with pytest.raises(ValueError, match="can't tree-flatten type: <class 'int'>"):
        tree_util.flatten_one_level(1)
