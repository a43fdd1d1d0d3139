"""Lesson 4 with trees drawn at random, small ones first, against a naive walk along how they were made."""

# ruff: noqa: B023 (a function that is made in a loop runs in its round)

import collections
from fractions import Fraction

import numpy as np
import pytest
from drawn import cases, one_of
from judged import SMALL_FLOAT
from practice.layer import Layer
from practice.spread import spread

import tinyjax as jax
from tinyjax.core import dtypes
from tinyjax.core.tree_util import prefixes, pytrees, register_pytree_node
from tinyjax.transform.jvp import jvp

Point = collections.namedtuple("Point", "x y")


class Box:
    """A node whose children come one by one, and go back as a tuple."""

    def __init__(self, children, label):
        assert type(children) is tuple, f"a node is given its children as a tuple, not {children!r}"
        self.children, self.label = children, label


register_pytree_node(
    Box, lambda box: ((c for c in box.children), box.label), lambda label, cs: Box(cs, label)
)

# ---- trees: how they are made, and the naive walk ----

# A spec is None for a leaf, or (kind, aux, specs of the children in the order of the walk).
KEYS = (
    ("b", "a", "c", "aa"),
    (3, 1, -2, 10),
    (1, 0.5, 2, 1.5),
    (True, 0, 2, -1),
    ((1, 2), (1,), (0, 9), ()),
)


def drawn_spec(rng, depth, most=3):
    if depth == 0 or rng.integers(4) == 0:
        return None
    kind = str(one_of(rng, ("tuple", "list", "dict", "ordered", "point", "box", "none")))
    count = {"point": 2, "none": 0}.get(kind, int(rng.integers(most + 1)))
    aux = one_of(rng, ("label", 0, None)) if kind == "box" else None
    if kind in ("dict", "ordered"):
        keys = list(one_of(rng, KEYS))
        aux = [keys[k] for k in rng.permutation(4)[:count]]
        aux = sorted(aux) if kind == "dict" else aux
    return kind, aux, [drawn_spec(rng, depth - 1, most) for _ in range(count)]


def built(rng, spec, leaves):
    """The tree of a spec with the next leaves."""
    if spec is None:
        return next(leaves)
    kind, aux, children = spec
    children = [built(rng, child, leaves) for child in children]
    if kind in ("dict", "ordered"):
        pairs = list(zip(aux, children))
        pairs = pairs if kind == "ordered" else [pairs[k] for k in rng.permutation(len(pairs))]
        return dict(pairs) if kind == "dict" else collections.OrderedDict(pairs)
    if kind == "none":
        return None
    made = {"tuple": tuple, "list": list, "point": lambda c: Point(*c)}
    return Box(tuple(children), aux) if kind == "box" else made[kind](children)


def children_of(spec, tree):
    kind, aux, _ = spec
    if kind in ("dict", "ordered"):
        return [tree[key] for key in aux]
    return tree.children if kind == "box" else [] if tree is None else list(tree)


def is_built(spec, tree, leaves):
    """Whether the tree is that of the spec, with the very next leaves."""
    if spec is None:
        return tree is next(leaves)
    kind, aux, children = spec
    types = {"dict": dict, "ordered": collections.OrderedDict, "point": Point, "box": Box}
    types |= {"tuple": tuple, "list": list, "none": type(None)}
    if type(tree) is not types[kind] or (kind == "box" and tree.label != aux):
        return False
    if kind in ("dict", "ordered") and sorted(map(repr, tree)) != sorted(map(repr, aux)):
        return False
    inside = children_of(spec, tree)
    return len(inside) == len(children) and all(
        map(is_built, children, inside, [leaves] * len(inside))
    )


def leaves_in(spec):
    return 1 if spec is None else sum(map(leaves_in, spec[2]))


def grown(rng, spec, depth=2):
    """The spec of a tree of which `spec` is a prefix."""
    if spec is None:
        return drawn_spec(rng, depth, 2) if rng.integers(2) else None
    kind, aux, children = spec
    return kind, aux, [grown(rng, child, depth) for child in children]


def broken(rng, spec):
    """The spec of a tree of which `spec` is no prefix: one node is another one. None if it has no node."""
    if spec is None:
        return None
    kind, aux, children = spec
    inside = [k for k, child in enumerate(children) if child is not None]
    if inside and rng.integers(3):
        k = one_of(rng, inside)
        return kind, aux, [*children[:k], broken(rng, children[k]), *children[k + 1 :]]
    other = {"tuple": "list", "list": "tuple", "point": "tuple", "none": "tuple", "dict": "dict"}
    if kind == "box":
        return kind, "another label", children
    if kind in ("dict", "ordered") and children:
        return (
            kind,
            [
                *aux[:-1],
                (5, 5) if isinstance(aux[0], tuple) else 99 if not isinstance(aux[0], str) else "z",
            ],
            children,
        )
    return other.get(kind, "list") if kind != "dict" else "ordered", aux, children


def new_leaves(rng, count):
    """Leaves of which some are falsy, or equal."""
    kinds = (0, 0.0, "", "x", 1, True, 1.0, np.zeros(2), object(), "x", Fraction(1, 2))
    return [one_of(rng, kinds) for _ in range(count)]


def deep(spec, depth):
    return ("tuple", None, [None, deep(spec, depth - 1)]) if depth else spec


def drawn_tree(rng, size):
    spec = drawn_spec(rng, size)
    if size and rng.integers(6) == 0:  # a wide one, or a deep one
        spec = one_of(rng, (("list", None, [spec, *[None] * 40]), deep(spec, 9)))
    leaves = new_leaves(rng, leaves_in(spec))
    return spec, leaves, built(rng, spec, iter(leaves))


def are(got, want):
    return len(got) == len(want) and all(x is y for x, y in zip(got, want))


# ---- flatten, unflatten ----


def test_of_a_tree_that_is_drawn_leaves_and_structure_are_those_of_the_walk():
    for rng, size in cases(80):
        spec, leaves, tree = drawn_tree(rng, size)
        found = []
        structure = pytrees._flatten(tree, None, found)
        assert are(found, leaves), f"the leaves of {tree!r} are {leaves}, and not {found}"
        assert structure.num_leaves == len(leaves), f"{structure} has {len(leaves)} leaves"
        again = pytrees._flatten(built(rng, spec, iter(leaves)), None, [])
        assert structure == again, f"of an equal tree: {structure} is not {again}"
        other = broken(rng, spec)
        if other is not None:
            other = pytrees._flatten(built(rng, other, iter(leaves)), None, [])
            assert structure != other, (
                f"of another tree than {tree!r}, {other} is an equal structure"
            )


def test_of_a_tree_that_is_drawn_is_leaf_is_asked_of_each_subtree_once():
    for rng, size in cases(40):
        spec, _, tree = drawn_tree(rng, size)
        stop = one_of(rng, (list, dict, Box, type(None), int, Point))
        asked, leaves = [], []

        def walk(spec, tree):
            asked.append(tree)
            if isinstance(tree, stop) or spec is None:
                leaves.append(tree)
                return
            for child, inside in zip(spec[2], children_of(spec, tree)):
                walk(child, inside)

        walk(spec, tree)
        seen, found = [], []
        pytrees._flatten(tree, lambda x: seen.append(x) or isinstance(x, stop), found)
        about = f"of {tree!r}, where each {stop.__name__} is a leaf"
        assert are(seen, asked), f"{about}: is_leaf is asked of {seen}, not of {asked}"
        assert are(found, leaves), f"{about}: the leaves are {found}, not {leaves}"


class Key:
    """A key that has an order, or raises an error."""

    def __init__(self, place, error=None):
        self.place, self.error = place, error

    def __lt__(self, other):
        if self.error:
            raise self.error("of a key")
        return self.place < other.place


def test_whatever_keys_are_drawn_a_dict_is_in_their_order_or_an_error():
    for rng, size in cases(60):
        numbers = (0, -1, 1.5, 2, True, 0.25, -3.5, 7, Fraction(1, 3))
        kinds = (
            numbers,
            "abcdef",
            tuple(Key(k) for k in range(5)),
            ((1, "a"), (0, "b"), (0, "a")),
            (b"b", b"a"),
        )
        keys = list(one_of(rng, kinds))
        d = {keys[k]: object() for k in rng.permutation(len(keys))[: 1 + size]}
        children, aux = pytrees._flatten_dict(d)
        want = sorted(d)
        assert are(list(aux), want), f"the keys {[*d]} are in the order {want}, and not {aux}"
        assert are(list(children), [d[key] for key in want]), f"the values follow the keys of {d}"
    errors = (ZeroDivisionError, AttributeError, ValueError, KeyError, TypeError)
    without_order = [(Key(0, error), Key(1, error)) for error in errors]
    for keys in ((1, "a"), (1j, 2j), (None, 1), *without_order):
        with pytest.raises(ValueError, match="Comparator raised exception while sorting") as raised:
            pytrees._flatten_dict(dict.fromkeys(keys, 1))
            pytest.fail(f"the keys {keys} have no order")
        assert repr(keys[0]) in str(raised.value), f"the keys {keys} are named: {raised.value}"


def test_whatever_leaves_are_drawn_they_stand_in_the_structure_in_order():
    for rng, size in cases(80):
        spec, leaves, tree = drawn_tree(rng, size)
        structure = pytrees.tree_structure(tree)
        new = [one_of(rng, (x, x, None, ..., ())) for x in new_leaves(rng, len(leaves))]
        given = list(new)
        got = structure.unflatten(one_of(rng, (given, tuple(given), iter(given))))
        assert is_built(spec, got, iter(new)), f"{structure} with the leaves {new} is not {got!r}"
        assert are(given, new), "the list of leaves is left as it is"
        if isinstance(got, (list, dict, Box)) and spec is not None:
            assert structure.unflatten(new) is not got, "each tree is a new one"
        for count in {0, len(leaves) - 1, len(leaves) + 1, len(leaves) + 3} - {-1, len(leaves)}:
            few = "few" if count < len(leaves) else "many"
            with pytest.raises(ValueError, match=f"Too {few} leaves") as raised:
                made = structure.unflatten([one_of(rng, (x, None)) for x in new_leaves(rng, count)])
                pytest.fail(f"{structure} of {count} leaves is {made!r}, but should be an error")
            assert f"expected {len(leaves)}" in str(raised.value) and str(count) in str(
                raised.value
            )


# ---- tree_map ----


def test_of_trees_that_are_drawn_what_stands_in_one_place_goes_together():
    for rng, size in cases(60):
        spec, leaves, tree = drawn_tree(rng, size)
        rest, wants = [], [leaves]
        for _ in range(rng.integers(size + 2)):
            below = [drawn_spec(rng, 1) for _ in leaves]
            parts = [built(rng, s, iter(new_leaves(rng, leaves_in(s)))) for s in below]
            rest.append(built(rng, spec, iter(parts)))
            wants.append(parts)
        calls, results = [], [object() for _ in leaves]
        got = pytrees.tree_map(lambda *xs: calls.append(xs) or results[len(calls) - 1], tree, *rest)
        about = f"tree_map of {tree!r} and {len(rest)} more"
        assert len(calls) == len(leaves), f"{about}: {len(calls)} calls for {len(leaves)} leaves"
        for call, want in zip(calls, zip(*wants)):
            assert are(call, want), f"{about}: f is given {call}, not {want}"
        assert is_built(spec, got, iter(results)), f"{about}: the results stand at other places"
        if isinstance(tree, (list, dict, Box)) and spec is not None:
            assert got is not tree, f"{about}: it gives a new tree, and not the first one itself"
        other = broken(rng, spec)
        if other is not None:
            other = built(rng, other, iter(leaves))
            rest.insert(int(rng.integers(len(rest) + 1)), other)
            with pytest.raises(ValueError, match="tree_map tree"):
                made = pytrees.tree_map(lambda *xs: 0, tree, *rest)
                pytest.fail(f"{about}: {other!r} is of another structure, but {made!r} is made")
            assert pytrees.tree_structure(tree)._collect_subtrees(other, []) is False


# ---- prefixes ----


def as_lists(rng, spec, leaves):
    return next(leaves) if spec is None else [as_lists(rng, child, leaves) for child in spec[2]]


def counts(spec, full):
    return (
        [leaves_in(full)]
        if spec is None
        else [n for s, f in zip(spec[2], full[2]) for n in counts(s, f)]
    )


def test_for_each_leaf_that_is_drawn_the_entry_above_it_stands():
    for rng, size in cases(80):
        spec = deep(drawn_spec(rng, size), one_of(rng, (0, 0, 0, size)))
        full = grown(rng, spec, one_of(rng, (2, 2, 6)))
        entries = [e if not isinstance(e, list) else 0 for e in new_leaves(rng, leaves_in(spec))]
        entries = [one_of(rng, (e, (1, 2), {"a": 1}, None)) for e in entries]
        leaves = [one_of(rng, (0, 1, True, 1.0, "x", (), None)) for _ in range(leaves_in(full))]
        prefix, tree = as_lists(rng, spec, iter(entries)), as_lists(rng, full, iter(leaves))
        if spec == full and rng.integers(2):  # an equal tree, whose leaves are yet not the entries
            entries, leaves = [1] * len(entries), [True] * len(leaves)
            prefix, tree = as_lists(rng, spec, iter(entries)), as_lists(rng, full, iter(leaves))
        before = repr((prefix, tree))
        want = [e for e, n in zip(entries, counts(spec, full)) for _ in range(n)]
        got = spread(prefix, tree)
        assert are(got, want), f"spread({prefix}, {tree}) is {want}, and not {got}"
        assert repr((prefix, tree)) == before, "prefix and tree are left as they are"
        if spec is not None:
            for other in (7, [*tree, 0], [*tree, *[0] * 9], tree[:-1] if tree else (), tuple(tree)):
                with pytest.raises(ValueError):
                    made = spread(prefix, other)
                    pytest.fail(f"{prefix} is no prefix of {other}, but {made} is what came")


def test_under_each_leaf_of_a_prefix_that_is_drawn_the_leaves_are_counted():
    for rng, size in cases(80):
        spec = drawn_spec(rng, size)
        for full in (grown(rng, spec), grown(rng, spec), broken(rng, spec)):
            if full is None and spec is not None:
                continue
            a, b = [
                pytrees.tree_structure(built(rng, s, iter([0] * leaves_in(s))))
                for s in (spec, full)
            ]
            got = list(prefixes._leaf_counts(a, b))
            if full is None or spec is None or _is_prefix(spec, full):
                want = counts(spec, full)
                assert got == want, f"under the leaves of {a}, {b} has {want} leaves, and not {got}"
            else:
                assert None in got, f"{a} is no prefix of {b}, but {got} is what came"


def _is_prefix(spec, full):
    if spec is None:
        return True
    if full is None or (spec[0], spec[1], len(spec[2])) != (full[0], full[1], len(full[2])):
        return False
    return all(map(_is_prefix, spec[2], full[2]))


# ---- jvp of trees, layers ----


def test_of_trees_that_are_drawn_each_result_moves_as_numpy_says():
    for rng, size in cases(20):
        spec = drawn_spec(rng, min(size, 2) + 1, 2)
        count = leaves_in(spec)
        number = one_of(rng, (np.float32, SMALL_FLOAT.type))
        xs = [number(one_of(rng, (0.5, -2.0, 0.0, 3.0))) for _ in range(count)]
        ts = [number(one_of(rng, (0.0, 1.0, -2.0))) for _ in range(count)]
        out_spec = one_of(rng, (drawn_spec(rng, 2, 2), ("list", None, [None] * 12)))
        pairs = [tuple(rng.integers(count + 2, size=2)) for _ in range(leaves_in(out_spec))]
        primals = (built(rng, spec, iter(xs)), 7)
        tangents = (built(rng, spec, iter(ts)), np.zeros((), dtypes.float0))
        spec_of_args = ("tuple", None, [spec, None])
        constant = jax.numpy.asarray(1.5, number)
        has_aux, notes = bool(rng.integers(2)), ["a text", None, 3, object(), {"n": ()}]

        def fun(tree, n):
            leaves = [*pytrees.tree_leaves(tree), constant, n]
            outs = [leaves[i] * leaves[j] if i != j else leaves[i] for i, j in pairs]
            out = built(rng, out_spec, iter(outs))
            return (out, (notes, leaves[:-2])) if has_aux else out

        got = jvp(fun, primals, tangents, has_aux=has_aux)
        about = f"products of {pairs} of {xs} and 7, which move by {ts}"
        assert len(got) == 2 + has_aux and spec_of_args
        values, speeds = [*xs, 1.5, 7], [*ts, 0.0, 0.0]
        for (i, j), out, moved in zip(pairs, *map(pytrees.tree_leaves, got[:2]), strict=True):
            want = values[i] * values[j] if i != j else values[i]
            slope = values[i] * speeds[j] + speeds[i] * values[j] if i != j else speeds[i]
            assert np.allclose(out, want), f"{about}: {out}, not {want}"
            if i == j == count + 1:
                assert np.asarray(moved).dtype == dtypes.float0, (
                    f"{about}: whole numbers move by {moved!r}"
                )
            else:
                assert moved.dtype == number and np.allclose(np.asarray(moved, float), slope), (
                    f"{about}: the slope is {moved}, not {slope}"
                )
        for part in got[:2]:
            assert is_built(out_spec, part, iter(pytrees.tree_leaves(part))), f"{about}: {part!r}"
        if has_aux:
            assert are(got[2][0][::3], notes[::3]) and np.allclose(got[2][1], xs), (
                f"{about}: aux is {got[2]}"
            )


def test_a_tangent_of_0_is_a_tangent():
    for zero in (0.0, np.float32(0)):
        out, moved = jvp(lambda t: t["x"] * t["x"], ({"x": np.inf},), ({"x": zero},))
        assert np.isinf(out) and np.isnan(moved), f"2 * inf * 0 is no number, and not {moved}"


def test_an_aux_that_an_outer_jvp_differentiates_still_moves():
    def outer(x):
        _, _, aux = jvp(lambda y: (y * x, (x, y * 2.0)), (3.0,), (1.0,), has_aux=True)
        return aux[0] * aux[1]

    out, moved = jvp(outer, (5.0,), (1.0,))
    assert (float(out), float(moved)) == (30.0, 6.0), (
        f"x * 6 at 5 is 30, and moves by 6: {out}, {moved}"
    )
    with pytest.raises(TypeError, match="callable"):
        jvp(3, "no tuple", None)


def test_whatever_is_in_a_layer_that_is_drawn_comes_back_itself():
    for rng, _ in cases(40):
        pool = (None, 0, "", np.zeros((2, 3)), np.float64(1), object(), (), [], 0.0, "x")
        pool = one_of(rng, (pool, [np.zeros(shape) for shape in ((), (1,), (3,), (2, 3), (0, 2))]))
        weight, bias = one_of(rng, pool), one_of(rng, pool)
        layer = Layer(1, 1, str(one_of(rng, ("", "tanh", "sin", "Tanh"))))
        layer.weight, layer.bias = weight, bias
        children, aux = layer.flatten()
        assert are(list(children), [weight, bias]), (
            f"the children are {weight!r}, {bias!r}: {children}"
        )
        again = Layer.unflatten(aux, (bias, weight))
        assert again is not layer and type(again) is Layer
        assert again.weight is bias and again.bias is weight, f"{again.weight!r}, {again.bias!r}"
        assert again.activation == layer.activation, (
            f"{again.activation!r}, not {layer.activation!r}"
        )
        assert (layer.weight, layer.bias) == (weight, bias) or layer.weight is weight
        other = Layer(1, 1, str(one_of(rng, ("", "tanh", "sin", "Tanh"))))
        same = jax.tree.structure(Layer(2, 1, layer.activation)) == jax.tree.structure(other)
        assert same == (layer.activation == other.activation), (
            f"{layer.activation!r} and {other.activation!r} have one structure: {same}"
        )
