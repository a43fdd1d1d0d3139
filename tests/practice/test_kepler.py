"""The JVP rules of Kepler's equation."""

import numpy as np
import pytest
from explain_errors import explain_errors
from judged import SMALL_FLOAT, every_error_passes
from practice import kepler as module
from practice.kepler import kepler, kepler_p

import tinyjax as jax
from tinyjax.core import dtypes
from tinyjax.core.bind import Array, impl_rules

PLACES = [(0.5, 0.3), (2.0, 0.7), (-1.0, 0.2), (4.0, 0.9)]


def moves(mean, eccentricity, mean_dot, eccentricity_dot):
    return jax.jvp(kepler, (mean, eccentricity), (mean_dot, eccentricity_dot))[1]


def difference(f, x, step=1e-5):
    """How fast f moves at x, from two values, in numbers of 64 bits."""
    return (f(np.float64(x + step)) - f(np.float64(x - step))) / (2 * step)


def test_the_angle_solves_the_equation():
    for mean, eccentricity in PLACES:
        angle = np.asarray(kepler(mean, eccentricity))
        np.testing.assert_allclose(angle - eccentricity * np.sin(angle), mean, rtol=1e-5)


def test_a_planet_on_a_circle_moves_evenly():
    assert float(moves(2.0, 0.0, 3.0, 0.0)) == 3.0
    np.testing.assert_allclose(moves(2.0, 0.0, 0.0, 1.0), np.sin(2.0), rtol=1e-6)


@pytest.mark.parametrize("mean, eccentricity", PLACES)
def test_the_angle_moves_with_the_mean_as_the_search_finds_it_to(mean, eccentricity):
    want = difference(lambda m: module.kepler_impl(m, np.float64(eccentricity)), mean)
    np.testing.assert_allclose(moves(mean, eccentricity, 1.0, 0.0), want, rtol=1e-3)


@pytest.mark.parametrize("mean, eccentricity", PLACES)
def test_the_angle_moves_with_the_eccentricity_as_the_search_finds_it_to(mean, eccentricity):
    want = difference(lambda e: module.kepler_impl(np.float64(mean), e), eccentricity)
    np.testing.assert_allclose(moves(mean, eccentricity, 0.0, 1.0), want, rtol=1e-3)


def test_both_may_move_at_once_and_twice_as_fast():
    alone = [float(moves(0.5, 0.3, 1.0, 0.0)), float(moves(0.5, 0.3, 0.0, 1.0))]
    np.testing.assert_allclose(moves(0.5, 0.3, 2.0, -3.0), 2 * alone[0] - 3 * alone[1], rtol=1e-5)


def test_nothing_is_searched_for_a_second_time(monkeypatch):
    searched = []
    impl = impl_rules[kepler_p]
    monkeypatch.setitem(impl_rules, kepler_p, lambda *xs: searched.append(1) or impl(*xs))
    moves(0.5, 0.3, 1.0, 1.0)
    assert len(searched) == 1, "a rule is given the angle: it must not compute it"


def test_the_rules_can_be_differentiated_themselves():
    for rule in (module.kepler_jvp_mean, module.kepler_jvp_eccentricity):
        out = rule(1.0, jax.numpy.float32(0.7), 0.5, 0.3)
        assert isinstance(out, Array), "bind primitives: what NumPy does, no trace sees"

    def speed(mean):
        return jax.jvp(lambda m: kepler(m, 0.3), (mean,), (1.0,))[1]

    angle = np.asarray(kepler(0.5, 0.3))
    want = -0.3 * np.sin(angle) / (1 - 0.3 * np.cos(angle)) ** 3
    np.testing.assert_allclose(jax.jvp(speed, (0.5,), (1.0,))[1], want, rtol=1e-5)


def test_each_of_many_planets_moves_for_itself():
    means, eccentricities = (np.array(x, np.float32) for x in zip(*PLACES))
    out = moves(means, eccentricities, np.float32([1, 2, 3, 4]), np.float32([4, 3, 2, 1]))
    want = [moves(*place, i + 1.0, 4.0 - i) for i, place in enumerate(PLACES)]
    np.testing.assert_allclose(out, want, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", SMALL_FLOAT.name, "float32", "float64"])
def test_the_movement_has_the_dtype_of_the_numbers(dtype):
    with jax.enable_x64(dtype == "float64"), explain_errors(f"{dtype} is a dtype of floats"):
        dtype = dtypes.np_dtype(dtype)
        angle, eccentricity = np.full((2, 1, 2), 2, dtype), np.full((2, 1, 2), 0.5, dtype)
        for rule in (module.kepler_jvp_mean, module.kepler_jvp_eccentricity):
            out = rule(np.full((2, 1, 2), 3, dtype), angle, angle, eccentricity)
            assert (out.shape, out.dtype) == ((2, 1, 2), dtype)
        if dtype == "float64":
            np.testing.assert_allclose(out, 3 * np.sin(2.0) / (1 - 0.5 * np.cos(2.0)), rtol=1e-14)


def test_the_rules_use_the_angle_the_eccentricity_and_the_tangent_alone():
    found = [
        float(rule(-2.0, 1.0, np.nan, 0.25))
        for rule in (module.kepler_jvp_mean, module.kepler_jvp_eccentricity)
    ]
    slope = -2.0 / (1 - 0.25 * np.cos(1.0))
    np.testing.assert_allclose(found, [slope, slope * np.sin(1.0)], rtol=1e-6)


def test_an_error_of_an_operation_of_the_rules_goes_on():
    x = np.float32(0.5)
    every_error_passes(
        lambda: module.kepler_jvp_mean(x, x, x, x),
        lambda: module.kepler_jvp_eccentricity(x, x, x, x),
    )
