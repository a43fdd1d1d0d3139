"""The toy of lesson 7 that separates what runs now from what waits."""

import numpy as np
from drawn import draws
from judged import unchanged
from practice.note_trace import Equation
from practice.split_notes import filled_in, split_notes

from tinyjax.core import get_aval
from tinyjax.core.primitives import add_p, cos_p, mul_p, sin_p


def eq(result, primitive, *operands):
    return Equation(result, get_aval(1.0), primitive, operands, {})


# the jvp of sin(x) * x at a, in the direction b
program = [
    eq("c", sin_p, "a"),
    eq("d", cos_p, "a"),
    eq("e", mul_p, "b", "d"),
    eq("f", mul_p, "c", "a"),
    eq("g", mul_p, "e", "a"),
    eq("h", mul_p, "c", "b"),
    eq("i", add_p, "g", "h"),
]


def names(equations):
    return [equation.result for equation in equations]


def test_what_depends_on_known_names_alone_runs_now():
    now, later, _ = split_notes(program, {"a"})
    assert (names(now), names(later)) == (["c", "d", "f"], ["e", "g", "h", "i"])


def test_what_uses_a_result_that_waits_has_to_wait_too():
    _, later, _ = split_notes([eq("c", sin_p, "a"), eq("d", sin_p, "c")], set())
    assert names(later) == ["c", "d"]


def test_equations_are_given_back_as_they_are():
    now, later, _ = split_notes(program, {"a"})
    assert sorted([*now, *later], key=lambda e: e.result) == program


def test_residuals_are_the_known_names_that_are_needed_later_each_once_in_order():
    _, _, residuals = split_notes([*program, eq("j", mul_p, "d", "i")], {"a"})
    assert residuals == ["d", "a", "c"]


def test_what_only_runs_now_is_no_residual():
    *_, residuals = split_notes([eq("c", sin_p, "a"), eq("d", mul_p, "x", "b")], {"a", "x"})
    assert residuals == ["x"]


def test_values_among_the_operands_are_known():
    now, later, residuals = split_notes([eq("c", mul_p, 2.0, "a"), eq("d", mul_p, 3.0, "b")], {"a"})
    assert (names(now), names(later), residuals) == (["c"], ["d"], [])
    array = np.ones(2)
    now, later, residuals = split_notes(
        [eq("c", mul_p, array, "a"), eq("d", mul_p, "b", array)], {"a"}
    )
    assert (names(now), names(later), residuals) == (["c"], ["d"], []), "values may be arrays"


def test_if_all_is_known_all_runs_now_and_if_nothing_is_all_waits():
    assert [names(part) for part in split_notes(program, {"a", "b"})[:2]] == [list("cdefghi"), []]
    now, later, residuals = split_notes(program, set())
    assert (now, names(later), residuals) == ([], list("cdefghi"), [])


def test_the_given_set_is_left_as_it_is():
    known = {"a"}
    split_notes(program, known)
    assert known == {"a"}, f"the set that was given is now {known}"


def test_an_equation_may_have_three_operands_or_none():
    program = [
        eq("d", add_p, "a", 2.0, "b"),
        eq("e", add_p),
        eq("f", add_p, "e", 1.0, "a"),
        eq("g", add_p, "d", "e", "c"),
    ]
    with unchanged(program=program):
        now, later, residuals = split_notes(program, {"a", "c"})
    assert (names(now), names(later), residuals) == (["e", "f"], ["d", "g"], ["a", "e", "c"])
    for known in (frozenset("ac"), {"a": 1, "c": 2}.keys()):
        assert split_notes(program, known) == (now, later, residuals), "any set will do"


def test_values_take_the_place_of_names():
    (equation,) = filled_in([eq("e", mul_p, "b", "d")], {"d": 5.0})
    assert equation.operands == ("b", 5.0)


def test_of_any_notes_what_depends_on_known_names_alone_runs_now():
    for draw in draws(60, 12):
        arguments = [draw.choice(["", "a"]), *map(draw.name, range(draw.count()))]
        known = {name for name in arguments if draw.random() < 0.5}
        notes, needs = [], {name: {name} for name in arguments}  # the arguments that a name needs
        for i in range(draw.count()):
            pool = [*needs, 2.0, np.ones(2)]
            operands = [draw.choice(pool) for _ in range(draw.randint(0, 6))]
            result = draw.name(100 + i)
            notes.append(eq(result, add_p, *operands))
            used = [needs[x] for x in operands if isinstance(x, str)]
            needs[result] = set().union(*used)
        waits = [not needs[note.result] <= known for note in notes]
        wanted = [x for note, w in zip(notes, waits) if w for x in note.operands]
        residuals = dict.fromkeys(x for x in wanted if isinstance(x, str) and needs[x] <= known)
        about = f"of {[(n.result, *n.operands) for n in notes]}, where {known} are known"
        for given in (set(known), frozenset(known), dict.fromkeys(known).keys()):
            now, later, found = split_notes(notes, given)
            assert given == known, f"{about}: the set was changed"
            assert names(now) == [n.result for n, w in zip(notes, waits) if not w], about
            assert names(later) == [n.result for n, w in zip(notes, waits) if w], about
            assert found == list(residuals), f"{about}: expected {list(residuals)}, found {found}"
