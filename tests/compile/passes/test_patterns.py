"""What fits a line of the table, and what does not."""

import numpy as np
import pytest
from drawn import draws, equal

from tinyjax import lax
from tinyjax.compile.passes.patterns import parse, walk
from tinyjax.core.jaxpr import Literal, Var, eval_jaxpr
from tinyjax.core.tracing import make_jaxpr

X, Y = np.float32(3), np.float32(4)


def applied(line, f, *args):
    """What a rule makes of the last equation of a function."""
    *before, eqn = make_jaxpr(f)(*args).eqns
    return parse(line).apply(eqn, {v: made_by for made_by in before for v in made_by.outvars})


def test_a_line_is_a_pattern_what_it_becomes_the_kinds_and_the_reason():
    rule = parse("mul x 1 | x | iuf | exact")
    assert (rule.primitive, rule.kinds, rule.why) == ("mul", "iuf", "exact")
    assert str(rule) == "mul x 1 = x"


def test_a_letter_is_the_same_value_wherever_it_stands():
    assert applied("max x x | x | f | either", lambda x, y: lax.max(x, x), X, Y) is not None
    assert applied("max x x | x | f | either", lambda x, y: lax.max(x, y), X, Y) is None


@pytest.mark.parametrize("number, fits", [(0.0, True), (-0.0, False), (1.0, False)])
def test_a_number_has_a_sign_even_if_it_is_zero(number, fits):
    found = applied("sub x 0 | x | f | equal", lambda x: lax.sub(x, np.float32(number)), X)
    assert (found is not None) == fits


def test_parentheses_are_the_equation_that_made_an_operand():
    line = "neg (sin x) | sin x | f | wrong, of course"
    assert applied(line, lambda x: lax.neg(lax.sin(x)), X).primitive.name == "sin"
    assert applied(line, lambda x: lax.neg(lax.cos(x)), X) is None


def test_the_result_can_be_a_number():
    found = applied("sub x x | 0 | f | but for NaN", lambda x: lax.sub(x, x), X)
    assert isinstance(found, Literal) and found.val == 0


def test_an_operand_of_the_result_can_be_a_number():
    found = applied("add x x | mul x 2 | f | exact", lambda x: lax.add(x, x), X)
    assert found.primitive.name == "mul" and found.invars[1].val == 2


def test_a_pattern_of_two_cases_leaves_three_alone():
    line, which = "select_n c x x | x | f | whichever", np.int32(1)
    assert applied(line, lambda i, x: lax.select_n(i > 0, x, x), which, X) is not None
    assert applied(line, lambda i, x, y: lax.select_n(i, x, x, y), which, X, Y) is None


def test_a_walk_puts_equations_in_place_of_one():
    closed = make_jaxpr(lambda x: lax.neg(lax.sin(x)))(X)

    def twice(eqn, producer):
        if eqn.primitive is not lax.neg_p:
            return None
        (x,) = eqn.invars
        first = eqn.replace(outvars=[Var(x.aval)])
        return [first, eqn.replace(invars=first.outvars)]

    found = walk(closed, twice)
    assert [eqn.primitive.name for eqn in found.eqns] == ["sin", "neg", "neg"]
    np.testing.assert_allclose(eval_jaxpr(found.jaxpr, found.consts, X), [np.sin(X)], rtol=1e-6)


def test_a_walk_knows_what_makes_an_operand_now():
    closed = make_jaxpr(lambda x: lax.exp(lax.neg(lax.sin(x))))(X)
    made_by = []

    def change(eqn, producer):
        made_by.append([producer[v].primitive.name for v in eqn.invars if v in producer])
        if eqn.primitive is lax.neg_p:
            return eqn.invars
        return [eqn.replace(primitive=lax.cos_p)] if eqn.primitive is lax.sin_p else None

    found = walk(closed, change)
    assert made_by == [[], ["cos"], ["cos"]]
    assert [eqn.primitive.name for eqn in found.eqns] == ["cos", "exp"]
    made_by.clear()
    of_two = lambda x: lax.exp(lax.sort((x, x), num_keys=1)[1])  # noqa: E731
    walk(make_jaxpr(of_two)(np.ones(3, np.float32)), change)
    assert made_by == [[], ["sort"]]


def test_a_walk_that_changes_nothing_gives_the_jaxpr_itself():
    closed = make_jaxpr(lambda x: lax.neg(lax.sin(x)))(X)
    assert walk(closed, lambda eqn, producer: None) is closed
    assert walk(closed, lambda eqn, producer: [eqn]) is closed
    nothing = walk(closed, lambda eqn, producer: [])
    assert nothing.eqns == [] and nothing.jaxpr.outvars == closed.jaxpr.outvars


def test_a_walk_sees_each_change_also_where_as_many_equations_are_left():
    names = lambda closed: [eqn.primitive.name for eqn in closed.eqns]  # noqa: E731
    closed = make_jaxpr(lambda x: lax.tanh(lax.neg(lax.sin(x))))(X)
    one_for_one = walk(
        closed,
        lambda eqn, _: [eqn.replace(primitive=lax.cos_p)] if eqn.primitive is lax.sin_p else None,
    )
    assert names(one_for_one) == ["cos", "neg", "tanh"]

    def change(eqn, _):
        if eqn.primitive is lax.sin_p:
            return eqn.invars
        if eqn.primitive is lax.neg_p:
            first = eqn.replace(outvars=[Var(eqn.outvars[0].aval)])
            return [first, eqn.replace(invars=first.outvars)]
        return None

    two_for_one = walk(closed, change)
    assert names(two_for_one) == ["neg", "neg", "tanh"], "an atom for one, and two for another"
    (found,) = eval_jaxpr(two_for_one.jaxpr, two_for_one.consts, X)
    np.testing.assert_allclose(found, np.tanh(X), rtol=1e-6)


def test_of_any_changes_a_walk_makes_each_one():
    for draw in draws(20):
        n = draw.count(1)
        closed = make_jaxpr(lambda x, n=n: [x := lax.neg(x) for _ in range(n)][-1])(X)
        kinds = [draw.choice(["none", "same", "one", "two", "atom"]) for _ in range(n)]
        left, expected, value = iter(kinds), [], X

        def change(eqn, _, left=left):
            kind = next(left)
            one = eqn.replace(primitive=lax.sin_p)
            first = eqn.replace(outvars=[Var(eqn.outvars[0].aval)])
            two = [first, eqn.replace(primitive=lax.sin_p, invars=first.outvars)]
            return {"same": [eqn], "one": [one], "two": two, "atom": eqn.invars}.get(kind)

        made = {"none": ["neg"], "same": ["neg"], "one": ["sin"], "two": ["neg", "sin"], "atom": []}
        for kind in kinds:
            expected += made[kind]
        for name in expected:
            value = -value if name == "neg" else np.sin(value)
        found = walk(closed, change)
        got = [eqn.primitive.name for eqn in found.eqns]
        assert got == expected, f"of {kinds}: expected {expected}, found {got}"
        (result,) = eval_jaxpr(found.jaxpr, found.consts, X)
        equal(result, value, 1e-5, changes=kinds)
        assert (found is closed) == (not {"one", "two", "atom"} & {*kinds}), f"of {kinds}"
