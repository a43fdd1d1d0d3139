"""Linearize: an operation on pairs is parted at once, into what is computed and what is written down."""

import functools

import numpy as np
import pytest
from explain_errors import explain_errors
from judged import SMALL_FLOAT, Failing, Thrown, each_error, error_passes, raises, unchanged

import tinyjax as jax
from tinyjax.core import bind, dtypes, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.primitives import cos, mul, sin
from tinyjax.core.tracing import JaxprTrace
from tinyjax.transform import linearize as linearize_module
from tinyjax.transform.jvp import JVPTrace, JVPTracer, Zero, jvp_rules
from tinyjax.transform.linearize import (
    LinearizeTrace,
    LinearizeTracer,
    linearize_flat,
    linearize_rules,
    partial_eval_rules,
    trace_linear,
)

scalar = ShapedArray((), np.dtype("float32"))


def f(x):
    return mul(sin(x), x)


# ---- the trace, by hand ----


@pytest.fixture
def trace():
    return LinearizeTrace(bind.context.trace, JaxprTrace())


def pair_in(trace, primal=3.0):
    return LinearizeTracer(trace, np.float32(primal), trace.unknown.new_arg(scalar))


def written(trace):
    return [eqn.primitive.name for eqn in trace.unknown.eqns]


def test_a_pair_is_shown_with_the_type_of_its_tangent(trace):
    assert repr(pair_in(trace)) == "GradTracer(primal=3.0, typeof(tangent)=f32[])"


def test_what_is_known_is_computed_by_the_parent(trace):
    out = trace.process_primitive(primitives.sin_p, [2.0], {})
    assert not trace.is_unknown(out) and trace.unknown.eqns == []
    np.testing.assert_allclose(out, np.sin(2.0), rtol=1e-6)
    trace.parent = outer = JaxprTrace()
    out = trace.process_primitive(primitives.sin_p, [outer.new_arg(scalar)], {})
    assert not trace.is_unknown(out), "a tracer of another trace is known"
    assert len(outer.eqns) == 1 and trace.unknown.eqns == []


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


def test_a_primitive_may_have_a_partial_eval_rule(trace, monkeypatch):
    rule = lambda *args: ("the rule got", args)  # noqa: E731
    monkeypatch.setitem(partial_eval_rules, primitives.sin_p, rule)
    t = trace.unknown.new_arg(scalar)
    assert trace.process_primitive(primitives.sin_p, [t], {}) == (
        "the rule got",
        (trace, [t], {}),
    )
    assert float(trace.process_primitive(primitives.sin_p, [0.0], {})) == 0.0


def test_of_a_pair_the_result_is_computed_and_the_tangent_written_down(trace):
    with explain_errors(
        "the rule's own operations are known, or unknown: this trace sends them on"
    ):
        out = trace.process_primitive(primitives.sin_p, [pair_in(trace)], {})
    assert type(out) is LinearizeTracer and out._trace is trace
    np.testing.assert_allclose(out.primal, np.sin(3.0), rtol=1e-6)
    assert trace.is_unknown(out.tangent) and written(trace) == ["mul"]
    np.testing.assert_allclose(trace.unknown.finish([out.tangent]).consts, [np.cos(3.0)], rtol=1e-6)


def test_operands_without_a_tangent_are_constants(trace):
    pair = pair_in(trace)
    inner = JVPTracer(JVPTrace(bind.context.trace), 2.0, 1.0)
    for constant in (2.0, bind.as_array(2.0), inner, pair_in(LinearizeTrace(trace, JaxprTrace()))):
        primal, tangent = trace.primal_and_tangent(constant)
        assert primal is constant and type(tangent) is Zero
    out = trace.process_primitive(primitives.mul_p, [pair, 5.0], {})
    assert float(out.primal) == 15.0 and written(trace) == ["mul"]


def test_a_jvp_rule_is_run_in_the_trace_itself(trace, monkeypatch):
    seen = []

    def rule(primals, tangents, *, by):
        seen.append((bind.context.trace, primals, tangents, by))
        return primals[0], tangents[0]

    new_p = bind.Primitive("new")
    monkeypatch.setitem(jvp_rules, new_p, rule)
    pair = pair_in(trace)
    with bind.set_current_trace(trace):
        out = new_p.bind(pair, 2.0, by=7)
    ((current, primals, tangents, by),) = seen
    assert current is trace and by == 7
    assert tuple(primals) == (pair.primal, 2.0) and tangents[0] is pair.tangent
    assert type(tangents[1]) is Zero
    assert (out.primal, out.tangent) == (pair.primal, pair.tangent)


def test_a_linearize_rule_runs_in_the_parent_and_its_linear_function_where_tangents_are_written(
    trace, monkeypatch
):
    seen = []

    def rule(primals, nonzeros, *, by):
        seen.append((bind.context.trace, primals, nonzeros, by))

        def linear(*tangents):
            seen.append((bind.context.trace, tangents))
            return tangents[0]

        return 5.0, linear

    new_p = bind.Primitive("new")
    monkeypatch.setitem(linearize_rules, new_p, rule)
    pair = pair_in(trace)
    with bind.set_current_trace(trace):
        out = new_p.bind(pair, 2.0, by=7)
    (current, primals, nonzeros, by), (later, tangents) = seen
    assert current is trace.parent, "a linearize rule runs in the parent"
    assert later is trace.unknown, "its linear function runs in the trace that writes equations"
    assert tuple(primals) == (pair.primal, 2.0) and list(nonzeros) == [True, False] and by == 7
    assert tangents[0] is pair.tangent and type(tangents[1]) is Zero
    assert (out.primal, out.tangent) == (5.0, pair.tangent)


def test_several_results_are_a_list_of_which_some_may_not_move(trace, monkeypatch):
    pair_p = bind.Primitive("pair", multiple_results=True)
    zero = Zero(scalar)
    monkeypatch.setitem(jvp_rules, pair_p, lambda ps, ts: ([ps[0], 2.0, 3.0], [ts[0], zero, 0.0]))
    pair = pair_in(trace)
    moving, still, constant = trace.process_primitive(pair_p, [pair], {})
    assert moving.tangent is pair.tangent
    assert still == 2.0, "its tangent is a Zero"
    assert not isinstance(constant, bind.Tracer), "a tangent that is known is zero: no pair"
    assert constant == 3.0, "its tangent depends on no tangent: it is zero, whatever the rule says"


def test_without_a_rule_the_primitive_is_named(trace):
    with pytest.raises(NotImplementedError, match="new"):
        trace.process_primitive(bind.Primitive("new"), [pair_in(trace)], {})


def test_a_result_that_depends_on_a_tangent_cannot_be_known(trace, monkeypatch):
    for several in (False, True):
        mixed_p = bind.Primitive("mixed", multiple_results=several)
        out = lambda t, several=several: [t] if several else t  # noqa: E731
        monkeypatch.setitem(jvp_rules, mixed_p, lambda ps, ts, out=out: (out(ts[0]), out(ts[0])))
        with pytest.raises(ValueError, match="depends on a tangent"):
            trace.process_primitive(mixed_p, [pair_in(trace)], {})
        monkeypatch.setitem(
            jvp_rules, mixed_p, lambda ps, ts, out=out: (out(ts[0]), out(Zero(scalar)))
        )
        with pytest.raises(ValueError, match="depends on a tangent"):
            trace.process_primitive(mixed_p, [pair_in(trace)], {})
            pytest.fail("the primal is unknown, also where its tangent is a Zero")


def test_an_operation_on_a_pair_is_linearized(trace, monkeypatch):
    handed = []
    monkeypatch.setattr(trace, "linearize", lambda *args: handed.append(args))
    trace.process_primitive(primitives.mul_p, [2.0, pair_in(trace)], {})
    ((primitive, (number, pair), params),) = handed
    assert (primitive, number, params) == (primitives.mul_p, 2.0, {}) and pair._trace is trace
    inner = LinearizeTrace(trace, JaxprTrace())
    assert float(trace.process_primitive(primitives.sin_p, [0.0], {})) == 0.0
    with explain_errors("a pair of another trace is known here, and goes to the parent"):
        inner.process_primitive(primitives.neg_p, [pair], {})
    assert handed[1] == (primitives.neg_p, [pair], {}), "a pair of another trace is known here"


@each_error
def test_errors_go_on_from_where_an_operation_is_sent_to(trace, monkeypatch, error):
    t, pair = trace.unknown.new_arg(scalar), pair_in(trace)
    with error_passes(error("of the parent")) as raised:
        LinearizeTrace(Failing(raised), trace.unknown).process_primitive(
            primitives.sin_p, [2.0], {}
        )
    with error_passes(error("of a rule in partial_eval_rules")) as raised:
        monkeypatch.setitem(partial_eval_rules, primitives.sin_p, raises(raised))
        trace.process_primitive(primitives.sin_p, [t], {})
    for where, name, x in [(trace.unknown, "process_primitive", t), (trace, "linearize", pair)]:
        with error_passes(error(f"of {name}")) as raised:
            monkeypatch.setattr(where, name, raises(raised))
            trace.process_primitive(primitives.cos_p, [x], {})


def test_the_third_operand_alone_may_be_unknown_or_a_pair_and_each_call_is_its_own(
    trace, monkeypatch
):
    new_p, params = bind.Primitive("new"), {"by": [1]}
    monkeypatch.setattr(trace, "linearize", lambda _, args, params: ("linearized", args, params))
    rule = lambda trace, args, params: ("written", args, params)  # noqa: E731
    monkeypatch.setitem(partial_eval_rules, new_p, rule)
    for x in (1.0, 5.0):
        for way, last in [
            ("written", trace.unknown.new_arg(scalar)),
            ("linearized", pair_in(trace)),
        ]:
            args = [x, 2.0, last]
            with unchanged(args=args, params=params):
                assert trace.process_primitive(new_p, args, params) == (way, args, params)
    args = [trace.unknown.new_arg(scalar), 2.0, pair_in(trace)]
    (way, *handed) = trace.process_primitive(new_p, args, params)
    assert way == "linearized", "a pair decides, also where another operand is unknown"
    assert handed == [args, params]
    nothing_p = bind.Primitive("nothing")
    nothing_p.def_impl(lambda: 7.0)
    assert trace.process_primitive(nothing_p, [], {}) == 7.0, "of no operands all are known"
    got = []
    params = {"by": None, "flag": False}
    trace.parent, parent = Failing(Thrown()), trace.parent
    trace.parent.process_primitive = lambda *args: got.append(args)
    trace.process_primitive(nothing_p, [1.0], params)
    trace.parent = parent
    assert got == [(nothing_p, [1.0], params)], "the parent gets all parameters"
    for place in range(6):
        args = [1.0] * 6
        args[place] = pair_in(trace)
        assert trace.process_primitive(new_p, args, params)[0] == "linearized", f"operand {place}"
        args[place] = trace.unknown.new_arg(scalar)
        assert trace.process_primitive(new_p, args, params)[0] == "written", f"operand {place}"


@each_error
def test_an_error_of_a_rule_goes_on_and_the_trace_before_is_current(trace, monkeypatch, error):
    new_p, pair = bind.Primitive("new"), pair_in(trace)
    for rules, make in [
        (jvp_rules, raises),
        (linearize_rules, lambda error: lambda primals, _: (primals[0], raises(error))),
        (linearize_rules, raises),
    ]:
        for current in (trace, trace.parent):
            with bind.set_current_trace(current), error_passes(error()) as raised:
                monkeypatch.setitem(rules, new_p, make(raised))
                trace.process_primitive(new_p, [pair], {})


def test_each_operation_has_its_own_operands_parameters_and_results(trace, monkeypatch):
    seen = []

    def rule(primals, nonzeros, *, by):
        seen.append((primals, nonzeros))
        return [p * by for p in primals], lambda *ts: seen.append(ts) or ts

    new_p, params = bind.Primitive("new", multiple_results=True), {"by": 2.0}
    monkeypatch.setitem(linearize_rules, new_p, rule)
    for primal in (3.0, 7.0):
        pair = pair_in(trace, primal)
        args = [1.0, 2.0, pair]
        with unchanged(args=args, params=params):
            outs = trace.process_primitive(new_p, args, params)
        (primals, nonzeros), tangents = seen[-2:]
        assert tuple(primals) == (1.0, 2.0, primal) and list(nonzeros) == [False, False, True]
        assert [type(t) is Zero for t in tangents] == [True, True, False]
        assert outs[:2] == [2.0, 4.0] and outs[2].primal == 2 * primal
        assert outs[2].tangent is pair.tangent, "of three results, the last alone moves"
    trace.process_primitive(new_p, [pair, pair, 1.0, pair], params)
    assert list(seen[-2][1]) == [True, True, False, True], "one pair may be several operands"
    monkeypatch.setitem(linearize_rules, new_p, lambda ps, _, **__: ([], lambda *ts: []))
    assert trace.process_primitive(new_p, [pair], {}) == [], "of no results, a list"
    outside = JaxprTrace()
    inner = LinearizeTrace(outside, JaxprTrace())
    known = outside.new_arg(scalar)
    moving = LinearizeTracer(inner, known, inner.unknown.new_arg(scalar))
    out = inner.process_primitive(primitives.neg_p, [moving], {})
    assert out.primal._trace is outside, "what another jaxpr has as a variable is known here"
    monkeypatch.setitem(jvp_rules, new_p, lambda ps, ts: ([known], [known]))
    monkeypatch.delitem(linearize_rules, new_p)
    assert inner.process_primitive(new_p, [moving], {}) == [known], "so is such a tangent: zero"
    primal, pairs = np.float32(5), [pair_in(trace), pair_in(trace)]
    given = []
    rule = lambda ps, ts, **params: given.append(params) or ([primal, primal], ts)  # noqa: E731
    monkeypatch.setitem(jvp_rules, new_p, rule)
    one, other = trace.process_primitive(new_p, pairs, {"by": None, "n": 0})
    assert one.tangent is not other.tangent, "equal primals may have different tangents"
    monkeypatch.setitem(
        linearize_rules, new_p, lambda ps, _, **params: rule(ps, lambda *ts: ts, **params)
    )
    trace.process_primitive(new_p, pairs, {"by": None, "n": 0})
    assert given == [{"by": None, "n": 0}] * 2, "parameters may be None or 0"


# ---- from a function to what is known and what is linear ----


def parted(fun, *primals):
    return trace_linear(LinearizeTrace(bind.context.trace, JaxprTrace()), fun, primals)


def applied(linearized, *tangents):
    return eval_jaxpr(linearized.jaxpr, linearized.residuals, *tangents)


def test_a_function_is_run_on_known_primals_and_unknown_tangents():
    outs, linearized = parted(lambda x: [f(x)], np.float32(3))
    np.testing.assert_allclose(outs, [np.sin(3.0) * 3], rtol=1e-6)
    (tangent,) = applied(linearized, 2.0)
    np.testing.assert_allclose(tangent, 2 * (np.cos(3.0) * 3 + np.sin(3.0)), rtol=1e-6)
    assert linearized.in_avals == [scalar] and linearized.nonzero_outs == [True]


def test_an_integer_has_no_tangent():
    outs, linearized = parted(lambda n, x: [mul(x, float(n))], 2, np.float32(3))
    assert [aval.dtype for aval in linearized.in_avals] == [dtypes.float0, np.dtype("float32")]
    assert len(linearized.jaxpr.invars) == 1, "only arguments that have tangents are in the jaxpr"
    assert float(outs[0]) == 6.0


def test_a_result_that_does_not_move_has_no_tangent():
    outs, linearized = parted(lambda x: [sin(x), 5.0], np.float32(3))
    assert outs[1] == 5.0 and linearized.nonzero_outs == [True, False]
    assert len(linearized.jaxpr.outvars) == 1, "only results that have tangents are in the jaxpr"


def test_a_tangent_knows_the_line_that_asked_for_it():
    tangents = []
    parted(lambda x: [tangents.append(x.tangent) or x], np.float32(3))
    assert __file__ in str(tangents[0].line), "new_arg(aval, user_line())"


@each_error
def test_an_error_of_the_function_or_of_a_hook_goes_on_and_the_trace_before_is_current(
    monkeypatch, error
):
    for call in (parted, lambda fun, x: linearize_flat(fun, [x])):
        with error_passes(error()) as raised:
            call(raises(raised), np.float32(3))
    for hooks in ("prepare_jaxpr", "check_values"):
        with error_passes(error(f"in {hooks}")) as raised:
            monkeypatch.setattr(linearize_module, hooks, [raises(raised)])
            parted(lambda x: [sin(x)], np.float32(3))


def test_a_function_that_is_linearized_may_linearize_another_that_raises():
    def fun(x):
        with error_passes(Thrown()) as raised:
            parted(raises(raised), x)
        return [sin(x)]

    outs, linearized = parted(fun, np.float32(3))
    np.testing.assert_allclose(outs, [np.sin(3.0)], rtol=1e-6)
    assert linearized.nonzero_outs == [True]


def test_all_hooks_are_called_one_after_another(monkeypatch):
    prepared, checked = [], []
    prepare = lambda closed, top, n: prepared.append((n, closed, top)) or made[n]  # noqa: E731
    check = lambda who, outs, n: checked.append((n, who.fun, len(outs)))  # noqa: E731
    made = [jax.make_jaxpr(lambda x, n=n: mul(x, float(n)))(1.0) for n in (5, 6, 7)]
    for name, hook in [("prepare_jaxpr", prepare), ("check_values", check)]:
        hooks = [functools.partial(hook, n=n) for n in range(3)]
        monkeypatch.setattr(linearize_module, name, hooks)
    _, linearized = parted(lambda x: [x, 5.0], np.float32(3))
    assert checked == [(n, "the function that is differentiated", 2) for n in range(3)]
    assert prepared[1:] == [(1, made[0], False), (2, made[1], False)]
    assert linearized.jaxpr.eqns == made[2].eqns, "each is given what the one before gave"
    prepared.clear()
    parted(lambda: [5.0])
    assert len(prepared) == 3, "hooks are called also where nothing moves"
    dead = jax.make_jaxpr(lambda x: [sin(x), mul(x, 2.0)][1])(1.0)
    monkeypatch.setattr(linearize_module, "prepare_jaxpr", [lambda closed, top: dead])
    _, linearized = parted(lambda x: [x], np.float32(3))
    assert len(linearized.jaxpr.eqns) == 1, "what a hook leaves has no dead code afterwards"
    checked.clear()
    parted(lambda: [])
    assert len(checked) == 3, "checks are called also where there are no results"


def test_there_may_be_many_arguments_and_results_of_any_dtype_and_each_call_is_its_own():
    bits, array = np.arange(3, dtype=SMALL_FLOAT), np.ones(2, np.complex64)
    for factor in (2.0, 3.0):
        primals = [4, True, np.float32(factor), bits, array]
        with unchanged(primals=primals):
            outs, linearized = parted(
                lambda n, b, x, y, z, k=factor: [n, z, mul(x, k), mul(x, float(n)), y], *primals
            )
        assert [aval.dtype for aval in linearized.in_avals] == [
            *(dtypes.float0, dtypes.float0, np.float32, SMALL_FLOAT, np.complex64)
        ]
        assert linearized.nonzero_outs == [False, True, True, True, True]
        assert [np.shape(x) for x in outs] == [(), (2,), (), (), (3,)]
        tangents = applied(linearized, np.float32(1), bits, array)
        assert [float(t) for t in tangents[1:3]] == [factor, 4.0] and tangents[3] is bits
    outs, linearized = parted(lambda: [5.0])
    assert outs == [5.0] and linearized[1:] == ([], [], [False])
    x = np.float32(2)
    for primals in ([x, x], [x, x, x], [1.0, x, x, 1.0]):
        outs, linearized = parted(lambda *xs: [*xs], *primals)
        assert len(linearized.jaxpr.invars) == len(primals), "equal primals have a tangent each"
        assert linearized.in_avals == [bind.get_aval(p) for p in primals], "weak types are kept"
    _, linearized = parted(lambda x: [x, mul(x, 2.0), x], x)
    assert linearized.nonzero_outs == [True] * 3, "a result may be there twice"
    _, linearized = parted(lambda x: [x], np.ones((0, 2), np.float32))
    assert linearized.nonzero_outs == [True], "an array without elements moves"


# ---- linearize ----


def test_linearize_gives_the_value_and_a_linear_function():
    y, f_jvp = jax.linearize(f, 3.0)
    np.testing.assert_allclose(y, np.sin(3.0) * 3, rtol=1e-6)
    np.testing.assert_allclose(f_jvp(1.0), np.cos(3.0) * 3 + np.sin(3.0), rtol=1e-6)
    np.testing.assert_allclose(f_jvp(2.0), 2 * f_jvp(1.0), rtol=1e-6)


def test_which_arguments_and_which_results_move_is_told_apart():
    outs, linearized = linearize_flat(lambda n, x: [x, 5.0, mul(x, 2.0)], [3, np.float32(2)])
    assert [float(x) for x in outs] == [2.0, 5.0, 4.0]
    assert [aval.dtype == dtypes.float0 for aval in linearized.in_avals] == [True, False]
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


def test_jit_gives_and_takes_the_linear_function():
    _, f_jvp = jax.jit(lambda x: jax.linearize(f, x))(3.0)
    tangent_out = jax.jit(lambda f_jvp, t: f_jvp(t))(f_jvp, 2.0)
    np.testing.assert_allclose(tangent_out, jax.jvp(f, (3.0,), (2.0,))[1], rtol=1e-6)


def test_linearize_takes_tangents_of_the_primals_shape():
    _, f_jvp = jax.linearize(f, np.ones(3, np.float32))
    with pytest.raises(ValueError, match=r"float32\[2\].*float32\[3\]"):
        f_jvp(np.ones(2, np.float32))
