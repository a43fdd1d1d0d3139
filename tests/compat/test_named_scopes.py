"""named_scope and named_call: names that change nothing."""

import pytest

import tinyjax as jax
import tinyjax.numpy as jnp


def test_a_scope_is_a_context_and_a_decorator():
    @jax.named_scope("outer")
    def f(x):
        with jax.named_scope("inner"):
            return jnp.sin(x)

    assert f(0.0) == 0.0 and f.__name__ == "f"
    assert jax.grad(f)(0.0) == 1.0


def test_the_jaxpr_is_that_of_the_function():
    text = str(jax.make_jaxpr(jnp.sin)(1.0))
    assert str(jax.make_jaxpr(jax.named_call(jnp.sin, name="f"))(1.0)) == text


def test_a_name_must_be_a_string():
    with pytest.raises(TypeError, match="must be a string, got 1"):
        jax.named_scope(1)
