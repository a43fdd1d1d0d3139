"""Linear jaxprs, run backwards."""

import itertools

import numpy as np
import pytest
from judged import (
    Failing,
    each_error,
    error_passes,
    every_error_passes,
    raises,
    unchanged,
)

import tinyjax as jax
from tinyjax.core import bind, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, Var
from tinyjax.core.primitives import add, mul, neg, reduce_sum, sin
from tinyjax.transform.jvp import Zero
from tinyjax.transform.transposition import (
    ValAccum,
    backward_pass,
    transpose_rules,
)

row = np.array([1, 10, 100], np.float32)


def aval(*shape):
    return ShapedArray(shape, np.dtype("float32"))


def linear_of(aval, so_far=None):
    """An accumulator, of what other equations have given so far."""
    accum = ValAccum(aval)
    accum.accum(so_far)
    return accum


def run_backwards(jaxpr, consts, args, cotangents):
    """What the accumulators among the arguments have after the backward pass; None for other arguments."""
    backward_pass(jaxpr, consts, args, cotangents)
    return [x.freeze() if isinstance(x, ValAccum) else None for x in args]


def test_an_accumulator_adds_up_what_it_is_given():
    accum = ValAccum(aval(3))
    assert type(accum.freeze()) is Zero and accum.freeze().aval is aval(3)
    accum.accum(None), accum.accum(Zero(aval(3)))
    assert type(accum.freeze()) is Zero, "None, or a Zero, is nothing to add"
    for ct in (row, None, row, Zero(aval(3))):
        accum.accum(ct)
    np.testing.assert_array_equal(accum.freeze(), 2 * row)


def test_what_is_added_up_stays_as_it_was_and_errors_of_the_addition_go_on():
    first, second = np.arange(3, dtype=np.float32), np.arange(5, 8, dtype=np.float32)
    accum = linear_of(aval(3), first)
    with unchanged(first=first, second=second):
        for _ in range(2):
            accum.accum(second)
        np.testing.assert_array_equal(accum.freeze(), first + 2 * second)
    every_error_passes(lambda: accum.accum(second))


def pulled_back(fun, cotangents, *avals):
    """The cotangents of the arguments of a linear function of these avals."""
    closed = jax.make_jaxpr(fun)(*[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals])
    return run_backwards(closed.jaxpr, closed.consts, [linear_of(a) for a in avals], cotangents)


def test_equations_are_transposed_from_the_last_to_the_first():
    (ct,) = pulled_back(lambda x: mul(neg(x), 5.0), [1.0], aval())
    assert float(ct) == -5.0


def test_a_value_that_is_used_twice_gets_the_sum_of_the_cotangents():
    def fun(x):
        y = neg(x)
        return add(mul(y, 5.0), mul(y, 7.0))

    (ct,) = pulled_back(fun, [1.0], aval())
    assert float(ct) == -12.0, (
        "y is used twice, and counts 5 and 7: together 12, and x the negative"
    )
    (ct,) = pulled_back(lambda x: add(x, x), [5.0], aval())
    assert float(ct) == 10.0, "x + x moves twice as far as x"
    y, x = Var(aval()), Var(aval())
    jaxpr = Jaxpr([], [x], [y, y, x], [JaxprEqn(primitives.neg_p, [x], [y], {})])
    (ct,) = run_backwards(jaxpr, [], [linear_of(aval())], [1.0, 10.0, 100.0])
    assert float(ct) == 89.0, "y is a result twice: it counts 1 and 10"


def test_of_three_arguments_results_and_uses_each_counts():
    def fun(x, y, z):
        w = neg(z)
        u = add(add(mul(w, 2.0), mul(w, 3.0)), mul(5.0, w))
        return add(x, u), mul(y, 7.0), add(u, w)

    avals, cotangents = [aval()] * 3, [1.0, 10.0, 100.0]
    with unchanged(cotangents=cotangents):
        cts = pulled_back(fun, cotangents, *avals)
    assert [float(ct) for ct in cts] == [1.0, 70.0, -(10.0 * 101 + 100)]
    ran, silent_p = [], bind.Primitive("silent", multiple_results=True)
    silent_p.def_impl(lambda x: ran.append(x) or [])
    x, y = Var(aval()), Var(aval())
    eqns = [JaxprEqn(silent_p, [y], [], {})]
    run_backwards(Jaxpr([], [x, y], [x], eqns), [], [linear_of(aval()), 5.0], [1.0])
    assert ran == [5.0], "a known equation is run, also without results"


def test_a_result_that_is_used_further_on_gets_both_cotangents():
    def fun(x):
        y = neg(x)
        return y, mul(y, 5.0)

    (ct,) = pulled_back(fun, [1.0, 10.0], aval())
    assert float(ct) == -51.0, "y counts 1 as a result, and 10 * 5 as a factor"


def test_a_known_argument_is_a_factor_and_has_no_cotangent():
    closed = jax.make_jaxpr(lambda a, x: mul(sin(a), x))(1.0, 1.0)
    _, ct = run_backwards(closed.jaxpr, [], [2.0, linear_of(aval())], [1.0])
    np.testing.assert_allclose(ct, np.sin(2.0), rtol=1e-6)

    both = jax.make_jaxpr(lambda a, x: (a, mul(a, x)))(1.0, 1.0)  # and here it is a result, too
    _, ct = run_backwards(both.jaxpr, [], [2.0, linear_of(aval())], [1.0, 5.0])
    assert float(ct) == 10.0, "an argument that has a value is not differentiated, result or not"


def test_known_equations_run_with_consts_parameters_and_several_results():
    pair_p = bind.Primitive("pair", multiple_results=True)
    pair_p.def_impl(lambda x: [x + 1, x + 2])
    pair_p.def_abstract_eval(lambda aval: [aval, aval])
    const = jax.numpy.arange(3.0)

    def fun(x):
        return mul(x, pair_p.bind(reduce_sum(const, (0,)))[1])

    (ct,) = pulled_back(fun, [1.0], aval())
    assert float(ct) == 5.0


def test_a_rule_is_given_the_parameters():
    (ct,) = pulled_back(lambda x: reduce_sum(x, (1,)), [row[:2]], aval(2, 3))
    np.testing.assert_array_equal(ct, [[1, 1, 1], [10, 10, 10]])


def test_a_rule_of_several_results_gets_all_cotangents_and_may_add_up_itself(monkeypatch):
    pair_p, seen = bind.Primitive("pair", multiple_results=True), []
    rule = lambda cts, x, y, k: seen.append(cts) or [mul(cts[0], 3.0), y.accum(5.0), 7.0]  # noqa: E731
    monkeypatch.setitem(transpose_rules, pair_p, rule)
    x, y, k, out, unused = (Var(aval()) for _ in range(5))
    jaxpr = Jaxpr([], [x, y, k], [out], [JaxprEqn(pair_p, [x, y, k], [out, unused], {})])
    args = [
        linear_of(aval()),
        linear_of(aval()),
        2.0,
    ]  # a value gets no cotangent, whatever a rule says
    got = run_backwards(jaxpr, [], args, [1.0])
    assert isinstance(seen[0], list) and [type(ct) for ct in seen[0]] == [float, Zero]
    assert float(got[0]) == 3.0
    assert got[1] == 5.0, "the rule has added to this accumulator itself, and gives None"


@each_error
def test_an_error_of_a_transpose_rule_or_of_a_known_equation_goes_on(monkeypatch, error):
    closed = jax.make_jaxpr(lambda a, x: mul(neg(x), sin(a)))(1.0, 1.0)
    for p in (primitives.neg_p, primitives.mul_p):
        with monkeypatch.context() as m, error_passes(error(f"of {p}'s rule")) as raised:
            m.setitem(transpose_rules, p, raises(raised))
            backward_pass(closed.jaxpr, [], [2.0, linear_of(aval())], [1.0])
    with error_passes(error("of sin")) as raised, bind.set_current_trace(Failing(raised)):
        backward_pass(closed.jaxpr, [], [2.0, linear_of(aval())], [1.0])


def test_a_rule_that_returns_nothing_is_an_error(monkeypatch):
    closed = jax.make_jaxpr(lambda x: mul(neg(x), 2.0))(1.0)
    for p in (primitives.neg_p, primitives.mul_p):
        monkeypatch.setitem(transpose_rules, p, lambda *args: None)
        x = linear_of(aval())
        with pytest.raises(TypeError):
            backward_pass(closed.jaxpr, [], [x], [1.0])
            pytest.fail(f"the rule of {p} has no return, and the argument counts {x.freeze()}")


@pytest.mark.parametrize("used", list(itertools.product([False, True], repeat=3)))
def test_of_three_operands_and_results_each_has_its_cotangent(monkeypatch, used):
    three_p, params = bind.Primitive("three", multiple_results=True), {"by": [2.0]}
    rule = lambda cts, *xs, by: [  # noqa: E731
        None if type(ct) is Zero else mul(ct, by[0]) for ct in cts
    ]
    monkeypatch.setitem(transpose_rules, three_p, rule)
    xs, ys = ([Var(aval()) for _ in range(3)] for _ in range(2))
    jaxpr = Jaxpr([], xs, ys, [JaxprEqn(three_p, xs, ys, params)])
    cts = [ct if flag else Zero(aval()) for ct, flag in zip((1.0, 10.0, 100.0), used)]
    with unchanged(jaxpr=jaxpr, params=params, cts=cts):
        got = run_backwards(jaxpr, [], [linear_of(aval()) for _ in xs], cts)
    found = [0.0 if type(ct) is Zero else float(ct) for ct in got]
    assert found == [2 * ct if flag else 0.0 for ct, flag in zip((1.0, 10.0, 100.0), used)]
    many_p, got = bind.Primitive("many"), []
    rule = lambda ct, *xs, **params: got.append(params) or [ct * k for k in range(len(xs))]  # noqa: E731
    monkeypatch.setitem(transpose_rules, many_p, rule)
    xs, out = [Var(aval()) for _ in range(8)], Var(aval())
    jaxpr = Jaxpr([], xs, [out], [JaxprEqn(many_p, xs, [out], {"by": None, "n": 0})])
    found = run_backwards(jaxpr, [], [linear_of(aval()) for _ in xs], [1.0])
    assert [float(ct) for ct in found] == [*range(8)], "each of eight operands has its cotangent"
    assert got == [{"by": None, "n": 0}], "parameters may be None or 0"


def test_while_an_equation_is_transposed_its_line_is_the_users_line(monkeypatch):
    note_p, lines = bind.Primitive("note"), []
    x, out = Var(aval()), Var(aval())
    jaxpr = Jaxpr([], [x], [out], [JaxprEqn(note_p, [x], [out], {}, ("program.py", 7, "f"))])

    def rule(ct, x):
        lines.append(bind.context.source_info)
        return [ct] if len(lines) == 1 else 1 / 0

    monkeypatch.setitem(transpose_rules, note_p, rule)
    backward_pass(jaxpr, [], [linear_of(aval())], [1.0])
    with pytest.raises(ZeroDivisionError):
        backward_pass(jaxpr, [], [linear_of(aval())], [1.0])
    left, bind.context.source_info = bind.context.source_info, None
    assert lines == [("program.py", 7, "f")] * 2
    lines, noting = [], lambda ct, x: lines.append(bind.context.source_info) or [ct]
    monkeypatch.setitem(transpose_rules, note_p, noting)
    middle = Var(aval())
    eqns = [
        JaxprEqn(note_p, [x], [middle], {}, ("program.py", 1, "f")),
        JaxprEqn(note_p, [middle], [out], {}, ("program.py", 2, "f")),
    ]
    backward_pass(Jaxpr([], [x], [out], eqns), [], [linear_of(aval())], [1.0])
    assert [line for _, line, _ in lines] == [2, 1], "each equation has its own line"
    assert left is None, "afterwards the line is what it was before, also after an error"


def test_an_equation_without_a_transpose_rule_is_named():
    x, out = Var(aval()), Var(aval())
    jaxpr = Jaxpr([], [x], [out], [JaxprEqn(bind.Primitive("new"), [x], [out], {})])
    with pytest.raises(NotImplementedError, match="for 'new' not implemented"):
        backward_pass(jaxpr, [], [linear_of(aval())], [1.0])


def test_the_arguments_accumulators_are_added_to():
    jaxpr = jax.make_jaxpr(lambda x, y, unused: (neg(x), neg(y)))(1.0, 1.0, 1.0).jaxpr
    args = [linear_of(aval(), bind.as_array(10.0)), linear_of(aval()), linear_of(aval())]
    x, y, unused = run_backwards(jaxpr, [], args, [1.0, 1.0])
    assert float(x) == 9.0, "it had 10 already, as a loop has what the iterations before gave"
    assert float(y) == -1.0 and type(unused) is Zero


def test_an_equation_whose_result_has_no_cotangent_is_not_transposed():
    untransposable_p = bind.Primitive("untransposable")
    a, b, c = Var(aval()), Var(aval()), Var(aval())
    eqns = [
        JaxprEqn(primitives.neg_p, [a], [b], {}),
        JaxprEqn(untransposable_p, [a], [c], {}),
    ]
    jaxpr = Jaxpr([], [a], [b, c], eqns)
    (ct,) = run_backwards(jaxpr, [], [linear_of(aval())], [1.0, Zero(aval())])
    assert float(ct) == -1.0
