"""The fast path of an eager grad: derivatives of single operations, remembered by their avals."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import core
from tinyjax.config import config
from tinyjax.core import abstract_eval_rules, impl_rules
from tinyjax.interpreters import eager_linearize
from tinyjax.interpreters.jvp import jvp_rules
from tinyjax.interpreters.numpy_program import NumpyProgram
from tinyjax.interpreters.transposition import transpose_rules
from tinyjax.interpreters.vjp import vjp_flat
from tinyjax.jaxpr import jaxpr_as_fun

X = np.array([[0.5, -1.0, 2.0], [3.0, 0.1, -0.7]], np.float32)


def loss(x):
    return jnp.sum(jax.nn.log_softmax(jnp.tanh(x @ x.T) * 2.0) ** 3) / jnp.max(jnp.abs(x))


def plain_grad(fun, monkeypatch):
    """grad without the fast path."""

    def gradient(*args):
        with monkeypatch.context() as patch:
            patch.setattr("tinyjax.interpreters.vjp.vjp_for_grad", vjp_flat)
            return jax.grad(fun)(*args)

    return gradient


def test_a_program_gives_what_its_jaxpr_gives():
    closed = jax.make_jaxpr(loss)(X)
    program = NumpyProgram(closed)
    (expected,) = jaxpr_as_fun(closed)(X)
    np.testing.assert_array_equal(program([X])[0], expected)


@pytest.mark.parametrize(
    "f",
    [lambda x: jax.lax.fori_loop(0, 3, lambda i, x: x + i, x), lambda x: jax.debug.print("{}", x)],
)
def test_a_program_has_no_loops_and_no_effects(f):
    with pytest.raises(NotImplementedError, match="more than a NumPy call"):
        NumpyProgram(jax.make_jaxpr(f)(X))


def test_the_fast_path_gives_what_the_plain_one_gives(monkeypatch):
    np.testing.assert_allclose(jax.grad(loss)(X), plain_grad(loss, monkeypatch)(X), rtol=1e-6)


def test_an_operation_is_derived_once():
    eager_linearize._steps.clear()
    f = jax.grad(lambda x: jnp.sin(x) * jnp.sin(x))
    f(1.0)
    number = len(eager_linearize._steps)
    f(2.0)
    assert len(eager_linearize._steps) == number == 2


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
    assert not config.jax_debug_nans


def test_a_changed_rule_is_seen():
    double_p = core.Primitive("double")
    impl_rules[double_p] = lambda x: 2 * x
    abstract_eval_rules[double_p] = lambda x: x
    for slope in (2.0, 5.0):
        jvp_rules[double_p] = lambda primals, tangents, s=slope: (
            double_p.bind(*primals),
            tangents[0] * s,
        )
        assert jax.grad(double_p.bind)(1.0) == slope


def test_parameters_that_are_equal_but_not_the_same_are_told_apart():
    scale_p = core.Primitive("scale")
    impl_rules[scale_p] = lambda x, factor: x * np.float32(factor)
    abstract_eval_rules[scale_p] = lambda x, factor: x
    jvp_rules[scale_p] = lambda primals, tangents, factor: (
        scale_p.bind(*primals, factor=factor),
        scale_p.bind(*tangents, factor=factor),
    )
    transpose_rules[scale_p] = lambda ct, x, factor: [scale_p.bind(ct, factor=factor)]
    for zero in (0.0, -0.0):
        gradient = jax.grad(lambda x: scale_p.bind(x, factor=zero))(1.0)  # noqa: B023
        assert np.signbit(gradient) == np.signbit(zero)


def test_a_missing_rule_is_named():
    odd_p = core.Primitive("odd")
    impl_rules[odd_p] = lambda x: x
    abstract_eval_rules[odd_p] = lambda x: x
    with pytest.raises(NotImplementedError, match="'odd' has no jvp rule"):
        jax.grad(odd_p.bind)(1.0)


def test_what_has_rules_of_its_own_or_loops_goes_the_plain_way():
    @jax.custom_jvp
    def clipped(x):
        return x

    clipped.defjvp(lambda primals, tangents: (primals[0], 7.0 * tangents[0]))
    assert jax.grad(lambda x: jnp.sin(clipped(x)))(0.0) == 7.0
    assert jax.grad(lambda x: jax.lax.fori_loop(0, 3, lambda i, x: 2.0 * x, x) * x)(1.0) == 16.0
    assert jax.grad(lambda x: jax.jit(jnp.sin)(x) * x)(0.0) == 0.0


def test_it_is_for_what_no_other_transformation_is_around():
    cube = lambda x: x**3  # noqa: E731
    assert jax.grad(jax.grad(cube))(2.0) == 12.0
    np.testing.assert_allclose(jax.vmap(jax.grad(cube))(np.float32([1, 2])), [3, 12])
    np.testing.assert_allclose(jax.jit(jax.grad(cube))(2.0), 12)
    assert jax.jvp(jax.grad(cube), (2.0,), (1.0,)) == (12.0, 12.0)


def test_gradients_stay_where_the_arguments_were_put():
    device = jax.devices()[0]
    x = jax.device_put(X, device)
    gradient = jax.grad(loss)(x)
    assert gradient.committed and gradient.device == device
    assert not jax.grad(loss)(X).committed


def test_a_long_chain_of_operations_needs_no_deep_stack():
    def chain(x):
        for _ in range(3000):
            x = x * 1.0
        return x

    assert jax.grad(chain)(2.0) == 1.0
    assert len(jax.make_jaxpr(chain)(2.0).eqns) == 3000
    assert len(jax.make_jaxpr(jax.grad(chain))(2.0).eqns) == 6000
