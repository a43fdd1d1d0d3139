"""A pass over a jaxpr that counts its cost."""

import numpy as np
import pytest
from practice.count_multiplications import count_multiplications

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.jaxpr import JaxprEqn, Var
from tinyjax.core.primitives import mul, sin
from tinyjax.lax.control_flow.while_loop import while_p
from tinyjax.transform.jit.primitive import jit_p

x = jax.ShapeDtypeStruct((3, 4), np.float32)


def count(fun, *args):
    return count_multiplications(jax.make_jaxpr(fun)(*args).jaxpr)


def test_a_product_counts_for_each_element_of_its_result():
    assert count(lambda x: mul(mul(x, x), 2.0), x) == 24
    assert count(lambda x: mul(x, x) is None or sin(x), x) == 12, "also where the product is unused"


def test_other_operations_do_not_count():
    assert count(lambda x: sin(x) + x - jnp.max(x), x) == 0


def test_a_product_of_matrices_counts_what_it_sums_over():
    y = jax.ShapeDtypeStruct((4, 5), np.float32)
    assert count(lambda x, y: lax.dot(x, y), x, y) == 3 * 5 * 4


def test_a_product_may_have_batch_axes_and_sum_over_several():
    a = jax.ShapeDtypeStruct((7, 2, 3, 4), np.float32)
    b = jax.ShapeDtypeStruct((4, 2, 7, 5), np.float32)
    dims = (((1, 3), (1, 0)), ((0,), (2,)))  # 7 products of (3, 2, 4) and (2, 4, 5)
    assert count(lambda a, b: lax.dot_general(a, b, dims), a, b) == 7 * 3 * 5 * (2 * 4)
    cube = jax.ShapeDtypeStruct((3, 3, 2), np.float32)
    assert count(lambda x: lax.dot_general(x, x, (((0, 1), (0, 1)), ((), ()))), cube) == 4 * 9


def double(x):
    return mul(x, 2.0)


def call_of_double(primitive, **params):
    """A jaxpr of two equations: one of this primitive, and the product of double."""
    jaxpr = jax.make_jaxpr(double)(x).jaxpr
    (v,) = jaxpr.invars
    call = JaxprEqn(primitive, [v], [Var(v.aval)], params)
    return jaxpr.replace(eqns=[call, *jaxpr.eqns])


def test_a_jitted_function_does_what_its_jaxpr_does():
    inside = jax.make_jaxpr(double)(x)
    calls = call_of_double(jit_p, name="double", jaxpr=inside)
    assert count_multiplications(calls) == 2 * 12


def test_a_function_with_a_rule_of_its_own_does_what_its_jaxpr_does():
    with_rule = jax.custom_jvp(double)
    with_rule.defjvps(lambda t, out, x: t)
    assert count(with_rule, x) == 12


def test_a_scan_does_its_body_each_time():
    def body(carry, row):
        return mul(carry, row), sin(carry)

    rows = np.ones((5, 4), np.float32)
    assert count(lambda first: lax.scan(body, first, rows), rows[0]) == 5 * 4
    three = lambda c, _: ((mul(c[0], c[1]), mul(c[1], 2.0), c[2]), None)  # noqa: E731
    assert count(lambda x: lax.scan(three, (x, x, x), None, length=5)[0], x) == 5 * 24
    nothing = jax.ShapeDtypeStruct((0, 3), np.float32)
    assert count(lambda x: lax.dot_general(x, x, (((1,), (1,)), ((0,), (0,)))), nothing) == 0


def test_a_scan_in_a_scan_does_its_body_many_times():
    def inner(carry, _):
        return mul(carry, carry), None

    def outer(carry, _):
        return double(lax.scan(inner, carry, None, length=3)[0]), None

    assert count(lambda x: lax.scan(outer, x, None, length=10), 1.0) == 10 * (3 + 1)


def test_of_the_branches_of_a_cond_the_most_expensive_one_counts():
    branches = [sin, double, lambda x: double(double(double(x))), double]
    assert count(lambda i, x: mul(lax.switch(i, branches, x), x), 1, x) == (3 + 1) * 12
    for last in (0, 1, 3):  # the branch that costs most may be any
        turned = branches[last + 1 :] + branches[: last + 1]
        assert count(lambda i, x: lax.switch(i, turned, x), 1, x) == 3 * 12  # noqa: B023


def while_loop():
    test, body = (jax.make_jaxpr(fun)(x) for fun in (lambda x: x < 9.0, double))
    return call_of_double(while_p, cond_jaxpr=test, body_jaxpr=body)


def test_of_a_while_loop_nobody_knows():
    with pytest.raises(ValueError):
        count_multiplications(while_loop())
    with pytest.raises(ValueError):
        count(lambda x: lax.while_loop(lambda x: jnp.sum(x) < 9.0, sin, x), x)
        pytest.fail("nobody knows how often a while loop runs, also if it has no products in it")


def test_a_while_loop_is_found_however_deep():
    with pytest.raises(ValueError):
        count_multiplications(call_of_double(jit_p, name="loop", jaxpr=while_loop()))


def test_sizes_may_be_0_1_or_none_and_products_of_whole_numbers_count():
    vector, empty = (
        jax.ShapeDtypeStruct((7,), np.int32),
        jax.ShapeDtypeStruct((3, 0, 2), np.float16),
    )
    assert count(lambda v: lax.dot(v, v), vector) == 7
    assert count(lambda v: mul(v, v), vector) == 7 and count(lambda x: mul(x, x), 2) == 1
    assert count(lambda v: mul(v, v), empty) == 0
    outer = (((), ()), ((), ()))
    assert count(lambda v: lax.dot_general(v, v, outer), vector) == 49, "nothing is summed over"
    assert count(lambda x: x, x) == 0
    cube = jax.ShapeDtypeStruct((2, 3, 4), np.float32)
    all_axes = (((0, 1, 2), (0, 1, 2)), ((), ()))
    assert count(lambda x: lax.dot_general(x, x, all_axes), cube) == 24


def test_a_loop_may_run_0_times_and_is_counted_in_a_branch_of_a_jitted_function_too():
    def body(carry, _):
        return double(double(carry)), None

    def loop(n):
        return lambda x: lax.scan(body, x, None, length=n)[0]

    assert count(loop(0), x) == 0
    inside = jax.make_jaxpr(lambda i, x: lax.switch(i, [sin, loop(2), loop(5)], x))(1, x)
    outer = jax.make_jaxpr(double)(x).jaxpr
    i, v = Var(inside.in_avals[0]), outer.invars[0]
    call = JaxprEqn(jit_p, [i, v], [Var(v.aval)], dict(name="f", jaxpr=inside))
    assert count_multiplications(outer.replace(invars=[i, v], eqns=[call, *outer.eqns])) == 12 * 11


def test_of_a_while_loop_in_a_scan_or_in_a_branch_nobody_knows_either():
    stop = lambda x: lax.while_loop(lambda x: jnp.sum(x) < 9.0, double, x)  # noqa: E731
    for fun in (
        lambda x: lax.scan(lambda c, _: (stop(c), None), x, None, length=3)[0],
        lambda x: lax.switch(1, [sin, double, stop], x),
        lambda x: lax.cond(True, stop, sin, x),
    ):
        with pytest.raises(ValueError):
            jaxpr = jax.make_jaxpr(fun)(x).jaxpr
            pytest.fail(
                f"of a while loop nobody knows, but {count_multiplications(jaxpr)} was given"
            )
