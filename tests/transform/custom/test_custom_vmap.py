"""Functions with batching rules of their own: vmap calls the rule, all else looks inside."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.transform.custom.custom_vmap import custom_vmap

XS = jnp.array([1.0, 2.0, 3.0])


@custom_vmap
def add(x, y):
    return x + y


@add.def_vmap
def add_rule(axis_size, in_batched, x, y):  # ten times x shows that the rule was used
    assert axis_size == 3
    return 10 * x + y, any(in_batched)


def test_a_call_runs_the_function():
    assert add(1.0, 2.0) == 3.0
    assert jax.jit(add)(1.0, y=2.0) == 3.0


def test_vmap_calls_the_rule():
    np.testing.assert_array_equal(jax.vmap(add)(XS, XS), [11, 22, 33])
    np.testing.assert_array_equal(jax.jit(jax.vmap(add))(XS, XS), [11, 22, 33])
    np.testing.assert_array_equal(jax.vmap(jax.jit(add))(XS, XS), [11, 22, 33])


def test_the_rule_is_told_what_is_batched_and_gets_the_batch_in_front():
    seen = []

    @custom_vmap
    def f(tree, y):
        return y, tree["a"]

    @f.def_vmap
    def rule(axis_size, in_batched, tree, y):
        seen.append((axis_size, in_batched, y.shape))
        return (y, tree["a"]), (True, False)

    y, a = jax.vmap(f, (None, 1))({"a": 5.0}, jnp.ones((2, 3)))
    assert seen == [(3, [{"a": False}, True], (3, 2))]
    assert y.shape == (3, 2)
    np.testing.assert_array_equal(a, [5, 5, 5])


def test_unbatched_arguments_need_no_rule():
    np.testing.assert_array_equal(jax.vmap(lambda x: add(1.0, 2.0) * x)(XS), [3, 6, 9])


def test_forward_mode_differentiates_function_and_rule():
    assert jax.jvp(add, (1.0, 2.0), (1.0, 1.0)) == (3.0, 2.0)
    tangent = lambda x, t: jax.jvp(add, (x, x), (t, 0.0))[1]  # noqa: E731
    np.testing.assert_array_equal(jax.vmap(tangent)(XS, XS), [10, 20, 30])
    np.testing.assert_array_equal(jax.vmap(tangent, (0, None))(XS, 1.0), [10, 10, 10])
    np.testing.assert_array_equal(jax.vmap(tangent, (None, 0))(1.0, XS), [10, 20, 30])


def test_reverse_mode_is_given_by_a_custom_vjp_around_it():
    with pytest.raises(ValueError):
        jax.grad(add)(1.0, 2.0)
    f = jax.custom_vjp(lambda x: add(x, x))
    f.defvjp(lambda x: (add(x, x), ()), lambda _, ct: (2 * ct,))
    np.testing.assert_array_equal(jax.vmap(jax.grad(f))(XS), [2, 2, 2])


def test_without_a_rule_a_call_is_an_error():
    with pytest.raises(AttributeError, match="No batching rule defined"):
        custom_vmap(lambda x: x)(1.0)


@pytest.mark.parametrize("answer", [lambda x: (x, (True,)), lambda x: ((x,), (True,))])
def test_a_rule_must_give_what_the_function_gives(answer):
    f = custom_vmap(lambda x: x)
    f.def_vmap(lambda axis_size, in_batched, x: answer(x))
    with pytest.raises(ValueError, match="structure of output"):
        jax.vmap(f)(XS)


def test_a_batched_value_in_the_closure_is_an_error():
    def f(z):
        times_z = custom_vmap(lambda x: x * z)
        times_z.def_vmap(lambda axis_size, in_batched, x: (x * z, True))
        return times_z(2.0)

    with pytest.raises(AssertionError, match="make it an argument"):
        jax.vmap(f)(XS)


def test_sequential_vmap_calls_the_function_for_each_example():
    @jax.custom_batching.sequential_vmap
    def f(x, y):
        assert x.shape == ()
        return x + y

    np.testing.assert_array_equal(jax.vmap(f, (0, None))(XS, 1.0), [2, 3, 4])
