"""Solving equations by linearize."""

import numpy as np
import pytest
from drawn import draws, equal
from judged import SMALL_FLOAT, each_error, error_passes, raises, unchanged
from practice.newton import find_root

import tinyjax as jax
import tinyjax.numpy as jnp

forces = np.array([1.0, -3.0, 0.5, 12.0], np.float32)
matrix = (3 * np.eye(4) - 0.5 * np.eye(4, k=1) - 0.5 * np.eye(4, k=-1)).astype(np.float32)
start = np.zeros(4, np.float32)


class Springs:
    """How far a chain of springs is from rest, at x; counts how often it is asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self, x):
        self.asked += 1
        return jnp.sum(matrix * x, axis=1) + x * x * x - forces


def test_the_root_is_found():
    x = find_root(Springs(), start, steps=10)
    np.testing.assert_allclose(Springs()(x), np.zeros(4), atol=1e-5)


def test_a_linear_equation_needs_one_step():
    x = find_root(lambda x: 2.0 * x - forces, start, steps=1)
    np.testing.assert_allclose(x, forces / 2, rtol=1e-5)


def test_a_step_goes_to_where_the_linear_function_is_zero():
    x = find_root(lambda x: x * x - 9.0, np.array([1.0], np.float32), steps=1)
    np.testing.assert_allclose(x, [5.0], rtol=1e-5)  # 1 - (1 - 9) / 2


def test_each_step_has_the_derivative_of_where_it_is():
    x = find_root(lambda x: x * x - 9.0, np.array([1.0], np.float32), steps=2)
    np.testing.assert_allclose(x, [3.4], rtol=1e-5)  # 5 - (25 - 9) / 10


@pytest.mark.parametrize("steps", [1, 4])
def test_the_function_runs_once_a_step(steps):
    springs = Springs()
    find_root(springs, start, steps)
    assert springs.asked == steps, f"{steps} steps, and g ran {springs.asked} times"


def test_without_a_step_the_guess_is_given_back():
    assert np.array_equal(find_root(Springs(), start + 1, steps=0), start + 1)


def test_all_steps_are_made_also_where_the_value_is_small():
    x = find_root(lambda x: x * x - 2e-4, np.float32([1.0]), steps=12)
    np.testing.assert_allclose(x, [np.sqrt(2e-4)], rtol=5e-3)
    many = find_root(jnp.exp, np.float32([20.0]), steps=15)
    np.testing.assert_allclose(many, [5.0], rtol=1e-3, err_msg="15 steps, each by 1")
    far = find_root(lambda x: x - 1e6, np.float32([1.0]), steps=1)
    np.testing.assert_allclose(far, [1e6], rtol=1e-5, err_msg="a step may be long")


def test_a_guess_of_64_bits_is_solved_in_64_bits():
    with jax.enable_x64():
        x = find_root(lambda x: x * x - 2.0, np.array([1.0]), steps=8)
        assert x.dtype == np.float64
        np.testing.assert_allclose(x, [2**0.5], rtol=1e-10)


def test_where_the_value_is_no_number_neither_is_the_result():
    assert np.isnan(find_root(lambda x: jnp.log(x - 2.0), np.float32([1.0]), steps=1))


@each_error
def test_an_error_of_the_function_goes_on(error):
    with error_passes(error()) as raised:
        find_root(raises(raised), start, steps=2)


def test_the_guess_may_have_any_shape_and_is_left_as_it_is():
    for guess in (np.float32(4.0), np.full((2, 1, 2), 4, np.float32), np.ones((1, 1), np.float32)):
        with unchanged(guess=guess):
            x = find_root(lambda x: 2.0 * x - 6.0, guess, steps=1)
        assert np.shape(x) == np.shape(guess)
        np.testing.assert_allclose(x, np.full(np.shape(guess), 3.0), rtol=1e-5)
    assert np.shape(find_root(lambda x: 2.0 * x - 6.0, np.float32(4.0), steps=5)) == ()


def test_a_guess_of_16_bits_stays_that():
    for steps in (0, 1, 3):
        found = find_root(lambda x: x * x - 4, jnp.ones(2, SMALL_FLOAT), steps)
        assert found.dtype == SMALL_FLOAT, f"after {steps} steps it is of {found.dtype}"


def test_of_any_shape_each_step_is_newtons():
    with jax.enable_x64(True):
        for draw in draws(12, 4):
            shape = draw.shape(3, (1, 2, 3))
            n = int(np.prod(shape))
            root = np.array([draw.uniform(-1, 1) for _ in range(n * n)]).reshape(n, n)
            matrix = root @ root.T + np.eye(n) * (1 + draw.random())
            right = np.array([draw.uniform(-2, 2) for _ in range(n)])
            guess = np.array([draw.uniform(-1, 1) for _ in range(n)]).reshape(shape)
            steps, cubes = draw.randint(0, 4), draw.choice([0.0, 0.1, 1.0])

            def g(x, matrix=matrix, right=right, cubes=cubes, shape=shape):
                x = jnp.reshape(x, (-1,))
                return jnp.reshape(matrix @ x + cubes * x * x * x - right, shape)

            expected = guess.reshape(-1).copy()
            for _ in range(steps):
                value = matrix @ expected + cubes * expected**3 - right
                slopes = matrix + np.diag(3 * cubes * expected**2)
                expected = expected - np.linalg.solve(slopes, value)
            given = guess if draw.random() < 0.5 else jnp.asarray(guess)
            with unchanged(guess=given):
                found = find_root(g, given, steps)
            about = {"matrix": matrix, "right": right, "cubes": cubes, "steps": steps}
            equal(found, expected.reshape(shape), 1e-5, guess=guess, **about)
            assert found.dtype == np.float64, "the guess has 64 bits, and so has the root"


def test_a_root_may_be_small_its_slope_steep_and_the_way_long():
    flat = find_root(lambda x: 1e9 * x * x * x, np.float32([1e-3]), steps=10)
    np.testing.assert_allclose(flat, [1e-3 * (2 / 3) ** 10], rtol=1e-3, err_msg="each takes 1/3")
    many = find_root(lambda x: x - 5e-7, np.zeros(100, np.float32), steps=1)
    np.testing.assert_allclose(many, np.full(100, 5e-7), rtol=1e-4)
    slopes = np.linspace(1, 30, 60, dtype=np.float32)
    uneven = find_root(lambda x: slopes * x - 1.0, np.zeros(60, np.float32), steps=1)
    np.testing.assert_allclose(uneven, 1 / slopes, rtol=1e-3, err_msg="of 60 different slopes")
    large = find_root(lambda x: x - 1e12, np.float32([1.0]), steps=1)
    np.testing.assert_allclose(large, [1e12], rtol=1e-5)
    with jax.enable_x64(True):
        for scale in (1e-6, 1e6):
            x = find_root(lambda x: (x / scale) ** 2 - 2.0, np.array([scale]), steps=6)  # noqa: B023
            np.testing.assert_allclose(x, [scale * 2**0.5], rtol=1e-10)
        far = find_root(jnp.exp, np.array([100.0]), steps=60)
        np.testing.assert_allclose(far, [40.0], rtol=1e-12, err_msg="60 steps, each by 1")
