"""Functions of whole trees that few programs use."""

import pytest

from tinyjax.core import tree_util
from tinyjax.core.tree_util import tree

structure = tree_util.tree_structure


def test_a_single_node_counts_as_a_leaf_structure():
    answers = [tree_util.treedef_is_leaf(structure(x)) for x in (1, None, (), (1,))]
    assert answers == [True, True, True, False]


def test_structures_are_put_together():
    pair, leaf = structure((1, [2])), structure(0)
    assert tree_util.treedef_tuple([leaf, pair]) == structure((0, (1, [2])))
    assert pair.compose(structure({"a": 1})) == structure(({"a": 1}, [{"a": 1}]))


def test_reduce_associative_is_balanced():
    assert tree.reduce_associative(lambda a, b: f"({a}{b})", list("abcde")) == "((ab)(c(de)))"
    assert tree.reduce_associative(max, (), identity=0) == 0
    with pytest.raises(TypeError, match="Must specify identity"):
        tree.reduce_associative(max, ())


def test_a_list_of_dicts_becomes_a_dict_of_lists():
    rows = [{"x": 1, "y": 2}, {"x": 3, "y": 4}, {"x": 5, "y": 6}]
    for inner in (structure({"x": 0, "y": 0}), None):
        got = tree.transpose(structure([0, 0, 0]), inner, rows)
        assert got == {"x": [1, 3, 5], "y": [2, 4, 6]}


def test_transpose_wants_the_outer_structure_of_inner_structures():
    with pytest.raises(TypeError, match="Mismatch"):
        tree.transpose(structure([0, 0]), structure((0, 0)), [(1, 2), (3,)])
