"""The error of a result, from those of the values that it is computed from."""

import numpy as np
import pytest
from judged import each_error, error_passes, raises, unchanged
from practice.error_bars import error_of

import tinyjax as jax
import tinyjax.numpy as jnp


def test_the_error_of_one_value_is_what_its_movement_does_to_the_result():
    assert float(error_of(lambda x: 3.0 * x, [2.0], [0.5])) == 1.5
    assert float(error_of(lambda x: x * x, [4.0], [0.25])) == 2.0, (
        "x moves at 0.25, and x * x at 2.0: that is a tangent, not what a step of 0.25 changes"
    )


def test_an_error_is_positive_whichever_way_the_result_moves():
    assert float(error_of(lambda x: -3.0 * x, [2.0], [0.5])) == 1.5
    assert float(error_of(lambda x, y: x + y, (1.0, 2.0), (-3.0, -4.0))) == 5.0


def test_errors_of_several_values_are_added_as_squares():
    area = error_of(lambda width, height: width * height, [2.0, 3.0], [0.1, 0.2])
    assert float(area) == pytest.approx(0.5), "the root of (0.1 * 3)**2 + (2 * 0.2)**2"


def test_errors_do_not_cancel_though_movements_do():
    difference = error_of(lambda x, y: x - y, [5.0, 1.0], [3.0, 4.0])
    assert float(difference) == pytest.approx(5.0), (
        "each value moves alone: if both move together, a difference stays as it is"
    )
    third = error_of(lambda x, y, z: x + 2.0 * y - z, [1.0, 1.0, 1.0], [2.0, 3.0, 3.0])
    assert float(third) == pytest.approx(7.0), "the root of 2**2 + 6**2 + 3**2"


def test_a_value_that_the_result_does_not_depend_on_adds_nothing():
    assert float(error_of(lambda x, y: y, [1.0, 2.0], [100.0, 0.5])) == 0.5


def test_an_error_may_be_far_smaller_than_the_digits_of_the_value():
    assert float(error_of(lambda x: 2.0 * x, [1000.0], [1e-6])) == pytest.approx(2e-6), (
        "1000.000001 is 1000.0 in float32: only a tangent can be so small"
    )


def test_a_function_that_gives_an_array_has_an_error_for_each_element():
    def curve(slope, offset):
        return slope * jnp.array([0.0, 1.0, 2.0]) + offset

    out = error_of(curve, [1.0, 0.0], [2.0, 1.5])
    np.testing.assert_allclose(out, [1.5, 2.5, np.sqrt(18.25)], rtol=1e-6)


def test_values_and_errors_may_be_three_and_are_left_as_they_are():
    values, errors = [1.0, 2.0, 3.0], [0.5, 0.25, 1.0]
    with unchanged(values=values, errors=errors):
        found = error_of(lambda x, y, z: 2.0 * x + 8.0 * y - 2.0 * z, values, errors)
    assert float(found) == 3.0, "the root of 1 + 4 + 4"
    assert float(error_of(lambda x, y: x + y, (1.0, 2.0), (3.0, 4.0))) == 5.0
    five = error_of(
        lambda *xs: xs[0] + xs[1] + xs[2] + xs[3] + xs[4], (1.0,) * 5, (2.0, 0.0, 4.0, 5.0, 6.0)
    )
    assert float(five) == 9.0, "of five equal values: the root of 4 + 0 + 16 + 25 + 36"


@each_error
def test_an_error_that_the_function_raises_goes_on(error):
    with error_passes(error()) as raised:
        error_of(raises(raised), [1.0], [0.5])


def test_an_exact_value_adds_nothing_and_one_without_bounds_all():
    assert float(error_of(lambda x, y: x * y, [2.0, 3.0], [0.0, 0.5])) == 1.0
    assert float(error_of(lambda x: x * 2.0, [2.0], [0.0])) == 0.0
    assert np.isinf(error_of(lambda x, y: x + y, [2.0, 3.0], [np.inf, 0.5]))
    assert np.isnan(error_of(lambda x, y: x + y, [2.0, 3.0], [np.nan, 0.5]))
    assert error_of(lambda x: x * jnp.ones((2, 3)), [2.0], [0.0]).shape == (2, 3), "each is exact"


def test_a_result_may_be_a_matrix_and_moves_only_where_it_does():
    found = error_of(lambda x, y: jnp.array([[x, y, 1.0]]), [2.0, 3.0], [0.5, 0.25])
    np.testing.assert_array_equal(found, [[0.5, 0.25, 0.0]])


def test_with_64_bits_an_error_has_all_their_digits():
    with jax.enable_x64(True):
        for kind in (float, np.float64, jnp.asarray):
            values, errors = [kind(1 / 3), kind(0.7)], [kind(0.1), kind(0.3)]
            found = error_of(lambda x, y: x * x * y, values, errors)
            assert found.dtype == np.float64
            want = np.hypot(2 / 3 * 0.7 * 0.1, 0.3 / 9)
            np.testing.assert_allclose(found, want, rtol=1e-12)


def test_errors_scale_as_the_results_do():
    for scale in (1e-6, 1e6):
        found = error_of(lambda x, y: scale * x - y, [1.0, scale], [3.0, 4.0 * scale])  # noqa: B023
        np.testing.assert_allclose(found, 5 * scale, rtol=1e-6)
