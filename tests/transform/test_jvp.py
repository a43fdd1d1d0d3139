"""Forward mode: tangents are pushed through a function."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax.core import bind, primitives
from tinyjax.core.primitives import add, cos, gt, mul, sin
from tinyjax.transform import jvp as jvp_module
from tinyjax.transform.jvp import JVPTrace, JVPTracer, Zero, defjvp, defjvp2, jvp_rules


def f(x):
    return mul(sin(x), x)


def df(x):
    return np.cos(x) * x + np.sin(x)


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


def test_where_nothing_moves_the_tangent_is_a_zero_of_the_results_type(area_p):
    defjvp(area_p, lambda g, x, y: mul(g, y), None)
    x = np.ones((2, 3), np.float32)
    tangent = jvp_rules[area_p]((x, x), (zero(), 100.0))[1]
    assert repr(tangent) == "Zero(f32[2,3])"


def test_rules_may_use_the_result_which_is_computed_once(area_p):
    defjvp2(area_p, lambda g, out, x, y: mul(g, out), lambda g, out, x, y: mul(g, x))
    assert float(jvp_rules[area_p]((2.0, 3.0), (10.0, 100.0))[1]) == 260.0, "10 * 6 + 100 * 2"
    assert area_p.calls == [1], "bind the primitive once, and hand its result to each rule"


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
            pytest.fail(f"{constant!r} is to be given as it is, but raised {error!r}")
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
