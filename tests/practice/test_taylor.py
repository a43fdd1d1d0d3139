"""Coefficients of Taylor's series."""

import math

import numpy as np
import pytest
from judged import Thrown, error_passes, raises
from practice.taylor import coefficients, derivative

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.bind import Tracer


def f(x):
    return jnp.sin(x) * x


def test_of_a_polynomial_they_are_its_own():
    at_0 = coefficients(lambda x: 5.0 + 3.0 * x + 2.0 * x * x * x, 0.0, 3)
    np.testing.assert_allclose(at_0, [5, 3, 0, 2])
    at_2 = coefficients(lambda x: x * x * x, 2.0, 3)
    np.testing.assert_allclose(at_2, [8, 12, 6, 1], err_msg="(2 + h)**3 = 8 + 12h + 6h**2 + h**3")


def test_each_derivative_is_divided_by_the_factorial_of_its_order():
    np.testing.assert_allclose(
        coefficients(jnp.sin, 0.0, 5), [0, 1, 0, -1 / 6, 0, 1 / 120], atol=1e-7
    )


@pytest.mark.parametrize("order", [0, 1, 4])
def test_there_is_one_more_than_the_order(order):
    assert len(coefficients(f, 3.0, order)) == order + 1


def test_with_them_the_function_is_known_near_x():
    h = 0.25
    near = sum(float(c) * h**k for k, c in enumerate(coefficients(f, 3.0, 5)))
    assert near == pytest.approx(float(f(3.0 + h)), abs=1e-5)


def test_they_can_be_differentiated_themselves():
    def third(a):
        return coefficients(lambda x: jnp.sin(a * x), 0.0, 3)[3]  # -a**3 / 6

    assert float(derivative(third)(2.0)) == pytest.approx(-2.0)


def test_the_function_is_not_confused_with_its_derivatives_when_it_looks_at_an_outer_variable():
    def slope_times(x):
        return x * coefficients(lambda y: x * y, 1.0, 1)[1]  # x * x

    assert float(derivative(slope_times)(3.0)) == 6.0


def test_an_error_of_the_function_goes_on():
    with error_passes(Thrown()) as error:
        coefficients(raises(error), 1.0, 2)
    with error_passes(Thrown()) as error:
        fail = raises(error)
        coefficients(lambda x: fail(x) if isinstance(x, Tracer) else x, 1.0, 2)


def test_of_order_0_there_is_the_value_alone_and_the_function_is_called_with_x_itself():
    seen = []
    assert coefficients(lambda x: seen.append(x) or x * 2.0, 3.0, 0) == [6.0]
    assert seen == [3.0]


def test_many_can_be_asked_for_and_one_call_knows_nothing_of_another():
    for x in (0.0, 1.0):
        found = coefficients(jnp.exp, x, 7)
        want = [np.exp(x) / math.factorial(k) for k in range(8)]
        np.testing.assert_allclose(found, want, rtol=1e-5)
    np.testing.assert_allclose(coefficients(jnp.sin, 0.0, 3), [0, 1, 0, -1 / 6], atol=1e-6)
    found = coefficients(lambda x: x**9 + x**2, 0.0, 10)
    np.testing.assert_allclose(found, [0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0], atol=1e-6)


def test_the_coefficients_have_the_dtype_and_all_digits_of_x():
    with jax.enable_x64(True):
        for x in (0.3, np.float64(0.3), jnp.asarray(0.3)):
            found = coefficients(lambda x: 1.0 / (1.0 - x), x, 3)
            want = [0.7 ** -(k + 1) for k in range(4)]
            np.testing.assert_allclose(found, want, rtol=1e-12)
    small = coefficients(lambda x: x * x * x, jnp.float16(2), 3)
    assert [c.dtype for c in small] == ["float16"] * 4
    np.testing.assert_array_equal(small, [8, 12, 6, 1])
