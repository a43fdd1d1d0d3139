"""Functions with derivative rules of their own: the rule is used wherever one differentiates."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.custom_derivatives import SymbolicZero

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


def test_symbolic_zeros_tell_the_rule_what_is_not_differentiated():
    product = jax.custom_jvp(lambda x, y: x * y)
    seen = []

    def product_jvp(primals, tangents):
        seen.append([type(t) is SymbolicZero for t in tangents])
        return product(*primals), tangents[0] * primals[1]

    product.defjvp(product_jvp, symbolic_zeros=True)
    assert jax.grad(product)(2.0, 3.0) == 3.0
    assert jax.grad(jax.jit(product))(2.0, 3.0) == 3.0
    np.testing.assert_array_equal(jax.vmap(jax.grad(product), (0, None))(jnp.ones(2), 3.0), [3, 3])
    assert seen == 3 * [[False, True]]


def test_a_rule_may_answer_with_a_symbolic_zero():
    flat = jax.custom_jvp(lambda x: x * x)
    flat.defjvp(lambda p, t: (flat(*p), jax.custom_derivatives.zero_from_primal(p[0], True)))
    assert jax.jvp(flat, (3.0,), (1.0,)) == (9.0, 0.0)
    assert jax.grad(jax.jit(flat))(3.0) == 0.0


def test_integers_have_float0_tangents():
    power = jax.custom_jvp(lambda x, n: x**n)

    @power.defjvp
    def power_jvp(primals, tangents):
        (x, n), (t, n_dot) = primals, tangents
        assert n_dot.dtype == jax.dtypes.float0
        return power(x, n), n * t

    assert jax.grad(power)(2.0, 3) == 3.0
    assert jax.grad(jax.jit(power))(2.0, 3) == 3.0


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
