"""while_loop: the primitive, its two jaxprs, and its jvp, vmap, partial-eval and transpose rules."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.jaxpr import check_jaxpr


def double(x):
    """x, doubled until it is at least 100."""
    return lax.while_loop(lambda x: x < 100, lambda x: x * 2, x)


def power(x, n):
    """x to the n: the condition reads a counter, and x itself never changes."""

    def body(carry):
        i, product, x = carry
        return i + 1, product * x, x

    return lax.while_loop(lambda carry: carry[0] < n, body, (0, 1.0, x))[1]


def the_while(fun, *args):
    """The one while equation of a traced function, which is a well-formed jaxpr."""
    jaxpr = jax.make_jaxpr(fun)(*args).jaxpr
    check_jaxpr(jaxpr)
    (eqn,) = [eqn for eqn in jaxpr.eqns if eqn.primitive is lax.while_p]
    return eqn


# ---- the loop ----


def test_the_body_runs_as_long_as_the_condition_holds():
    assert double(3) == 192
    assert double(300) == 300


def test_the_carry_is_a_tree():
    swap = lambda c: {"n": c["n"] + 1, "pair": c["pair"][::-1]}  # noqa: E731
    out = lax.while_loop(lambda c: c["n"] < 3, swap, {"n": 0, "pair": [1.0, 2.0]})
    assert out == {"n": 3, "pair": [2.0, 1.0]}


def test_condition_and_body_are_traced_once():
    calls = []

    def body(x):
        calls.append(x)
        return x + 1

    assert lax.while_loop(lambda x: x < 50, body, 0) == 50
    assert len(calls) == 1


def test_what_the_functions_close_over_is_an_operand():
    def fun(x, limit, factor):
        return lax.while_loop(lambda x: x < limit, lambda x: x * factor, x)

    eqn = the_while(fun, 1.0, 9.0, 2.0)
    assert (eqn.params["cond_nconsts"], eqn.params["body_nconsts"]) == (1, 1)
    assert len(eqn.invars) == 3
    assert fun(1.0, 9.0, 2.0) == 16


def test_a_python_number_takes_the_dtype_that_the_body_gives():
    out = lax.while_loop(lambda x: x < 2, lambda x: x + jnp.float16(0.5), 0)
    assert out == 2
    assert out.dtype == jnp.float16


def test_what_never_changes_is_no_carry():
    eqn = the_while(power, 2.0, 3)
    assert eqn.params["body_nconsts"] == 1
    assert len(eqn.outvars) == 2


def test_what_the_condition_reads_is_a_carry_though_it_never_changes():
    count_to = lambda n: lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1]), (0, n))  # noqa: E731
    assert len(the_while(count_to, 3).outvars) == 2


def test_without_jit_the_loop_runs_in_python():
    seen = []
    with jax.disable_jit():
        lax.while_loop(lambda x: x < 3, lambda x: seen.append(int(x)) or x + 1, 0)
    assert seen == [0, 1, 2]


def test_without_jit_a_predicate_that_is_not_known_needs_the_primitive():
    with jax.disable_jit():
        np.testing.assert_array_equal(jax.vmap(double)(jnp.array([3, 30])), [192, 120])


# ---- what it refuses ----


def test_the_body_must_give_the_type_that_it_takes():
    with pytest.raises(TypeError, match=r"component c\[1\] has type int32\[\].*float32\[\]"):
        lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] / 2), (0, jnp.int32(1)))


def test_the_body_must_give_the_tree_that_it_takes():
    with pytest.raises(TypeError, match="carry c is a .*tuple.*list"):
        lax.while_loop(lambda c: c[0] < 3, lambda c: [c[0] + 1, c[1]], (0, 1))


@pytest.mark.parametrize("pred", [lambda x: x, lambda x: x < jnp.ones(3), lambda x: (x < 3,)])
def test_the_predicate_must_be_a_boolean_scalar(pred):
    with pytest.raises(TypeError, match="boolean scalar"):
        lax.while_loop(pred, lambda x: x, 1.0)


def test_functions_must_be_callable():
    with pytest.raises(TypeError, match="cond_fun=True"):
        lax.while_loop(True, lambda x: x, 1.0)


# ---- derivatives ----


def test_a_tangent_is_carried_along():
    out, tangent = jax.jvp(lambda x: power(x, 3), (2.0,), (1.0,))
    assert (out, tangent) == (8.0, 12.0)


def test_the_condition_reads_no_tangent():
    eqn = the_while(lambda x: jax.jvp(double, (x,), (1.0,)), 3.0)
    assert len(eqn.invars) == 2
    (comparison,) = eqn.params["cond_jaxpr"].eqns
    assert comparison.invars[0] is eqn.params["cond_jaxpr"].jaxpr.invars[0]


def test_a_tangent_spreads_from_one_part_of_the_carry_to_the_next():
    def last(x):
        return lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, x, c[1]), (0, 0.0, 0.0))[2]

    assert jax.jvp(last, (7.0,), (1.0,)) == (7.0, 1.0)


def test_jvp_of_jvp():
    derivative = lambda x: jax.jvp(lambda y: power(y, 3), (x,), (1.0,))[1]  # noqa: E731
    assert jax.jvp(derivative, (2.0,), (1.0,)) == (12.0, 12.0)


def test_linearize_computes_the_primals_now_and_the_tangents_in_a_second_loop():
    out, f_jvp = jax.linearize(lambda x: power(jnp.sin(x), 3), 0.5)
    np.testing.assert_allclose(out, np.sin(0.5) ** 3, rtol=1e-6)
    np.testing.assert_allclose(f_jvp(2.0), 6 * np.sin(0.5) ** 2 * np.cos(0.5), rtol=1e-6)


def test_reverse_mode_says_what_to_do_instead():
    with pytest.raises(ValueError, match="Reverse-mode .*scan"):
        jax.grad(double)(3.0)


def test_reverse_mode_goes_past_a_loop_that_has_no_tangent():
    def halvings(x):
        return lax.while_loop(lambda c: c[0] >= 1, lambda c: (c[0] / 2, c[1] + 1), (x, 0))[1]

    assert jax.grad(lambda x: x * halvings(lax.stop_gradient(x)))(5.0) == 3


# ---- batches ----


def test_each_example_stops_at_its_own_time():
    np.testing.assert_array_equal(
        jax.vmap(double)(jnp.array([3, 300, 99, 1])), [192, 300, 198, 128]
    )


def test_an_example_that_is_done_keeps_its_carry():
    """Another step would divide by zero."""
    countdown = lambda n: lax.while_loop(  # noqa: E731
        lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] / c[0]), (n, 1.0)
    )
    np.testing.assert_allclose(jax.vmap(countdown)(jnp.array([0.0, 1.0, 3.0]))[1], [1, 1, 1 / 6])


def test_a_batched_predicate_makes_all_of_the_carry_batched():
    count_to = lambda n: lax.while_loop(lambda i: i < n, lambda i: i + 1, 0)  # noqa: E731
    eqn = the_while(jax.vmap(count_to), jnp.arange(4))
    assert eqn.params["cond_jaxpr"].out_avals[0].shape == (4,)
    assert eqn.outvars[0].aval.shape == (4,)


def test_with_a_common_predicate_only_what_depends_on_the_example_is_batched():
    counter, product = the_while(jax.vmap(power, (0, None)), jnp.arange(4.0), 3).outvars
    assert (counter.aval.shape, product.aval.shape) == ((), (4,))


def test_a_batch_dim_spreads_from_one_part_of_the_carry_to_the_next():
    def last(x):
        return lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, x, c[1]), (0, 0.0, 0.0))[2]

    np.testing.assert_array_equal(jax.vmap(last)(jnp.arange(3.0)), [0, 1, 2])


def test_a_batched_predicate_stays_in_front_in_an_outer_vmap():
    x, n = jnp.array([1.0, 2.0, 3.0]), jnp.array([2, 0])
    table = jax.vmap(jax.vmap(power, (None, 0)), (0, None))(x, n)
    np.testing.assert_array_equal(table, [[1, 1], [4, 1], [9, 1]])


def test_vmap_of_a_derivative():
    derivative = jax.vmap(jax.jacfwd(power), (0, 0))
    np.testing.assert_array_equal(derivative(jnp.array([2.0, 3.0]), jnp.array([3, 1])), [12, 1])


# ---- inside other programs ----


def test_a_loop_in_a_loop():
    def outer(carry):
        i, total = carry
        total = lax.while_loop(lambda c: c[0] < i, lambda c: (c[0] + 1, c[1] + 1), (0, total))[1]
        return i + 1, total

    assert lax.while_loop(lambda c: c[0] < 5, outer, (0, 0)) == (5, 10)


@pytest.mark.parametrize("n", [0, 1, 10])
def test_compiled_equals_eager(n):
    assert jax.jit(power)(2.0, n) == power(2.0, n)


def test_compiled_loop_of_a_batch_and_its_derivative():
    fun = jax.vmap(jax.jacfwd(power), (0, 0))
    args = jnp.array([2.0, 3.0]), jnp.array([3, 1])
    np.testing.assert_array_equal(jax.jit(fun)(*args), fun(*args))
