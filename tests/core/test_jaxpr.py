"""Jaxprs: built by hand, run and checked."""

import itertools

import numpy as np
import pytest
from judged import each_error, error_passes, raises, unchanged

import tinyjax as jax
from tinyjax.core import bind, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    JaxprTypeError,
    Literal,
    Var,
    check_jaxpr,
    dce_jaxpr,
    dce_rules,
    eval_jaxpr,
    jaxpr_as_fun,
)
from tinyjax.core.lists import pick
from tinyjax.core.primitives import cos, sin

scalar = ShapedArray((), np.dtype("float32"))


def sin_times_x() -> Jaxpr:
    a, b, c = Var(scalar), Var(scalar), Var(scalar)
    eqns = [JaxprEqn(primitives.sin_p, [a], [b], {}), JaxprEqn(primitives.mul_p, [b, a], [c], {})]
    return Jaxpr([], [a], [c], eqns)


def test_a_jaxpr_is_run_by_binding_its_equations_in_order():
    (out,) = eval_jaxpr(sin_times_x(), [], np.float32(3.0))
    assert float(out) == np.sin(np.float32(3)) * np.float32(3)


def test_several_results_of_an_equation_have_a_variable_each():
    pair_p = bind.Primitive("pair", multiple_results=True)
    pair_p.def_impl(lambda x: [x + 1, x + 2])
    pair_p.def_abstract_eval(lambda aval: [aval, aval])
    a, b, c = Var(scalar), Var(scalar), Var(scalar)
    jaxpr = Jaxpr([], [a], [c, b], [JaxprEqn(pair_p, [a], [b, c], {})])
    assert [float(x) for x in eval_jaxpr(jaxpr, [], np.float32(0))] == [2.0, 1.0]


def test_while_a_jaxpr_runs_the_users_line_is_that_of_each_equation(monkeypatch):
    around = ("program.py", 1, "main")  # a jaxpr may run while an equation of another one does
    monkeypatch.setattr(bind.context, "source_info", around)
    lines = []
    note_p = bind.Primitive("note")
    note_p.def_impl(lambda x: lines.append(bind.context.source_info) or x)
    note_p.def_abstract_eval(lambda aval: aval)
    a, b = Var(scalar), Var(scalar)
    line = ("program.py", 7, "f")
    c = Var(scalar)
    eqns = [JaxprEqn(note_p, [a], [b], {}, line), JaxprEqn(note_p, [b], [c], {})]
    eval_jaxpr(Jaxpr([], [a], [c], eqns), [], 1.0)
    assert lines == [line, None], "an equation of no line is of no line"
    assert bind.context.source_info == around, "afterwards the line is what it was before"


def test_after_an_error_the_users_line_is_what_it_was_before(monkeypatch):
    around = ("program.py", 1, "main")
    monkeypatch.setattr(bind.context, "source_info", around)

    def refuse(x):
        raise KeyError("refused")

    refuse_p = bind.Primitive("refuse")
    refuse_p.def_impl(refuse)
    refuse_p.def_abstract_eval(lambda aval: aval)
    a, b = Var(scalar), Var(scalar)
    eqn = JaxprEqn(refuse_p, [a], [b], {}, ("program.py", 7, "f"))
    with pytest.raises(KeyError, match="refused"):
        eval_jaxpr(Jaxpr([], [a], [b], [eqn]), [], 1.0)
    left = bind.context.source_info
    assert left == around, "afterwards the line is what it was before, also after an error"


def test_an_equation_has_its_literals_and_its_parameters():
    a, b, c = Var(scalar), Var(scalar), Var(scalar)
    eqns = [
        JaxprEqn(
            primitives.broadcast_in_dim_p, [a], [b], {"shape": (2,), "broadcast_dimensions": ()}
        ),
        JaxprEqn(primitives.mul_p, [b, Literal(3.0, scalar)], [c], {}),
    ]
    (out,) = eval_jaxpr(Jaxpr([], [a], [c], eqns), [], np.float32(2))
    np.testing.assert_array_equal(out, [6, 6])


def test_a_well_formed_jaxpr_passes_the_checker():
    check_jaxpr(sin_times_x())


def test_a_variable_must_be_bound_before_it_is_used():
    jaxpr = sin_times_x()
    with pytest.raises(JaxprTypeError, match="used in .*mul.* before it is bound"):
        check_jaxpr(jaxpr.replace(eqns=jaxpr.eqns[::-1]))


def test_a_variable_is_bound_once():
    jaxpr = sin_times_x()
    with pytest.raises(JaxprTypeError, match="bound twice"):
        check_jaxpr(jaxpr.replace(eqns=[jaxpr.eqns[0], *jaxpr.eqns]))


def test_a_variable_is_not_bound_by_the_equation_that_uses_it():
    a = Var(scalar)
    with pytest.raises(JaxprTypeError, match="used in .*sin.* before it is bound"):
        check_jaxpr(Jaxpr([], [], [a], [JaxprEqn(primitives.sin_p, [a], [a], {})]))


def test_constvars_and_arguments_are_bound_once_too():
    a, b = Var(scalar), Var(scalar)
    with pytest.raises(JaxprTypeError, match="bound twice, the second time in invars"):
        check_jaxpr(Jaxpr([], [a, b, a], [a], []))
    with pytest.raises(JaxprTypeError, match="bound twice, the second time in constvars"):
        check_jaxpr(Jaxpr([a, b, b], [], [a], []))
    with pytest.raises(JaxprTypeError, match="bound twice, the second time in invars"):
        check_jaxpr(Jaxpr([a], [a], [a], []))


def test_literals_and_constvars_need_no_equation():
    a, b = Var(scalar), Var(scalar)
    eqn = JaxprEqn(primitives.mul_p, [a, Literal(2.0, scalar)], [b], {})
    check_jaxpr(Jaxpr([a], [], [b, Literal(1.0, scalar)], [eqn]))


def test_a_result_of_the_jaxpr_must_be_bound():
    with pytest.raises(JaxprTypeError, match="used in outvars before it is bound"):
        check_jaxpr(sin_times_x().replace(outvars=[Var(scalar)]))


def test_a_result_must_have_the_aval_that_the_rule_says():
    a, b = Var(scalar), Var(ShapedArray((3,), np.dtype("float32")))
    with pytest.raises(JaxprTypeError, match=r"sin gives f32\[\], but the variable is f32\[3\]"):
        check_jaxpr(Jaxpr([], [a], [b], [JaxprEqn(primitives.sin_p, [a], [b], {})]))
    first = [JaxprEqn(primitives.sin_p, [a], [Var(scalar)], {}) for _ in range(5)]
    with pytest.raises(JaxprTypeError, match=r"sin gives f32\[\], but the variable is f32\[3\]"):
        check_jaxpr(Jaxpr([], [a], [b], [*first, JaxprEqn(primitives.sin_p, [a], [b], {})]))


def test_the_wrong_number_of_arguments_is_an_error():
    for args in ((), (1.0, 2.0)):
        with pytest.raises(
            TypeError, match=rf"\b1\b.*\b{len(args)}\b"
        ):  # it takes 1, and got len(args)
            eval_jaxpr(sin_times_x(), [], *args)
    with pytest.raises(TypeError, match="0.*1"):
        eval_jaxpr(Jaxpr([], [], [], []), [], 1.0)


def test_a_closed_jaxpr_carries_the_values_of_its_constvars():
    c, a, b = Var(scalar), Var(scalar), Var(scalar)
    jaxpr = Jaxpr([c], [a], [b], [JaxprEqn(primitives.add_p, [a, c], [b], {})])
    assert float(jaxpr_as_fun(ClosedJaxpr(jaxpr, [np.float32(10)]))(np.float32(1))[0]) == 11.0
    with pytest.raises(ValueError, match="1 constvars but 0 consts"):
        ClosedJaxpr(jaxpr, [])


def test_dead_code_elimination_keeps_what_the_results_need():
    a, b, c = Var(scalar), Var(scalar), Var(scalar)
    eqns = [JaxprEqn(primitives.sin_p, [a], [b], {}), JaxprEqn(primitives.cos_p, [a], [c], {})]
    smaller, _, used_invars = dce_jaxpr(Jaxpr([], [a], [b, c], eqns), [True, False])
    assert smaller.outvars == [b]
    assert [eqn.primitive.name for eqn in smaller.eqns] == ["sin"]
    assert used_invars == [True]


def test_dead_code_elimination_goes_backwards_through_chains():
    a, b, c = Var(scalar), Var(scalar), Var(scalar)
    eqns = [JaxprEqn(primitives.sin_p, [a], [b], {}), JaxprEqn(primitives.cos_p, [b], [c], {})]
    smaller, _, used_invars = dce_jaxpr(Jaxpr([], [a], [c, a], eqns), [False, True])
    assert smaller.eqns == [], "the cosine is not needed, and so the sine is not either"
    assert smaller.outvars == [a] and used_invars == [True]


def test_dead_code_elimination_drops_unused_constants_but_no_arguments():
    c, d, a, b = Var(scalar), Var(scalar), Var(scalar), Var(scalar)
    eqns = [JaxprEqn(primitives.sin_p, [d], [b], {})]
    smaller, used_consts, used_invars = dce_jaxpr(Jaxpr([c, d], [a], [b], eqns), [True])
    assert (used_consts, used_invars) == ([False, True], [False])
    assert smaller.constvars == [d] and smaller.invars == [a]


def test_dead_code_elimination_keeps_side_effects():
    shout_p = bind.Primitive("shout", has_effects=True)
    a, b, c = Var(scalar), Var(scalar), Var(scalar)
    eqns = [JaxprEqn(primitives.sin_p, [a], [b], {}), JaxprEqn(shout_p, [b], [c], {})]
    smaller, _, _ = dce_jaxpr(Jaxpr([], [a], [], eqns), [])
    assert [eqn.primitive for eqn in smaller.eqns] == [primitives.sin_p, shout_p]
    alone = JaxprEqn(shout_p, [], [], {})
    assert dce_jaxpr(Jaxpr([], [a], [a], [alone]), [True])[0].eqns == [alone], "it reads nothing"
    dce_rules[shout_p] = lambda eqn, used: eqn.replace(params={"smaller": used})
    try:
        (eqn,) = dce_jaxpr(Jaxpr([], [a], [], eqns[1:]), [])[0].eqns
    finally:
        del dce_rules[shout_p]
    assert eqn.params == {"smaller": [False]}, "an equation with effects has its rule asked too"
    read = dce_jaxpr(Jaxpr([], [a, b], [], [JaxprEqn(shout_p, [a], [c], {})]), [])[2]
    assert read == [True, False], "what an equation with effects reads is used"


def test_dead_code_elimination_lets_an_equation_make_itself_smaller(monkeypatch):
    pair_p = bind.Primitive("pair", multiple_results=True)
    a, b, c, d = (Var(scalar) for _ in range(4))
    asked = []
    rule = lambda eqn, used: asked.append((eqn.primitive, used)) or eqn.replace(invars=[a])  # noqa: E731
    monkeypatch.setitem(dce_rules, pair_p, rule)
    smaller, _, used_invars = dce_jaxpr(
        Jaxpr([], [a, d], [c], [JaxprEqn(pair_p, [a, d], [b, c], {})]), [True]
    )
    assert asked == [(pair_p, [False, True])] and smaller.eqns[0].invars == [a]
    assert used_invars == [True, False], "what the smaller equation needs, not the one before"


def test_dead_code_within_an_equation_is_looked_for_also_where_all_its_results_are_used(
    monkeypatch,
):
    call_p, a, b = bind.Primitive("call"), Var(scalar), Var(scalar)
    monkeypatch.setitem(dce_rules, call_p, lambda eqn, used: eqn.replace(params={"used": used}))
    smaller, _, _ = dce_jaxpr(Jaxpr([], [a], [b], [JaxprEqn(call_p, [a], [b], {})]), [True])
    assert smaller.eqns[0].params == {"used": [True]}, (
        "the equation that its rule in dce_rules gave"
    )


def test_dead_code_elimination_keeps_a_call_that_only_prints():
    printing = jax.checkpoint(lambda x: jax.debug.print("{}", x))
    for call in (printing, jax.checkpoint(printing)):
        closed = jax.make_jaxpr(lambda x, call=call: (call(x), sin(x), cos(x))[1:])(1.0)
        smaller, _, used = dce_jaxpr(closed.jaxpr, [False, True])
        assert [eqn.primitive.name for eqn in smaller.eqns] == ["remat2", "cos"], (
            "a call has an effect, too, if an equation in its jaxpr has"
        )
        assert used == [True]
        assert "debug" in str(smaller)


@pytest.mark.parametrize("used", list(itertools.product([False, True], repeat=3)))
def test_of_three_constants_arguments_and_results_each_may_go(used):
    consts, args, results = ([Var(scalar) for _ in range(3)] for _ in range(3))
    eqns = [JaxprEqn(primitives.mul_p, [*xs], [out], {}) for *xs, out in zip(consts, args, results)]
    jaxpr, flags = Jaxpr(consts, args, results, eqns), list(used)
    with unchanged(jaxpr=jaxpr, flags=flags):
        smaller, used_consts, used_args = dce_jaxpr(jaxpr, flags)
    assert used_consts == used_args == flags
    assert smaller.constvars == pick(consts, used) and smaller.outvars == pick(results, used)
    assert smaller.eqns == pick(eqns, used) and smaller.invars == args
    result, same = Var(scalar), Jaxpr(consts, args, results[:1] * 3, eqns)
    assert dce_jaxpr(same, flags)[0].outvars == results[:1] * sum(flags), "one may be there twice"
    many_p = bind.Primitive("many")
    many = Jaxpr([], [*consts, *args], [result], [JaxprEqn(many_p, [*consts, *args], [result], {})])
    assert dce_jaxpr(many, [True])[2] == [True] * 6, "all operands of an equation are needed"
    bare = Jaxpr(consts, args, [consts[1], args[1]], [])
    assert dce_jaxpr(bare, [True, True])[1:] == ([False, True, False],) * 2, "results may be inputs"
    assert dce_jaxpr(bare, np.array([True, True]))[0].outvars == bare.outvars, (
        "flags may be NumPy's"
    )


@each_error
def test_an_error_of_a_rule_for_dead_code_goes_on_and_a_rule_gets_all_flags(monkeypatch, error):
    three_p, asked = bind.Primitive("three", multiple_results=True), []
    x, *outs = [Var(scalar) for _ in range(4)]
    jaxpr = Jaxpr([], [x], outs, [JaxprEqn(three_p, [x], outs, {})])
    monkeypatch.setitem(dce_rules, three_p, lambda eqn, used: asked.append(used) or eqn)
    dce_jaxpr(jaxpr, [False, False, True])
    assert asked == [[False, False, True]]
    with error_passes(error()) as raised:
        monkeypatch.setitem(dce_rules, three_p, raises(raised))
        dce_jaxpr(jaxpr, [True, True, True])


def test_a_literal_keeps_its_weak_type():
    weak = ShapedArray((), np.dtype("float32"), weak_type=True)
    (out,) = eval_jaxpr(Jaxpr([], [], [Literal(2.0, weak)], []), [])
    assert bind.get_aval(out).weak_type


def noting(calls):
    """A primitive with an effect: it notes its operands and parameters."""
    p = bind.Primitive("note", has_effects=True, multiple_results=True)
    p.def_impl(lambda *xs, **params: calls.append((*map(float, xs), params)) or [])
    p.def_abstract_eval(lambda *avals, **params: [])
    return p


def test_equations_that_are_equal_run_each_time_and_so_do_those_that_nobody_needs():
    calls, a, b = [], Var(scalar), Var(scalar)
    note = noting(calls)
    eqns = [
        JaxprEqn(note, [a, b, a], [], {"n": 1}),
        JaxprEqn(note, [a, b, a], [], {"n": 1}),
        JaxprEqn(note, [b], [], {"n": 2}),
    ]
    jaxpr, args = (
        Jaxpr([], [a, b], [a, a, Literal(0.0, scalar), b], eqns),
        [np.float32(1), np.float32(0)],
    )
    for other in (2.0, 3.0):
        args[1] = np.float32(other)
        with unchanged(args=args, eqns=eqns):
            outs = eval_jaxpr(jaxpr, [], *args)
        assert [float(x) for x in outs] == [1.0, 1.0, 0.0, other]
        assert calls == [(1, other, 1, {"n": 1})] * 2 + [(other, {"n": 2})]
        calls.clear()
    consts, arg = [Var(scalar) for _ in range(5)], Var(scalar)
    assert eval_jaxpr(Jaxpr(consts, [arg], [*consts, arg], []), range(5), 5) == [*range(6)]
    assert eval_jaxpr(Jaxpr(consts, [arg], [], []), range(5), 5) == [], "of no results, a list"
    ran, silent_p = [], bind.Primitive("silent", multiple_results=True)
    silent_p.def_impl(lambda x: ran.append(x) or [])
    noted_p = bind.Primitive("noted")
    noted_p.def_impl(lambda x: ran.append(x) or x)
    eqns = [JaxprEqn(p, [arg], [Var(scalar)][:n], {}) for n, p in enumerate((silent_p, noted_p))]
    eqns[1] = eqns[1].replace(source_info=("program.py", 3, "f"))
    before, bind.context.source_info = bind.context.source_info, None
    try:
        eval_jaxpr(Jaxpr([], [arg], [], eqns), [], 5)
        left = bind.context.source_info
    finally:
        bind.context.source_info = before
    assert ran == [5, 5], "each equation runs, also without results, or where they are unused"
    assert left is None, f"there was no line before, and afterwards there is {left}"


@each_error
def test_an_error_of_an_operation_goes_on(error):
    p, a, b = bind.Primitive("p"), Var(scalar), Var(scalar)
    with error_passes(error()) as raised:
        p.def_impl(raises(raised))
        eval_jaxpr(Jaxpr([], [a], [b], [JaxprEqn(p, [a], [b], {})]), [], np.float32(1))


def test_values_are_there_as_long_as_they_are_needed_and_constants_may_be_several():
    c, d, a, b, e = (Var(scalar) for _ in range(5))
    eqns = [
        JaxprEqn(primitives.add_p, [c, d], [b], {}),
        JaxprEqn(primitives.mul_p, [b, a], [e], {}),
    ]
    consts = [np.float32(1), np.float32(2)]
    with unchanged(consts=consts):
        outs = eval_jaxpr(Jaxpr([c, d], [a], [e, b, a, d], eqns), consts, np.float32(10))
    assert [float(x) for x in outs] == [30, 3, 10, 2]


def bound_twice():
    """Jaxprs in which v is bound twice, and where the second time is."""
    v, a, b = (Var(scalar) for _ in range(3))
    sin = lambda x, y: JaxprEqn(primitives.sin_p, [x], [y], {})  # noqa: E731
    pair = bind.Primitive("pair", multiple_results=True)
    pair.def_abstract_eval(lambda aval: [aval, aval, aval])
    return {
        "an argument, and a result": (Jaxpr([], [a, v], [v], [sin(a, v)]), "sin"),
        "a constant, and a result": (Jaxpr([v], [a], [v], [sin(a, v)]), "sin"),
        "its own operand": (Jaxpr([], [v], [v], [sin(v, v)]), "sin"),
        "the first result, and the third": (
            Jaxpr([], [a], [v], [JaxprEqn(pair, [a], [v, b, v], {})]),
            "pair",
        ),
        "of equations that are not neighbours": (
            Jaxpr([], [a], [v], [sin(a, v), sin(v, b), sin(b, v)]),
            "sin",
        ),
        "a constant, and an argument": (Jaxpr([a, v], [b, v], [a], []), "invars"),
    }


@pytest.mark.parametrize("which", bound_twice())
def test_whatever_binds_a_variable_a_second_time_is_named(which):
    jaxpr, where = bound_twice()[which]
    with unchanged(eqns=jaxpr.eqns), pytest.raises(JaxprTypeError, match=f"bound twice.*{where}"):
        check_jaxpr(jaxpr)
        pytest.fail(f"a variable is bound twice ({which}), and no error was raised")


def test_operands_of_every_equation_and_all_results_must_be_bound():
    a, b, c = (Var(scalar) for _ in range(3))
    eqn = JaxprEqn(primitives.mul_p, [a, Var(scalar)], [b], {})
    with pytest.raises(JaxprTypeError, match="used in .*mul.* before it is bound"):
        check_jaxpr(Jaxpr([], [a], [b], [eqn]))
    with pytest.raises(JaxprTypeError, match="used in outvars before it is bound"):
        check_jaxpr(Jaxpr([], [a], [a, Literal(1.0, scalar), c], []))
    p = bind.Primitive("p", multiple_results=True)
    p.def_abstract_eval(lambda *avals: [])
    for unbound in range(5):
        atoms = [a, a, a, a, a]
        atoms[unbound] = c
        with pytest.raises(JaxprTypeError, match="used in .*p.* before it is bound"):
            check_jaxpr(Jaxpr([], [a], [], [JaxprEqn(p, atoms, [], {})]))
            pytest.fail(f"operand {unbound} of an equation without results is not bound")
        with pytest.raises(JaxprTypeError, match="used in outvars before it is bound"):
            check_jaxpr(Jaxpr([], [a], atoms, []))
            pytest.fail(f"result {unbound} is not bound")


@each_error
def test_an_error_of_an_abstract_eval_rule_goes_on(error):
    p, a, b = bind.Primitive("p"), Var(scalar), Var(scalar)
    with error_passes(error()) as raised:
        p.def_abstract_eval(raises(raised))
        check_jaxpr(Jaxpr([], [a], [b], [JaxprEqn(p, [a], [b], {})]))
