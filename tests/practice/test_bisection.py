"""Bisection by while_loop: the place, the count, types of the carry, and that it ends."""

import numpy as np
import pytest
from drawn import drawn, shown
from judged import SMALL_FLOAT, Thrown, error_passes, raises
from practice import bisection

import tinyjax as jax
import tinyjax.numpy as jnp


def counted(fun):
    """`fun`, for a loop that runs in Python: it fails when it has been asked too often."""
    calls = []

    def wrapper(x):
        calls.append(x)
        assert len(calls) < 200, f"the loop does not end: it has come to {x}, and goes on"
        return fun(x)

    return wrapper


def test_the_place_is_where_the_function_is_zero():
    with jax.disable_jit():  # a Python loop
        place, _ = bisection.bisect(counted(jnp.cos), 0.0, 3.0)
    assert abs(float(place) - np.pi / 2) <= 1e-4, f"cos is zero at 1.5708, not at {place}"


def test_the_function_may_rise_or_fall():
    rising, _ = bisection.bisect(lambda x: x - 0.7, 0.0, 3.0)
    falling, _ = bisection.bisect(lambda x: 0.7 - x, 0.0, 3.0)
    assert abs(float(rising) - 0.7) <= 1e-4, f"x - 0.7 rises through zero at 0.7, not at {rising}"
    assert abs(float(falling) - 0.7) <= 1e-4, f"0.7 - x falls through zero at 0.7, not at {falling}"


def test_the_interval_is_halved_until_it_is_no_longer_than_the_tolerance():
    counts = [
        int(bisection.bisect(lambda x: x - 0.7, 0.0, 1.0, tolerance)[1])
        for tolerance in (0.25, 0.3, 1.0)
    ]
    assert counts == [2, 2, 0], "halvings of an interval of 1 down to 0.25, to 0.3 and to 1"


def test_a_tolerance_may_be_as_small_as_floats_are():
    place, _ = bisection.bisect(lambda x: x - 3e-12, 0.0, 1e-11, 1e-14)
    assert abs(float(place) - 3e-12) <= 1e-14
    with jax.enable_x64():
        place, _ = bisection.bisect(lambda x: x * x - 2, np.float64(0), np.float64(2), 1e-13)
    assert place.dtype == np.float64 and abs(float(place) - np.sqrt(2)) <= 1e-13
    place, halvings = bisection.bisect(lambda x: x - 0.7, -1e30, 1e30, 1e-3)
    assert abs(float(place) - 0.7) <= 1e-3 and int(halvings) > 100
    place, halvings = bisection.bisect(lambda x: x - 1e-35, -1e38, 1e38, 1e-36)
    assert abs(float(place) - 1e-35) <= 1e-36 and int(halvings) > 230


def test_the_middle_of_the_last_interval_is_the_place():
    place, _ = bisection.bisect(lambda x: x - 0.7, 0.0, 1.0, 0.25)
    assert float(place) == 0.625, (
        f"the zero is between 0.5 and 0.75: the middle is 0.625, not {place}"
    )


def test_whole_numbers_may_be_bounds():
    place, _ = bisection.bisect(lambda x: x * x - 2, np.int32(0), np.int32(2))
    assert place.dtype == np.float32, f"the place is a float32, not {place.dtype}"
    for dtype in ("float16", SMALL_FLOAT.name, "int8"):
        short, _ = bisection.bisect(lambda x: x * x - 2, jnp.zeros((), dtype), np.float32(2))
        assert short.dtype == np.float32 and abs(float(short) - np.sqrt(2)) <= 1e-4, (
            f"also of a bound of {dtype} it is a float32 near the root of 2, not {short!r}"
        )
    assert abs(float(place) - np.sqrt(2)) <= 1e-4, f"the root of 2 is 1.41421, not {place}"


@pytest.mark.parametrize("ulps", [0, 1])  # the middle of two neighbours is rounded down, or up
def test_it_ends_though_no_float_lies_between_the_bounds_any_more(ulps):
    last = np.float32(100.1) + ulps * np.spacing(np.float32(100.1))

    def fun(x):
        return jnp.where(x <= last, -1.0, 1.0)

    with jax.disable_jit():
        place, _ = bisection.bisect(counted(fun), 100.0, 101.0, 1e-9)
    assert abs(float(place) - 100.1) <= 1e-4, f"it should end at 100.1, and ended at {place}"


def test_it_is_one_while_loop_of_any_length():
    jaxpr = jax.make_jaxpr(lambda low, high: bisection.bisect(jnp.cos, low, high))(0.0, 3.0)
    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert names.count("while") == 1, f"one while_loop is asked for; the equations are {names}"
    assert jaxpr.out_avals[1].dtype.kind == "i", "the number of halvings is a whole number"


def test_a_batch_of_bounds_is_halved_at_once():
    highs = jnp.array([1.0, 2.0, 4.0])

    def zero(high):
        return bisection.bisect(lambda x: x - 0.7, 0.0, high, 0.5)

    places, counts = jax.vmap(zero)(highs)
    assert counts.tolist() == [1, 2, 3], (
        f"each example is halved as often as it needs, not {counts}"
    )
    assert places.tolist() == [0.75, 0.75, 0.75], f"each has its own place, not {places}"
    lows = jnp.array([-1.0, -3.0, 0.0])
    ends = lambda tolerance: bisection.bisect(lambda x: x - 0.7, 0.0, 1.0, tolerance)  # noqa: E731
    places, counts = jax.vmap(ends)(jnp.array([0.25, 0.5, 1.0]))
    assert counts.tolist() == [2, 1, 0] and places.tolist() == [0.625, 0.75, 0.5], (
        f"the tolerance may be traced: {places} after {counts} halvings"
    )
    _, counts = jax.vmap(lambda low: bisection.bisect(lambda x: x - 0.7, low, 1.0, 0.5))(lows)
    assert counts.tolist() == [2, 3, 1], f"lower bounds may be many too, not {counts}"


def test_only_the_sign_counts_not_the_size():
    place, count = bisection.bisect(lambda x: jnp.where(x < 0.7, -1e-30, 1e30), 0.0, 1.0, 0.25)
    assert (float(place), int(count)) == (0.625, 2), f"{place} after {count} halvings"


def test_an_error_of_the_function_goes_on():
    with error_passes(Thrown()) as error:
        bisection.bisect(raises(error), 0.0, 1.0)


def test_each_call_is_of_its_own_function_and_bounds():
    for zero, low, high in [(0.25, -1.0, 1.0), (-7.0, -9.5, -1.0), (1e4, 0.0, 3e4), (2.0, 1, 4)]:
        place, _ = bisection.bisect(lambda x: x - zero, low, high, 1e-3)  # noqa: B023
        assert abs(float(place) - zero) <= 1e-3, f"x - {zero} is zero at {zero}, not at {place}"


def test_infinite_values_have_a_sign_too_and_a_place_that_is_met_exactly_is_kept():
    place, _ = bisection.bisect(lambda x: 1 / (x - 0.7), 0.0, 1.0)
    assert abs(float(place) - 0.7) <= 1e-4
    place, halvings = bisection.bisect(lambda x: x, -1.0, 1.0, 0.5)
    assert abs(float(place)) <= 0.25 and int(halvings) == 2, (
        f"the middle is zero at once, and an end of the interval from then on; not {place}"
    )
    place, halvings = bisection.bisect(lambda x: jnp.where(x > 0.7, jnp.inf, -jnp.inf), 0.0, 1.0)
    assert abs(float(place) - 0.7) <= 1e-4 and int(halvings) == 14


def halved(zero, rises, low, high, tolerance):
    """Bisection by Python's `while`, with the numbers of Python."""
    halvings = 0
    while high - low > tolerance:
        middle = (low + high) / 2
        is_below = (middle < zero) if rises else (middle <= zero)
        low, high = (middle, high) if is_below else (low, middle)
        halvings += 1
    return (low + high) / 2, halvings


@drawn(6, most=9)
def test_drawn_intervals_are_halved_as_often_as_python_does(rng, most):
    """Bounds are such that all middles are float32s."""
    low = float(rng.integers(-(2**most), 2**most)) / 8
    high = low + float(rng.integers(1, 2**most)) / 8
    zero, rises = low + (high - low) * rng.uniform(0.05, 0.95), bool(rng.integers(2))
    tolerance = [0.0, 0.3, 2.0**-4, 100.0][most % 4]
    zero = float(np.float32(zero))
    bounds = (low, high, tolerance)

    def fun(x):
        return jnp.where((x < zero) if rises else (x <= zero), -3.0, 0.5)

    with shown(zero=zero, low=low, high=high, tolerance=tolerance):
        place, halvings = bisection.bisect(fun, *bounds)
        if tolerance:
            want = halved(zero, rises, *bounds)
            assert (float(place), int(halvings)) == want, (
                f"the place and the count should be {want}, not {(float(place), int(halvings))}"
            )
        else:
            assert abs(float(place) - zero) <= 2 * np.spacing(np.float32(abs(zero))), (
                f"with a tolerance of 0 it ends where no float lies between: at {zero}, not {place}"
            )
