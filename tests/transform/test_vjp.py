"""Reverse mode: the linear jaxpr is run backwards."""

import numpy as np
import pytest
from judged import each_error, error_passes, raises, unchanged

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import bind, dtypes
from tinyjax.core.primitives import add, mul, mul_p, reduce_sum, sin
from tinyjax.transform.jvp import jvp_rules
from tinyjax.transform.linearize import linearize_flat
from tinyjax.transform.transposition import ValAccum, backward_pass, transpose_rules
from tinyjax.transform.vjp import pull_back


def f(x):
    return mul(sin(x), x)


def test_grad_of_the_running_example():
    np.testing.assert_allclose(jax.grad(f)(3.0), np.cos(3.0) * 3 + np.sin(3.0), rtol=1e-6)


def test_second_and_third_derivatives_come_from_nesting():
    np.testing.assert_allclose(jax.grad(jax.grad(sin))(1.0), -np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(jax.grad(jax.grad(sin)))(1.0), -np.cos(1.0), rtol=1e-6)


def test_a_value_used_twice_adds_up_its_cotangents():
    assert float(jax.grad(lambda x: add(add(x, x), x))(1.0)) == 3.0


def test_the_backward_pass_transposes_equations_from_the_last_to_the_first():
    closed = jax.make_jaxpr(lambda x: mul(add(x, x), 5.0))(1.0)
    accum = ValAccum(closed.in_avals[0])
    backward_pass(closed.jaxpr, [], [accum], [1.0])
    assert float(accum.freeze()) == 10.0


def test_vjp_pulls_a_cotangent_back_to_every_primal():
    x, y = np.arange(3.0, dtype=np.float32), np.float32(2)
    out, f_vjp = jax.vjp(lambda x, y: {"xy": mul(x, y)}, x, y)
    ct_x, ct_y = f_vjp({"xy": np.ones(3, np.float32)})
    np.testing.assert_array_equal(ct_x, [2, 2, 2])
    assert float(ct_y) == 3.0


def test_a_primal_that_the_result_does_not_depend_on_has_a_cotangent_of_zeros():
    _, f_vjp = jax.vjp(lambda x, y: sin(x), 0.0, np.ones(3, np.float32))
    ct_x, ct_y = f_vjp(2.0)
    assert float(ct_x) == 2.0
    np.testing.assert_array_equal(ct_y, [0, 0, 0])


def test_an_integer_among_the_primals_has_a_float0_cotangent():
    _, f_vjp = jax.vjp(lambda n, x: mul(x, float(n)), 3, 1.0)
    ct_n, ct_x = f_vjp(2.0)
    assert ct_n.dtype == dtypes.float0 and float(ct_x) == 6.0
    assert not np.any(ct_n)


@pytest.mark.parametrize("unread", [np.zeros((), dtypes.float0), 1, 1.0])
def test_the_cotangent_of_an_integer_result_may_have_any_dtype(unread):
    _, f_vjp = jax.vjp(lambda x, n: (x * n, n), 2.0, 3)
    ct_x, ct_n = f_vjp((1.0, unread))
    assert float(ct_x) == 3.0 and ct_n.dtype == dtypes.float0
    with pytest.raises(ValueError, match="expected float0"):
        f_vjp((1.0, jnp.zeros(2)))


def test_a_result_that_does_not_move_takes_a_cotangent_too():
    _, f_vjp = jax.vjp(lambda x: (5.0, mul(x, 2.0)), 1.0)
    assert float(f_vjp((100.0, 1.0))[0]) == 2.0


def several(n, x, y, z):
    return mul(x, y), 5.0, mul(z, float(n)), mul(sin(x), z)


def test_of_many_primals_and_results_each_has_a_cotangent():
    out, f_vjp = jax.vjp(several, 3, 2.0, 5.0, 7.0)
    for cts in [(1.0, 0.0, 0.0, 0.0), (10.0, 9.0, 100.0, 1000.0), (0.0, 9.0, 1.0, 0.0)]:
        with unchanged(cts=cts):
            n, x, y, z = f_vjp(cts)
        assert n.dtype == dtypes.float0
        assert float(x) == pytest.approx(5 * cts[0] + 7 * np.cos(2.0) * cts[3], rel=1e-6)
        assert float(y) == 2 * cts[0]
        assert float(z) == pytest.approx(3 * cts[2] + np.sin(2.0) * cts[3], rel=1e-6)
    factors = [2.0, 3.0, 5.0, 7.0, 11.0]
    primals = [np.ones((0, 2), np.float16), *np.ones((5, 1), np.float32), np.ones((2, 3), np.int32)]
    out, f_vjp = jax.vjp(lambda _, *xs: [mul(x, n) for x, n in zip(xs, factors)], *primals)
    empty, *found, whole = f_vjp([np.full(1, n, np.float32) for n in factors])
    assert [float(x[0]) for x in found] == [n * n for n in factors], "of five, each its own"
    assert (whole.shape, whole.dtype) == ((2, 3), dtypes.float0), "of the shape of its primal"
    assert (empty.shape, empty.dtype) == ((0, 2), np.float16), "also where it has no elements"
    one = np.ones(1, np.float32)
    empty, ct = jax.vjp(lambda _, x: mul(x, x), np.ones((0, 2), np.float16), 3 * one)[1](one)
    assert (empty.dtype, float(ct[0])) == (np.float16, 6.0)
    for x in (1.0, np.float32(1)):
        (ct,) = jax.vjp(lambda x: 5.0, x)[1](1.0)
        assert bind.get_aval(ct) == bind.get_aval(x), "zeros have the primal's dtype and weak type"


def test_residuals_and_cotangents_are_those_that_are_given():
    x, y = np.float32([3.0]), np.float32([4.0])
    _, linearized = linearize_flat(lambda x, y, n: [mul(x, y), n], [x, y, 5])
    residuals = [mul(r, 10.0) for r in linearized.residuals]
    cts = [np.ones(1, np.float32), np.zeros((), dtypes.float0)]
    with unchanged(residuals=residuals, cts=cts, linearized=linearized):
        x, y, n = pull_back(linearized, residuals, cts)
        assert (float(x[0]), float(y[0])) == (40.0, 30.0) and n.dtype == dtypes.float0


@each_error
def test_an_error_of_a_transpose_rule_goes_on(monkeypatch, error):
    _, linearized = linearize_flat(lambda x: [mul(x, 2.0)], [3.0])
    with error_passes(error()) as raised:
        monkeypatch.setitem(transpose_rules, mul_p, raises(raised))
        pull_back(linearized, linearized.residuals, [1.0])


def test_a_stretched_operand_gets_the_sum_over_its_copies():
    x = np.ones((2, 3), np.float32)
    g = jax.grad(lambda b: reduce_sum(add(x, b), (0, 1)))(np.zeros((1, 3), np.float32))
    np.testing.assert_array_equal(g, [[2, 2, 2]])


def test_argnums_chooses_what_to_differentiate():
    assert float(jax.grad(mul, argnums=1)(3.0, 4.0)) == 3.0
    assert [float(g) for g in jax.grad(mul, argnums=(0, 1))(3.0, 4.0)] == [4.0, 3.0]
    assert float(jax.grad(mul, argnums=-1)(3.0, 4.0)) == 3.0
    gradient = jax.grad(mul, argnums=(1,))(3.0, 4.0)
    assert isinstance(gradient, tuple), "of a tuple of argnums the gradient is one too, also of one"


def test_the_value_comes_with_the_gradient():
    value, gradient = jax.value_and_grad(lambda x: sin(x))(0.0)
    assert isinstance(value, bind.Array) and (float(value), float(gradient)) == (0.0, 1.0)


def test_keyword_arguments_are_handed_on_and_not_differentiated():
    value, gradient = jax.value_and_grad(lambda x, *, by: mul(x, by["n"]))(2.0, by={"n": 3.0})
    assert (float(value), float(gradient)) == (6.0, 3.0)


def test_what_is_no_function_and_no_argnums_is_refused_before_the_first_call():
    with pytest.raises(TypeError, match="callable"):
        jax.value_and_grad(3)
    with pytest.raises(TypeError, match="argnums must be an int or a tuple of ints"):
        jax.value_and_grad(f, argnums="x")


def test_a_complex_gradient_is_asked_for_by_holomorphic():
    value, gradient = jax.value_and_grad(lambda z: mul(z, z), holomorphic=True)(1 + 2j)
    assert (complex(value), complex(gradient)) == ((1 + 2j) ** 2, 2 + 4j)
    with pytest.raises(TypeError, match="holomorphic"):
        jax.value_and_grad(lambda z: mul(z, z))(1 + 2j)
    with pytest.raises(TypeError, match="complex"):
        jax.value_and_grad(lambda x: x * 1j, holomorphic=True)(1.0)


def test_value_and_grad_with_aux():
    (value, aux), gradient = jax.value_and_grad(lambda x: (sin(x), {"x": x}), has_aux=True)(0.0)
    assert float(value) == 0.0 and float(gradient) == 1.0 and float(aux["x"]) == 0.0


@each_error
@pytest.mark.parametrize("has_aux", [False, True])
def test_an_error_of_the_function_goes_on_and_the_trace_before_is_current(error, has_aux):
    with error_passes(error()) as raised:
        jax.value_and_grad(raises(raised), has_aux=has_aux)(3.0)
    with error_passes(error()) as raised:
        jax.grad(lambda x: mul(x, jax.grad(raises(raised))(x)))(3.0)


def test_each_leaf_is_checked_and_integers_are_allowed_by_allow_int():
    tree = {"a": 2.0, "b": (3.0, 4.0, 5)}

    def f(tree, y):
        a, (b, c, n) = tree["a"], tree["b"]
        return mul(mul(a, y), mul(b, mul(c, float(n))))

    with pytest.raises(TypeError, match="grad requires real- or complex-valued inputs.*int32"):
        jax.value_and_grad(f)(tree, 1.0)
    with unchanged(tree=tree):
        value, (gradient, y) = jax.value_and_grad(f, (0, 1), allow_int=True)(tree, 1.0)
    assert (float(value), float(y)) == (120.0, 120.0)
    assert [float(g) for g in (gradient["a"], *gradient["b"][:2])] == [60.0, 40.0, 30.0]
    assert gradient["b"][2].dtype == dtypes.float0


def test_options_go_together_and_each_call_is_its_own():
    def f(x, y, *, by):
        calls.append(x)
        return mul(mul(x, y), by["n"]), {"x": x, "n": len(calls)}

    calls, by = [], {"n": 1 + 1j}
    fun = jax.value_and_grad(f, argnums=(1, 0), has_aux=True, holomorphic=True)
    for k, (x, y) in enumerate([(1 + 2j, 3j), (2 + 0j, 5 + 1j)]):
        with unchanged(by=by):
            (value, aux), gradient = fun(x, y, by=by)
        assert isinstance(gradient, tuple)
        assert [complex(g) for g in gradient] == [x * (1 + 1j), y * (1 + 1j)]
        assert complex(value) == x * y * (1 + 1j)
        assert complex(aux["x"]) == x and aux["n"] == len(calls) == k + 1
    value, _ = jax.value_and_grad(lambda x: x)(1.0)
    assert bind.get_aval(value) == bind.get_aval(1.0), "the value is that of the function"
    gradient = jax.grad(lambda x: x)(1.0)
    assert bind.get_aval(gradient) == bind.get_aval(1.0), (
        "so is its gradient: as weak as the argument"
    )
    many = jax.grad(lambda xs: sum(k * x for k, x in enumerate(xs)))([1.0] * 20)
    assert [float(g) for g in many] == [*range(20)], "each of twenty leaves has a gradient"


def test_the_gradient_of_a_value_that_is_no_number_may_be_one():
    for value in (np.nan, np.inf):
        found, gradient = jax.value_and_grad(lambda x: add(mul(x, 3.0), value))(1.0)  # noqa: B023
        assert not np.isfinite(found) and float(gradient) == 3.0


def test_the_gradient_of_a_tree_is_a_tree():
    gradient = jax.grad(lambda p: mul(p["a"], p["b"][0]))({"a": 2.0, "b": [5.0]})
    assert {k: float(v[0] if isinstance(v, list) else v) for k, v in gradient.items()} == {
        "a": 5.0,
        "b": 2.0,
    }


def test_closed_over_values_are_constants():
    assert float(jax.grad(lambda x: jax.grad(lambda y: mul(x, y))(2.0))(3.0)) == 1.0


def test_linear_transpose_of_a_linear_function():
    transposed = jax.linear_transpose(lambda x: mul(3.0, x), 1.0)
    assert float(transposed(2.0)[0]) == 6.0


def test_the_gradient_by_a_complex_number_is_the_slope_along_x_minus_i_times_that_along_y():
    assert jax.grad(jax.lax.real)(3 + 1j) == 1, "real(x + iy) is x: its slopes are 1 and 0"
    assert jax.grad(jax.lax.imag)(3 + 1j) == -1j, "imag(x + iy) is y: its slopes are 0 and 1"
    squares = lambda z: jax.lax.real(z) ** 2 + jax.lax.imag(z) ** 2  # noqa: E731
    assert jax.grad(squares)(3 + 1j) == 6 - 2j


def test_the_real_part_of_a_holomorphic_function_has_its_gradient():
    z = 3 + 1j
    np.testing.assert_array_equal(
        jax.grad(lambda z: jax.lax.real(f(z)))(z), jax.grad(f, holomorphic=True)(z)
    )


def test_the_gradient_of_an_integer_is_refused():
    with pytest.raises(TypeError, match="grad requires real- or complex-valued inputs.*int32"):
        jax.grad(f)(3)
    with pytest.raises(TypeError, match="grad requires real- or complex-valued inputs.*int32"):
        jax.grad(mul, argnums=(0, 1))(1.0, 3)
    assert float(jax.grad(mul)(1.0, 3.0)) == 3.0 == float(jax.grad(lambda x, n: x * n)(1.0, 3))


def test_with_allow_int_an_integer_has_a_float0_gradient():
    gradient = jax.grad(lambda n: sin(1.0), allow_int=True)(3)
    assert gradient.dtype == dtypes.float0


def test_the_gradient_of_a_vector_valued_function_is_refused():
    with pytest.raises(TypeError, match=r"scalar-output functions. Output had shape: \(3,\)"):
        jax.grad(sin)(np.ones(3, np.float32))


def test_a_value_in_a_tree_is_no_scalar():
    def single(x):
        return (sin(x),)

    with pytest.raises(TypeError, match="scalar-output functions. Output of single was"):
        jax.grad(single)(1.0)
    ran = []
    told_p = bind.Primitive("told")
    told_p.def_impl(lambda x: x)
    told_p.def_abstract_eval(lambda x: x)
    jvp_rules[told_p] = lambda ps, ts: (ps[0], told_p.bind(ts[0]))
    transpose_rules[told_p] = lambda ct, x: ran.append(ct) or [ct]
    with pytest.raises(TypeError, match="scalar-output functions"):
        jax.grad(lambda x: [told_p.bind(x)])(1.0)
    assert ran == [], "what is no scalar is refused before anything runs backwards"


def test_argnums_must_name_an_argument():
    with pytest.raises(TypeError, match="argnums=2 requires at least 3 positional arguments"):
        jax.grad(mul, argnums=2)(1.0, 2.0)


def test_a_cotangent_must_fit_the_result():
    _, f_vjp = jax.vjp(sin, np.ones(3, np.float32))
    with pytest.raises(ValueError, match=r"got float32\[2\], but expected float32\[3\]"):
        f_vjp(np.ones(2, np.float32))
    with pytest.raises(ValueError, match="unexpected tree structure"):
        f_vjp((np.ones(3, np.float32),))


def test_a_cotangent_can_be_a_python_number():
    clipped = jax.custom_vjp(lambda x: x)
    clipped.defvjp(lambda x: (x, ()), lambda _, ct: (jnp.minimum(ct, 1.0),))
    assert jax.vjp(clipped, 3.0)[1](5.0) == (1.0,)
    assert jax.vjp(lambda x: jnp.take(x[None], 0), 3.0)[1](5.0) == (5.0,)


def test_jit_and_vmap_give_and_take_the_vjp_function():
    _, f_vjp = jax.jit(lambda x: jax.vjp(sin, x))(3.0)
    np.testing.assert_allclose(jax.tree.leaves(f_vjp), [np.cos(3.0)], rtol=1e-6)
    np.testing.assert_allclose(
        jax.jit(lambda f, ct: f(ct)[0])(f_vjp, 2.0), 2 * np.cos(3.0), rtol=1e-6
    )
    _, f_vjp = jax.vmap(lambda x: jax.vjp(sin, x))(np.arange(3, dtype=np.float32))
    cts = jax.vmap(lambda f: f(1.0)[0])(f_vjp)
    np.testing.assert_allclose(cts, np.cos(np.arange(3)), rtol=1e-6)


def test_a_missing_transpose_rule_names_the_primitive():
    twice_p = bind.Primitive("twice")
    twice_p.def_impl(lambda x: 2 * x)
    twice_p.def_abstract_eval(lambda aval: aval)
    with pytest.raises(NotImplementedError, match="for 'twice' not implemented"):
        jax.linear_transpose(twice_p.bind, 1.0)(1.0)


def test_linear_transpose_of_integers_and_float0():
    v, i = jax.numpy.ones(3), jnp.arange(3)
    assert jax.linear_transpose(lambda x: x * 2, i)(i)[0].tolist() == [0, 2, 4]
    transposed = jax.linear_transpose(jax.linearize(lambda x: (2 * x, i), v)[1], v)
    none = np.zeros(3, jax.dtypes.float0)
    assert transposed((v, none))[0].tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match=r"has dtype float0 too, but got int32\[3\]"):
        transposed((v, i))
    with pytest.raises(TypeError, match=r"\[int32\] -> \[float32\]"):
        jax.linear_transpose(lambda x: x * 2.0, i)


def test_linear_transpose_is_a_node_of_the_functions_constants():
    assert jax.jit(lambda: jax.linear_transpose(lambda x: 2 * x, 1.0))()(3.0)[0] == 6


def test_linear_transpose_keeps_weak_types():
    assert jax.linear_transpose(lambda x: x * 2.0, jax.numpy.asarray(1.0))(1.0)[0].weak_type


NOT_LINEAR = {
    "mul": lambda x: x * x,
    "div": lambda x: 1 / x,
    "select_n": lambda x: lax.select(x > 0, x, -x),
    "gather": lambda x: jnp.arange(3.0)[x.astype(int)[None]][0],
    "dynamic_slice": lambda x: lax.dynamic_slice(jnp.arange(3.0), [x.astype(int)], (1,))[0],
    "scatter-add": lambda x: jnp.arange(3.0).at[x.astype(int)].add(1.0)[0],
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_what_is_not_linear_has_no_transpose(name):
    with pytest.raises(NotImplementedError, match=f"the function is not linear: '{name}'"):
        jax.linear_transpose(NOT_LINEAR[name], 1.0)(1.0)


def test_the_function_runs_at_each_call_and_sees_what_it_closes_over():
    factor, calls = [2.0], []

    def f(x):
        calls.append(x)
        return x * factor[0] if x > 0 else -x

    gradient = jax.grad(f)
    assert gradient(1.0) == 2.0
    factor[0] = 3.0
    assert gradient(1.0) == 3.0 and gradient(-1.0) == -1.0
    assert len(calls) == 3


def test_a_changed_config_is_seen():
    f = jax.grad(lambda x: jnp.sum(jnp.sin(x)))
    x = np.arange(3.0)
    assert f(x).dtype == "float32"
    with jax.enable_x64():
        assert f(x).dtype == "float64"
    with jax.debug_nans(), pytest.raises(FloatingPointError, match="in log"):
        jax.grad(jnp.log)(-1.0)
    assert np.isfinite(jax.grad(jnp.log)(-1.0))


def test_a_changed_rule_is_seen():
    double_p = bind.Primitive("double")
    double_p.def_impl(lambda x: 2 * x)
    for slope in (2.0, 5.0):
        jvp_rules[double_p] = lambda primals, tangents, s=slope: (
            double_p.bind(*primals),
            tangents[0] * s,
        )
        assert jax.grad(double_p.bind)(1.0) == slope


def test_gradients_stay_where_the_arguments_were_put():
    x = np.ones((2, 3), np.float32)
    loss = lambda x: jnp.sum(jax.nn.log_softmax(x @ x.T))  # noqa: E731
    device = jax.devices()[0]
    gradient = jax.grad(loss)(jax.device_put(x, device))
    assert gradient.committed and gradient.device == device
    assert not jax.grad(loss)(x).committed


def test_a_long_chain_of_operations_needs_no_deep_stack():
    def chain(x):
        for _ in range(3000):
            x = x * 1.0
        return x

    assert jax.grad(chain)(2.0) == 1.0
    assert len(jax.make_jaxpr(chain)(2.0).eqns) == 3000
    assert len(jax.make_jaxpr(jax.grad(chain))(2.0).eqns) == 6000


def test_a_vjp_function_takes_one_cotangent():
    _, pull = jax.vjp(lambda x, y: (x * y, x), 2.0, 3.0)
    with pytest.raises(TypeError, match="was called with 2 arguments"):
        pull(1.0, 1.0)
