"""checkify where no numbers are recorded: what it leaves alone, and what it says of mistakes."""

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.bind import Primitive
from tinyjax.experimental import checkify


def positive(x):
    checkify.check(x > 0, "not positive: {}", x)
    return x * 2


def test_checks_that_are_not_asked_for_are_not_there():
    error, out = checkify.checkify(jax.jit(positive), checkify.div_checks)(jnp.float32(-1))
    assert not error.sites and error.get() is None and out == -2


def test_a_jaxpr_without_checks_has_the_same_equations():
    jaxpr = jax.make_jaxpr(lambda x: checkify.checkify(jax.jit(jnp.sin))(x)[1])(1.0)
    assert str(jaxpr) == str(jax.make_jaxpr(jax.jit(jnp.sin))(1.0))


def test_without_checkify_a_batch_raises_for_its_first_bad_example():
    with pytest.raises(checkify.JaxRuntimeError, match="not positive: -2.0"):
        jax.vmap(positive)(jnp.array([1.0, -2, -3]))


def test_a_batch_of_errors_is_raised_as_a_line_for_each():
    errors, _ = jax.vmap(checkify.checkify(positive))(jnp.array([1.0, -2, -3]))
    with pytest.raises(checkify.JaxRuntimeError, match="index 1: .*\n.*index 2: "):
        checkify.check_error(errors)


def test_a_batch_of_errors_that_is_handed_on_is_its_first():
    def of_batch(xs):
        errors, out = jax.vmap(checkify.checkify(positive))(xs)
        checkify.check_error(errors)
        return out

    error, _ = jax.jit(checkify.checkify(of_batch))(jnp.array([1.0, -2, -3]))
    assert error.get() == "not positive: -2.0 (`check` failed)"


def test_each_device_checks_for_itself():
    error, out = checkify.checkify(jax.pmap(positive, devices=jax.devices()[:1]))(-jnp.ones(1))
    assert error.get() == "not positive: -1.0 (`check` failed)" and out.tolist() == [-2]


def test_a_scatter_that_adds_checks_its_indices():
    def added(x, i):
        return x.at[:, i].add(1.0)

    error, _ = checkify.checkify(added, checkify.index_checks)(jnp.ones((2, 3)), jnp.array([0, 3]))
    assert "index 3 is out of bounds for axis 1 with size 3" in error.get()


def test_checkify_takes_a_function():
    with pytest.raises(TypeError, match="takes a function"):
        checkify.checkify(3)


def test_check_error_takes_an_error():
    with pytest.raises(TypeError, match="takes the Error"):
        checkify.check_error("failed")


def test_check_is_a_primitive_as_others():
    assert isinstance(checkify.check_p, Primitive)
    assert "check[" in str(jax.make_jaxpr(positive)(1.0))
