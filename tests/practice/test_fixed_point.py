"""The derivative of what a loop arrives at."""

import numpy as np
import pytest
from drawn import draws, equal
from judged import Thrown, error_passes, raises, unchanged
from practice.fixed_point import fixed_point

import tinyjax as jax
import tinyjax.numpy as jnp

matrix = np.array([[0.3, 0.2], [-0.1, 0.4]], np.float32)
start = np.zeros(2, np.float32)


def step(x, a):
    """Linear in x: the fixed point is solve(1 - matrix, a)."""
    return jnp.sum(matrix * x, axis=1) + a


def curved(x, a):
    return jnp.tanh(a["scale"] * jnp.sum(matrix * x, axis=1)) + a["shift"]


def parameters(scale):
    return {"scale": scale, "shift": np.array([1.0, 2.0], np.float32)}


def total(scale, guess=start):
    """A number of the fixed point of `curved`."""
    return jnp.sum(fixed_point(curved, parameters(scale), guess) ** 2)


there = np.array([1.4235618, 2.384903], np.float32)  # the fixed point for 0.5


def slope(fun, x, by=0.01):
    """The derivative from two near points."""
    return (float(fun(x + by)) - float(fun(x - by))) / (2 * by)


def test_the_fixed_point_is_found():
    a = np.array([1.0, 2.0], np.float32)
    x = fixed_point(step, a, start)
    np.testing.assert_allclose(x, np.linalg.solve(np.eye(2) - matrix, a), rtol=1e-4)


def test_each_entry_moves_with_each_entry_of_the_parameter():
    a = np.array([1.0, 2.0], np.float32)
    _, f_vjp = jax.vjp(lambda a: fixed_point(step, a, start), a)
    rows = np.stack([f_vjp(ct)[0] for ct in np.eye(2, dtype=np.float32)])
    np.testing.assert_allclose(rows, np.linalg.inv(np.eye(2) - matrix), rtol=1e-4)


def test_the_slopes_are_those_at_the_fixed_point():
    np.testing.assert_allclose(jax.grad(total)(0.5), slope(total, 0.5), rtol=1e-2)


def test_forward_mode_gives_the_same_as_reverse_mode():
    value, moved = jax.jvp(total, (0.5,), (1.0,))
    np.testing.assert_allclose(value, total(0.5), rtol=1e-5)
    np.testing.assert_allclose(moved, jax.grad(total)(0.5), rtol=1e-4)


def test_the_parameter_may_be_a_tree():
    found = jax.grad(lambda a: jnp.sum(fixed_point(curved, a, start)))(parameters(0.5))
    assert sorted(found) == ["scale", "shift"]
    assert (jnp.shape(found["scale"]), jnp.shape(found["shift"])) == ((), (2,))


def test_the_way_to_the_fixed_point_does_not_matter():
    """From the fixed point itself the loop takes one step, and its derivative would be that step's."""
    found = jax.grad(lambda scale: total(scale, there))(0.5)
    np.testing.assert_allclose(found, jax.grad(total)(0.5), rtol=1e-3)


@pytest.mark.parametrize("guess", [start, there], ids=["from afar", "from there"])
def test_it_can_be_differentiated_twice(guess):
    found = jax.grad(jax.grad(lambda scale: total(scale, guess)))(0.5)
    np.testing.assert_allclose(found, slope(jax.grad(total), 0.5), rtol=2e-2)


@pytest.mark.parametrize("near", [0.5, 0.95, 0.98, -0.95])
def test_the_slope_is_right_however_slowly_the_steps_come_to_rest(near):
    found = jax.jacfwd(lambda a: fixed_point(lambda x, a: near * x + a, a, start[:1]))(jnp.ones(1))
    np.testing.assert_allclose(found, [[1 / (1 - near)]], rtol=2e-3)


def test_an_error_of_the_step_goes_on():
    with error_passes(Thrown()) as error:
        fixed_point(raises(error), np.ones(2, np.float32), start)
    with pytest.raises(ValueError, match="no rest"):
        fixed_point(lambda x, a: -x + a, np.ones(2, np.float32), start)


def test_each_call_is_of_its_own_step_and_start_which_stay_as_they_are():
    guess, a = np.array([5.0, -5.0], np.float32), np.array([1.0, 2.0], np.float32)
    for factor in (0.5, 0.25):
        with unchanged(guess=guess, a=a):
            found = fixed_point(lambda x, a: factor * x + a, a, guess)  # noqa: B023
        np.testing.assert_allclose(found, a / (1 - factor), rtol=1e-4)
    one = fixed_point(lambda x, a: 0.5 * x + a, np.ones(3, np.float32), np.zeros(3, np.float32))
    assert one.shape == (3,)
    with jax.enable_x64(True):
        found = fixed_point(lambda x, a: 0.5 * x + a, np.ones(1), np.zeros(1))
    assert found.dtype == np.float64, "the result has the dtype of its start"
    small = np.float32([[0.0, 1e-3], [1e-3, 0.0]])
    found = jax.jacfwd(lambda a: fixed_point(lambda x, a: jnp.sum(small * x, 1) + a, a, start[:2]))(
        a
    )
    np.testing.assert_allclose(found, np.linalg.inv(np.eye(2) - small), rtol=1e-4)


def test_of_any_size_derivatives_are_those_of_the_inverse():
    for draw in draws(3, 7):
        n, scale = draw.size, draw.choice([0.5, -0.5, 1.0])
        entries = [draw.uniform(-1, 1) for _ in range(n * n)]
        slopes = np.array(entries, np.float32).reshape(n, n) / (1.5 * n)
        shift = np.array([draw.uniform(1, 2) for _ in range(n)], np.float32)

        def step(x, a, slopes=slopes):
            return a["scale"] * (slopes @ x) + a["shift"]

        def fun(scale, shift, step=step, n=n):
            return fixed_point(step, {"scale": scale, "shift": shift}, jnp.zeros(n, jnp.float32))

        # x = scale * slopes @ x + shift, and what follows for its derivatives by scale
        inverse = np.linalg.inv(np.eye(n) - scale * slopes.astype(np.float64))
        x = inverse @ shift
        first = inverse @ slopes @ x
        second = 2 * inverse @ slopes @ first
        about = {"slopes": slopes, "scale": scale, "shift": shift}
        equal(fun(scale, shift), x, 1e-3, **about)
        _, by_scale = jax.jvp(lambda s, f=fun, b=shift: f(s, b), (scale,), (1.0,))
        equal(by_scale, first, 5e-3, **about, derivative="by scale")
        weights = draw.whole((n,))
        total = lambda s, b, f=fun, w=weights: jnp.sum(w * f(s, b))  # noqa: E731
        by_scale, by_shift = jax.grad(total, (0, 1))(scale, shift)
        equal(by_scale, weights @ first, 1e-2, **about, weights=weights, derivative="by scale")
        equal(by_shift, inverse.T @ weights, 5e-3, **about, weights=weights, derivative="by shift")
        twice = jax.grad(lambda s, t=total, b=shift: jax.jvp(lambda s: t(s, b), (s,), (1.0,))[1])
        equal(twice(scale), weights @ second, 2e-2, **about, weights=weights, derivative="second")


def test_derivatives_of_64_bits_are_exact_where_the_powers_of_the_slopes_end():
    with jax.enable_x64(True):
        a = jnp.array([0.3, 0.7])
        for slope in (1e-3, 1.0, 1e3):
            step = lambda x, a: jnp.stack([slope * x[1], 0.0 * x[0]]) + a * a  # noqa: B023, E731
            found = jax.jacfwd(lambda a: fixed_point(step, a, jnp.zeros(2)))(a)  # noqa: B023
            np.testing.assert_allclose(found, [[0.6, 1.4 * slope], [0.0, 1.4]], rtol=1e-12)
