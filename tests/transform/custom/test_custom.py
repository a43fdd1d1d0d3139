"""Functions with derivative rules of their own: the rule is used wherever one differentiates."""

import functools
import gc
import weakref

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.transform.custom import SymbolicZero, linear_call
from tinyjax.transform.jvp import JVPTracer

# What is defined is used as it is, and inside of jit.
eager_and_jitted = pytest.mark.parametrize("around", [lambda f: f, jax.jit], ids=["eager", "jit"])

# ---- custom_jvp: the rule, in place of the derivative ----


@jax.custom_jvp
def cube(x):
    return x * x * x


@cube.defjvp
def cube_jvp(primals, tangents):  # a wrong derivative shows that the rule was used
    (x,), (t,) = primals, tangents
    return cube(x), 100.0 * t * x


def test_a_call_runs_the_function():
    assert cube(2.0) == 8.0


def test_jvp_calls_the_rule():
    assert jax.jvp(cube, (2.0,), (1.0,)) == (8.0, 200.0)


def test_grad_calls_the_rule():
    assert jax.grad(cube)(2.0) == 200.0


def test_where_one_differentiates_the_value_is_the_rules_too():
    told = jax.custom_jvp(lambda x: x)
    told.defjvp(lambda primals, tangents: (10 * primals[0], tangents[0]))
    assert told(2.0) == 2.0
    assert jax.value_and_grad(told)(2.0) == (20.0, 1.0), "the rule gives the value and its tangent"


def test_the_rule_is_differentiated_for_the_second_derivative():
    assert jax.grad(jax.grad(cube))(2.0) == 100.0


def test_a_jitted_function_keeps_its_rule():
    assert jax.jit(cube)(2.0) == 8.0
    assert jax.grad(jax.jit(cube))(2.0) == 200.0
    assert jax.jit(jax.grad(cube))(2.0) == 200.0


def test_vmap_batches_function_and_rule():
    xs = jnp.array([1.0, 2.0])
    np.testing.assert_array_equal(jax.vmap(cube)(xs), [1.0, 8.0])
    np.testing.assert_array_equal(jax.vmap(jax.grad(cube))(xs), [100.0, 200.0])
    np.testing.assert_array_equal(jax.grad(lambda x: jax.vmap(cube)(x).sum())(xs), [100.0, 200.0])


def test_the_rule_sees_values_that_are_known():
    @jax.custom_jvp
    def f(x):
        return x

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return x, t * 2 if x > 0 else t * 3

    assert jax.grad(f)(1.0) == 2.0
    assert jax.grad(f)(-1.0) == 3.0


def test_defjvps_takes_a_rule_for_each_argument():
    @jax.custom_jvp
    def f(x, y, z):
        return x * y * z

    f.defjvps(lambda t, out, x, y, z: t * out, None, lambda t, out, x, y, z: t * y)
    assert jax.grad(f, (0, 1, 2))(2.0, 3.0, 4.0) == (24.0, 0.0, 3.0)


def test_what_the_rules_of_defjvps_give_is_added_up_leaf_by_leaf():
    both = jax.custom_jvp(lambda x, y: (x + y, x * y))
    both.defjvps(lambda t, out, x, y: (t, 10 * t * y), lambda t, out, x, y: (t, 10 * t * x))
    _, tangents = jax.jvp(both, (2.0, 3.0), (1.0, 1.0))
    assert tangents == (2.0, 50.0), "each leaf has the sum of its two parts: 1 + 1, and 30 + 20"


def test_the_parts_of_a_tangent_are_added_by_add_any():
    product = jax.custom_jvp(lambda x, y: x * y)
    product.defjvps(lambda t, out, x, y: t * y, lambda t, out, x, y: t * x)
    closed = jax.make_jaxpr(lambda t: jax.jvp(product, (2.0, 3.0), (t, t))[1])(1.0)
    assert "add_any" in str(closed), (
        f"add_tangents is what adds tangents, and here it was not: {closed}"
    )


def test_where_all_rules_of_defjvps_are_none_the_tangent_is_zero():
    floor = jax.custom_jvp(jnp.floor)
    floor.defjvps(None)
    assert jax.jvp(floor, (2.5,), (1.0,)) == (2.0, 0.0)


def test_a_rule_is_given_arrays_for_tangents_that_are_zero():
    product = jax.custom_jvp(lambda x, y: x * y)
    seen = []

    def product_jvp(primals, tangents):
        seen.append(tangents)
        return product(*primals), tangents[0] * primals[1]

    product.defjvp(product_jvp)
    assert jax.jvp(lambda x: product(x, 3.0), (2.0,), (1.0,)) == (6.0, 3.0)
    (of_x, of_y), *_ = seen
    assert isinstance(of_y, jax.Array), f"y is a constant; its tangent was shown as {of_y!r}"
    assert of_x == 1.0 and of_y == 0.0


def test_zeros_are_made_for_a_whole_batch_at_once():
    product = jax.custom_jvp(lambda x, y: x * y)
    product.defjvp(lambda primals, tangents: (product(*primals), tangents[0] + tangents[1]))

    def total(x, y):
        return jax.vmap(product, (0, None))(x, y).sum()

    first = jax.make_jaxpr(jax.grad(total, argnums=1))(jnp.ones(3), 2.0).eqns[0]
    assert (first.primitive.name, first.outvars[0].aval.shape) == ("broadcast_in_dim", (3,))


def test_arguments_and_results_are_pytrees():
    @jax.custom_jvp
    def f(p):
        return {"sum": p["a"] + p["b"][0], "first": p["a"]}

    @f.defjvp
    def f_jvp(primals, tangents):
        (p,), (t,) = primals, tangents
        return f(p), {"sum": 10 * t["a"], "first": t["b"][0]}

    point = {"a": 1.0, "b": (2.0,)}
    assert jax.grad(lambda p: f(p)["sum"])(point) == {"a": 10.0, "b": (0.0,)}
    assert jax.grad(lambda p: jax.jit(f)(p)["first"])(point) == {"a": 0.0, "b": (1.0,)}


def test_keyword_arguments_get_their_positions():
    @jax.custom_jvp
    def f(x, y=3.0):
        return x * y

    f.defjvps(lambda t, out, x, y: t * y, lambda t, out, x, y: t * x)
    assert jax.grad(lambda x: f(y=x, x=2.0))(5.0) == 2.0
    assert jax.grad(f)(5.0) == 3.0


@pytest.mark.parametrize("by", [{"nondiff_argnums": (0,)}, {"nondiff_argnames": ("fun",)}])
def test_nondiff_arguments_can_be_functions(by):
    def apply(fun, x):
        return fun(x)

    apply = jax.custom_jvp(apply, **by)

    @apply.defjvp
    def apply_jvp(fun, primals, tangents):
        (x,), (t,) = primals, tangents
        return apply(fun, x), t * fun(x)

    assert jax.grad(lambda x: apply(lambda y: y + 1, x))(2.0) == 3.0


def test_a_nondiff_argument_that_is_an_array_is_a_constant():
    scale = jax.custom_jvp(lambda n, x: n * x, nondiff_argnums=(0,))
    scale.defjvp(lambda n, primals, tangents: (scale(n, *primals), n * tangents[0]))
    assert jax.grad(lambda x: scale(x, x))(3.0) == 3.0


@eager_and_jitted
def test_symbolic_zeros_tell_the_rule_what_is_not_differentiated(around):
    product = jax.custom_jvp(lambda x, y: x * y)
    seen = []

    def product_jvp(primals, tangents):
        seen.append([type(t) is SymbolicZero for t in tangents])
        return product(*primals), tangents[0] * primals[1]

    product.defjvp(product_jvp, symbolic_zeros=True)
    gradient = jax.grad(around(product))
    assert gradient(2.0, 3.0) == 3.0
    np.testing.assert_array_equal(jax.vmap(gradient, (0, None))(jnp.ones(2), 3.0), [3, 3])
    assert seen == 2 * [[False, True]]


def test_a_rule_may_answer_with_a_symbolic_zero():
    flat = jax.custom_jvp(lambda x: x * x)
    flat.defjvp(lambda p, t: (flat(*p), jax.custom_derivatives.zero_from_primal(p[0], True)))
    assert jax.jvp(flat, (3.0,), (1.0,)) == (9.0, 0.0)
    assert jax.grad(jax.jit(flat))(3.0) == 0.0


@eager_and_jitted
def test_integers_have_float0_tangents(around):
    power = jax.custom_jvp(lambda x, n: x**n)

    @power.defjvp
    def power_jvp(primals, tangents):
        (x, n), (t, n_dot) = primals, tangents
        assert n_dot.dtype == jax.dtypes.float0
        return power(x, n), n * t

    assert jax.grad(around(power))(2.0, 3) == 3.0


def test_closed_over_arrays_are_constants_to_the_rule():
    def scaled(z, x):
        times_z = jax.custom_jvp(lambda x: x * z)
        times_z.defjvps(lambda t, out, x: t * z * 10)
        return times_z(x)

    assert jax.grad(scaled, 1)(2.0, 3.0) == 20.0
    np.testing.assert_array_equal(jax.vmap(scaled, (0, None))(jnp.arange(2.0), 3.0), [0.0, 3.0])
    np.testing.assert_array_equal(
        jax.vmap(jax.grad(scaled, 1), (0, None))(jnp.arange(2.0), 3.0), [0.0, 10.0]
    )


def test_what_is_not_mapped_stays_so():
    out = jax.vmap(lambda x: (x, cube(2.0)), out_axes=(0, None))(jnp.ones(3))[1]
    assert out == 8.0


def test_a_result_that_no_argument_moves_may_have_a_tangent_by_the_rule():
    constant = jax.custom_jvp(lambda x: 3.0)
    constant.defjvp(lambda p, t: (3.0, 2 * t[0]))
    f = lambda x: jax.jit(jax.vmap(constant))(x).sum()  # noqa: E731
    np.testing.assert_array_equal(jax.grad(f)(jnp.ones(2)), [2.0, 2.0])


def test_unused_results_are_dropped_from_function_and_rule():
    @jax.custom_jvp
    def sin_cos(x):
        return lax.sin(x), lax.cos(x)

    @sin_cos.defjvp
    def sin_cos_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return sin_cos(x), (2 * t, 3 * t)

    first = jax.jit(lambda x: sin_cos(x)[0])
    assert jax.grad(lambda x: jax.grad(first)(x) + first(x))(1.0) == 2.0


def test_a_linear_function_is_transposed_without_its_rule():
    double = jax.custom_jvp(lambda x: 2 * x)
    double.defjvps(lambda t, out, x: double(t))
    assert jax.linear_transpose(double, 1.0)(3.0) == (6.0,)
    assert jax.grad(double)(1.0) == 2.0
    assert jax.grad(jax.jit(double))(1.0) == 2.0


# ---- custom_jvp: what must not be ----


def test_without_a_rule_a_call_is_an_error():
    with pytest.raises(AttributeError, match="No JVP defined for custom_jvp function <lambda>"):
        jax.custom_jvp(lambda x: x)(1.0)


def test_a_wrong_tangent_is_an_error_that_says_where():
    f = jax.custom_jvp(lambda x: {"a": x, "b": (x, x)})
    f.defjvp(lambda p, t: (f(*p), {"a": t[0], "b": (t[0], jnp.ones(3))}))
    with pytest.raises(TypeError, match=r"Expected float32\[\].*got float32\[3\].*\['b'\]\[1\]"):
        jax.jvp(f, (1.0,), (1.0,))


def test_a_rule_that_disagrees_with_the_function_is_an_error():
    f = jax.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (p, t))
    with pytest.raises(TypeError, match=r"(?s)\(float32\[\],\).*function's output had"):
        jax.grad(jax.jit(f))(1.0)


# ---- custom_vjp: a rule for what comes back ----


@jax.custom_vjp
def clipped(x):
    """The identity, but gradients that flow through it are cut to [-1, 1]."""
    return x


def clipped_fwd(x):
    return x, ()


def clipped_bwd(residuals, ct):
    return (jnp.clip(ct, -1.0, 1.0),)


clipped.defvjp(clipped_fwd, clipped_bwd)


@jax.custom_vjp
def product(x, y):
    return x * y


def product_fwd(x, y):
    return x * y, (x, y)


def product_bwd(residuals, ct):  # ten times too much shows that the rule was used
    x, y = residuals
    return 10 * ct * y, 10 * ct * x


product.defvjp(product_fwd, product_bwd)


def test_grad_runs_fwd_and_then_bwd():
    assert product(2.0, 3.0) == 6.0
    assert jax.grad(product, (0, 1))(2.0, 3.0) == (30.0, 20.0)
    assert jax.grad(product, 1)(2.0, 3.0) == 20.0
    assert jax.grad(lambda x: 5 * clipped(x))(2.0) == 1.0


def test_jvp_runs_fwd_and_leaves_the_tangents_to_custom_lin():
    def pushed(x, t):
        return jax.jvp(product, (x, 3.0), (t, 1.0))

    jaxpr = jax.make_jaxpr(pushed)(2.0, 1.0).jaxpr
    *_, linear = jaxpr.eqns
    assert linear.primitive.name == "custom_lin"
    assert linear.params["num_res"] == 2, "the residuals are x and y"
    assert linear.params["symbolic_zeros"] is False, "the parameters are handed on"
    assert len(linear.invars) == 4, "two residuals, and then two tangents"
    assert linear.invars[2] is jaxpr.invars[1] and linear.outvars[0] is jaxpr.outvars[1]


def test_custom_lin_has_no_operand_for_a_tangent_that_is_zero():
    def pushed(x, t):
        return jax.jvp(lambda x: product(3.0, x), (x,), (t,))

    jaxpr = jax.make_jaxpr(pushed)(2.0, 1.0).jaxpr
    *_, linear = jaxpr.eqns
    assert linear.params["in_zeros"] == [True, False], "3.0 is a constant, x is not"
    assert linear.invars[2:] == [jaxpr.invars[1]]


def test_where_one_differentiates_the_value_is_that_of_fwd():
    told = jax.custom_vjp(lambda x: x)
    told.defvjp(lambda x: (10 * x, None), lambda _, ct: (ct,))
    assert jax.value_and_grad(told)(2.0) == (20.0, 1.0)


def test_an_integer_result_has_a_tangent_that_is_zero():
    counted = jax.custom_vjp(lambda x: (x, 3))
    counted.defvjp(lambda x: ((x, 3), None), lambda _, cts: (10 * cts[0],))

    numbers = []
    keep = lambda x: numbers.append(counted(x)[1]) or x  # noqa: E731
    jax.make_jaxpr(lambda x, t: jax.jvp(keep, (x,), (t,)))(2.0, 1.0)
    assert not isinstance(numbers[0], JVPTracer), (
        "an integer result's tangent must be a Zero, not an array"
    )
    pushed = lambda x, t: jax.jvp(lambda x: -counted(x)[1], (x,), (t,))[0]  # noqa: E731
    assert jax.make_jaxpr(pushed)(2.0, 1.0).out_avals[0].dtype == np.int32
    (linear,) = jax.make_jaxpr(jax.linearize(counted, 2.0)[1])(1.0).eqns
    kinds = [v.aval.dtype.name for v in linear.outvars]
    assert kinds == ["float32", jax.dtypes.float0.name], f"tangents of float0, not of {kinds}"


def test_fwd_is_told_what_is_differentiated():
    seen = []
    f = jax.custom_vjp(lambda x, y: x * y)

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        return f(x.value, y.value), None

    f.defvjp(fwd, lambda _, ct: (ct, ct), symbolic_zeros=True)
    pushed = lambda x, t: jax.jvp(lambda x: f(x, 3.0), (x,), (t,))  # noqa: E731
    *_, linear = jax.make_jaxpr(pushed)(2.0, 1.0).eqns
    assert seen == [(True, False)]
    assert linear.params["symbolic_zeros"] is True and linear.params["num_res"] == 0
    assert callable(linear.params["bwd"]), "the parameters are handed on"


def test_bwd_is_differentiated_for_the_second_derivative():
    assert jax.grad(jax.grad(product), 1)(2.0, 3.0) == 10.0
    assert jax.jvp(jax.grad(product), (2.0, 3.0), (0.0, 1.0)) == (30.0, 10.0)


def test_forward_mode_is_an_error():
    forward = [
        lambda x: jax.jvp(clipped, (x,), (1.0,)),
        lambda x: jax.jit(lambda x: jax.jvp(clipped, (x,), (1.0,)))(x),
        lambda x: jax.jvp(jax.jit(clipped), (x,), (1.0,)),
        lambda x: jax.jvp(lambda y: jax.jvp(clipped, (y,), (1.0,)), (x,), (1.0,)),
        lambda x: jax.linearize(clipped, x)[1](1.0),
        lambda x: jax.jacfwd(clipped)(x),
    ]
    for fun in forward:
        with pytest.raises(TypeError, match="can't apply forward-mode autodiff"):
            fun(1.0)


def test_jit_keeps_both_rules():
    assert jax.jit(product)(2.0, 3.0) == 6.0
    assert jax.grad(jax.jit(product))(2.0, 3.0) == 30.0
    assert jax.jit(jax.grad(product))(2.0, 3.0) == 30.0
    assert jax.grad(jax.grad(jax.jit(product)), 1)(2.0, 3.0) == 10.0


def test_vmap_batches_both_rules():
    xs, ys = jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0])
    np.testing.assert_array_equal(jax.vmap(product)(xs, ys), [3.0, 8.0])
    np.testing.assert_array_equal(jax.vmap(jax.grad(product))(xs, ys), [30.0, 40.0])
    np.testing.assert_array_equal(jax.vmap(jax.grad(jax.jit(product)))(xs, ys), [30.0, 40.0])
    summed = lambda xs, ys: jax.vmap(product)(xs, ys).sum()  # noqa: E731
    np.testing.assert_array_equal(jax.grad(summed)(xs, ys), [30.0, 40.0])
    np.testing.assert_array_equal(jax.jacrev(jax.vmap(product))(xs, ys), [[30.0, 0.0], [0.0, 40.0]])


def test_an_argument_that_the_batch_shares_gets_the_sum_of_the_cotangents():
    xs = jnp.array([1.0, 2.0])
    shared = lambda xs, y: jax.vmap(product, (0, None))(xs, y).sum()  # noqa: E731
    assert jax.grad(shared, 1)(xs, 3.0) == 30.0
    assert jax.grad(jax.jit(shared), 1)(xs, 3.0) == 30.0


def test_none_is_a_zero_cotangent_for_a_whole_subtree():
    f = jax.custom_vjp(lambda x, p: x * p["a"] * p["b"])
    f.defvjp(lambda x, p: (f(x, p), p), lambda p, ct: (ct * p["a"], None))
    gradients = jax.grad(f, (0, 1))(2.0, {"a": 3.0, "b": 4.0})
    assert gradients == (3.0, {"a": 0.0, "b": 0.0})
    np.testing.assert_array_equal(jax.grad(lambda x: jax.vmap(clip_none)(x).sum())(jnp.ones(2)), 0)


@jax.custom_vjp
def clip_none(x):
    return x


clip_none.defvjp(lambda x: (x, None), lambda residuals, ct: (None,))


@eager_and_jitted
def test_residuals_can_be_any_pytree(around):
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, {"n": 2, "t": (x, None)}), lambda r, ct: (ct * r["n"] * r["t"][0],))
    assert jax.grad(around(f))(3.0) == 6.0


@eager_and_jitted
def test_results_are_pytrees_with_a_cotangent_each(around):
    f = jax.custom_vjp(lambda x: {"a": x, "b": (2 * x,)})
    f.defvjp(lambda x: (f(x), ()), lambda r, ct: (ct["a"] + 100 * ct["b"][0],))
    assert jax.grad(around(lambda x: f(x)["b"][0]))(1.0) == 100.0
    assert jax.grad(around(lambda x: f(x)["a"]))(1.0) == 1.0


@eager_and_jitted
def test_integers_have_no_cotangents(around):
    f = jax.custom_vjp(lambda x, n: (x * n, n))
    f.defvjp(lambda x, n: (f(x, n), n), lambda n, cts: (cts[0] * n, None))
    assert jax.grad(lambda x: around(f)(x, 3)[0])(2.0) == 3.0
    assert jax.grad(lambda n: around(f)(2.0, n)[0], allow_int=True)(3).dtype == jax.dtypes.float0


def test_nondiff_arguments_go_to_fwd_in_place_and_to_bwd_first():
    f = jax.custom_vjp(lambda fun, x, n: fun(x) * n, nondiff_argnums=(0, 2))
    f.defvjp(lambda fun, x, n: (fun(x) * n, x), lambda fun, n, x, ct: (ct * fun(x) * n * 10,))
    assert jax.grad(f, 1)(lambda y: y + 1, 2.0, 3) == 90.0


def test_a_tracer_cannot_be_a_nondiff_argument():
    f = jax.custom_vjp(lambda n, x: n * x, nondiff_argnames="n")
    f.defvjp(lambda n, x: (n * x, ()), lambda n, r, ct: (n * ct,))
    with pytest.raises(jax.errors.UnexpectedTracerError, match="argument 0"):
        jax.jit(f)(2, 3.0)


def product_and_sum(seen):
    """A function whose rules note which operands and cotangents matter."""
    f = jax.custom_vjp(lambda x, y: (x * y, x + y))

    def fwd(x, y):
        seen.append((x.perturbed, y.perturbed))
        return f(x.value, y.value), y.value

    def bwd(y, cts):
        seen.append(tuple(type(ct) is SymbolicZero for ct in cts))
        return cts[0] * y, cts[1]

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    return f


def test_symbolic_zeros_tell_both_rules_what_does_not_matter():
    f = product_and_sum(seen := [])
    assert jax.grad(lambda x: f(x, 3.0)[0])(2.0) == 3.0
    np.testing.assert_array_equal(jax.grad(lambda x: jax.vmap(f)(x, x)[0].sum())(jnp.ones(2)), 1)
    assert seen == [(True, False), (False, True), (True, True), (False, True)]


def test_symbolic_zeros_tell_both_rules_the_same_under_jit():
    f = product_and_sum(seen := [])
    assert jax.grad(lambda x: jax.jit(f)(x, 3.0)[0])(2.0) == 3.0
    assert seen == [(True, False), (False, True)]


def test_custom_vjp_does_not_differentiate_what_it_closes_over():
    def f(z):
        times_z = jax.custom_vjp(lambda x: x * z)
        times_z.defvjp(lambda x: (x * z, ()), lambda r, ct: (ct,))
        return jax.jit(times_z)(2.0)

    with pytest.raises(Exception, match="closed-over value"):
        jax.grad(f)(1.0)


def test_unused_results_have_zero_cotangents():
    f = jax.custom_vjp(lambda x, y: (x + y, x * y))
    f.defvjp(
        lambda x, y: (f(x, y), (x, y)),
        lambda r, cts: (cts[0] + cts[1] * r[1], cts[0] + cts[1] * r[0]),
    )
    first = jax.jit(lambda x, y: f(x, y)[0])
    assert jax.grad(lambda x: jax.grad(first)(x, 3.0) + first(x, 3.0))(2.0) == 1.0


# ---- rules within loops and branches ----

IN_CONTROL_FLOW = {
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c, 2.0), None), x, length=2)[0],
    "fori_loop": lambda f: lambda x: lax.fori_loop(0, 2, lambda i, c: f(c, 2.0), x),
    "cond": lambda f: lambda x: lax.cond(x > 0, lambda x: f(f(x, 2.0), 2.0), lambda x: x, x),
    "checkpoint": lambda f: jax.checkpoint(lambda x: f(f(x, 2.0), 2.0)),
}


@jax.custom_jvp
def forward_product(x, y):
    return x * y


forward_product.defjvps(lambda t, out, x, y: 10 * t * y, lambda t, out, x, y: 10 * t * x)


@pytest.mark.parametrize("around", IN_CONTROL_FLOW)
@pytest.mark.parametrize("fun", [forward_product, product], ids=["custom_jvp", "custom_vjp"])
def test_control_flow_keeps_rules(around, fun):
    twice = IN_CONTROL_FLOW[around](fun)
    assert twice(3.0) == 12.0
    for gradient in (jax.grad(twice), jax.jit(jax.grad(twice)), jax.grad(jax.jit(twice))):
        assert gradient(3.0) == 400.0
    np.testing.assert_array_equal(jax.vmap(jax.grad(twice))(jnp.ones(2)), [400.0, 400.0])


# ---- custom_vjp: what must not be ----


def test_fwd_must_give_a_pair():
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: x, lambda r, ct: (ct,))
    with pytest.raises(TypeError, match="must produce a pair"):
        jax.grad(f)(1.0)


def test_bwd_must_give_a_cotangent_for_each_argument():
    f = jax.custom_vjp(lambda x, y: x)
    f.defvjp(lambda x, y: (x, ()), lambda r, ct: (ct,))
    with pytest.raises(TypeError, match="a tuple with an entry for each argument"):
        jax.grad(f)(1.0, 2.0)


def test_a_cotangent_of_the_wrong_shape_is_an_error_that_says_where():
    f = jax.custom_vjp(lambda x, p: x)
    f.defvjp(lambda x, p: (x, ()), lambda r, ct: (ct, {"a": jnp.ones(3)}))
    with pytest.raises(ValueError, match=r"output\[1\]\['a'\].*float32\[3\].*float32\[\]"):
        jax.grad(f)(1.0, {"a": 2.0})


# ---- rules that are closures ----


@jax.custom_gradient
def sine_times(x, y):
    s = jnp.sin(x)
    return s * y, lambda ct: (10 * ct * y, ct * s)


def test_custom_gradient_takes_result_and_rule_from_one_function():
    s = np.sin(np.float32(1.0))
    np.testing.assert_allclose(sine_times(1.0, 2.0), 2 * s, rtol=1e-6)
    for fun in (sine_times, jax.jit(sine_times)):
        np.testing.assert_allclose(jax.grad(fun, (0, 1))(1.0, 2.0), (20, s), rtol=1e-6)
    batch = jax.vmap(jax.grad(sine_times), (0, None))(jnp.ones(3), 2.0)
    np.testing.assert_array_equal(batch, [20, 20, 20])


def test_a_custom_gradient_of_one_argument_needs_no_tuple():
    square = jax.custom_gradient(lambda x: (x * x, lambda ct: 3 * ct))
    assert jax.grad(square)(5.0) == 3.0


def test_closure_convert_makes_arguments_of_what_may_be_differentiated():
    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def apply(fun, x, *consts):
        return fun(x, *consts)

    apply.defvjp(
        lambda fun, x, *consts: (fun(x, *consts), (x, consts)),
        lambda fun, r, ct: (5 * ct, *(7 * ct for _ in r[1])),
    )

    def scaled(c, x):
        fun, consts = jax.closure_convert(lambda x: x * c, x)
        return apply(fun, x, *consts)

    assert scaled(2.0, 3.0) == 6.0
    assert jax.grad(scaled, (0, 1))(2.0, 3.0) == (7.0, 5.0)
    assert jax.closure_convert(lambda x: x * np.ones(3), 1.0)[1] == []


def test_closure_convert_of_the_same_function_anew_gives_the_same_one_for_as_long_as_it_lives():
    fun = lambda x: x * 2  # noqa: E731
    converted = jax.closure_convert(fun, 1.0)[0]
    assert jax.closure_convert(fun, 2.0)[0] is converted
    assert jax.closure_convert(fun, 2)[0] is not converted
    seen = weakref.ref(fun)
    del fun
    gc.collect()
    assert seen() is None and converted(3.0) == 6


# ---- linear_call: a custom transpose ----


def seven_times_backward(x):
    return linear_call(lambda _, x: x, lambda _, ct: 7 * ct, (), x)


def test_the_transpose_of_a_linear_call_is_what_it_was_given():
    assert seven_times_backward(2.0) == 2.0
    assert jax.linear_transpose(seven_times_backward, 1.0)(2.0) == (14.0,)
    assert jax.grad(seven_times_backward)(2.0) == 7.0
    assert jax.grad(jax.jit(seven_times_backward))(2.0) == 7.0
    assert jax.jvp(seven_times_backward, (2.0,), (3.0,)) == (2.0, 3.0)


def test_the_transpose_of_the_transpose_is_the_function():
    transpose = lambda ct: jax.linear_transpose(seven_times_backward, 1.0)(ct)[0]  # noqa: E731
    assert jax.linear_transpose(transpose, 1.0)(2.0) == (2.0,)


def test_a_batched_linear_call_sums_for_what_the_batch_shares():
    f = lambda r, x: linear_call(lambda r, x: r * x, lambda r, ct: 10 * r * ct, r, x)  # noqa: E731
    rs = jnp.array([1.0, 2.0])
    np.testing.assert_array_equal(jax.vmap(f)(rs, rs), [1, 4])
    np.testing.assert_array_equal(jax.vmap(jax.grad(f, 1))(rs, rs), [10, 20])
    assert jax.grad(lambda x: jax.vmap(f, (0, None))(rs, x).sum())(3.0) == 30.0


def test_residuals_of_a_linear_call_have_no_derivative():
    f = lambda r: linear_call(lambda r, x: r * x, lambda r, ct: r * ct, r, 1.0)  # noqa: E731
    with pytest.raises(NotImplementedError, match="linear arguments alone"):
        jax.grad(f)(2.0)
