"""scan: a loop over the leading axis of arrays, in one equation, that can be run backwards."""

import numpy as np
import pytest
from explain_errors import explain_errors

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.jaxpr import JaxprTypeError, check_jaxpr, dce_jaxpr
from tinyjax.transform.jvp import Zero
from tinyjax.transform.linearize import linearize_flat
from tinyjax.transform.transposition import UndefinedPrimal, transpose_rules


def f32(*values):
    return jnp.array(values, jnp.float32)


def running_sum(carry, x):
    carry = carry + x
    return carry, carry


W = np.array([[0.5, -0.2, 0.1], [0.3, 0.7, -0.4], [-0.6, 0.2, 0.1]], np.float32)
H = np.array([0.1, -0.3, 0.6], np.float32)
XS = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


def rnn(w, h, xs):
    def step(h, x):
        h = jnp.tanh(w @ h + x)
        return h, h

    return lax.scan(step, h, xs)


def loss(w, h, xs):
    return jnp.sum(rnn(w, h, xs)[1] ** 2)


def looped_loss(w, h, xs):
    """The same with a loop in Python, which tracing writes out."""
    total = 0.0
    for x in xs:
        h = jnp.tanh(w @ h + x)
        total = total + jnp.sum(h**2)
    return total


# ---- what it does ----


def test_the_carry_goes_from_step_to_step_and_ys_are_stacked():
    total, sums = lax.scan(running_sum, 0.0, f32(1, 2, 3))
    assert float(total) == 6
    np.testing.assert_array_equal(sums, [1, 3, 6])


def test_reverse_begins_with_the_last_x():
    total, sums = lax.scan(running_sum, 0.0, f32(1, 2, 3), reverse=True)
    assert float(total) == 6
    np.testing.assert_array_equal(sums, [6, 5, 3])


def test_without_xs_the_length_says_how_often():
    last, powers = lax.scan(lambda c, _: (2 * c, c), 1, length=5)
    assert int(last) == 32
    np.testing.assert_array_equal(powers, [1, 2, 4, 8, 16])


def test_carry_xs_and_ys_are_trees():
    def step(carry, x):
        return {"n": carry["n"] + 1}, (2 * x["a"], [x["b"].sum()])

    carry, (a, (b,)) = lax.scan(step, {"n": 0}, {"a": f32(1, 2), "b": jnp.ones((2, 3))})
    assert int(carry["n"]) == 2
    np.testing.assert_array_equal(a, [2, 4])
    np.testing.assert_array_equal(b, [3, 3])


def test_no_steps_give_the_first_carry_and_empty_ys():
    carry, ys = lax.scan(lambda c, x: (c + x, jnp.zeros((2, 3))), 7.0, jnp.zeros(0))
    assert float(carry) == 7
    assert ys.shape == (0, 2, 3)


def test_a_body_may_draw_random_numbers():
    def step(key, _):
        key, sub = jax.random.split(key)
        return key, jax.random.normal(sub)

    key, values = jax.random.key(0), []
    for _ in range(3):
        key, value = step(key, None)
        values.append(float(value))
    np.testing.assert_array_equal(lax.scan(step, jax.random.key(0), length=3)[1], values)


def test_a_python_number_as_first_carry_takes_the_dtype_that_the_body_gives():
    carry, _ = lax.scan(running_sum, 0, f32(1, 2, 3))
    assert carry.dtype == jnp.float32


@pytest.mark.parametrize("unroll", [0, 1, 2, 5, True, False])
def test_unroll_changes_no_result(unroll):
    total, _ = jax.jit(lambda xs: lax.scan(running_sum, 0.0, xs, unroll=unroll))(f32(1, 2, 3))
    assert float(total) == 6


# ---- as an equation ----


def scans(fun, *args):
    """The scan equations of a function's jaxpr."""
    eqns = jax.make_jaxpr(fun)(*args).eqns
    return [eqn for eqn in eqns if eqn.primitive is lax.scan_p]


def test_the_body_is_traced_once_whatever_the_length():
    calls = []
    lax.scan(lambda c, x: (calls.append(c) or c + x, None), 0.0, jnp.ones(100))
    assert len(calls) == 1


def test_a_loop_of_any_length_is_one_equation():
    (eqn,) = scans(lambda xs: lax.scan(running_sum, np.float32(0), xs), jnp.ones(1000))
    assert eqn.params["length"] == 1000
    assert [inner.primitive.name for inner in eqn.params["jaxpr"].eqns] == ["add"]


def test_what_the_body_closes_over_is_a_const():
    (eqn,) = scans(rnn, W, H, XS)
    assert eqn.params["num_consts"] == 1
    assert [v.aval.shape for v in eqn.invars] == [(3, 3), (3,), (4, 3)]


def test_a_carry_that_never_changes_is_a_const_too():
    def step(carry, x):
        w, h = carry
        return (w, jnp.tanh(w @ h + x)), None

    (eqn,) = scans(lambda w, h, xs: lax.scan(step, (w, h), xs), W, H, XS)
    assert (eqn.params["num_consts"], eqn.params["num_carry"]) == (1, 1)


def test_ys_that_are_xs_are_not_made_again():
    (eqn,) = scans(lambda xs: lax.scan(lambda c, x: (c + x, x), 0.0, xs), jnp.ones(3))
    assert len(eqn.outvars) == 1


def test_a_scan_of_operands_that_its_body_does_not_take_is_not_well_formed():
    closed = jax.make_jaxpr(lambda xs: lax.scan(running_sum, 0.0, xs))(jnp.ones(3))
    closed.eqns[0].params["length"] = 4
    with pytest.raises(JaxprTypeError, match="operands"):
        check_jaxpr(closed.jaxpr)


def test_dead_carries_go_and_with_them_what_they_are_made_of():
    def pair(c, xs):
        return lax.scan(lambda c, x: ((c[0] + x, jnp.sin(c[1])), (c[1], x * 2)), c, xs)

    jaxpr = jax.make_jaxpr(pair)(tuple(f32(1, 2)), jnp.ones(3)).jaxpr
    smaller, _, used = dce_jaxpr(jaxpr, [True, False, False, False])
    (eqn,) = smaller.eqns
    assert used == [True, False, True]
    assert [inner.primitive.name for inner in eqn.params["jaxpr"].eqns] == ["add"]


def test_a_carry_that_another_carry_needs_stays():
    def shift(c, xs):
        return lax.scan(lambda c, x: ((c[1], c[2], x), None), c, xs)

    jaxpr = jax.make_jaxpr(shift)((1.0, 2.0, 3.0), jnp.ones(3)).jaxpr
    (eqn,) = dce_jaxpr(jaxpr, [True, False, False])[0].eqns
    assert eqn.params["num_carry"] == 3


# ---- derivatives ----


def test_a_carry_without_a_first_tangent_gets_one_from_the_body():
    def power(x):
        return lax.scan(lambda c, _: (c * x, None), 1.0, length=3)[0]

    assert [float(y) for y in jax.jvp(power, (2.0,), (1.0,))] == [8, 12]


def test_a_tangent_reaches_the_last_carry_through_the_others():
    def shift(x):
        return lax.scan(lambda c, _: ((x, c[0], c[1]), None), (0.0, 0.0, 0.0), length=3)[0]

    assert [float(t) for t in jax.jvp(shift, (5.0,), (1.0,))[1]] == [1, 1, 1]


def test_integers_in_the_carry_have_no_tangent():
    def weighted(x):
        return lax.scan(lambda c, _: ((c[0] + 1, c[1] + c[0] * x), None), (0, 0.0), length=4)[0][1]

    assert float(jax.grad(weighted)(2.0)) == 0 + 1 + 2 + 3


@pytest.mark.parametrize("argnum", [0, 1, 2])
def test_gradients_are_those_of_the_loop_written_out(argnum):
    got = jax.grad(loss, argnum)(W, H, XS)
    want = jax.grad(looped_loss, argnum)(W, H, XS)
    what = ("the const w: its cotangents of all steps add up", "the first carry", "xs")[argnum]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=f"by {what}")


def test_the_gradient_of_a_loop_is_two_loops_of_which_the_second_runs_backwards():
    with explain_errors(
        "the second loop takes known consts, its carry, then cotangents of ys and known xs"
    ):
        first, second = scans(jax.grad(loss), W, H, XS)
    directions = first.params["reverse"], second.params["reverse"]
    assert directions == (False, True), f"forwards, then reverse=True; reverse is {directions}"


def test_the_gradient_of_a_loop_that_begins_with_the_last_x_goes_the_other_way_too():
    def last_carry(xs):  # ((1 * x3 + x3) * x2 + x2) ...: x1 is multiplied last
        return lax.scan(lambda c, x: (c * x + x, None), 1.0, xs, reverse=True)[0]

    got, want = jax.grad(last_carry)(f32(2, 3, 5)), [34, 22, 12]
    wrong = "through a loop with reverse=True cotangents go from the first step to the last"
    np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=wrong)


def test_cotangents_of_a_const_are_added_up_in_the_carry():
    _, backward = scans(jax.grad(loss), W, H, XS)
    num_consts, num_carry = backward.params["num_consts"], backward.params["num_carry"]
    carry = backward.invars[num_consts : num_consts + num_carry]
    shapes = [v.aval.shape for v in carry]
    assert shapes == [(3, 3), (3,)], (
        f"the sum for w, then the cotangent of h, are carried: {shapes}"
    )


def test_a_result_without_a_cotangent_goes_into_no_loop():
    (eqn,) = scans(
        lambda c, xs: lax.scan(lambda c, x: (c + x, (2 * x, 3 * x)), c, xs), 1.0, f32(1, 2, 3)
    )
    operands = [UndefinedPrimal(v.aval) for v in eqn.invars]

    def transposed(ct_c, ct_ys):
        cts = [ct_c, Zero(eqn.outvars[1].aval), ct_ys]
        return transpose_rules[lax.scan_p](cts, *operands, **eqn.params)

    (backward,) = scans(transposed, 1.0, f32(1, 1, 1))
    assert [v.aval.shape for v in backward.invars] == [(), (3,)], "a Zero is no operand"
    ct_c, ct_xs = transposed(1.0, f32(1, 1, 1))
    assert float(ct_c) == 1
    np.testing.assert_array_equal(ct_xs, [4, 4, 4])


def test_second_derivatives_run_the_loops_again():
    def power(x):
        return lax.scan(lambda c, _: (c * x, None), 1.0, length=4)[0]

    assert float(jax.grad(jax.grad(power))(3.0)) == 4 * 3 * 3**2


def test_unused_results_need_no_backward_pass():
    gradient = jax.grad(lambda c: lax.scan(lambda c, x: (c * x, x * x), c, f32(1, 2))[1].sum())
    assert float(gradient(3.0)) == 0


def test_scans_in_scans_have_gradients():
    def nested(c, xs):
        def step(c, row):
            return lax.scan(lambda c, x: (jnp.sin(c * x), None), c, row)[0], None

        return lax.scan(step, c, xs)[0]

    def looped(c, xs):
        for x in xs.ravel():
            c = jnp.sin(c * x)
        return c

    got, want = jax.grad(nested)(0.5, XS), jax.grad(looped)(0.5, XS)
    np.testing.assert_allclose(got, want, rtol=1e-5)


# ---- residuals: what the backward loop needs of the forward loop ----


def residual_shapes(fun, *args):
    """The shapes of all arrays that reverse mode keeps between its two halves."""
    _, linearized = linearize_flat(lambda *xs: [fun(*xs)], args)
    return sorted(np.shape(x) for x in linearized.residuals if np.ndim(x))


def test_residuals_of_each_step_are_stacked():
    def fun(c):
        return lax.scan(lambda c, _: (jnp.sin(c), None), c, length=7)[0]

    assert residual_shapes(fun, 1.0) == [(7,)]  # the cosines


def test_what_is_the_same_at_each_step_is_kept_once():
    def fun(w, h):
        return lax.scan(lambda h, _: (jnp.sin(w) @ h, None), h, length=7)[0].sum()

    # cos(w) and sin(w) once, and each step's h
    assert residual_shapes(fun, W, H) == [(3, 3), (3, 3), (7, 3)]


def test_xs_and_consts_are_kept_as_they_are():
    def fun(w, c, xs):
        return lax.scan(lambda c, x: (w * x * c, None), c, xs)[0].sum()

    w, xs = jnp.ones(2), jnp.ones(7)
    _, linearized = linearize_flat(lambda *args: [fun(*args)], (w, jnp.ones(2), xs))
    for x in (w, xs):
        assert any(residual is x for residual in linearized.residuals)


def test_a_linear_loop_keeps_nothing():
    def fun(c, xs):
        return lax.scan(lambda c, x: (2 * c + x, None), c, xs)[0]

    assert residual_shapes(fun, 1.0, jnp.ones(7)) == []


def test_the_zeros_that_a_tangent_begins_with_are_not_kept():
    def fun(w):
        return lax.scan(lambda h, x: (w * h + x, None), jnp.zeros(3), XS)[0].sum()

    assert residual_shapes(fun, 0.5) == residual_shapes(jax.jit(fun), 0.5) == [(4, 3)]


def deep_step(c, x):
    for _ in range(3):
        c = jnp.sin(c * x)
    return c, None


def test_with_checkpoint_on_the_body_each_step_keeps_its_carry_alone():
    xs = np.linspace(0.5, 1, 7, dtype=np.float32)

    def fun(step):
        return lambda c: lax.scan(step, c, xs)[0]

    plain, checkpointed = fun(deep_step), fun(jax.checkpoint(deep_step))
    assert len(residual_shapes(plain, 1.0)) > len(residual_shapes(checkpointed, 1.0))
    assert residual_shapes(checkpointed, 1.0) == [(7,), (7,)]  # c at each step, and xs
    np.testing.assert_allclose(jax.grad(checkpointed)(1.0), jax.grad(plain)(1.0), rtol=1e-6)


# ---- vmap and jit ----


def test_vmap_is_one_loop_for_all_examples():
    with explain_errors(
        "one scan of the batched body, and a batch dim for each of its results: carry, then ys"
    ):
        (eqn,) = scans(jax.vmap(lambda xs: lax.scan(running_sum, 0.0, xs)), jnp.ones((5, 3)))
    assert eqn.params["length"] == 3
    shape = eqn.outvars[1].aval.shape
    assert shape == (3, 5), (
        f"ys have the loop's axis first, and the batch behind: (3, 5), not {shape}"
    )


def test_under_vmap_what_no_example_changes_stays_one_for_all():
    def fun(scale, x, y):
        def step(carry, xy):
            count, total = carry
            return (count + 1.0, total + scale.sum() * xy[0]), (count * xy[1], 2 * total, 3 * total)

        return lax.scan(step, (0.0, 0.0), (x, y))

    args = jnp.ones((5, 2)) / 2, jnp.ones((5, 3)), jnp.ones(3)
    mapped = jax.vmap(fun, (0, 0, None))
    with explain_errors(
        "consts and carry that are batched have the batch at 0, xs and ys at 1; all else has none"
    ):
        (eqn,) = scans(mapped, *args)
    assert [v.aval.shape for v in eqn.invars] == [(5, 2), (), (5,), (3, 5), (3,)]
    assert [v.aval.shape for v in eqn.outvars] == [(), (5,), (3,), (3, 5), (3, 5)]
    (count, total), ys = mapped(*args)
    assert count.shape == total.shape == (5,) and [y.shape for y in ys] == [(5, 3)] * 3
    np.testing.assert_array_equal(ys[1], [[0, 2, 4]] * 5)


def test_a_carry_gets_a_batch_dim_as_soon_as_one_step_gives_it_one():
    def shift(x):
        return lax.scan(lambda c, _: ((x, c[0], c[1]), None), (0.0, 0.0, 0.0), length=2)[0]

    a, b, c = jax.vmap(shift)(f32(1, 2))
    np.testing.assert_array_equal(a, [1, 2])
    np.testing.assert_array_equal(b, [1, 2])
    np.testing.assert_array_equal(c, [0, 0])
    long = lambda x: lax.scan(lambda c, _: ((x, *c[:-1]), None), (0.0,) * 9, length=9)[0]  # noqa: E731
    np.testing.assert_array_equal(jax.vmap(long)(f32(1, 2)), [[1, 2]] * 9)


def test_a_carry_that_begins_with_a_batch_dim_keeps_it_though_a_step_gives_one_for_all():
    loop = jax.vmap(lambda c, xs: lax.scan(lambda c, x: (x, c), c, xs), (0, None))
    told = "what is batched before a step must be made so after it: batch_jaxpr's last argument"
    with explain_errors(told):
        last, befores = loop(f32(1, 2), f32(5, 6))
    assert last.shape == (2,), f"{told}; the last carry of two examples has the shape {last.shape}"
    np.testing.assert_array_equal(last, [6, 6])
    np.testing.assert_array_equal(befores, [[1, 5], [2, 5]])


def test_consts_that_are_not_mapped_stay_one_for_all():
    (eqn,) = scans(jax.vmap(rnn, (None, None, 0)), W, H, np.stack([XS, XS]))
    assert eqn.invars[0].aval.shape == (3, 3)


def test_a_batch_of_loops_is_a_loop_of_batches():
    batch = np.stack([XS, 2 * XS, -XS], axis=1)
    last, states = jax.vmap(rnn, (None, None, 1), (0, 1))(W, H, batch)
    for i in range(3):
        one_last, one_states = rnn(W, H, batch[:, i])
        np.testing.assert_allclose(last[i], one_last, rtol=1e-6)
        np.testing.assert_allclose(states[:, i], one_states, rtol=1e-6)


def test_vmap_of_grad_and_grad_of_jit():
    batch = np.stack([XS, 2 * XS])
    got = jax.jit(jax.vmap(jax.grad(loss), (None, None, 0)))(W, H, batch)
    for gradient, xs in zip(got, batch):
        np.testing.assert_allclose(
            gradient, jax.grad(jax.jit(loss))(W, H, xs), rtol=1e-5, atol=1e-6
        )


def test_compiled_equals_eager():
    for got, want in zip(jax.jit(rnn)(W, H, XS), rnn(W, H, XS)):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_without_jit_the_body_is_plain_python():
    seen = []

    def step(c, x):
        seen.append(float(x))
        return c + x, {"x": x, "twice": 2.0 * c}

    with jax.disable_jit():
        carry, ys = lax.scan(step, 0.0, f32(1, 2, 3), reverse=True)
    assert seen == [3, 2, 1]
    assert float(carry) == 6
    np.testing.assert_array_equal(ys["x"], [1, 2, 3])
    np.testing.assert_array_equal(ys["twice"], [10, 6, 0])


def test_without_jit_there_is_a_gradient_too():
    with jax.disable_jit():
        gradient = jax.grad(loss)(W, H, XS)
    np.testing.assert_allclose(gradient, jax.grad(loss)(W, H, XS), rtol=1e-5, atol=1e-6)


# ---- what goes wrong ----


def test_a_carry_of_another_type_is_named_with_both_types():
    with pytest.raises(TypeError, match=r"c\['n'\] has type float32\[\].*int32\[\], so the dtypes"):
        lax.scan(lambda c, x: ({"n": c["n"].astype(int)}, x), {"n": f32(1)[0]}, f32(1, 2))


def test_a_carry_of_another_structure_is_named_where_it_differs():
    with pytest.raises(TypeError, match=r"carry component state\[1\] is a <class 'tuple'>"):
        lax.scan(lambda state, x: ((state[0], 2.0), x), (1.0, (2.0,)), f32(1, 2))


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: lax.scan(None, 0, f32(1)), TypeError, "callable"),
        (lambda: lax.scan(lambda c, x: c, 0.0, f32(1)), TypeError, "pair"),
        (lambda: lax.scan(running_sum, 0.0), ValueError, "length"),
        (lambda: lax.scan(running_sum, 0.0, f32(1), length=2), ValueError, "2.*disagrees.*1"),
        (lambda: lax.scan(running_sum, 0.0, (f32(1), f32(1, 2))), ValueError, "1, 2"),
        (lambda: lax.scan(running_sum, 0.0, 1.0), ValueError, "no leading axis"),
        (lambda: lax.scan(running_sum, 0.0, ["a"]), TypeError, "'a'"),
        (lambda: lax.scan(running_sum, 0.0, f32(1), unroll=-1), ValueError, "unroll"),
    ],
)
def test_bad_calls_raise_what_jax_raises(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_length_that_is_traced_cannot_be_the_number_of_steps():
    with pytest.raises(jax.errors.ConcretizationTypeError, match="while_loop"):
        jax.jit(lambda n: lax.scan(running_sum, 0.0, length=n))(3)


def test_a_body_gives_a_tuple_or_a_list_of_two_and_nothing_else_with_two_parts():
    for pair in (lambda s, x: {"s": s, "y": x}, lambda s, x: jnp.stack([s, x])):
        with pytest.raises(TypeError, match="must be a pair"):
            lax.scan(pair, 1.0, jnp.ones(3))
    assert lax.scan(lambda s, x: [s, x], 1.0, jnp.ones(3))[0] == 1.0
