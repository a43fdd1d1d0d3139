"""Pytrees, as exercises: each test is one thing that a tree of arrays is expected to do."""

import collections
import copy
import dataclasses
import functools
import pickle
import sys

import pytest

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


def test_dict_keys_are_sorted_so_they_must_be_comparable():
    with pytest.raises(ValueError, match="Comparator raised exception while sorting"):
        tree_util.tree_flatten({1: 0, "a": 0})
    assert tree_util.tree_leaves(collections.OrderedDict([("a", 1), (1, 2)])) == [1, 2]


@pytest.mark.parametrize("leaves, word", [([1], "Too few"), ([1, 2, 3], "Too many")])
def test_unflatten_wants_exactly_the_leaves(leaves, word):
    with pytest.raises(ValueError, match=f"{word} leaves for PyTreeDef; expected 2"):
        tree_util.tree_unflatten(structure((0, 0)), leaves)


def test_unflatten_hands_out_the_leaves_from_left_to_right():
    treedef = structure((0, [0, (0, None)], Point(0, 0)))
    expected = ("a", ["b", ("c", None)], Point("d", "e"))
    assert treedef.unflatten("abcde") == expected, "a kind's unflatten takes a tuple of children"
    assert structure(0).unflatten(["a"]) == "a"


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


def test_a_single_node_counts_as_a_leaf_structure():
    answers = [tree_util.treedef_is_leaf(structure(x)) for x in (1, None, (), (1,))]
    assert answers == [True, True, True, False]


def test_structures_are_put_together():
    pair, leaf = structure((1, [2])), structure(0)
    assert tree_util.treedef_tuple([leaf, pair]) == structure((0, (1, [2])))
    assert pair.compose(structure({"a": 1})) == structure(({"a": 1}, [{"a": 1}]))


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


def test_map_stops_where_is_leaf_says():
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


def test_map_with_path():
    got = tree.map_with_path(lambda path, x, y: (tree_util.keystr(path), x + y), [1, [2]], [3, [4]])
    assert got == [("[0]", 4), [("[1][0]", 6)]]


def test_is_leaf_may_ask_for_the_path():
    def at_depth_one(path, subtree):
        return len(path) == 1

    pairs = tree.leaves_with_path((1, {"a": 2}), is_leaf=at_depth_one, is_leaf_takes_path=True)
    assert [leaf for _, leaf in pairs] == [1, {"a": 2}]


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


# ---- keys ----


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


# ---- registration ----


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


# ---- prefixes ----


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


def test_broadcast_repeats_the_leaves_of_a_prefix():
    assert tree.broadcast((1, 2), ((0, 0), [0, {"a": 0}])) == ((1, 1), [2, {"a": 2}])
    assert tree_util.broadcast_prefix((1, None), (0, (0, 0)), lambda x: x is None) == [
        1,
        None,
        None,
    ]
    with pytest.raises(ValueError, match="different lengths of tuple"):
        tree.broadcast((1, 2), (0, 0, 0))


# ---- what JAX does not have, or says otherwise ----


def test_a_mismatch_says_what_was_expected_and_what_to_do():
    with pytest.raises(ValueError) as error:
        structure({"a": (0, 0)}).flatten_up_to({"a": (0, 0, 0)})
    assert str(error.value) == (
        "pytree structure error: different lengths of tuple at key path\n"
        "    treedef['a']\n"
        "expected tuple of length 2, as treedef has it there, but got tuple of length 3.\n"
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
