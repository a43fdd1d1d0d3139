"""Pytrees, as exercises: each test is one thing that a tree of arrays is expected to do."""

import collections
import copy
import dataclasses
import pickle
import sys

import pytest
from explain_errors import explain_errors
from judged import Thrown, each_error, error_passes, raises, unchanged

from tinyjax.core import tree_util
from tinyjax.core.tree_util import pytrees, tree

Point = collections.namedtuple("Point", "x y")
structure = tree_util.tree_structure


class Box:
    """A node whose children have no names."""

    def __init__(self, *items, label="box"):
        self.items, self.label = items, label


tree_util.register_pytree_node(
    Box, lambda box: (box.items, box.label), lambda label, items: Box(*items, label=label)
)


@tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: object
    bias: object
    activation: str = tree.static(default="relu")


@tree_util.register_static
class Mode(str):
    pass


# (tree, its leaves, its structure as printed, the key path of each leaf)
TREES = [
    (3, [3], "*", [""]),
    (None, [], "None", []),
    ((), [], "()", []),
    ((1,), [1], "(*,)", ["[0]"]),
    ([1, (2, [])], [1, 2], "[*, (*, [])]", ["[0]", "[1][0]"]),
    ({"b": 1, "a": {2: 3}}, [3, 1], "{'a': {2: *}, 'b': *}", ["['a'][2]", "['b']"]),
    (Point(1, 2), [1, 2], "CustomNode(namedtuple[Point], [*, *])", [".x", ".y"]),
    (
        collections.OrderedDict([("b", 1), ("a", 2)]),
        [1, 2],
        "CustomNode(OrderedDict[('b', 'a')], [*, *])",
        ["['b']", "['a']"],
    ),
    (
        collections.defaultdict(list, {"b": 1, "a": 2}),
        [2, 1],
        "CustomNode(defaultdict[(<class 'list'>, ('a', 'b'))], [*, *])",
        ["['a']", "['b']"],
    ),
    (Layer(1, 2), [1, 2], "CustomNode(Layer[('relu',)], [*, *])", [".weight", ".bias"]),
    (Mode("train"), [], "CustomNode(Mode[train], [])", []),
]


# ---- flatten and unflatten ----


def test_leaves_stand_in_order_whatever_they_are_nested_in():
    leaves, treedef = tree_util.tree_flatten((1, [2, (3,), []], "four", Point(5, 6)))
    assert leaves == [1, 2, 3, "four", 5, 6]
    assert treedef.num_leaves == 6
    assert (
        repr(treedef) == "PyTreeDef((*, [*, (*,), []], *, CustomNode(namedtuple[Point], [*, *])))"
    )
    for nested in (
        {"a": None, "b": 1},
        [1, None],
        (None,),
        Point(None, 2),
        Box(None, 3),
        {"c": {}},
    ):
        for is_leaf in (None, lambda _: False):
            with explain_errors("a structure prints its children and aux data"):
                printed = repr(tree_util.tree_flatten(nested, is_leaf)[1])
            assert printed.count("None") + printed.count("{}") == 1, (
                "a child without leaves is kept"
            )
    part = [1, {"a": 2}]
    assert tree_util.tree_leaves([part, part, (part, part)]) == [1, 2] * 4, (
        "one list in many places"
    )


def test_a_structure_knows_the_aux_data_of_its_nodes():
    a, b = (structure(collections.OrderedDict([(key, 1)])) for key in "ab")
    assert a != b and a == structure(collections.OrderedDict(a=2)), "here the keys are aux data"


def test_a_lone_value_is_a_leaf_and_none_is_a_node_without_leaves():
    assert tree_util.tree_flatten(3) == ([3], pytrees.LEAF)
    leaves, treedef = tree_util.tree_flatten((None, 1))
    assert leaves == [1] and repr(treedef) == "PyTreeDef((None, *))"


def test_a_dicts_leaves_are_in_the_order_of_its_keys_however_it_was_made():
    leaves, treedef = tree_util.tree_flatten({"b": 2, "a": 1})
    assert leaves == [1, 2] and repr(treedef) == "PyTreeDef({'a': *, 'b': *})"
    assert treedef == structure({"a": 0, "b": 0})
    assert treedef.aux == ("a", "b"), "a dict's aux data are its sorted keys, as a tuple"


@pytest.mark.parametrize("value, leaves, text, paths", TREES)
def test_a_tree_is_leaves_and_a_structure(value, leaves, text, paths):
    got, treedef = tree_util.tree_flatten(value)
    assert got == leaves
    assert repr(treedef) == f"PyTreeDef({text})"
    rebuilt = tree_util.tree_unflatten(treedef, got)
    assert rebuilt == value and type(rebuilt) is type(value)


@pytest.mark.parametrize("value, leaves, text, paths", TREES)
def test_every_leaf_has_a_key_path(value, leaves, text, paths):
    pairs, treedef = tree_util.tree_flatten_with_path(value)
    assert [(tree_util.keystr(path), leaf) for path, leaf in pairs] == list(zip(paths, leaves))
    assert treedef == structure(value)


def test_a_registered_class_is_a_node():
    box = tree_util.tree_map(lambda x: x + 1, Box(1, (2, 3), label="b"))
    assert (box.items, box.label) == ((2, (3, 4)), "b")
    assert repr(structure(box)) == "PyTreeDef(CustomNode(Box[b], [*, (*, *)]))"


def test_subclasses_of_containers_are_leaves_unless_namedtuples():
    class MyDict(dict):
        pass

    class MyPoint(Point):
        pass

    assert tree_util.tree_leaves(MyDict(a=1)) == [{"a": 1}]
    assert tree_util.tree_leaves(MyPoint(1, 2)) == [1, 2]


def test_is_leaf_stops_the_walk():
    leaves, treedef = tree_util.tree_flatten(
        (1, (2, 3), None), is_leaf=lambda x: x in ((2, 3), None)
    )
    assert leaves == [1, (2, 3), None]
    assert treedef == structure((0, 0, 0))


def test_is_leaf_must_answer_with_a_bool():
    with pytest.raises(ValueError, match="is_leaf predicate returned a non-boolean value 1"):
        tree_util.tree_flatten((1, 2), is_leaf=lambda x: 1)


class Unsorted:
    def __lt__(self, other):
        raise RuntimeError("no order")


def test_dict_keys_are_sorted_so_they_must_be_comparable():
    with pytest.raises(ValueError, match="Comparator raised exception while sorting"):
        tree_util.tree_flatten({1: 0, "a": 0})
    with pytest.raises(ValueError, match="Comparator raised exception while sorting"):
        tree_util.tree_flatten({Unsorted(): 0, Unsorted(): 1})
    assert tree_util.tree_leaves(collections.OrderedDict([("a", 1), (1, 2)])) == [1, 2]


class Picky:
    """A node that is taken apart, and put together, by functions that a test may exchange."""


def take_apart(picky):
    return picky.flatten()


def put_together(aux, children):
    return aux(children)


tree_util.register_pytree_node(Picky, take_apart, put_together)


@each_error
def test_an_error_of_is_leaf_or_of_a_node_goes_on(error):
    with error_passes(error()) as raised:
        tree_util.tree_flatten({"a": [1]}, is_leaf=raises(raised))
    picky = Picky()
    with error_passes(error()) as raised:
        picky.flatten = raises(raised)
        tree_util.tree_flatten([1, (picky,)])


def test_is_leaf_is_asked_once_of_each_node_and_each_leaf_from_the_top():
    asked, value = [], ({"a": 1}, [2, [3]], None)
    leaves, _ = tree_util.tree_flatten(value, is_leaf=lambda x: asked.append(x))
    assert leaves == [1, 2, 3], "an answer of None is no"
    assert asked == [value, {"a": 1}, 1, [2, [3]], 2, [3], 3, None]
    assert tree_util.tree_flatten(5, is_leaf=lambda x: True) == ([5], pytrees.LEAF)


def test_flattening_leaves_the_tree_as_it_is():
    value = {"b": [1, {"z": 2, "a": 3}], "a": ()}
    with unchanged(value=value):  # the order of the keys too
        leaves, treedef = tree_util.tree_flatten(value)
        leaves.clear()
    assert treedef.num_leaves == 3 and tree_util.tree_flatten({}) == ([], structure({}))


def test_keys_of_any_one_type_are_sorted_by_value():
    for keys in [(10, 2, -1), ((2, 1), (1, 9)), (True, False), (2.5, -1.0), ("b", "", "B")]:
        leaves, treedef = tree_util.tree_flatten({key: str(key) for key in keys})
        assert treedef.aux == tuple(sorted(keys)) and leaves == [str(key) for key in sorted(keys)]
    many = {str(k): k for k in reversed(range(100, 140))}
    leaves, treedef = tree_util.tree_flatten(many)
    assert leaves == list(range(100, 140)) and treedef.aux == tuple(map(str, leaves)), "of 40 keys"


def test_unflatten_leaves_the_leaves_as_they_are_and_may_be_called_again():
    treedef, leaves = structure({"a": [0, (0, 0)], "b": 0}), [1, None, 0, ()]
    with unchanged(leaves=leaves), explain_errors("the caller's list is left as it is"):
        first, second = treedef.unflatten(leaves), treedef.unflatten(leaves)
    assert first == second == {"a": [1, (None, 0)], "b": ()}, "a leaf may be anything"
    assert first["a"] is not second["a"], "each call makes a new tree"
    lone = [3]
    assert (structure(0).unflatten(lone), lone) == (3, [3])


@each_error
def test_an_error_of_a_node_that_is_put_together_goes_on_and_so_does_one_of_the_leaves(error):
    picky = Picky()
    with error_passes(error()) as raised:
        picky.flatten = lambda: ((1, 2), raises(raised))
        structure([0, picky]).unflatten([0, 1, 2])

    def failing():
        yield 1
        raise failed

    with error_passes(error()) as failed:
        structure([0, 0]).unflatten(failing())


def test_a_node_gets_its_children_as_a_tuple_also_none_and_many():
    for count in (0, 1, 3):
        picky = Picky()
        picky.flatten = lambda count=count: ([0] * count, lambda children: children)
        assert structure([picky]).unflatten(range(count)) == [tuple(range(count))]
    made = structure([[], [], {}, {}]).unflatten([])
    assert made[0] is not made[1] and made[2] is not made[3], "each node is a new one"
    assert structure([0, 0]).unflatten({"a": 1, "b": 2}) == ["a", "b"], "a dict gives its keys"


def test_unflatten_takes_its_leaves_from_any_iterable():
    treedef = structure([1, (2, 3)])
    assert treedef.unflatten(iter("abc")) == ["a", ("b", "c")]
    for leaf in (None, (), 0):
        with explain_errors("a leaf may be anything, also None"):
            tree = structure((1,)).unflatten([leaf])
        assert tree == (leaf,)


@pytest.mark.parametrize("leaves, word", [([1], "Too few"), ([1, 2, 3], "Too many")])
def test_unflatten_wants_exactly_the_leaves(leaves, word):
    with explain_errors(
        f"{len(leaves)} leaves for 2 places must be a ValueError, before any is taken"
    ):
        with pytest.raises(ValueError, match=f"{word} leaves for PyTreeDef; expected 2"):
            tree_util.tree_unflatten(structure((0, 0)), leaves)


def test_unflatten_hands_out_the_leaves_from_left_to_right():
    treedef = structure((0, [0, (0, None)], Point(0, 0)))
    expected = ("a", ["b", ("c", None)], Point("d", "e"))
    with explain_errors(
        "a single leaf is given as it is; a child that is one takes the next, others build themselves"
    ):
        assert structure(0).unflatten(["a"]) == "a"
        found = treedef.unflatten("abcde")
    assert found == expected, "a kind's unflatten takes a tuple of children"


# ---- structures ----


def test_equal_structures_are_equal_and_hash_alike():
    assert structure({"a": 1}) == structure({"a": 2})
    assert hash(structure({"a": 1})) == hash(structure({"a": 2}))
    others = [{"b": 1}, collections.OrderedDict(a=1), (1,), [1], {"a": None}, {"a": [1]}]
    assert all(structure({"a": 1}) != structure(other) for other in others)


def test_a_structure_hashes_though_its_aux_data_do_not():
    assert hash(structure(Box(1, label=[1]))) == hash(structure(Box(2, label=[1])))


@pytest.mark.parametrize("value", [1, None, (1, [2]), {"a": Point(1, 2)}])
def test_a_structure_survives_pickle_and_copy(value):
    treedef = structure(value)
    for other in (pickle.loads(pickle.dumps(treedef)), copy.deepcopy(treedef)):
        assert other == treedef and hash(other) == hash(treedef)
        assert tree_util.treedef_children(other) == tree_util.treedef_children(treedef)


def test_structures_count_and_open():
    treedef = structure([1, (2, {"a": None, "b": 3})])
    assert (treedef.num_leaves, treedef.num_nodes) == (3, 7)
    assert treedef.node_data() == (list, None)
    assert tree_util.treedef_children(treedef)[1].children()[1].node_data() == (dict, ["a", "b"])
    assert structure(1).node_data() is None and structure(1).children() == []


def test_flatten_up_to_gives_the_subtrees_under_the_leaves():
    assert structure((0, [0])).flatten_up_to(({"a": 1}, [(2, 3)])) == [{"a": 1}, (2, 3)]


@pytest.mark.parametrize("other", [[1, [2]], (1, (2,)), (1, [2, 3]), (1, [2], 3), 5, (1, {"a": 2})])
def test_flatten_up_to_refuses_another_type_length_or_keys(other):
    with pytest.raises(ValueError, match="treedef"):
        got = structure((0, [0])).flatten_up_to(other)
        pytest.fail(f"(0, [0]) is no prefix of {other}, but gave {got}")
    with pytest.raises(ValueError, match="treedef"):
        got = structure({"a": 0}).flatten_up_to({"b": other})
        pytest.fail(f"the keys a and b differ, but flatten_up_to gave {got}")


# ---- functions of whole trees ----


def test_map_goes_through_several_trees_of_which_the_first_is_a_prefix():
    got = tree_util.tree_map(lambda *xs: xs, {"a": 1, "b": None}, {"a": (2, 3), "b": None})
    assert got == {"a": (1, (2, 3)), "b": None}


@pytest.mark.parametrize(
    "first, second",
    [
        ((1, 2), Point(3, 4)),
        (Point(3, 4), (1, 2)),
        ({"a": 1}, collections.OrderedDict(a=1)),
        ({"a": 1}, collections.defaultdict(int, a=1)),
        ([1], type("MyList", (list,), {})([1])),
        (collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1)),
        (Box(1, label="a"), Box(1, label="b")),
        (None, 0),
        ((1, 2, [3, 4]), (1, 2, [3])),
        (((1,), (2,), (3,)), ((1,), (2,), [3])),
    ],
)
def test_only_nodes_of_one_very_type_and_with_equal_aux_data_belong_together(first, second):
    for others in ((second,), (first, second)):
        with pytest.raises(ValueError, match="tree_map tree"):
            got = tree_util.tree_map(lambda *xs: xs, first, *others)
            pytest.fail(f"{first} and {second} are no trees of one structure, but gave {got}")


@each_error
def test_an_error_of_the_mapped_function_goes_on(error):
    with error_passes(error()) as raised:
        tree_util.tree_map(raises(raised), {"a": 1}, {"a": 2})
    with error_passes(error()) as raised:
        picky, other = Picky(), Picky()
        picky.flatten, other.flatten = lambda: ((1,), list), raises(raised)
        tree_util.tree_map(max, (picky,), (other,))


class Alike:
    """Values that are all printed alike, and of which only the same one is equal."""

    def __repr__(self):
        return "alike"


def test_aux_data_is_compared_by_equality():
    same = tree_util.tree_map(lambda *xs: xs, {1: 2}, {True: 3}, {1.0: 4})
    assert same == {1: (2, 3, 4)}, "keys that are equal are the same"
    a, b = Box(1, label=Alike()), Box(2, label=Alike())
    assert tree_util.tree_map(lambda *xs: xs, a, a).items == ((1, 1),)
    with pytest.raises(ValueError, match="tree_map tree"):
        tree_util.tree_map(lambda *xs: xs, a, b)


def containers(tree):
    """The lists and dicts in a tree, itself too."""
    if not isinstance(tree, (list, tuple, dict)):
        return []
    own = [] if isinstance(tree, tuple) else [tree]
    parts = tree.values() if isinstance(tree, dict) else tree
    return own + [c for part in parts for c in containers(part)]


def test_map_calls_the_function_once_a_leaf_in_order_and_leaves_its_arguments():
    seen, first, second, third = [], {"b": [1, 2], "a": 3}, {"b": [4, ()], "a": 6}, {"b": 0, "a": 9}
    third["b"] = [7, [8]]
    with unchanged(first=first, second=second, third=third):
        got = tree_util.tree_map(lambda *xs: seen.append(xs), first, second, third)
    assert seen == [(3, 6, 9), (1, 4, 7), (2, (), [8])]
    assert got == {"a": None, "b": [None, None]}, "what it gives may be anything"
    assert tree_util.tree_map(lambda *xs: xs, [1], [2], [3], [4], [5]) == [(1, 2, 3, 4, 5)]
    assert tree_util.tree_map(max, [1, 1, 1], [0, 2, 3]) == [1, 2, 3], "a leaf may be there twice"
    assert tree_util.tree_map(raises(Thrown()), [(), {}, None]) == [(), {}, None]
    for given in ([], {}, [[]], {"a": {}}, [None], [([],)], [{}, 1], ({"a": [1]}, [])):
        got = tree_util.tree_map(lambda x: x, given)
        shared = {*map(id, containers(given))} & {*map(id, containers(got))}
        assert got == given and not shared, f"{given} is mapped to a new tree, without a part of it"
    one, count = object(), iter(range(9))
    assert tree_util.tree_map(lambda _: next(count), [one, {"a": one}, one]) == [0, {"a": 1}, 2], (
        "one object in three places is three leaves"
    )
    for got in (NotImplemented, None, ..., [], 0):
        assert tree_util.tree_map(lambda _, got=got: got, (1, [2])) == (got, [got])


def test_map_stops_where_is_leaf_says():
    with explain_errors(
        "is_leaf says that tuples are leaves: the function must get them, not numbers"
    ):
        got = tree_util.tree_map(len, {"a": (1, 2), "b": (3,)}, is_leaf=lambda x: type(x) is tuple)
    assert got == {"a": 2, "b": 1}


@pytest.mark.parametrize(
    "first, second, what, where",
    [
        ((1, 2), (1, 2, 3), "different lengths of tuple", ""),
        ((1, 2), [1, 2], "different types", ""),
        ({"a": [1, (2,)]}, {"a": [1, 2]}, "different types", "['a'][1]"),
        (Point(1, 2), (1, 2), "different types", ""),
        ({"a": None}, {"a": 1}, "different types", "['a']"),
        ({"a": 1}, {"b": 1}, "different pytree metadata", ""),
        ({"a": 1}, {"a": 1, "b": 2}, "different numbers of pytree children", ""),
        ([1, Box(2)], [1, Box(2, 3)], "different numbers of pytree children", "[1]"),
        (Layer((1,), 2), Layer([1], 2), "different types", ".weight"),
        (Layer(1, 2), Layer(1, 2, "tanh"), "different pytree metadata", ""),
    ],
)
def test_map_says_where_two_trees_part(first, second, what, where):
    with pytest.raises(ValueError) as error:
        tree_util.tree_map(lambda *xs: xs, first, second)
    headline, place = str(error.value).split("\n")[:2]
    assert headline == f"pytree structure error: {what} at key path"
    assert place == f"    tree_map tree{where}"


def test_all_and_all_leaves():
    assert tree.all({"a": 1, "b": []}) and not tree.all([1, 0])
    assert tree_util.all_leaves([1, "a"]) and tree_util.all_leaves([])
    assert not tree_util.all_leaves([1, None]) and not tree_util.all_leaves([[1]])
    assert tree_util.all_leaves([(1, 2)], is_leaf=lambda x: x == (1, 2))


def test_reduce_goes_from_left_to_right():
    assert tree.reduce(lambda a, b: f"({a}{b})", ["a", {"x": "b"}, "c"]) == "((ab)c)"
    assert tree.reduce(lambda a, b: a + b, [1, (2,)], 10) == 13
    with pytest.raises(TypeError, match="empty"):
        tree.reduce(lambda a, b: a + b, ())


# ---- what JAX does not have, or says otherwise ----


def test_a_mismatch_says_what_was_expected_and_what_to_do():
    with pytest.raises(ValueError) as error:
        structure({"a": (0, 0)}).flatten_up_to({"a": (0, 0, 0)})
    assert str(error.value) == (
        "pytree structure error: different lengths of tuple at key path\n"
        "    treedef['a']\n"
        "expected tuple of length 2 as in treedef, but got tuple of length 3.\n"
        "Give both trees the same structure down to the leaves of treedef."
    )


def test_two_structures_are_compared_place_by_place():
    first, second = structure({"a": (0, 0), "b": [0]}), structure({"a": (0, 0, 0), "b": 0})
    differences = [
        (tree_util.keystr(p), *rest) for p, *rest in tree_util.equality_errors(first, second)
    ]
    assert differences == [
        ("['a']", "tuple of length 2", "tuple of length 3", "the lengths of tuple differ"),
        ("['b']", "<class 'list'>", "pytree leaf", "the types differ"),
    ]


def python_calls(f):
    """How many Python functions f() calls, itself not counted."""
    calls = []
    sys.setprofile(lambda frame, event, arg: calls.append(frame) if event == "call" else None)
    try:
        f()
    finally:
        sys.setprofile(None)
    return len(calls) - 1


def test_flattening_costs_few_python_calls():
    tree_util.tree_flatten((1.0, 2.0))  # the kind of a type is decided when it is first met
    assert python_calls(lambda: tree_util.tree_flatten(1.0)) <= 3
    assert python_calls(lambda: tree_util.tree_flatten((1.0, 2.0))) <= 5


def test_an_error_of_the_function_is_not_an_end_of_leaves():
    def f(x):
        raise StopIteration

    with pytest.raises(RuntimeError, match="StopIteration"):
        tree.map(f, [1, 2])
