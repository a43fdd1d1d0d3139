"""A jaxpr in two: the part that is known and runs now, and the part for later."""

import itertools

import numpy as np
import pytest
from judged import each_error, error_passes, raises, unchanged

import tinyjax as jax
from tinyjax.core import bind
from tinyjax.core.jaxpr import jaxpr_as_fun
from tinyjax.core.lists import drop, merge_lists, pick
from tinyjax.core.primitives import cos, mul, sin, sin_p
from tinyjax.transform.jvp import jvp_rules
from tinyjax.transform.partial_eval import linearize_jaxpr, partial_eval_jaxpr


def f(x):
    return mul(sin(x), x)


# ---- primals now, tangents later ----


def names(closed):
    return [eqn.primitive.name for eqn in closed.eqns]


def test_a_jaxpr_is_linearized_into_one_of_primals_and_one_of_tangents():
    closed = jax.make_jaxpr(f)(3.0)
    parts = linearize_jaxpr(closed, (True,))
    assert names(parts.known) == ["sin", "cos", "mul"]
    assert names(parts.later) == ["mul", "mul", "mul", "add_any"]
    outs, residuals = parts.values([3.0], jaxpr_as_fun(parts.known)(3.0))
    np.testing.assert_allclose(outs, [np.sin(3.0) * 3], rtol=1e-6)
    (tangent,) = jaxpr_as_fun(parts.later)(*residuals, 2.0)
    np.testing.assert_allclose(tangent, jax.jvp(f, (3.0,), (2.0,))[1], rtol=1e-6)


def test_only_what_moves_is_in_the_linear_jaxpr():
    closed = jax.make_jaxpr(lambda x, y: (sin(x), cos(y), 5.0))(1.0, 2.0)
    parts = linearize_jaxpr(closed, (False, True))
    assert parts.later_outs == (False, True, False)
    assert [len(vs) for vs in (parts.later.jaxpr.outvars, parts.residuals)] == [1, 1]


def test_a_result_that_does_not_move_can_be_given_a_tangent_of_zeros():
    args = [np.ones(2, np.float32), 2.0]
    closed = jax.make_jaxpr(lambda x, y: (sin(x), cos(y)))(*args)
    parts = linearize_jaxpr(closed, (False, True), (True, False))
    assert parts.later_outs == (True, True)
    assert "broadcast_in_dim" in names(parts.known), "as in JAX, the zeros are a residual"
    _, residuals = parts.values(args, jaxpr_as_fun(parts.known)(*args))
    zeros, _ = jaxpr_as_fun(parts.later)(*residuals, 3.0)
    np.testing.assert_array_equal(zeros, [0.0, 0.0])


def test_a_primal_that_the_linear_jaxpr_needs_is_not_given_back():
    parts = linearize_jaxpr(jax.make_jaxpr(lambda x: mul(x, x))(1.0), (True,))
    assert parts.residuals == [("in", 0)] and len(parts.known.out_avals) == 1


@each_error
def test_an_error_of_a_jvp_rule_goes_on_and_the_trace_before_is_current(monkeypatch, error):
    with error_passes(error()) as raised:
        closed = jax.make_jaxpr(f)(3.0)
        monkeypatch.setitem(jvp_rules, sin_p, raises(raised))
        linearize_jaxpr(closed, (True,))


@pytest.mark.parametrize("nonzeros", list(itertools.product([False, True], repeat=3)))
def test_of_three_inputs_consts_and_results_each_may_move(nonzeros):
    arrays = [bind.as_array(np.float32(n)) for n in (5, 7, 11)]

    def several(x, y, z):
        return mul(sin(x), arrays[0]), y, mul(mul(mul(z, arrays[2]), arrays[1]), y), cos(z)

    closed, args = jax.make_jaxpr(several)(1.0, 2.0, 3.0), [1.0, 2.0, 3.0]
    with unchanged(jaxpr=closed):
        parts = linearize_jaxpr(closed, nonzeros, (False, False, True, True))
    outs, residuals = parts.values(args, jaxpr_as_fun(parts.known)(*args))
    tangents = jaxpr_as_fun(parts.later)(*residuals, *pick([1.0, 10.0, 100.0], nonzeros))
    given = [t if nonzero else 0.0 for t, nonzero in zip([1.0, 10.0, 100.0], nonzeros)]
    want, moved = jax.jvp(several, tuple(args), tuple(given))
    np.testing.assert_allclose(outs, want, rtol=1e-6)
    x, y, _ = nonzeros
    assert parts.later_outs == (x, y, True, True)
    np.testing.assert_allclose(tangents, pick(moved, parts.later_outs), rtol=1e-6)


# ---- known inputs now, unknown ones later ----


def test_a_jaxpr_is_split_into_a_known_and_an_unknown_part():
    closed = jax.make_jaxpr(lambda x, y: mul(sin(x), cos(y)))(1.0, 2.0)
    known, unknown, unknown_outs, known_outs, residuals = partial_eval_jaxpr(closed, (False, True))
    assert [eqn.primitive.name for eqn in known.eqns] == ["sin"]
    assert [eqn.primitive.name for eqn in unknown.eqns] == ["cos", "mul"]
    assert unknown_outs == (True,) and known_outs == [] and residuals == [("out", 0)]


def pieced_together(closed, unknown_ins, args, force_unknown=()):
    """The results of a jaxpr that was split, each part run on what it needs."""
    parts = partial_eval_jaxpr(closed, unknown_ins, force_unknown)
    known_args = drop(args, unknown_ins)
    now, residuals = parts.values(known_args, jaxpr_as_fun(parts.known)(*known_args))
    later = jaxpr_as_fun(parts.later)(*residuals, *pick(args, unknown_ins))
    return [float(x) for x in merge_lists(parts.later_outs, now, later)]


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
        return cos(x), sine, mul(sine, y)

    closed = jax.make_jaxpr(twice_used)(1.0, 2.0)
    known, _, _, known_outs, residuals = partial_eval_jaxpr(closed, (False, True))
    assert known_outs == [("out", 0), ("out", 1)]
    assert residuals == [("out", 1)], "the sine is a result and a residual: one output"
    assert len(known.out_avals) == 2


def test_a_known_input_is_not_given_back():
    closed = jax.make_jaxpr(lambda x, y: mul(x, y))(1.0, 2.0)
    known, _, _, _, residuals = partial_eval_jaxpr(closed, (False, True))
    assert residuals == [("in", 0)] and known.out_avals == []


def test_of_many_inputs_consts_and_results_none_is_computed_again():
    arrays = [bind.as_array(np.float32(n)) for n in (5, 7, 11)]

    def many(x, y, z, later):
        results = sin(x), cos(y), sin(z)
        for factor in (x, y, z, *arrays, *results):
            later = mul(later, factor)
        return *results, later

    closed = jax.make_jaxpr(many)(1.0, 2.0, 3.0, 4.0)
    for parts in (
        partial_eval_jaxpr(closed, (False, False, False, True)),
        linearize_jaxpr(closed, (False, False, False, True)),
    ):
        origins = {origin if origin[0] != "const" else "const" for origin in parts.residuals}
        assert origins == {"const", *((kind, i) for kind in ("in", "out") for i in range(3))}
        assert parts.known_outs[:3] == [("out", 0), ("out", 1), ("out", 2)]
        assert names(parts.known).count("sin") == 2 and names(parts.known).count("cos") == 1
    for x in (1.0, np.float16(1), np.float32(1)):
        tangent = linearize_jaxpr(jax.make_jaxpr(sin)(x), (True,)).later.in_avals[-1]
        assert tangent == bind.get_aval(x), "a tangent has its primal's dtype and weak type"
    closed = jax.make_jaxpr(lambda x: (x, x, sin(x)))(1.0)
    parts = linearize_jaxpr(closed, (False,), (True, True, True))
    assert parts.known_outs[:2] == [("in", 0)] * 2, "an input keeps its place each time"
    zeros = jaxpr_as_fun(parts.later)(*parts.values([1.0], jaxpr_as_fun(parts.known)(1.0))[1])
    assert all(bind.get_aval(z) == bind.get_aval(1.0) for z in zeros), (
        "zeros have the result's aval"
    )
