"""A step of gradient descent that finds its own size."""

import itertools

import numpy as np
import pytest
from drawn import draws, equal
from judged import each_error, error_passes, raises, unchanged
from practice.descent import descent_step

import tinyjax as jax
import tinyjax.numpy as jnp


class Loss:
    """30 a**2 + |b|**2 / 2; counts how often it is computed."""

    def __init__(self):
        self.asked = 0

    def __call__(self, params):
        self.asked += 1
        return 30.0 * params["a"] ** 2 + jnp.sum(params["b"] ** 2) / 2


params = {"a": 0.0, "b": np.array([3.0, 4.0], np.float32)}


def test_a_step_goes_against_the_gradient():
    new, rate = descent_step(Loss(), params, rate=0.25)
    assert float(new["a"]) == 0.0 and rate == 0.25
    np.testing.assert_allclose(new["b"], [2.25, 3.0], rtol=1e-6)


def test_the_rate_is_halved_until_the_step_is_good():
    # x**2 / 2 at 1: a step of r goes down by r - r**2 / 2, which is r / 2 at least from r = 1 on.
    new, rate = descent_step(lambda x: x * x / 2, 1.0, rate=8.0)
    assert (float(new), float(rate)) == (0.0, 1.0)


@pytest.mark.parametrize("rate, steep", [(2.0**40, 1.0), (1.0, 2.0**30), (2.0**50, 2.0**30)])
def test_the_rate_is_halved_as_often_as_it_takes(rate, steep):
    new, taken = descent_step(lambda x: steep * x * x / 2, 1.0, rate)
    assert (float(new), float(taken)) == (0.0, 1 / steep)


def test_a_step_that_is_just_good_is_taken():
    new, rate = descent_step(lambda x: x * x / 2, 1.0, rate=1.0)
    assert (float(new), float(rate)) == (0.0, 1.0)


def test_a_step_that_goes_down_but_too_little_is_not_taken():
    _, rate = descent_step(lambda x: x * x / 2, 1.0, rate=1.75)
    assert float(rate) == 0.875
    _, rate = descent_step(lambda x: x * x * 5e-7, 1.0, rate=1.75e6)
    assert float(rate) == 0.875e6, "however small the loss is"


def test_a_step_to_where_the_loss_is_no_number_is_not_taken():
    # The gradient at 4 is 3/4: a rate of 8 goes to -2, which has no logarithm, and one of 4 to 1.
    new, rate = descent_step(lambda x: x - jnp.log(x), 4.0, rate=8.0)
    assert (float(new), float(rate)) == (1.0, 4.0)


def test_all_entries_of_the_gradient_count():
    # Each is 8; a step goes down by 512 r - 2048 r**2, which is 512 r / 2 at least up to 1/8.
    new, rate = descent_step(lambda x: jnp.sum(x) ** 2 / 2, np.ones(8, np.float32), rate=0.2)
    assert float(rate) == pytest.approx(0.1)
    np.testing.assert_allclose(new, np.full(8, 0.2), rtol=1e-5)
    # The gradient is 100, its square 1e4: a step goes down by 1e4 r - 5e3 (1 + 1e-5) r**2.
    _, rate = descent_step(lambda x: 100.0 * x + 1e3 * jnp.maximum(-x - 1, 0), 0.0, rate=0.01)
    assert float(rate) == pytest.approx(0.01)
    steep = lambda x: 100.0 * x + 51.0 * jnp.maximum(-x, 0.0)  # noqa: E731
    _, rate = descent_step(steep, 1e-9, rate=1.0)
    assert float(rate) < 1e-6, "49 of 100 is less than a half"
    assert isinstance(descent_step(lambda x: x * x, 1.0, 0.25)[1], float), "a number of Python"


def test_all_arrays_of_the_gradient_count():
    _, rate = descent_step(Loss(), params, rate=1.75)  # the first is 0: b alone decides
    assert float(rate) == 0.875


def test_the_steepest_parameter_decides_for_all():
    _, rate = descent_step(Loss(), params | {"a": 1.0}, rate=1.0)
    assert float(rate) == 1 / 64


def test_a_try_costs_one_loss_and_the_gradient_is_computed_once():
    loss = Loss()
    _, rate = descent_step(loss, params | {"a": 1.0}, rate=1.0)
    tries = 7  # 1, 1/2, ..., 1/64
    assert loss.asked == 1 + tries, f"{tries} rates tried, and the loss computed {loss.asked} times"


def test_at_the_lowest_point_it_stays():
    new, rate = descent_step(lambda x: x * x, 0.0, rate=2.0)
    assert (float(new), rate) == (0.0, 2.0)


def test_the_parameters_keep_their_structure():
    new, _ = descent_step(Loss(), params, rate=1.0)
    assert jax.tree.structure(new) == jax.tree.structure(params)


@pytest.mark.parametrize("rate", [64.0, 0.001])
def test_no_step_goes_up(rate):
    def bumpy(x):
        return jnp.sin(5.0 * x) + x * x

    x, value = 0.3, float(bumpy(0.3))
    for _ in range(5):
        x, rate = descent_step(bumpy, x, rate)
        assert float(bumpy(x)) <= value
        value = float(bumpy(x))


def test_of_many_parameters_each_counts_and_moves_and_all_stay_as_they_were():
    nested = (None, {"a": {"b": np.float32([1.0, 2.0])}}, [(), np.zeros((4, 0), np.float32)])
    new, taken = descent_step(lambda p: jnp.sum(p[1]["a"]["b"] ** 2) / 2, nested, 4.0)
    assert jax.tree.structure(new) == jax.tree.structure(nested), "None may come first"
    assert (float(taken), new[1]["a"]["b"].tolist(), new[2][1].shape) == (1.0, [0, 0], (4, 0))
    given = {"w": [np.float32([1.0]), 1.0, {"b": np.ones((2, 1), np.float32)}], "c": 1.0}
    loss = lambda p: sum(jnp.sum(x * x) / 2 for x in jax.tree.leaves(p))  # noqa: E731
    for rate in (4.0, 1.0):
        with unchanged(given=given):
            new, taken = descent_step(loss, given, rate)
        assert float(taken) == 1.0
        assert [float(jnp.sum(x)) for x in jax.tree.leaves(new)] == [0.0] * 4
    uneven = lambda p: jax.tree.leaves(p)[0] ** 2 / 2 + 8 * jax.tree.leaves(p)[3][0, 0] ** 2  # noqa: E731
    _, taken = descent_step(uneven, given, 1.0)
    assert float(taken) == 1 / 16, "the last of four leaves is the steepest"


@each_error
def test_an_error_of_the_loss_goes_on(error):
    for calls_before in range(3):
        with error_passes(error()) as raised:
            fail, calls = raises(raised), []

            def loss(x, fail=fail, calls=calls, most=calls_before):
                calls.append(x)
                return fail(x) if len(calls) > most else x * x / 2

            descent_step(loss, 1.0, rate=8.0)


def test_of_any_tree_the_first_step_that_is_good_is_taken():
    for draw in draws(16, 4):
        starts = [draw.whole(draw.shape(2, (1, 2, 3))) for _ in range(draw.count(1))]
        slopes = [draw.choice([0.25, 1.0, 8.0, 64.0]) for _ in starts]
        largest = draw.choice([2.0, 4.0, np.inf])  # beyond, the loss is no number
        asked = []

        def loss(tree, slopes=slopes, largest=largest, asked=asked):
            leaves = jax.tree.leaves(tree)
            asked.append(len(leaves))
            total = sum(jnp.sum(a * x * x) for a, x in zip(slopes, leaves))
            far = [jnp.max(jnp.abs(x)) > largest for x in leaves]
            return jnp.where(jnp.stack(far).any(), jnp.nan, total)

        rate = draw.choice([4, 3, 1.0, 0.5])
        tree = draw.choice([list(starts), {"a": (starts[0], starts[1:])}])
        wide = [np.asarray(x, np.float64) for x in starts]
        value = sum((a * x * x).sum() for a, x in zip(slopes, wide))
        squares = sum(((2 * a * x) ** 2).sum() for a, x in zip(slopes, wide))
        expected, tries = rate, 1
        while True:  # all numbers are exact
            moved = [x - expected * 2 * a * x for a, x in zip(slopes, wide)]
            lower = sum((a * x * x).sum() for a, x in zip(slopes, moved))
            near = all(np.abs(x).max() <= largest for x in moved)
            if near and lower <= value - expected * squares / 2:
                break
            expected, tries = expected / 2, tries + 1
        with unchanged(tree=tree):
            new, found = descent_step(loss, tree, rate)
        about = {"tree": tree, "slopes": slopes, "rate": rate, "largest": largest}
        assert found == expected, f"of {about}: expected a rate of {expected}, found {found}"
        assert jax.tree.structure(new) == jax.tree.structure(tree), f"of {about}: found {new}"
        equal(jax.tree.leaves(new), moved, dtype=np.float32, **about)
        assert len(asked) == tries + 1, f"of {about}: {len(asked)} losses for {tries} tries"
    for dtype in (np.float16, np.float64):
        with jax.enable_x64(dtype is np.float64):
            new, _ = descent_step(lambda x: jnp.sum(x * x), np.array([1, 2], dtype), 0.25)
            equal(new, [0.5, 1.0], dtype=dtype)


@pytest.mark.parametrize(
    "steep, size",
    [*itertools.product((2.0**-36, 2.0**36), (2.0**-20, 2.0**20)), (2.0**60, 2.0**-20)],
)
def test_a_loss_may_have_any_scale(steep, size):
    """Each number is a power of two times a small one: a rate of 1 / steep is good, and ends at 0."""
    start = size * np.float32([3.0, 4.0])
    new, rate = descent_step(lambda x: steep * jnp.sum(x * x) / 2, start, rate=8 / steep)
    assert float(rate) == 1 / steep
    equal(new, np.zeros(2))


def test_a_loss_of_64_bits_may_go_down_by_little():
    """1 + steep * x**2 / 2 at 1, where a rate of 1 / steep is good: float32 can't tell such losses apart."""
    with jax.enable_x64(True):
        for steep in (1e-8, 1e-10):
            start = np.float64(1.0)
            new, rate = descent_step(lambda x: 1.0 + steep * x * x / 2, start, 1.75 / steep)  # noqa: B023
            np.testing.assert_allclose([new, float(rate) * steep], [0.125, 0.875], rtol=1e-12)
