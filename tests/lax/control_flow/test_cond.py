"""cond and switch: one of several functions is run, and which one is known only then."""

import math
import re

import numpy as np
import pytest
from explain_errors import explain_errors
from judged import SMALL_FLOAT, each_error, error_passes, identity_primitive, raises

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.jaxpr import JaxprTypeError, check_jaxpr, dce_jaxpr
from tinyjax.transform.jvp import jvp_rules

v = jnp.array([1.0, 2.0, 3.0])


def by_sign(x):
    return lax.cond(x > 0, jnp.sin, jnp.cos, x)


def names_in(jaxpr) -> list[str]:
    return [eqn.primitive.name for eqn in jaxpr.eqns]


@pytest.fixture
def spy():
    """A primitive that gives its operand back, and the list of those that it was run on."""
    seen = []
    primitive = Primitive("spy")
    primitive.def_impl(lambda x: (seen.append(float(x)), x)[1])
    primitive.def_abstract_eval(lambda x: x)
    yield primitive, seen
    del impl_rules[primitive], abstract_eval_rules[primitive]


# ---- one branch runs ----


def test_the_predicate_chooses_the_function():
    np.testing.assert_allclose(by_sign(2.0), np.sin(2.0), rtol=1e-6)
    np.testing.assert_allclose(by_sign(-2.0), np.cos(-2.0), rtol=1e-6)


def test_both_branches_are_traced_but_one_is_run(spy):
    primitive, ran = spy
    traced = []

    def branch(name, number):
        return lambda x: (traced.append(name), primitive.bind(x * number))[1]

    out = lax.cond(True, branch("true", 10.0), branch("false", 100.0), 1.0)
    assert (float(out), ran, traced) == (10.0, [10.0], ["true", "false"])


def test_a_jaxpr_has_both_branches_false_first():
    (_, _, eqn) = jax.make_jaxpr(by_sign)(1.0).eqns
    assert eqn.primitive is lax.cond_p
    assert [names_in(branch) for branch in eqn.params["branches"]] == [["cos"], ["sin"]]


def test_a_number_that_is_not_zero_is_true():
    for pred in (3, -0.5, np.uint8(1), jnp.float32(np.nan)):
        assert lax.cond(pred, lambda: 1, lambda: 2) == 1
    assert lax.cond(-0.0, lambda: 1, lambda: 2) == 2


def test_under_disable_jit_a_known_predicate_is_an_if_statement():
    traced = []
    with jax.disable_jit():
        out = lax.cond(True, lambda x: x, lambda x: traced.append(x), "no array at all")
        third = lax.switch(7, [traced.append, traced.append, lambda x: x + 1], 1)
    assert (out, third, traced) == ("no array at all", 2, [])


def test_under_disable_jit_a_batch_of_predicates_still_runs_both_branches():
    with jax.disable_jit():
        np.testing.assert_allclose(jax.vmap(by_sign)(-v), np.cos(-v), rtol=1e-6)


# ---- operands, closures, results ----


def test_branches_take_operands_or_close_over_values():
    x = jnp.float32(3.0)
    assert lax.cond(True, lambda a, b: a - b, lambda a, b: a + b, x, 1.0) == 2.0
    assert lax.cond(False, lambda: x, lambda: x * 2) == 6.0
    assert lax.cond(True, lambda a: a * 2, lambda a: a, operand=x) == 6.0
    assert lax.cond(False, x, lambda a: a, 5.0, lambda b: b) == 5.0


def test_closed_over_values_become_operands_once_each():
    def f(pred, x, y):
        return lax.cond(pred, lambda: x * y, lambda: x + y)

    eqn = jax.make_jaxpr(f)(True, 1.0, 2.0).eqns[-1]
    assert len(eqn.invars) == 3
    assert all(branch.consts == [] for branch in eqn.params["branches"])


def test_operands_and_results_are_trees():
    out = lax.cond(
        True,
        lambda t: {"sum": t[0] + t[1], "pair": (t[0], None)},
        lambda t: {"sum": t[1], "pair": (t[1], None)},
        (v, v),
    )
    np.testing.assert_array_equal(out["sum"], 2 * v)
    np.testing.assert_array_equal(out["pair"][0], v)


def test_a_result_that_is_an_operand_in_each_branch_does_not_go_through_the_cond():
    closed = jax.make_jaxpr(lambda p, x: lax.cond(p, lambda x: (x, -x), lambda x: (x, x * 2), x))
    jaxpr = closed(True, v).jaxpr
    assert len(jaxpr.eqns[-1].outvars) == 1
    assert jaxpr.outvars[0] is jaxpr.invars[1]


def test_a_result_is_weakly_typed_as_that_of_branch_0():
    assert not lax.cond(False, lambda: jnp.float32(2), lambda: jnp.float32(1)).weak_type
    for pred in (True, False):
        assert lax.cond(pred, lambda: jnp.float32(2), lambda: 1.0).weak_type
        assert not lax.cond(pred, lambda: 1.0, lambda: jnp.float32(2)).weak_type


# ---- switch ----


def test_switch_has_any_number_of_branches_and_clamps_its_index():
    branches = [lambda x: x, lambda x: x * 10, lambda x: x * 100]
    picked = [int(lax.switch(i, branches, 1)) for i in (-5, 0, 1, 2, 3, 1000)]
    assert picked == [1, 1, 10, 100, 100, 100]


def test_switch_of_one_branch_is_a_call():
    closed = jax.make_jaxpr(lambda i, x: lax.switch(i, [jnp.sin], x))(3, 1.0)
    assert names_in(closed) == ["sin"]


# ---- errors ----


def test_the_results_of_branches_must_be_of_one_tree_and_type():
    with pytest.raises(TypeError, match=r"path \['a'\].*length 2.*length 1"):
        lax.cond(True, lambda: {"a": (v, v)}, lambda: {"a": (v,)})
    with pytest.raises(TypeError, match=r"path \['a'\].*float32\[3\].*float32\[2\]"):
        lax.cond(True, lambda: {"a": v}, lambda: {"a": v[:2]})
    with pytest.raises(TypeError, match=r"branch 0.*float32\[3\].*branch2.*int32\[\]"):
        lax.switch(0, [lambda: v, lambda: v, lambda: 1])


def test_a_predicate_is_a_bool_or_a_number_alone():
    with pytest.raises(TypeError, match=r"scalar.*\(3,\).*vmap"):
        lax.cond(v > 1, jnp.sin, jnp.cos, v)
    with pytest.raises(TypeError, match="complex64"):
        lax.cond(1j, jnp.sin, jnp.cos, v)
    with pytest.raises(TypeError, match="integer.*bool"):
        lax.switch(True, [jnp.sin, jnp.cos], v)


def test_the_checker_knows_the_types_of_branches():
    jaxpr = jax.make_jaxpr(by_sign)(1.0).jaxpr
    check_jaxpr(jaxpr)
    eqn = jaxpr.eqns[-1]
    other = jax.make_jaxpr(jnp.sin)(v)
    jaxpr.eqns[-1] = eqn.replace(params={"branches": (other, other)})
    with pytest.raises(JaxprTypeError, match=r"branch 0 of cond takes \(f32\[3\]\)"):
        check_jaxpr(jaxpr)


# ---- forward mode ----


def test_the_jvp_is_a_cond_of_the_branches_jvps():
    with explain_errors(
        "branches take primals, then tangents that are not Zero; they give results, then tangents"
    ):
        out, tangent = jax.jvp(by_sign, (-2.0,), (10.0,))
    np.testing.assert_allclose([out, tangent], [np.cos(-2.0), -10 * np.sin(-2.0)], rtol=1e-6)


def test_a_branch_without_a_tangent_gives_zeros_where_another_has_one():
    f = lambda p: lambda x: lax.cond(p, lambda x: x * 2, lambda x: jnp.ones(3), x)  # noqa: E731
    with explain_errors("where any branch has a tangent, all must be made to give one"):
        taken = [jax.jvp(f(p), (v,), (v,))[1] for p in (True, False)]
    np.testing.assert_array_equal(taken[0], 2 * v, "2 * x_dot, of the branch that has a tangent")
    np.testing.assert_array_equal(taken[1], [0, 0, 0], "of a branch without a tangent: zeros")


def test_what_no_branch_differentiates_has_no_tangent():
    def f(x):
        return lax.cond(x > 0, lambda x: (x, 1.0), lambda x: (-x, 2.0), x)[0]

    with explain_errors("the branches give two results, and a tangent of the first alone"):
        eqn = jax.make_jaxpr(lambda x: jax.jvp(f, (x,), (1.0,)))(1.0).eqns[-1]
    assert len(eqn.outvars) == 3, f"two results and the tangent of one, not {len(eqn.outvars)}"


def with_slope(slope, of_slope=0.0):
    """The identity, whose derivative is given as `slope`, and that of its slope as `of_slope`: all look the
    same when they are printed."""

    @jax.custom_jvp
    def same(x):
        return x * 1.0

    @jax.custom_jvp
    def slope_at(x):
        return x * 0.0 + slope

    slope_at.defjvp(lambda primals, tangents: (primals[0] * 0.0 + slope, tangents[0] * of_slope))
    same.defjvp(lambda primals, tangents: (primals[0] * 1.0, tangents[0] * slope_at(*primals)))
    return same


@pytest.mark.parametrize("moving", range(4))
def test_any_of_many_branches_may_be_the_one_that_moves(moving):
    branches = [lambda x: 1.0, lambda x: 2.0, lambda x: 3.0, lambda x: 4.0]
    branches[moving] = lambda x: x * x
    told = f"of four branches, number {moving} alone has a tangent: all must give one"
    with explain_errors(told):
        found = [jax.jvp(lambda x: lax.switch(i, branches, x), (3.0,), (1.0,))[1] for i in range(4)]  # noqa: B023
    assert [float(t) for t in found] == [6.0 * (i == moving) for i in range(4)], told
    alike = [with_slope(2.0), with_slope(3.0), with_slope(5.0)]
    found = [jax.jvp(lambda x: lax.switch(i, alike, x), (1.0,), (1.0,))[1] for i in range(3)]  # noqa: B023
    assert [float(t) for t in found] == [2.0, 3.0, 5.0], "branches of one text may be different"
    alike = [with_slope(1.0, of_slope) for of_slope in (2.0, 3.0)]
    moved = lambda i: lambda x: jax.jvp(lambda x: lax.switch(i, alike, x), (x,), (1.0,))[1]  # noqa: E731
    found = [jax.jvp(moved(i), (1.0,), (1.0,))[1] for i in range(2)]
    assert [float(t) for t in found] == [2.0, 3.0], "so may their jvps"
    nine = [lambda x: 1.0] * 8 + [lambda x: x * x] + [lambda x: 1.0] * 8
    assert float(jax.jvp(lambda x: lax.switch(8, nine, x), (3.0,), (1.0,))[1]) == 6.0, "one of many"
    of_20 = lambda x: lax.switch(0, [lambda *xs: xs[19] * xs[0]] * 2, *[1.0] * 19, x)  # noqa: E731
    assert float(jax.jvp(of_20, (1.0,), (1.0,))[1]) == 1.0, "the last of twenty operands moves"
    many = [lambda x: 1.0] * 4 * (moving + 1) + [lambda x: x * x]
    assert float(jax.jvp(lambda x: lax.switch(99, many, x), (3.0,), (1.0,))[1]) == 6.0


def test_each_result_has_its_own_tangent_and_operands_may_be_whole_numbers():
    def branch(k):
        return lambda n, x, y: (x * k, [n, y * x], y * (k - 1.0))

    x, y = jnp.ones((2, 1, 3), SMALL_FLOAT), jnp.float32(5)
    for i in range(3):
        f = lambda y: lax.switch(i, [branch(k) for k in (1.0, 2.0, 3.0)], jnp.arange(2), x, y)  # noqa: B023, E731
        with explain_errors("each result has a tangent where any branch gives one"):
            (out, (n, _), _), (a, (b, c), d) = jax.jvp(f, (y,), (np.float32(1),))
        assert out.dtype == SMALL_FLOAT and n.tolist() == [0, 1] and not np.any(np.asarray(a))
        assert b.dtype == jax.dtypes.float0 and c.shape == (2, 1, 3) and float(d) == i
    product = lambda *xs: lax.cond(xs[0] > 0, lambda *xs: math.prod(xs), lambda *xs: xs[0], *xs)  # noqa: E731
    with explain_errors("any operand may move, and one may stand at several places"):
        found = jax.jvp(product, (2.0, 3.0, 5.0, 7.0), (1.0,) * 4)[1]
        same = jax.jvp(lambda x: product(x, x, x, x), (2.0,), (1.0,))[1]
    assert (float(found), float(same)) == (247.0, 32.0)
    many = lambda k: lambda x: (*(x * n for n in range(8)), float(k), float(k), x)  # noqa: E731
    f = lambda x: lax.cond(x > 0, many(1), many(2), x)  # noqa: E731
    with explain_errors("nine of eleven results have a tangent"):
        tangents = jax.jvp(f, (2.0,), (1.0,))[1]
    assert [float(t) for t in tangents] == [*range(8), 0, 0, 1]


@each_error
def test_an_error_of_a_rule_within_a_branch_goes_on(error):
    p = identity_primitive()
    with error_passes(error()) as raised:
        jvp_rules[p] = raises(raised)
        jax.jvp(lambda x: lax.cond(True, jnp.sin, p.bind, x), (1.0,), (1.0,))


# ---- reverse mode ----


def test_the_gradient_is_that_of_the_branch_taken():
    np.testing.assert_allclose(jax.grad(by_sign)(2.0), np.cos(2.0), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(by_sign)(-2.0), -np.sin(-2.0), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(jax.grad(by_sign))(-2.0), -np.cos(-2.0), rtol=1e-6)


def test_the_gradient_runs_one_branch_forwards_and_one_backwards():
    eqns = jax.make_jaxpr(jax.grad(by_sign))(1.0).eqns
    forwards, backwards = [eqn for eqn in eqns if eqn.primitive is lax.cond_p]
    assert names_in(forwards.params["branches"][1])[:2] == ["sin", "cos"]
    assert names_in(backwards.params["branches"][1]) == ["mul"]


def test_residuals_of_one_type_share_a_place():
    """Each branch needs one residual: the first a scalar, the others a vector."""
    branches = [
        lambda x: jnp.sin(x.sum()),
        lambda x: jnp.sin(x).sum(),
        lambda x: jnp.exp(x).sum(),
    ]
    eqns = jax.make_jaxpr(jax.grad(lambda x, i: lax.switch(i, branches, x)))(v, 0).eqns
    forwards = next(eqn for eqn in eqns if eqn.primitive is lax.cond_p)
    assert [var.aval.shape for var in forwards.outvars] == [(), (), (3,)]


def test_linearize_computes_once_what_does_not_depend_on_the_tangent(spy):
    primitive, ran = spy
    out, f_jvp = jax.linearize(
        lambda x: lax.cond(x > 0, lambda x: x * primitive.bind(lax.stop_gradient(x)), jnp.cos, x),
        2.0,
    )
    np.testing.assert_array_equal([out, f_jvp(1.0), f_jvp(3.0)], [4, 2, 6])
    assert ran == [2.0]


def test_a_linear_cond_has_a_transpose():
    f = jax.linear_transpose(lambda x: lax.cond(False, lambda x: x * 2, lambda x: -x, x), 1.0)
    assert f(3.0) == (-3.0,)
    depends = jax.linear_transpose(by_sign, 1.0)
    with pytest.raises(NotImplementedError, match="cond"):
        depends(1.0)


# ---- vmap ----


def test_a_batch_of_predicates_runs_all_branches_and_selects():
    np.testing.assert_allclose(
        jax.vmap(by_sign)(jnp.array([2.0, -2.0])), [np.sin(2.0), np.cos(-2.0)], rtol=1e-6
    )
    closed = jax.make_jaxpr(jax.vmap(by_sign))(v)
    names = names_in(closed)
    assert "cond" not in names and {"sin", "cos", "select_n"} <= set(names)
    share = lambda p, x: lax.cond(p, lambda x: x + lax.axis_index("i"), lambda x: -x, x)  # noqa: E731
    with explain_errors("branches may use the name of the axis"):
        found = jax.vmap(share, axis_name="i")(jnp.array([False, True]), jnp.array([2.0, 3.0]))
    np.testing.assert_array_equal(found, [-2, 4])


def test_a_batch_of_predicates_chooses_whole_arrays():
    """Each example is a row of three, and has one predicate."""
    f = jax.vmap(lambda p, x: lax.cond(p, lambda x: x * 2, lambda x: -x, x))
    rows = f(jnp.array([True, False]), jnp.stack([v, v]))
    np.testing.assert_array_equal(rows, [[2, 4, 6], [-1, -2, -3]])
    turned = jax.vmap(lambda p, x: lax.cond(p, lambda x: x, lambda x: -x, x), (0, 1))
    np.testing.assert_array_equal(
        turned(jnp.array([True, False]), jnp.stack([v, v], 1)), [[1, 2, 3], [-1, -2, -3]]
    )
    with explain_errors(
        "a batch may be of one example: an index is broadcast if an example is an array"
    ):
        one = f(jnp.array([True]), v[None])
    np.testing.assert_array_equal(one, [[2, 4, 6]])


def test_one_predicate_for_the_batch_stays_a_cond():
    f = jax.vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x), in_axes=(None, 0))
    np.testing.assert_allclose(f(False, v), np.cos(v), rtol=1e-6)
    assert names_in(jax.make_jaxpr(f)(True, v))[-1] == "cond"


def test_a_result_batched_in_one_branch_is_batched_in_all():
    f = jax.vmap(lambda p, x: lax.cond(p, lambda x: x, lambda x: 7.0, x), in_axes=(None, 0))
    np.testing.assert_array_equal(f(True, v), v)
    np.testing.assert_array_equal(f(False, v), [7, 7, 7])


def test_examples_that_take_another_branch_do_not_spoil_the_gradient():
    """The derivative of log is infinite at 0, and 0 * inf would be nan."""

    def safe_log(x):
        return lax.cond(x > 0, jnp.log, lambda x: 2 * x, x)

    x = jnp.array([2.0, -1.0, 0.0])
    told = "the slopes of log at 2, and of 2 * x at -1 and at 0, where log's is infinite"
    np.testing.assert_array_equal(jax.vmap(jax.grad(safe_log))(x), [0.5, 2, 2], told)
    turned_log = jax.vmap(lambda x: lax.cond(x <= 0, lambda x: 2 * x, jnp.log, x))
    turned = jax.grad(lambda x: turned_log(x).sum())
    np.testing.assert_array_equal(turned(x), [0.5, 2, 2], told)
    of_batch = jax.grad(lambda x: jax.vmap(safe_log)(x).sum())
    np.testing.assert_array_equal(of_batch(x), [0.5, 2, 2], told)

    def of_one_for_all(y):
        choose = lambda takes_log, y: lax.cond(takes_log, jnp.log, lambda y: 2 * y, y)  # noqa: E731
        return jax.vmap(choose, in_axes=(0, None))(jnp.array([False, False]), y).sum()

    told = "an operand that no example maps needs guarding too: both take 2 * y, at y = 0"
    np.testing.assert_array_equal(jax.grad(of_one_for_all)(0.0), 4.0, told)


def test_a_branch_that_calls_out_has_no_batch():
    calls_out = lambda x: jax.experimental.io_callback(print, None, x)  # noqa: E731
    with pytest.raises(NotImplementedError, match="io_callback in a branch"):
        jax.vmap(lambda x: lax.cond(x > 0, calls_out, lambda x: None, x))(v)


# ---- jit, and dead code ----


def test_jit_of_a_cond_chooses_at_each_call(spy):
    primitive, ran = spy
    traces = []

    @jax.jit
    def f(x):
        traces.append(x)
        return lax.cond(x > 0, lambda x: primitive.bind(x), lambda x: primitive.bind(-x), x)

    assert (f(2.0), f(-3.0)) == (2.0, 3.0)
    assert (ran, len(traces)) == ([2.0, 3.0], 1)


def test_jit_of_derivatives_and_batches():
    w = jnp.array([2.0, -2.0, 0.5])
    want = [np.cos(2.0), -np.sin(-2.0), np.cos(0.5)]
    for f in (
        jax.jit(jax.vmap(jax.grad(by_sign))),
        jax.vmap(jax.jit(jax.grad(by_sign))),
        jax.vmap(jax.grad(jax.jit(by_sign))),
        jax.grad(lambda x: jax.jit(jax.vmap(by_sign))(x).sum()),
    ):
        np.testing.assert_allclose(f(w), want, rtol=1e-6)


def test_conds_nest():
    def f(i, pred, x):
        return lax.switch(i, [lambda x: lax.cond(pred, jnp.sin, jnp.cos, x), jnp.tanh], x)

    np.testing.assert_allclose(f(0, True, v), np.sin(v), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(jax.jit(f), 2)(0, False, 1.0), -np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(
        jax.vmap(f)(jnp.array([0, 0, 1]), jnp.array([True, False, True]), v),
        [np.sin(1.0), np.cos(2.0), np.tanh(3.0)],
        rtol=1e-6,
    )


def test_results_that_nobody_reads_are_not_computed_and_their_operands_not_passed():
    def f(pred, x, y):
        return lax.cond(pred, lambda: (x * 2, jnp.sin(y)), lambda: (x * 3, jnp.cos(y)))

    jaxpr, _, used = dce_jaxpr(jax.make_jaxpr(f)(True, 1.0, 2.0).jaxpr, [True, False])
    eqn = jaxpr.eqns[-1]
    assert used == [True, True, False]
    assert [names_in(branch) for branch in eqn.params["branches"]] == [["mul"], ["mul"]]
    assert (len(eqn.invars), len(eqn.outvars)) == (2, 1)


def test_branches_that_differ_are_named_with_their_places():
    def negative(x):
        return -x

    with pytest.raises(TypeError) as raised:
        lax.cond(True, negative, lambda x: 1, 1.0)
    place = rf"true_fun is negative at {__file__}:\d+, false_fun is <lambda> at {__file__}:\d+"
    assert re.search(place, str(raised.value))


def test_of_three_branches_and_of_a_tree_each_example_gets_its_own():
    branches = [
        lambda x, y: (x, {"y": y}),
        lambda x, y: (2 * x, {"y": -y}),
        lambda x, y: (x * x, {"y": y * 0}),
    ]
    x, y = jnp.arange(24.0).reshape(4, 2, 3), jnp.arange(1, 4)
    which = jnp.array([2, 0, 1, -5])
    f = jax.vmap(lambda i, x: lax.switch(i, branches, x, y))
    with explain_errors("for each example, all results of the branch that its index says"):
        out, rest = f(which, x)
        many = [lambda a, b, c, k=k: (c + k, b + k, a + k, a * c) for k in range(3)]  # noqa: B023
        args = jnp.ones(4), jnp.arange(4.0), jnp.arange(8.0).reshape(4, 2)
        found = jax.vmap(lambda i, *xs: lax.switch(i, many, *xs))(which, *args)
        more = [lambda x, k=k: x * k for k in range(140)]
        of_many = jax.vmap(lambda i, x: lax.switch(i, more, x))
        slopes = jax.grad(lambda x: of_many(jnp.array([3, 131]), x).sum())(jnp.ones(2))
    assert slopes.tolist() == [3, 131], "there may be more than 128 branches"
    index = np.array([2.0, 0, 1, 0])
    want = args[2] + index[:, None], args[1] + index, args[0] + index, args[2]
    for got, expected in zip(found, want, strict=True):
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(out, [x[0] ** 2, x[1], 2 * x[2], x[3]])
    np.testing.assert_array_equal(rest["y"], [y * 0, y, -y, y])
    assert rest["y"].dtype == y.dtype


@pytest.mark.parametrize(
    "shape, dtype",
    [
        ((), SMALL_FLOAT.name),
        ((1,), "float16"),
        ((0, 2), "int8"),
        ((2, 1, 3), "bool"),
        ((2,), "int32"),
    ],
)
def test_arrays_of_any_rank_and_dtype_are_chosen(shape, dtype):
    large = 2**24 + 1 if dtype == "int32" else 1  # which no float32 is
    x = jnp.full((3, *shape), large, dtype)
    with explain_errors(f"arrays of {dtype}{list(shape)} can be chosen"):
        out = jax.vmap(lambda p, x: lax.cond(p, lambda x: x, jnp.zeros_like, x))(
            jnp.array([True, False, True]), x
        )
    assert (out.shape, out.dtype) == (x.shape, x.dtype)
    want = np.asarray(x).copy()
    want[1] = 0
    np.testing.assert_array_equal(out, want)


def test_no_branch_spoils_the_gradient_of_an_operand_that_is_shared():
    def f(p, shared, x):
        return lax.cond(p, lambda a, x: jnp.log(a) * x, lambda a, x: a * x, shared, x)

    loss = lambda shared: jax.vmap(f, (0, None, 0))(jnp.array([False, False]), shared, v[:2]).sum()  # noqa: E731
    slope = jax.grad(loss)(0.0)
    assert float(slope) == 3.0, f"log is taken by no example: the slope is 1 + 2, not {slope}"
    shared = jax.grad(lambda a: jax.vmap(f, (0, None, 0))(jnp.array([True, False]), a, v[:2]).sum())
    assert float(shared(0.5)) == 4.0, "1 / 0.5 by the first example, 2 by the second"
    for place in range(3):
        for k in range(5):
            branches = [lambda *xs: sum(n * x for n, x in enumerate(xs))] * 3
            branches[place] = lambda *xs: jnp.log(xs[k])  # noqa: B023
            choose = jax.vmap(lambda i, *xs: lax.switch(i, branches, *xs))  # noqa: B023
            which = jnp.full(2, (place + 1) % 3)
            total = lambda *xs: choose(which, *xs).sum()  # noqa: B023, E731
            slopes = jax.grad(total, tuple(range(5)))(*[jnp.zeros(2)] * 5)
            told = f"branch {place} is taken by no example: its slope by operand {k} is infinite"
            np.testing.assert_array_equal(slopes, [[n, n] for n in range(5)], told)
