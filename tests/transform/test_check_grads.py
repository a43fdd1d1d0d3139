"""check_grads finds a wrong derivative, and lets a right one pass."""

import functools

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.transform.check_grads import check_grads, check_jvp, check_vjp

v = np.array([0.3, -1.2, 2.0], np.float32)


@jax.custom_jvp
def wrong(x):
    return jnp.sin(x)


wrong.defjvps(lambda t, out, x: t)


@jax.custom_jvp
def wrong_the_second_time(x):
    return jnp.sin(x)


wrong_the_second_time.defjvps(lambda t, out, x: t * jax.lax.stop_gradient(jnp.cos(x)))


@pytest.mark.parametrize(
    "f, args",
    [
        (jnp.sin, (v,)),
        (jnp.multiply, (v, 2.0)),
        (lambda d: {"product": d["a"] * d["b"], "a": d["a"]}, ({"a": v, "b": 2.0},)),
        (jnp.sin, (0.5 + 1.0j,)),
        (jnp.abs, (np.complex64([0.5 + 1j, 1 - 1j]),)),
        (lambda x: jnp.where(x > 0, x, -jnp.inf), (v,)),
    ],
)
def test_right_derivatives_pass(f, args):
    check_grads(f, args, order=2)


@pytest.mark.parametrize("mode, message", [("fwd", "JVP tangent"), ("rev", "VJP cotangent")])
def test_a_wrong_derivative_is_found(mode, message):
    with pytest.raises(AssertionError, match=message):
        check_grads(wrong, (1.0,), order=1, modes=[mode])


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_a_wrong_second_derivative_is_found_when_asked_for(mode):
    check_grads(wrong_the_second_time, (1.0,), order=1, modes=[mode])
    with pytest.raises(AssertionError, match="(JVP|VJP) of "):
        check_grads(wrong_the_second_time, (1.0,), order=2, modes=[mode])


def test_a_value_that_differs_is_found():
    with pytest.raises(AssertionError, match="primal"):
        check_jvp(jnp.sin, functools.partial(jax.jvp, jnp.cos), (0.3,))
    with pytest.raises(AssertionError, match="primal"):
        check_vjp(jnp.sin, functools.partial(jax.vjp, jnp.cos), (0.3,))


def test_tolerances_are_numbers_or_by_dtype():
    check_grads(jnp.exp, (1.0,), order=1, atol=0.5, rtol=0.5)
    for tolerance in (1e-9, {np.float32: 1e-9}):
        with pytest.raises(AssertionError):
            check_grads(jnp.exp, (1.0,), order=1, atol=tolerance, rtol=tolerance)
    check_grads(jnp.sin, (np.float16(1),), order=1, eps=1e-1)


def test_integers_have_no_derivative():
    with pytest.raises(TypeError, match="float0"):
        check_grads(jnp.sin, (1,), order=1)


def test_in_double_precision_the_check_is_sharper():
    with jax.enable_x64(True):
        check_grads(jnp.tanh, (v.astype(np.float64),), order=3)
