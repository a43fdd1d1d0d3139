"""Prefixes of nested lists."""

import pytest
from judged import unchanged
from practice.spread import spread


def test_one_entry_stands_for_all_leaves():
    assert spread("a", [1, [2, [3]], 4]) == ["a"] * 4


def test_an_entry_stands_for_the_subtree_at_its_place():
    assert spread(["a", "b"], [[1, 2, 3], 4]) == ["a", "a", "a", "b"]
    assert spread(["a", ["b", "c"]], [1, [[2, 3], 4]]) == ["a", "b", "b", "c"]


def test_a_whole_tree_is_a_prefix_of_itself():
    assert spread([1, [2, 3]], [1, [2, 3]]) == [1, 2, 3]


def test_an_entry_may_be_anything_but_a_list():
    assert spread([None, 0, (1, 2)], [[5, 6], 7, 8]) == [None, None, 0, (1, 2)]


def test_a_leaf_has_one_entry_and_an_empty_list_none():
    assert spread("a", 5) == ["a"]
    assert spread("a", []) == []
    assert spread(["a", "b"], [[], 5]) == ["b"]


@pytest.mark.parametrize(
    "prefix, tree",
    [
        (["a"], [1, 2]),
        (["a", "b", "c"], [1, 2]),
        (["a", ["b"]], [1, 2]),
        (["a", ["b"]], [1, [2, 3]]),
        ([], [1]),
        (["a"], 5),
    ],
)
def test_what_is_no_prefix_is_refused(prefix, tree):
    with pytest.raises(ValueError):
        out = spread(prefix, tree)
        pytest.fail(f"{prefix} is no prefix of {tree}, but {out} is what came out")


def test_what_is_nested_deep_has_its_entries_in_order_and_stays_as_it_is():
    prefix, tree = [["a", ["b", "c"]], "d", []], [[[1, []], [2, [3, [4, 5]]]], [[], 6], []]
    with unchanged(prefix=prefix, tree=tree):
        found = spread(prefix, tree)
        assert found == ["a", "b", "c", "c", "c", "d"]
        found.append("e")
    entry = object()
    assert all(x is entry for x in spread(entry, [1, [2]])), "the entry itself, not a copy"
    many = [[k] * k for k in range(30)]
    assert spread(list(range(30)), many) == [k for k in range(30) for _ in range(k)]


@pytest.mark.parametrize(
    "prefix, tree",
    [
        (["a", ["b", ["c"]]], [1, [2, 3]]),
        (["a", "b", ["c", "d"]], [1, 2, [3]]),
        (["a"], (5,)),
        (["a", "b"], "xy"),
        ([[]], [[1]]),
        (["a"], []),
    ],
)
def test_what_is_no_prefix_further_down_is_refused_too(prefix, tree):
    with pytest.raises(ValueError):
        out = spread(prefix, tree)
        pytest.fail(f"{prefix} is no prefix of {tree}, but {out} is what came out")
