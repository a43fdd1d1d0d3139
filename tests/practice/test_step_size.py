"""A schedule: up, down, and zero; traced as well as not."""

import numpy as np
import pytest
from drawn import drawn, shown
from practice.step_size import warm_up_and_cosine

import tinyjax as jax
import tinyjax.numpy as jnp

SCHEDULE = (0.5, 4, 12)  # peak, warm_up, steps


def sizes(*steps):
    step_size = warm_up_and_cosine(*SCHEDULE)
    return [float(step_size(i)) for i in steps]


def test_it_grows_evenly_from_zero():
    got = sizes(0, 1, 2, 3)
    assert np.allclose(got, [0, 0.125, 0.25, 0.375]), f"steps 0 to 3 of 4 up to 0.5: {got}"


def test_the_peak_is_where_the_warm_up_ends():
    assert np.allclose(sizes(4), [0.5]), f"step 4 has the peak, 0.5, not {sizes(4)}"


def test_it_falls_along_half_a_cosine():
    got = sizes(6, 8, 10)
    want = [0.5 * (1 + np.cos(np.pi * t)) / 2 for t in (0.25, 0.5, 0.75)]
    assert np.allclose(got, want), f"at a quarter, the half and three quarters: {want}, not {got}"


def test_it_is_zero_at_the_end_and_stays_so():
    got = sizes(12, 13, 20, 1000)
    assert np.allclose(got, 0, atol=1e-7), f"from step 12 on it is 0, not {got}"


def test_without_a_warm_up_it_begins_with_the_peak():
    step_size = warm_up_and_cosine(0.5, 0, 8)
    got = [float(step_size(i)) for i in (0, 4, 8)]
    assert np.allclose(got, [0.5, 0.25, 0], atol=1e-7), f"0.5, half of it, and 0, not {got}"


@pytest.mark.parametrize("transformed", ["vmap", "make_jaxpr"])
def test_the_number_of_the_step_may_be_traced(transformed):
    step_size = warm_up_and_cosine(*SCHEDULE)
    if transformed == "make_jaxpr":
        jaxpr = jax.make_jaxpr(step_size)(0)
        assert jaxpr.eqns, "a traced step number gives equations"
    else:
        got = jax.vmap(lambda peak: warm_up_and_cosine(peak, *SCHEDULE[1:])(2))(jnp.arange(-2.0, 3))
        assert np.allclose(got, [-1, -0.5, 0, 0.5, 1]), f"the peak may be traced, too: {got}"
        got = jax.vmap(step_size)(jnp.arange(14))
        assert np.allclose(got, sizes(*range(14)), atol=1e-7), f"as one by one, not {got}"


@pytest.mark.parametrize(
    "peak, warm_up, steps", [(1.0, 1, 2), (0.1, 0, 1), (3.0, 7, 100), (-2.0, 2, 5), (1.0, 60, 90)]
)
def test_any_peak_and_any_numbers_of_steps(peak, warm_up, steps):
    step_size = warm_up_and_cosine(peak, warm_up, steps)
    for i in range(steps + 3):
        t = min((i - warm_up) / (steps - warm_up), 1)
        want = peak * (i / warm_up if i < warm_up else (1 + np.cos(np.pi * t)) / 2)
        for number in (i, np.int32(i), jnp.float32(i)):
            np.testing.assert_allclose(step_size(number), want, atol=1e-6, err_msg=f"step {i}")


def test_schedules_know_nothing_of_each_other():
    first, second = warm_up_and_cosine(1.0, 2, 6), warm_up_and_cosine(5.0, 4, 8)
    assert [float(f(2)) for f in (first, second, first)] == [1.0, 2.5, 1.0]


@drawn(12, most=5)
def test_drawn_schedules_are_those_of_python_numbers(rng, most):
    """Also of steps after many thousands, and to the last digit of a float64."""
    warm_up = int(rng.choice([0, rng.integers(1, 10**most)]))
    steps, peak = warm_up + int(rng.integers(1, 10**most)), float(rng.uniform(-2, 2))
    with shown(peak=peak, warm_up=warm_up, steps=steps):
        schedule = warm_up_and_cosine(peak, warm_up, steps)
        for i in [0, warm_up, steps, *rng.integers(0, steps + 2, 4).tolist()]:
            t = min((i - warm_up) / (steps - warm_up), 1)
            want = peak * (i / warm_up if i < warm_up else (1 + np.cos(np.pi * t)) / 2)
            told = f"at step {i}"
            np.testing.assert_allclose(schedule(i), want, rtol=1e-3, atol=1e-6, err_msg=told)
            with jax.enable_x64():
                found = schedule(jnp.asarray(i, "int64"))
            np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-12, err_msg=told)
