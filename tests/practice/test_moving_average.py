"""The moving average: a recurrence, one scan, and gradients without nan."""

import numpy as np
from drawn import drawn, floats, same, shape_of_rank, shown
from judged import SMALL_FLOAT, stays_a_loop, unchanged
from practice.moving_average import moving_average

import tinyjax as jax
import tinyjax.numpy as jnp

XS = np.array([1.0, 3.0, 2.0, 6.0], np.float32)
GAPS = np.array([1.0, np.nan, 3.0, np.nan], np.float32)


def by_hand(xs, keep):
    averages = [xs[0]]
    for x in xs[1:]:
        averages.append(averages[-1] if np.isnan(x) else keep * averages[-1] + (1 - keep) * x)
    return averages


def test_each_average_is_made_of_the_one_before():
    got = moving_average(XS, 0.75).tolist()
    want = by_hand(XS, 0.75)
    assert np.allclose(got, want), f"the averages with keep = 0.75 are {want}, not {got}"


def test_the_first_x_is_the_first_average():
    first = float(moving_average(XS + 9, 0.75)[0])
    assert first == 10.0, f"the first average is the first x, 10.0, not {first}"


def test_there_is_an_average_for_each_x():
    got = moving_average(XS[:, None] * np.ones(3, np.float32), 0.5)
    assert got.shape == (4, 3), f"of xs of shape (4, 3), averages of shape (4, 3), not {got.shape}"
    assert np.allclose(got[:, 2], by_hand(XS, 0.5)), f"each column by itself: {got[:, 2]}"


def test_where_nothing_was_measured_the_average_stays():
    got = moving_average(GAPS, 0.5).tolist()
    assert got == [1.0, 1.0, 2.0, 2.0], f"nan is left out: [1, 1, 2, 2], not {got}"


def test_the_program_is_as_long_for_a_thousand_as_for_three():
    lengths = {
        n: str(jax.make_jaxpr(moving_average)(jnp.ones(n), 0.5)).count("=") for n in (3, 1000)
    }
    assert lengths[3] == lengths[1000], "the jaxpr grows with the number of xs: it is no scan"
    stays_a_loop(jax.make_jaxpr(moving_average)(jnp.ones(1000), 0.5))
    names = [eqn.primitive.name for eqn in jax.make_jaxpr(moving_average)(jnp.ones(3), 0.5).eqns]
    assert names.count("scan") == 1, f"one scan is asked for; the equations are {names}"


def test_the_gradient_by_keep_is_right_and_no_nan():
    slope = jax.grad(lambda keep: moving_average(GAPS, keep).sum())(0.5)
    assert np.allclose(slope, -4.0), f"1 + 1 + 2 * (3 - 2 * keep) falls by 4 for each keep: {slope}"


def test_the_gradient_by_xs_is_zero_where_nothing_was_measured():
    slopes = jax.grad(lambda xs: moving_average(xs, 0.5).sum())(GAPS).tolist()
    assert slopes == [3.0, 0.0, 1.0, 0.0], f"1 + 1 + 2 * 0.5 by the first x, not {slopes}"


def test_a_row_may_be_measured_in_part():
    xs = np.array([[0, 0], [np.nan, 8], [4, np.nan]], np.float32)
    got = moving_average(xs, 0.5).tolist()
    assert got == [[0, 0], [0, 4], [2, 4]], f"what is there of a row counts, not {got}"


def test_an_infinite_measurement_is_one():
    got = moving_average(np.array([0.0, np.inf, 1.0, -1.0], np.float32), 0.5).tolist()
    assert got == [0.0, np.inf, np.inf, np.inf], f"inf was measured, nan alone was not: {got}"
    got = moving_average(np.array([0.0, 2e35, -2e38], np.float32), 0.5)
    np.testing.assert_allclose(got, [0, 1e35, -1e38 + 0.5e35], rtol=1e-6)
    got = moving_average(np.array([[np.inf, 0.0], [1.0, -np.inf]], np.float32), 0.5).tolist()
    assert got == [[np.inf, 0], [np.inf, -np.inf]], f"nor is it left out as the first: {got}"
    got = moving_average(np.array([np.inf, -np.inf, 1.0], np.float32), 0.5).tolist()
    assert np.isnan(got[1:]).all(), f"the mean of inf and -inf is no number: {got}"


def test_the_first_average_is_the_first_x_whatever_is_kept_and_xs_stay_as_they_are():
    for keep in (0.0, 1.0, 0.9):
        xs = np.array([7.0, 1.0, np.nan], np.float32)
        with unchanged(xs=xs):
            got = moving_average(xs, keep)
        np.testing.assert_allclose(got, by_hand(xs, keep), rtol=1e-6)
    assert moving_average(XS[:1], 0.5).tolist() == [1.0]
    keeps = [0.0, 1.0, 0.5, -1.0]
    got = jax.vmap(moving_average, (None, 0))(XS, jnp.array(keeps))
    np.testing.assert_allclose(got, [by_hand(XS, keep) for keep in keeps], rtol=1e-6)
    assert moving_average(np.zeros((3, 0), np.float32), 0.5).shape == (3, 0)


def test_measurements_of_any_rank_keep_their_shape_and_dtype():
    for dtype in ("float16", SMALL_FLOAT.name, "float32"):
        xs = jnp.ones((4, 2, 1, 3), dtype)
        got = moving_average(xs, 0.5)
        assert (got.shape, got.dtype) == (xs.shape, xs.dtype)
    with jax.enable_x64():
        got = moving_average(np.array([1.0, 1.0 + 2.0**-40]), 0.5)
        third = moving_average(np.array([1.0, 2.0]), 0.3)
    assert got.dtype == np.float64 and float(got[1]) == 1 + 2.0**-41
    np.testing.assert_allclose(third, [1, 1.7], 1e-15)


@drawn(10, most=6)
def test_drawn_measurements_are_averaged_as_in_numpy_and_so_are_their_gradients(rng, most):
    n, rank = int(rng.integers(1, most + 1)), int(rng.integers(0, most))
    xs = floats(rng, n, *shape_of_rank(rng, rank, most=2))
    xs[1:][rng.random(xs[1:].shape) < 0.4] = np.nan
    xs[rng.random(xs.shape) < 0.2] = -0.0
    keep = float(rng.choice([0.0, 0.25, 0.9, 1.0, -0.5, 1.5]))
    weights = floats(rng, *xs.shape)
    want, slopes = np.zeros((2, *xs.shape))
    want[0] = xs[0]
    for t in range(1, n):
        there = np.where(np.isnan(xs[t]), want[t - 1], xs[t])
        want[t] = keep * want[t - 1] + (1 - keep) * there
    ct = np.zeros(xs.shape[1:])
    for t in reversed(range(1, n)):
        ct = ct + weights[t]
        slopes[t] = np.where(np.isnan(xs[t]), 0, (1 - keep) * ct)
        ct = np.where(np.isnan(xs[t]), ct, keep * ct)
    slopes[0] = ct + weights[0]
    with shown(xs=xs.tolist(), keep=keep, weights=weights.tolist()):
        same(moving_average(xs, keep), np.float32(want), "the averages")
        got = jax.grad(lambda xs: (moving_average(xs, keep) * weights).sum())(xs)
        same(got, np.float32(slopes), "the gradient of the weighted averages")
