"""Forward mode: tangents are pushed through a function."""

import functools

import numpy as np
import pytest
from judged import (
    SMALL_FLOAT,
    Thrown,
    each_error,
    error_passes,
    every_error_passes,
    raises,
    unchanged,
)

import tinyjax as jax
from tinyjax.core import bind, dtypes, primitives
from tinyjax.core.primitives import add, cos, gt, mul, reduce_sum, sin
from tinyjax.transform import jvp as jvp_module
from tinyjax.transform.batching import AxisData, BatchTrace
from tinyjax.transform.jvp import JVPTrace, JVPTracer, Zero, defjvp, defjvp2, jvp_rules


def f(x):
    return mul(sin(x), x)


def df(x):
    return np.cos(x) * x + np.sin(x)


x3 = np.ones(3, np.float32)


def zero():
    return jvp_module.zero_tangent(1.0)


# ---- rules ----


@pytest.mark.parametrize("x", [0.0, 1.0, 3.0])
def test_sin_moves_by_cos_and_cos_by_minus_sin(x):
    np.testing.assert_allclose(jvp_module.sin_jvp(1.0, x), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(jvp_module.cos_jvp(1.0, x), -np.sin(x), rtol=1e-6)


def test_a_rule_is_linear_in_the_tangent():
    for rule in (jvp_module.sin_jvp, jvp_module.cos_jvp):
        out = rule(-3.0, 2.0)
        assert isinstance(out, bind.Array), "bind primitives: what NumPy does, no trace sees"
        np.testing.assert_allclose(out, -3.0 * rule(1.0, 2.0), rtol=1e-6)
        assert float(rule(0.0, 2.0)) == 0.0, "what does not move does not move its result"


def test_a_product_moves_by_either_factors_tangent_times_the_other_factor():
    assert float(jvp_module.mul_jvp_x(10.0, 2.0, 3.0)) == 30.0, "x moves by 10, and y is 3"
    assert float(jvp_module.mul_jvp_y(10.0, 2.0, 3.0)) == 20.0, "y moves by 10, and x is 2"


def test_a_zero_is_neutral_in_a_sum_of_tangents():
    tangent, nothing = bind.as_array(2.0), zero()
    assert jvp_module.add_tangents(tangent, nothing) is tangent
    assert jvp_module.add_tangents(nothing, tangent) is tangent
    assert jvp_module.add_tangents(nothing, nothing) is nothing
    assert float(jvp_module.add_tangents(tangent, bind.as_array(3.0))) == 5.0
    bound = []

    class Notes(bind.Trace):
        def process_primitive(self, primitive, args, params):
            bound.append(primitive)

    with bind.set_current_trace(Notes()):
        jvp_module.add_tangents(tangent, tangent)
    assert bound == [jvp_module.add_any_p], f"add_any_p adds two tangents, not {bound}"


def test_a_zero_becomes_an_array_where_one_is_needed():
    nothing = jvp_module.zero_tangent(np.ones((2, 3), np.float32))
    out = jvp_module.instantiate_zeros(nothing)
    assert out.shape == (2, 3) and not np.any(out)
    assert isinstance(out, bind.Array) and out.dtype == np.float32, "an Array of the Zero's aval"
    tangent = bind.as_array(2.0)
    assert jvp_module.instantiate_zeros(tangent) is tangent


@pytest.fixture
def area_p():
    """x times y, a primitive without rules for derivatives, that counts its calls."""
    area_p = bind.Primitive("area")
    area_p.def_abstract_eval(lambda x, y: x)
    area_p.calls = []
    area_p.def_impl(lambda x, y: area_p.calls.append(1) or x * y)
    return area_p


def test_the_tangents_that_the_operands_rules_give_are_summed(area_p):
    defjvp(area_p, lambda g, x, y: mul(g, y), lambda g, x, y: mul(x, g))
    out, tangent = jvp_rules[area_p]((2.0, 3.0), (10.0, 100.0))
    assert (float(out), float(tangent)) == (6.0, 230.0), "6 moves by 10 * 3 + 2 * 100"


def test_an_operand_without_a_tangent_or_without_a_rule_adds_nothing(area_p):
    defjvp(area_p, lambda g, x, y: pytest.fail("x does not move"), lambda g, x, y: mul(x, g))
    assert float(jvp_rules[area_p]((2.0, 3.0), (zero(), 100.0))[1]) == 200.0
    defjvp(area_p, lambda g, x, y: mul(g, y), None)
    assert float(jvp_rules[area_p]((2.0, 3.0), (10.0, 100.0))[1]) == 30.0
    still = bind.Primitive("still")
    still.def_abstract_eval(lambda *avals: avals[0])
    still.def_impl(lambda *xs: xs[0])
    defjvp(still, lambda g, *_: zero(), lambda g, *_: zero())
    assert type(jvp_rules[still]((2.0, 3.0), (1.0, 1.0))[1]) is Zero, "a rule may give a Zero"


def test_where_nothing_moves_the_tangent_is_a_zero_of_the_results_type(area_p):
    defjvp(area_p, lambda g, x, y: mul(g, y), None)
    x = np.ones((2, 3), np.float32)
    tangent = jvp_rules[area_p]((x, x), (zero(), 100.0))[1]
    assert repr(tangent) == "Zero(f32[2,3])"
    five_p = bind.Primitive("five")
    five_p.def_abstract_eval(lambda x: x.update(shape=(5,)))
    five_p.def_impl(lambda x: np.zeros(5, np.float32))
    defjvp(five_p, None)
    assert repr(jvp_rules[five_p]((x,), (x,))[1]) == "Zero(f32[5])", "of the result, not of x"


def test_rules_may_use_the_result_which_is_computed_once(area_p):
    defjvp2(area_p, lambda g, out, x, y: mul(g, out), lambda g, out, x, y: mul(g, x))
    assert float(jvp_rules[area_p]((2.0, 3.0), (10.0, 100.0))[1]) == 260.0, "10 * 6 + 100 * 2"
    assert area_p.calls == [1], "bind the primitive once, and hand its result to each rule"
    defjvp(area_p, *[lambda g, x, y: g] * 2)
    assert float(jvp_rules[area_p]((2.0, 3.0), (10.0, 100.0))[1]) == 110.0, "of one rule, for both"


def test_rules_and_the_primitive_are_given_the_parameters():
    scaled_p = bind.Primitive("scaled")
    scaled_p.def_abstract_eval(lambda x, *, by: x)
    scaled_p.def_impl(lambda x, *, by: x * np.float32(by))
    defjvp(scaled_p, lambda g, x, *, by: mul(g, bind.as_array(np.float32(by))))
    out, tangent = jvp_rules[scaled_p]((2.0,), (np.float32(10.0),), by=3)
    assert (float(out), float(tangent)) == (6.0, 30.0)


def test_a_linear_primitive_maps_tangents_as_it_maps_primals():
    x, x_dot = np.array([1.0, 2.0], np.float32), np.array([10.0, 20.0], np.float32)
    rule = jvp_rules[primitives.reduce_sum_p]
    out, tangent = rule((x,), (x_dot,), axes=(0,))
    assert (float(out), float(tangent)) == (3.0, 30.0)


def test_a_linear_primitive_gets_a_zero_as_an_array():
    out, tangent = jvp_rules[jvp_module.add_any_p]((1.0, 2.0), (10.0, zero()))
    assert (float(out), float(tangent)) == (3.0, 10.0)


# ---- rules, of other operands and dtypes ----


def test_of_three_operands_each_rule_adds_its_part():
    p = bind.Primitive("volume")
    p.def_abstract_eval(lambda *avals: avals[0])
    p.def_impl(lambda x, y, z: x * y * z)
    rules = [lambda g, *xs, k=k: mul(g, np.float32(10.0**k)) for k in range(3)]
    defjvp(p, *rules)
    for tangents, want in [
        ((1.0, 2.0, 3.0), 321),
        ((zero(), 2.0, 3.0), 320),
        ((1.0, zero(), 3.0), 301),
    ]:
        out, tangent = jvp_rules[p]((2.0, 3.0, 4.0), tangents)
        assert (float(out), float(tangent)) == (24.0, want)
    many = bind.Primitive("many")
    many.def_abstract_eval(lambda *avals: avals[0])
    many.def_impl(lambda *xs: sum(xs))
    defjvp(many, *[lambda g, *_, k=k: mul(g, np.float32(10.0**k)) for k in range(5)])
    for i in range(5):
        moving = tuple(2.0 if j == i else zero() for j in range(5))
        assert float(jvp_rules[many]((1.0,) * 5, moving)[1]) == 2 * 10**i, f"operand {i} moves"
    assert float(jvp_rules[many]((1.0,) * 5, (2.0,) * 5)[1]) == 22222, "all move alike"


@each_error
def test_an_error_of_an_operands_rule_goes_on(area_p, error):
    for define in (defjvp, defjvp2):
        with error_passes(error()) as raised:
            define(area_p, lambda g, *_: g, raises(raised))
            jvp_rules[area_p]((2.0, 3.0), (10.0, 100.0))
    with error_passes(error()) as raised:
        area_p.def_impl(raises(raised))
        defjvp(area_p, lambda g, *_: g, None)
        jvp_rules[area_p]((2.0, 3.0), (10.0, 100.0))


def test_an_operands_rule_that_returns_nothing_is_an_error(area_p):
    for rules in ((lambda *_: None, lambda g, *_: g), (lambda g, *_: g, lambda *_: None)):
        defjvp(area_p, *rules)
        with pytest.raises(TypeError):
            found = jvp_rules[area_p]((2.0, 3.0), (10.0, 100.0))
            pytest.fail(f"a rule has no return, and the result and its tangent are {found}")


def test_rules_do_not_change_what_they_are_given(area_p):
    defjvp(area_p, lambda g, x, y: mul(g, y), None)
    primals, tangents = [np.ones(2, np.float32), np.ones(2, np.float32)], [zero(), zero()]
    with unchanged(primals=primals, tangents=tangents):
        jvp_rules[area_p](primals, tangents)


@pytest.mark.parametrize("dtype", [SMALL_FLOAT.name, "float16", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 1, 3)])
def test_a_zero_becomes_an_array_of_any_dtype_and_rank(dtype, shape):
    nothing = jvp_module.zero_tangent(np.ones(shape, dtypes.np_dtype(dtype)))
    out = jvp_module.instantiate_zeros(nothing)
    assert (out.shape, out.dtype.name) == (shape, dtype) and not np.any(np.asarray(out))
    total = jvp_module.add_tangents(out, out)
    assert (total.shape, total.dtype.name) == (shape, dtype)


def test_the_tangent_of_an_integer_is_of_float0_and_so_is_its_array():
    nothing = jvp_module.zero_tangent(np.arange(3))
    assert jvp_module.instantiate_zeros(nothing).dtype == dtypes.float0


def test_of_a_large_angle_the_derivative_has_all_digits():
    for angle in (1e5, 12345.678, -3e4):
        angle = np.float32(angle)
        np.testing.assert_allclose(jvp_module.sin_jvp(1.0, angle), np.cos(angle), rtol=1e-6)
        np.testing.assert_allclose(jvp_module.cos_jvp(1.0, angle), -np.sin(angle), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", SMALL_FLOAT.name, "complex64"])
def test_rules_keep_the_dtype_and_the_shape_of_the_tangent(dtype):
    dtype = dtypes.np_dtype(dtype)
    x, tangent = np.full((2, 1, 3), 0.5, dtype), np.full((2, 1, 3), 2, dtype)
    rules = (jvp_module.sin_jvp, jvp_module.cos_jvp)
    for out in [rule(tangent, x) for rule in rules] + [
        jvp_module.mul_jvp_x(tangent, x, x),
        jvp_module.mul_jvp_y(tangent, x, x),
    ]:
        assert (out.shape, out.dtype) == (x.shape, dtype)
    with jax.enable_x64(True):
        out = jvp_module.sin_jvp(np.float64(1), np.float64(0.3))
        np.testing.assert_allclose(out, np.cos(0.3), rtol=1e-12)


def test_complex_factors_are_not_conjugated():
    out = jvp_module.mul_jvp_x(np.complex64(1), np.complex64(2), np.complex64(3 + 4j))
    assert complex(out) == 3 + 4j
    assert complex(jvp_module.mul_jvp_y(np.complex64(1j), np.complex64(1j), np.complex64(2))) == -1


def test_rules_can_be_differentiated_themselves():
    for rule, want in [(jvp_module.sin_jvp, -np.sin(0.5)), (jvp_module.cos_jvp, -np.cos(0.5))]:
        np.testing.assert_allclose(derivative(functools.partial(rule, 1.0), 0.5), want, rtol=1e-6)


def test_a_linear_primitive_may_have_three_operands_parameters_and_no_tangent():
    p, bound = bind.Primitive("total"), []
    p.def_abstract_eval(lambda *avals, by: bound.append(by) or avals[0])
    p.def_impl(lambda *xs, by: sum(xs) * np.float32(by))
    jvp_module.deflinear_jvp(p)
    primals, tangents = (1.0, 2.0, 3.0), (zero(), 20.0, 5.0)
    with unchanged(primals=primals, tangents=tangents):
        out, tangent = jvp_rules[p](primals, tangents, by=2)
    assert (float(out), float(tangent)) == (12.0, 50.0) and bound == [2, 2]
    matrix = np.ones((2, 3), np.float32)
    out, tangent = jvp_rules[primitives.reduce_sum_p](
        (matrix,), (jvp_module.zero_tangent(matrix),), axes=(1,)
    )
    np.testing.assert_array_equal([out, tangent], [[3, 3], [0, 0]])


def test_errors_of_what_the_rules_bind_go_on():
    x, linear = np.float32(0.5), jvp_rules[primitives.neg_p]
    every_error_passes(
        lambda: jvp_module.sin_jvp(x, x),
        lambda: jvp_module.cos_jvp(x, x),
        lambda: jvp_module.mul_jvp_x(x, x, x),
        lambda: jvp_module.mul_jvp_y(x, x, x),
        lambda: linear((x,), (x,)),
    )


def test_errors_of_what_adds_tangents_and_makes_zeros_go_on():
    x, nothing = np.float32(0.5), jvp_module.zero_tangent(np.ones(2, np.float32))
    every_error_passes(
        lambda: jvp_module.add_tangents(x, x), lambda: jvp_module.instantiate_zeros(nothing)
    )


# ---- the trace, used by hand ----


def derivative(g, x):
    """What jax.jvp does, by hand and without trees: a trace, a tracer, and what the result carries."""
    trace = JVPTrace(bind.context.trace)
    with bind.set_current_trace(trace):
        out = g(JVPTracer(trace, x, 1.0))
    return jvp_module.instantiate_zeros(trace.primal_and_tangent(out)[1])


def test_a_trace_knows_its_own_tracers_and_all_else_is_constant_to_it():
    ours, other = JVPTrace(bind.context.trace), JVPTrace(bind.context.trace)
    assert ours.primal_and_tangent(JVPTracer(ours, 3.0, 1.0)) == (3.0, 1.0)
    constants = [2.0, bind.as_array(2.0), JVPTracer(other, 3.0, 1.0)]
    for constant in constants:
        primal, tangent = ours.primal_and_tangent(constant)
        assert primal is constant, "a constant is its own primal"
        assert type(tangent) is Zero, f"{constant} is not a tracer of this trace: it does not move"


def test_what_stands_beside_the_result_is_freed_of_own_tracers_and_may_be_anything():
    ours, other = JVPTrace(bind.context.trace), JVPTrace(bind.context.trace)
    assert ours.primal(JVPTracer(ours, 3.0, 1.0)) == 3.0
    for constant in [JVPTracer(other, 3.0, 1.0), 2.0, "a text"]:
        try:
            primal = ours.primal(constant)
        except TypeError as error:
            pytest.fail(f"{constant!r} must be passed as it is, but raised {error!r}")
        assert primal is constant, f"{constant!r} is no tracer of this trace: it is given as it is"


def test_python_sees_the_value_behind_a_tracer_and_behind_one_in_another():
    inner, outer = JVPTrace(bind.context.trace), JVPTrace(bind.context.trace)
    tracer = JVPTracer(inner, bind.as_array(2.0), 1.0)
    assert tracer.concrete() == 2.0
    value = JVPTracer(outer, tracer, 1.0).concrete()
    assert not isinstance(value, bind.Tracer), "the primal is a tracer: what is behind that one?"
    assert value == 2.0
    assert bool(JVPTracer(outer, tracer, 1.0)) is True


def test_there_is_no_value_behind_a_tracer_of_which_only_the_type_is_known():
    class Unknown(bind.Tracer):
        aval = bind.get_aval(1.0)

    assert JVPTracer(JVPTrace(bind.context.trace), Unknown(), 1.0).concrete() is None


@pytest.mark.parametrize("value", [0.0, -0.0, False, 0])
def test_a_value_behind_a_tracer_may_be_zero(value):
    trace = JVPTrace(bind.context.trace)
    nested = JVPTracer(trace, JVPTracer(trace, JVPTracer(trace, value, 1.0), 1.0), 1.0)
    found = nested.concrete()
    assert found is not None and found == value and not isinstance(found, bind.Tracer)

    class Other(bind.Tracer):
        aval = bind.get_aval(1.0)

        def concrete(self):
            return value

    assert JVPTracer(trace, JVPTracer(trace, Other(), 1.0), 1.0).concrete() is value, (
        "a tracer of another kind is asked"
    )


def test_constants_of_any_dtype_do_not_move_and_own_tracers_are_taken_apart_once():
    ours = JVPTrace(bind.context.trace)
    for constant, text in [
        (np.ones((2, 0), np.float16), "Zero(f16[2,0])"),
        (SMALL_FLOAT.type(1), f"Zero({bind.get_aval(SMALL_FLOAT.type(1)).str_short(True)})"),
        (3, "Zero(float0[])"),
        (np.array([True]), "Zero(float0[1])"),
        (2j, "Zero(c64[])"),
        (np.complex64(1j), "Zero(c64[])"),
    ]:
        primal, tangent = ours.primal_and_tangent(constant)
        assert primal is constant and repr(tangent) == text
    inner = JVPTracer(ours, 3.0, 1.0)
    assert ours.primal_and_tangent(JVPTracer(ours, 4.0, 2.0)) == (4.0, 2.0)
    assert ours.primal_and_tangent(inner) == (3.0, 1.0), "each tracer has its own"
    assert ours.primal(JVPTracer(ours, inner, zero())) is inner
    assert ours.primal(None) is None and ours.primal([inner]) == [inner]
    batched = BatchTrace(bind.context.trace, AxisData(None, 2)).tracer(np.ones(2, np.float32), 0)
    assert ours.primal_and_tangent(batched)[0] is ours.primal(batched) is batched, (
        "a tracer of another kind is a constant too"
    )

    class Equal(JVPTrace):
        def __eq__(self, other):
            return True

        __hash__ = None

    one, two = Equal(bind.context.trace), Equal(bind.context.trace)
    x = JVPTracer(one, 3.0, 1.0)
    assert two.primal_and_tangent(x)[0] is two.primal(x) is x, (
        "a trace that is equal is another one"
    )


@each_error
def test_an_error_of_a_rule_goes_on_and_the_trace_before_is_current_again(error):
    p = bind.Primitive("p")
    p.def_impl(lambda x, *_: x)
    p.def_abstract_eval(lambda x, *_: x)
    trace = JVPTrace(bind.context.trace)
    with bind.set_current_trace(trace), error_passes(error()) as raised:
        jvp_rules[p] = raises(raised)
        p.bind(JVPTracer(trace, 1.0, 1.0), 2.0)
    with bind.set_current_trace(trace), error_passes(error()) as raised:
        p.def_impl(raises(raised))
        p.bind(2.0)


def test_a_rule_gets_all_operands_in_order_and_a_zero_for_each_that_does_not_move():
    p, seen = bind.Primitive("p", multiple_results=True), []

    def rule(primals, tangents, *, scale):
        seen.append((*primals, scale, [type(t) is Zero for t in tangents]))
        return [*primals[:2], 0.0], [zero(), tangents[1], 7.0]

    jvp_rules[p], trace, params = rule, JVPTrace(bind.context.trace), {"scale": 4}
    operands = [1.0, JVPTracer(trace, 2.0, 5.0), 3.0]
    with unchanged(operands=operands, params=params):
        outs = trace.process_primitive(p, operands, params)
    assert seen.pop() == (1.0, 2.0, 3.0, 4, [True, False, True])
    trace.process_primitive(p, [1.0, 2.0, JVPTracer(trace, 3.0, 5.0)], {"scale": 6})
    assert seen == [(1.0, 2.0, 3.0, 6, [True, True, False])], (
        "the third alone may move, and each call has its own parameters"
    )
    assert outs[0] == 1.0 and type(outs) is list
    pairs = [trace.primal_and_tangent(out) for out in outs[1:]]
    assert pairs == [(2.0, 5.0), (0.0, 7.0)], "a primal may be 0.0 and still move"


def test_a_primitive_with_several_results_may_have_one_or_none():
    trace = JVPTrace(bind.context.trace)
    for count in (1, 0):
        p = bind.Primitive("p", multiple_results=True)
        jvp_rules[p] = lambda xs, ts, count=count: ([xs[0]] * count, [ts[0]] * count)
        outs = trace.process_primitive(p, [JVPTracer(trace, 2.0, 5.0)], {})
        assert [trace.primal_and_tangent(out) for out in outs] == [(2.0, 5.0)] * count
    several = bind.Primitive("several", multiple_results=True)
    jvp_rules[several] = lambda xs, ts: (
        [xs[0] + k for k in range(5)],
        [0.0, zero(), 1, ts[0], zero()],
    )
    outs = trace.process_primitive(several, [JVPTracer(trace, 2.0, 5.0)], {})
    assert isinstance(outs, list)
    assert [(x.primal, x.tangent) if isinstance(x, JVPTracer) else x for x in outs] == [
        (2.0, 0.0),
        3.0,
        (4.0, 1),
        (5.0, 5.0),
        6.0,
    ], "a tangent is left out if it is a Zero, and only then"
    nine = bind.Primitive("nine")
    jvp_rules[nine] = lambda xs, ts: (sum(xs), [type(t) is Zero for t in ts])
    for k in range(9):
        operands = [1.0] * k + [JVPTracer(trace, 2.0, 5.0)] + [1.0] * (8 - k)
        out = trace.process_primitive(nine, operands, {})
        assert out.primal == 10.0 and out.tangent == [i != k for i in range(9)], (
            f"operand {k} moves"
        )


def test_a_function_of_one_tracer_is_differentiated():
    np.testing.assert_allclose(derivative(f, 3.0), df(3.0), rtol=1e-6)


def test_nested_differentiation_keeps_its_tangents_apart():
    """d/dx (x * d/dy (x + y)) is 1; confusing the two perturbations would give 2."""
    assert float(derivative(lambda x: mul(x, derivative(lambda y: add(x, y), 1.0)), 1.0)) == 1.0


def test_second_derivatives_come_from_nesting():
    second = derivative(lambda x: derivative(f, x), 3.0)
    np.testing.assert_allclose(second, 2 * np.cos(3.0) - 3.0 * np.sin(3.0), rtol=1e-5)


def test_what_a_rule_binds_goes_to_the_parent():
    same_p, parent, seen = bind.Primitive("same"), bind.context.trace, []

    def rule(primals, tangents, **params):
        seen.append((bind.context.trace, params))
        return primals[0], tangents[0]

    jvp_rules[same_p] = rule
    assert derivative(lambda x: same_p.bind(x, axis=0), 3.0) == 1.0
    assert seen[0][0] is parent, "a rule is called with the parent as the current trace"
    assert seen[0][1] == {"axis": 0}, "and with the operation's parameters"


def test_python_control_flow_sees_the_primal():
    def relu(x):
        return x if gt(x, 0.0) else mul(x, 0.0)

    assert float(derivative(relu, 2.0)) == 1.0
    assert float(derivative(relu, -2.0)) == 0.0


def test_without_a_moving_operand_a_primitive_needs_no_rule_and_makes_no_tracer(area_p):
    trace = JVPTrace(bind.context.trace)
    with bind.set_current_trace(trace):
        out = area_p.bind(2.0, 3.0)
        nothing = bind.Primitive("nothing", multiple_results=True)
        nothing.def_impl(lambda: [])
        nothing.def_abstract_eval(lambda: [])
        assert nothing.bind() == [], "nor does one without operands move"
    assert not isinstance(out, bind.Tracer) and float(out) == 6.0


def test_a_moving_operand_needs_a_rule(area_p):
    with pytest.raises(
        NotImplementedError, match="Differentiation rule for 'area' not implemented"
    ):
        derivative(lambda x: area_p.bind(x, 3.0), 2.0)


def test_a_primitive_with_several_results_has_a_tangent_for_each():
    both_p = bind.Primitive("both", multiple_results=True)
    jvp_rules[both_p] = lambda primals, tangents: ([*primals, 5.0], [*tangents, zero()])
    trace = JVPTrace(bind.context.trace)
    with bind.set_current_trace(trace):
        moving, still = both_p.bind(JVPTracer(trace, 3.0, 1.0))
    assert trace.primal_and_tangent(moving) == (3.0, 1.0)
    assert not isinstance(still, bind.Tracer), "a result whose tangent is a Zero is no tracer"
    assert still == 5.0
    jvp_rules[both_p] = lambda primals, tangents: ([2.0, 2.0], [tangents[0], 7.0])
    with bind.set_current_trace(trace):
        outs = both_p.bind(JVPTracer(trace, 3.0, 1.0))
    assert [trace.primal_and_tangent(x) for x in outs] == [(2.0, 1.0), (2.0, 7.0)], "equal primals"


# ---- jvp ----


def test_jvp_gives_the_value_and_the_derivative_along_the_tangent():
    y, y_dot = jax.jvp(f, (3.0,), (1.0,))
    np.testing.assert_allclose(y, np.sin(3.0) * 3.0, rtol=1e-6)
    np.testing.assert_allclose(y_dot, df(3.0), rtol=1e-6)


def test_jvp_of_jvp_is_the_second_derivative():
    second = jax.jvp(lambda x: jax.jvp(f, (x,), (1.0,))[1], (3.0,), (1.0,))[1]
    np.testing.assert_allclose(second, 2 * np.cos(3.0) - 3.0 * np.sin(3.0), rtol=1e-5)


def test_jvp_is_linear_in_the_tangent():
    _, once = jax.jvp(f, (3.0,), (1.0,))
    _, thrice = jax.jvp(f, (3.0,), (3.0,))
    np.testing.assert_allclose(thrice, 3 * once, rtol=1e-6)


def test_a_result_that_does_not_depend_on_the_input_has_a_zero_tangent():
    assert float(jax.jvp(lambda x: cos(1.0), (3.0,), (1.0,))[1]) == 0.0


def test_a_rule_gets_symbolic_zeros_for_operands_that_do_not_move():
    seen = []
    rule = jvp_rules[primitives.add_p]
    try:
        jvp_rules[primitives.add_p] = lambda primals, tangents: (
            seen.append(tangents),
            rule(primals, tangents),
        )[1]
        jax.jvp(lambda x: add(x, 2.0), (1.0,), (1.0,))
    finally:
        jvp_rules[primitives.add_p] = rule
    assert type(seen[0][1]) is Zero


def test_primals_and_tangents_are_trees():
    def g(pair):
        return {"sum": add(pair[0], pair[1])}

    out, tangent = jax.jvp(g, ((1.0, 2.0),), ((10.0, 20.0),))
    assert float(out["sum"]) == 3.0 and float(tangent["sum"]) == 30.0


def test_has_aux_passes_a_value_that_is_not_differentiated():
    y, y_dot, aux = jax.jvp(lambda x: (sin(x), "note"), (0.0,), (1.0,), has_aux=True)
    assert float(y_dot) == 1.0 and aux == "note"
    aux = jax.jvp(lambda x: (sin(x), {"twice": x + x}), (1.0,), (1.0,), has_aux=True)[2]
    assert not isinstance(aux["twice"], JVPTracer), "a tracer of aux is taken apart: its primal"
    aux = jax.jvp(lambda x: (sin(x), x + x), (1.0,), (1.0,), has_aux=True)[2]
    assert not isinstance(aux, JVPTracer), "also where aux is a tracer itself, and no container"


def test_a_tangent_must_have_the_primals_dtype():
    with pytest.raises(TypeError, match="primal dtype float32.*tangent dtype int32"):
        jax.jvp(f, (3.0,), (1,))


def test_a_tangent_must_have_the_primals_shape():
    with pytest.raises(ValueError, match=r"primal shape \(3,\).*\(4,\)"):
        jax.jvp(f, (np.ones(3, np.float32),), (np.ones(4, np.float32),))


def test_primals_and_tangents_come_in_tuples_of_one_structure():
    with pytest.raises(TypeError, match="Expected a callable value"):
        jax.jvp(3, (3.0,), (1.0,))
    with pytest.raises(TypeError, match="must be tuples or lists"):
        jax.jvp(f, 3.0, 1.0)
    with pytest.raises(TypeError, match="same tree structure"):
        jax.jvp(f, ((3.0, 3.0),), (1.0,))
    with pytest.raises(TypeError, match="same tree structure"):
        jax.jvp(f, [3.0], (1.0,))
    with pytest.raises(TypeError, match="Expected a callable value"):
        jax.jvp(3, 3.0, "rubbish")  # first of all


def test_a_missing_rule_names_the_primitive_and_the_table():
    cube_p = bind.Primitive("cube")
    cube_p.def_impl(lambda x: x**3)
    cube_p.def_abstract_eval(lambda aval: aval)
    with pytest.raises(
        NotImplementedError, match="Differentiation rule for 'cube' not implemented"
    ):
        jax.jvp(cube_p.bind, (2.0,), (1.0,))
    defjvp(cube_p, lambda g, x: mul(g, mul(3.0, mul(x, x))))
    assert float(jax.jvp(cube_p.bind, (2.0,), (1.0,))[1]) == 12.0


def test_after_an_error_of_the_function_the_trace_before_is_current_again():
    with error_passes(Thrown()) as error:
        jax.jvp(raises(error), (1.0,), (1.0,))
    with error_passes(Thrown()) as error:
        jax.jvp(lambda x: jax.jvp(raises(error), (x,), (1.0,)), (1.0,), (1.0,))
    with pytest.raises(TypeError):
        jax.jvp(lambda x: x / None, (1.0,), (1.0,))
    assert not isinstance(sin(1.0), bind.Tracer), "what follows is computed as ever"


@each_error
def test_errors_of_the_function_are_given_as_they_are_also_with_aux(error):
    for has_aux in (False, True):
        with error_passes(error()) as raised:
            jax.jvp(raises(raised), (1.0,), (1.0,), has_aux=has_aux)


def test_jvp_calls_the_function_once_with_values_and_leaves_the_arguments():
    primals, tangents = ({"a": [1.0, 2.0], "b": ()}, 3.0), ({"a": [10.0, 20.0], "b": ()}, 30.0)
    calls = []

    def g(tree, z):
        calls.append(bool(gt(z, 2.0)))
        tree["a"].append(z)
        return [tree, (z, None)]

    with unchanged(primals=primals, tangents=tangents):
        out, tangent = jax.jvp(g, primals, tangents)
    assert calls == [True]
    for found, given in ((out, primals), (tangent, tangents)):
        assert [float(x) for x in found[0]["a"]] == [*given[0]["a"], given[1]]
        assert found[0]["b"] == () and type(found) is list and found[1][1] is None
    assert jax.jvp(lambda: (1.0, {}), (), ())[0] == (1.0, {}), "there may be no arguments"
    x = np.float32(3)
    for tangents, want in (((1.0, 0.0), 1.0), ((0.0, 1.0), 10.0), ((1.0, 1.0), 11.0)):
        found = jax.jvp(lambda a, b: a + 10.0 * b, (x, x), tuple(map(np.float32, tangents)))[1]
        assert float(found) == want, "one array in two places is two arguments"
    for result in (
        lambda x: (x,),
        lambda x: [x],
        lambda x: {"a": x},
        lambda x: (),
        lambda x: [[x, x, x, x]],
    ):
        for part in jax.jvp(result, (x,), (np.float32(1),)):
            assert repr(jax.tree.structure(part)) == repr(jax.tree.structure(result(x)))
    twice = jax.jvp(lambda x: [x, x, (y := x * 2.0), y], (x,), (np.float32(5),))
    assert [*map(float, twice[0] + twice[1])] == [3, 3, 6, 6, 5, 5, 10, 10], (
        "a result may be there twice"
    )


def test_integers_do_not_move_and_neither_do_results_of_integers():
    nothing = np.zeros(3, dtypes.float0)
    out, tangent = jax.jvp(
        lambda n, x: {"n": mul(n, 2), "sum": reduce_sum(x, (0,)), "text": n},
        (np.arange(3), x3),
        (nothing, x3),
    )
    assert tangent["n"].dtype == dtypes.float0 and tangent["n"].shape == (3,)
    assert float(tangent["sum"]) == 3.0 and np.array_equal(out["n"], [0, 2, 4])


@pytest.mark.parametrize("dtype", ["float16", SMALL_FLOAT.name, "complex64"])
def test_jvp_keeps_dtypes_and_ranks(dtype):
    x = np.full((2, 1, 3), 0.5, dtypes.np_dtype(dtype))
    out, tangent = jax.jvp(lambda x: (mul(x, x), np.float32(3)), (x,), (x,))
    assert tangent[0].dtype == out[0].dtype == x.dtype and tangent[0].shape == x.shape
    assert isinstance(tangent[1], bind.Array) and tangent[1].dtype == np.float32
    np.testing.assert_array_equal(np.asarray(tangent[0]), 2 * x * x)


def test_of_aux_own_tracers_alone_are_taken_apart_and_it_must_be_a_pair():
    outer = []
    aux = jax.jvp(
        lambda x: jax.jvp(lambda y: (y, {"x": x, "y": [y, None]}), (x,), (1.0,), True),
        (2.0,),
        (1.0,),
    )[0][2]
    assert float(aux["x"]) == float(aux["y"][0]) == 2.0 and aux["y"][1] is None
    jax.jvp(
        lambda x: outer.append(jax.jvp(lambda y: (y, x), (1.0,), (1.0,), True)[2] is x) or x,
        (2.0,),
        (1.0,),
    )
    assert outer == [True], "a tracer of the outer jvp is given as it is"
    aux = jax.jvp(lambda x: (x, [x, x, x, x]), (1.0,), (1.0,), True)[2]
    assert not any(isinstance(x, JVPTracer) for x in aux), "of many leaves each is taken apart"
    two = np.array([1.0, 2.0], np.float32)
    for wrong in (two, {"a": 1.0, "b": 2.0}, "ab", iter((1.0, 2.0)), (1.0,), (1.0, 2.0, 3.0), None):
        with pytest.raises(TypeError):
            got = jax.jvp(lambda x, wrong=wrong: wrong, (1.0,), (1.0,), has_aux=True)
            pytest.fail(f"{wrong!r} is no pair of a result and an aux, but {got} was given")
    with pytest.raises(TypeError):
        jax.jvp(lambda x: x, (two,), (two,), has_aux=True)
        pytest.fail("a tracer of two numbers is no pair")
    assert jax.jvp(lambda x: [x, "aux"], (1.0,), (1.0,), has_aux=True)[2] == "aux"
    for given in ((), {}, None, [], "text", 0, [{}, ()], (None,)):
        if given not in ("text", 0):
            out = jax.jvp(lambda x, given=given: given, (1.0,), (1.0,))
            assert out == (given, given) and all(type(part) is type(given) for part in out)
        aux = jax.jvp(lambda x, given=given: (x, given), (1.0,), (1.0,), True)[2]
        assert aux == given and type(aux) is type(given), f"aux is {given!r}"


def test_results_that_are_no_trees_of_arrays_are_told():
    for result, words in [
        ("text", "not a valid JAX type"),
        ([1.0, object()], "not a valid JAX type"),
    ]:
        with pytest.raises(TypeError, match=words):
            jax.jvp(lambda x: result, (1.0,), (1.0,))  # noqa: B023
    for has_aux, result in [(False, {1: 1.0, "a": 2.0}), (True, (1.0, {1: 1.0, "a": 2.0}))]:
        with pytest.raises(ValueError, match="Comparator raised"):
            jax.jvp(lambda x: result, (1.0,), (1.0,), has_aux)  # noqa: B023
