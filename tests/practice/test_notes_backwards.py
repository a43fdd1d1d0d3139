"""The toy of lesson 8 that runs a linear program backwards."""

import numpy as np
import pytest
from drawn import draws, equal
from judged import each_error, error_passes, raises, unchanged
from practice.note_trace import Equation
from practice.notes_backwards import backwards, run_backwards

import tinyjax as jax
from tinyjax.core import Primitive, get_aval
from tinyjax.core.primitives import add_p, mul_p, neg_p
from tinyjax.transform.jvp import add_any_p


def eq(result, primitive, *operands):
    return Equation(result, get_aval(1.0), primitive, operands, {})


def counted(equations, result, ct=1.0):
    return {name: float(ct) for name, ct in run_backwards(equations, result, ct).items()}


def test_each_equation_is_undone_from_the_last_to_the_first():
    program = [eq("b", mul_p, "a", 2.0), eq("c", neg_p, "b"), eq("d", mul_p, 5.0, "c")]
    assert counted(program, "d") == {"d": 1.0, "c": 5.0, "b": -5.0, "a": -10.0}


def test_the_result_counts_what_is_given():
    assert counted([eq("b", mul_p, "a", 2.0)], "b", ct=10.0) == {"b": 10.0, "a": 20.0}
    assert counted([eq("b", mul_p, "a", 2.0)], "b", ct=0.0) == {"b": 0.0, "a": 0.0}


def test_what_is_used_twice_counts_the_sum():
    program = [eq("c", mul_p, "a", 2.0), eq("d", mul_p, "a", 5.0), eq("e", add_any_p, "c", "d")]
    assert counted(program, "e")["a"] == 7.0


def test_what_is_used_twice_by_one_equation_counts_twice():
    assert counted([eq("b", add_p, "a", "a")], "b")["a"] == 2.0


def test_what_a_rule_gives_to_two_operands_is_not_changed_by_what_one_of_them_counts_besides():
    program, ct = [eq("b", add_p, "a", "c"), eq("d", add_p, "a", "b")], np.ones(2)
    with unchanged(ct=ct):
        counts = run_backwards(program, "d", ct)
    assert {name: float(ct[0]) for name, ct in counts.items()} == {"d": 1, "b": 1, "a": 2, "c": 1}


def test_two_arguments_count_each_their_own():
    program = [eq("c", mul_p, 2.0, "a"), eq("d", mul_p, "b", 5.0), eq("e", add_p, "c", "d")]
    assert counted(program, "e") == {"e": 1.0, "c": 1.0, "d": 1.0, "a": 2.0, "b": 5.0}


def test_a_result_that_is_used_further_on_counts_by_itself_alone():
    """Only what the result depends on counts, not what depends on it."""
    program = [eq("b", mul_p, "a", 2.0), eq("c", neg_p, "b")]
    assert counted(program, "b") == {"b": 1.0, "a": 2.0}


def test_the_rule_of_an_equation_that_does_not_count_is_not_asked(monkeypatch):
    monkeypatch.setitem(backwards, neg_p, lambda ct, x: pytest.fail("asked for the rule of neg"))
    program = [eq("b", mul_p, "a", 2.0), eq("dead", neg_p, "a")]
    assert counted(program, "b") == {"b": 1.0, "a": 2.0}


def test_values_do_not_count():
    assert set(run_backwards([eq("b", add_p, "a", 1.0)], "b", 1.0)) == {"a", "b"}


def test_an_argument_may_be_the_result():
    assert counted([], "a", ct=3.0) == {"a": 3.0}


def test_of_three_operands_and_uses_each_counts_and_the_program_stays(monkeypatch):
    three_p = Primitive("three")
    monkeypatch.setitem(backwards, three_p, lambda ct, *xs: [ct, 10 * ct, 100 * ct])
    program = [eq("d", three_p, "a", 5.0, "b"), eq("e", three_p, "b", "b", "d")]
    with unchanged(program=program):
        assert counted(program, "e") == {"e": 1.0, "d": 100.0, "b": 10011.0, "a": 100.0}
        assert counted(program, "d", ct=2.0) == {"d": 2.0, "a": 2.0, "b": 200.0}
    monkeypatch.setitem(backwards, three_p, lambda ct, x: [2 * ct])
    chain = [eq(f"x{n + 1}", three_p, f"x{n}") for n in range(100)]
    assert counted(chain, "x100", ct=1)["x0"] == 2**100, "of a hundred equations each is undone"


@each_error
def test_an_error_of_a_rule_goes_on(monkeypatch, error):
    with error_passes(error()) as raised:
        monkeypatch.setitem(backwards, neg_p, raises(raised))
        run_backwards([eq("b", mul_p, "a", 2.0), eq("c", neg_p, "b")], "c", 1.0)
    counts = lambda x: run_backwards([eq("b", mul_p, "a", x), eq("c", mul_p, "a", "b")], "c", x)  # noqa: E731
    monkeypatch.setitem(backwards, mul_p, lambda ct, x, y: [ct, ct])
    assert float(jax.jvp(lambda x: counts(x)["a"], (3.0,), (1.0,))[1]) == 2.0, "sums are bound"


def test_a_rule_that_returns_nothing_is_an_error(monkeypatch):
    monkeypatch.setitem(backwards, neg_p, lambda ct, x: None)
    with pytest.raises(TypeError):
        found = run_backwards([eq("b", neg_p, "a")], "b", 1.0)
        pytest.fail(f"the rule of neg has no return, and what comes is {found}")


def test_of_any_notes_a_name_counts_what_the_result_moves_by():
    for draw in draws(60, 12):
        notes, names = [], [draw.choice(["", "a"]), *map(draw.name, range(draw.count()))]
        shape = draw.shape(1, (2, 1, 3))
        for i in range(draw.count()):
            kind = draw.choice([neg_p, add_p, add_any_p, mul_p])
            operands = [draw.choice(names) for _ in range(1 if kind is neg_p else 2)]
            if kind is mul_p or kind is add_p and draw.random() < 0.2:
                operands[draw.randrange(2)] = draw.whole(shape)
            names.append(draw.name(100 + i))
            notes.append(eq(names[-1], kind, *operands))
        result, ct = draw.choice(names), draw.whole(shape)
        about = {"notes": [(n.result, n.primitive, *n.operands) for n in notes], "result": result}
        expected = {}
        for name in names:  # how much the result moves with this name alone
            moves = {name: np.ones(shape)}
            for n in notes:
                if n.result != name and any(isinstance(x, str) and x in moves for x in n.operands):
                    x, y = n.operands[0], n.operands[-1]
                    dx, dy = (moves.get(v, 0) if isinstance(v, str) else 0 for v in (x, y))
                    factor = next((v for v in (x, y) if not isinstance(v, str)), None)
                    sums = {neg_p: -dx, mul_p: (dx + dy) * (1 if factor is None else factor)}
                    moves[n.result] = sums.get(n.primitive, dx + dy)
            if result in moves:
                expected[name] = moves[result] * ct
        with unchanged(ct=ct, about=about):
            found = run_backwards(notes, result, ct)
        assert found.keys() == expected.keys(), f"of {about}: expected {expected}, found {found}"
        for name, count in expected.items():
            equal(found[name], count, **about, ct=ct, name=name)
