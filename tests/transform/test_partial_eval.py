"""Partial evaluation: what is known is computed, the rest is written down."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax.core import bind, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import jaxpr_as_fun
from tinyjax.core.lists import drop, merge_lists, pick
from tinyjax.core.primitives import cos, mul, sin
from tinyjax.core.tracing import JaxprTrace
from tinyjax.transform.jvp import JVPTrace, jvp_rules
from tinyjax.transform.partial_eval import (
    PartialEvalTrace,
    linearize_flat,
    partial_eval_jaxpr,
    partial_eval_rules,
    trace_linear,
    values_of,
)

scalar = ShapedArray((), np.dtype("float32"))


def f(x):
    return mul(sin(x), x)


# ---- the trace, by hand ----


@pytest.fixture
def trace():
    return PartialEvalTrace(bind.context.trace, JaxprTrace())


def test_what_is_known_is_computed_by_the_parent(trace):
    out = trace.process_primitive(primitives.sin_p, [2.0], {})
    assert not trace.is_unknown(out) and trace.unknown.eqns == []
    np.testing.assert_allclose(out, np.sin(2.0), rtol=1e-6)


def test_what_has_an_unknown_operand_is_written_down(trace):
    t = trace.unknown.new_arg(scalar)
    out = trace.process_primitive(primitives.mul_p, [5.0, t], {})
    assert trace.is_unknown(out)
    assert [eqn.primitive for eqn in trace.unknown.eqns] == [primitives.mul_p]


def test_how_an_operation_is_written_down_says_the_trace_that_writes(trace, monkeypatch):
    handed = []
    monkeypatch.setattr(trace.unknown, "process_primitive", lambda *args: handed.append(args))
    t = trace.unknown.new_arg(scalar)
    trace.process_primitive(primitives.mul_p, [5.0, t], {})
    assert handed == [(primitives.mul_p, [5.0, t], {})], "hand it over as bind would"


def test_a_known_array_in_an_unknown_operation_is_a_residual(trace):
    t, known = trace.unknown.new_arg(scalar), bind.as_array(np.float32(3))
    out = trace.process_primitive(primitives.mul_p, [known, t], {})
    assert trace.unknown.finish([out]).consts == [known]


def test_a_tracer_of_another_trace_is_known(trace):
    outer = JaxprTrace()
    trace.parent = outer
    out = trace.process_primitive(primitives.sin_p, [outer.new_arg(scalar)], {})
    assert not trace.is_unknown(out)
    assert len(outer.eqns) == 1 and trace.unknown.eqns == []


def test_a_primitive_may_have_a_partial_eval_rule(trace, monkeypatch):
    rule = lambda *args: ("the rule got", args)  # noqa: E731
    monkeypatch.setitem(partial_eval_rules, primitives.sin_p, rule)
    t = trace.unknown.new_arg(scalar)
    assert trace.process_primitive(primitives.sin_p, [t], {}) == (
        "the rule got",
        (trace, [t], {}),
    )
    assert float(trace.process_primitive(primitives.sin_p, [0.0], {})) == 0.0


# ---- from a function to what is known and what is linear ----


def parted(fun, *primals):
    trace = JVPTrace(PartialEvalTrace(bind.context.trace, JaxprTrace()))
    return trace_linear(trace, fun, primals)


def test_a_function_is_run_on_known_primals_and_unknown_tangents():
    outs, closed, *nonzero = parted(lambda x: [f(x)], np.float32(3))
    np.testing.assert_allclose(outs, [np.sin(3.0) * 3], rtol=1e-6)
    (tangent,) = jaxpr_as_fun(closed)(2.0)
    np.testing.assert_allclose(tangent, 2 * (np.cos(3.0) * 3 + np.sin(3.0)), rtol=1e-6)
    assert nonzero == [[True], [True]]


def test_an_integer_has_no_tangent():
    outs, closed, nonzero_ins, _ = parted(lambda n, x: [mul(x, float(n))], 2, np.float32(3))
    assert nonzero_ins == [False, True]
    assert len(closed.jaxpr.invars) == 1, "only arguments that have tangents are in the jaxpr"
    assert float(outs[0]) == 6.0


def test_a_result_that_does_not_move_has_no_tangent():
    outs, closed, _, nonzero_outs = parted(lambda x: [sin(x), 5.0], np.float32(3))
    assert outs[1] == 5.0 and nonzero_outs == [True, False]
    assert len(closed.jaxpr.outvars) == 1, "only results that have tangents are in the jaxpr"


def test_a_tangent_knows_the_line_that_asked_for_it():
    tangents = []
    parted(lambda x: [tangents.append(x.tangent) or x], np.float32(3))
    assert __file__ in str(tangents[0].line), "new_arg(aval, user_line())"


def test_a_result_that_depends_on_a_tangent_cannot_be_known(monkeypatch):
    mixed_p = bind.Primitive("mixed")
    monkeypatch.setitem(jvp_rules, mixed_p, lambda primals, tangents: (tangents[0], tangents[0]))
    with pytest.raises(ValueError):
        parted(lambda x: [mixed_p.bind(x)], np.float32(3))


# ---- linearize ----


def test_linearize_gives_the_value_and_a_linear_function():
    y, f_jvp = jax.linearize(f, 3.0)
    np.testing.assert_allclose(y, np.sin(3.0) * 3, rtol=1e-6)
    np.testing.assert_allclose(f_jvp(1.0), np.cos(3.0) * 3 + np.sin(3.0), rtol=1e-6)
    np.testing.assert_allclose(f_jvp(2.0), 2 * f_jvp(1.0), rtol=1e-6)


def test_which_arguments_and_which_results_move_is_told_apart():
    outs, linearized = linearize_flat(lambda n, x: [x, 5.0, mul(x, 2.0)], [3, np.float32(2)])
    assert [float(x) for x in outs] == [2.0, 5.0, 4.0]
    assert linearized.nonzero_ins == [False, True]
    assert linearized.nonzero_outs == [True, False, True]


def test_what_is_known_goes_to_the_trace_around():
    closed = jax.make_jaxpr(lambda x: linearize_flat(lambda y: [sin(y)], [x])[0])(1.0)
    assert "sin" in [eqn.primitive.name for eqn in closed.eqns], "the current trace is the parent"


def test_the_linear_function_does_not_run_the_function_again():
    calls = []
    _, f_jvp = jax.linearize(lambda x: (calls.append(1), f(x))[1], 3.0)
    f_jvp(1.0), f_jvp(2.0)
    assert len(calls) == 1


def test_the_linear_jaxpr_has_only_what_involves_tangents():
    _, linearized = linearize_flat(lambda x: [f(x)], [3.0])
    assert [eqn.primitive.name for eqn in linearized.jaxpr.eqns] == ["mul", "mul", "mul", "add_any"]


def test_residuals_are_arrays_that_were_computed_with_the_primals():
    x = np.ones(3, np.float32)
    _, linearized = linearize_flat(lambda x: [f(x)], [x])
    values = [np.asarray(r) for r in linearized.residuals]
    assert any(np.array_equal(v, np.cos(x)) for v in values)
    assert any(v is x or np.array_equal(v, np.sin(x)) for v in values)


def test_a_residual_that_no_result_needs_is_not_kept():
    def wasteful(x):
        mul(cos(x), x)  # nobody looks at this
        return [mul(x, 2.0)]

    _, linearized = linearize_flat(wasteful, [np.ones(3, np.float32)])
    names = [eqn.primitive.name for eqn in linearized.jaxpr.eqns]
    assert names == ["mul"], "the result needs the multiplication by 2 alone"
    assert linearized.residuals == []


def test_a_jaxpr_is_split_into_a_known_and_an_unknown_part():
    closed = jax.make_jaxpr(lambda x, y: mul(sin(x), cos(y)))(1.0, 2.0)
    known, unknown, unknown_outs, known_outs, residuals = partial_eval_jaxpr(closed, (False, True))
    assert [eqn.primitive.name for eqn in known.eqns] == ["sin"]
    assert [eqn.primitive.name for eqn in unknown.eqns] == ["cos", "mul"]
    assert unknown_outs == (True,) and known_outs == [] and residuals == [("out", 0)]


def pieced_together(closed, unknown_ins, args, force_unknown=()):
    """The results of a jaxpr that was split, each part run on what it needs."""
    known, unknown, unknown_outs, known_outs, residuals = partial_eval_jaxpr(
        closed, unknown_ins, force_unknown
    )
    known_args = drop(args, unknown_ins)
    values = {"in": known_args, "out": jaxpr_as_fun(known)(*known_args)}
    now = values_of(known_outs, values)
    later = jaxpr_as_fun(unknown)(*values_of(residuals, values), *pick(args, unknown_ins))
    return [float(x) for x in merge_lists(unknown_outs, now, later)]


TWO_BY_TWO = [(False, False), (False, True), (True, False), (True, True)]


@pytest.mark.parametrize("unknown_ins", TWO_BY_TWO)
def test_the_parts_together_give_what_the_whole_gives(unknown_ins):
    array = bind.as_array(np.float32(7))
    closed = jax.make_jaxpr(lambda x, y: (mul(sin(x), y), cos(x), mul(y, array), x))(1.0, 2.0)
    want = [float(x) for x in jaxpr_as_fun(closed)(1.0, 2.0)]
    assert pieced_together(closed, unknown_ins, [1.0, 2.0]) == want


def test_a_known_result_can_be_forced_to_be_unknown():
    closed = jax.make_jaxpr(lambda x, y: (sin(x), cos(y)))(1.0, 2.0)
    _, _, unknown_outs, known_outs, residuals = partial_eval_jaxpr(
        closed, (False, True), (True, False)
    )
    assert unknown_outs == (True, True) and known_outs == [] and residuals == [("out", 0)]
    assert pieced_together(closed, (False, True), [1.0, 2.0], (True, False)) == [
        float(sin(1.0)),
        float(cos(2.0)),
    ]
    known_constant = jax.make_jaxpr(lambda x, y: (x, 5.0))(1.0, 2.0)
    forced = pieced_together(known_constant, (False, True), [1.0, 2.0], (True, True))
    assert forced == [1.0, 5.0], "an input and a constant may be forced too"


def test_a_const_of_the_jaxpr_is_a_source_of_its_own():
    array = bind.as_array(np.float32(7))
    closed = jax.make_jaxpr(lambda y: mul(y, array))(2.0)
    known, _, _, _, residuals = partial_eval_jaxpr(closed, (True,))
    assert residuals == [("const", array)] and known.out_avals == []
    closed = jax.make_jaxpr(lambda x, y: (5.0, y))(2.0, 2.0)
    known, _, _, outs, _ = partial_eval_jaxpr(closed, (False, True))
    assert outs == [("out", 0)], "5.0 is no const of the jaxpr: the known part gives it"


def test_neither_part_has_dead_code():
    def wasteful(x, y):
        cos(x), cos(y)  # nobody looks at these
        return sin(x), sin(y)

    closed = jax.make_jaxpr(wasteful)(1.0, 2.0)
    known, unknown, *_ = partial_eval_jaxpr(closed, (False, True))
    assert [eqn.primitive.name for eqn in (*known.eqns, *unknown.eqns)] == ["sin", "sin"]


def test_a_value_that_is_a_result_and_a_residual_is_computed_once():
    def twice_used(x, y):
        sine = sin(x)
        return sine, mul(sine, y)

    closed = jax.make_jaxpr(twice_used)(1.0, 2.0)
    known, _, _, known_outs, residuals = partial_eval_jaxpr(closed, (False, True))
    assert known_outs == residuals == [("out", 0)], (
        "the sine is a result and a residual: one output"
    )
    assert len(known.out_avals) == 1


def test_a_known_input_is_not_given_back():
    closed = jax.make_jaxpr(lambda x, y: mul(x, y))(1.0, 2.0)
    known, _, _, _, residuals = partial_eval_jaxpr(closed, (False, True))
    assert residuals == [("in", 0)] and known.out_avals == []


def test_jit_gives_and_takes_the_linear_function():
    _, f_jvp = jax.jit(lambda x: jax.linearize(f, x))(3.0)
    tangent_out = jax.jit(lambda f_jvp, t: f_jvp(t))(f_jvp, 2.0)
    np.testing.assert_allclose(tangent_out, jax.jvp(f, (3.0,), (2.0,))[1], rtol=1e-6)


def test_linearize_takes_tangents_of_the_primals_shape():
    _, f_jvp = jax.linearize(f, np.ones(3, np.float32))
    with pytest.raises(ValueError, match=r"float32\[2\].*float32\[3\]"):
        f_jvp(np.ones(2, np.float32))
