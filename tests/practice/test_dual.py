"""Dual numbers: Python's operators carry the tangent along."""

import numpy as np
import pytest
from judged import unchanged
from practice.dual import Dual, slope


def pair(x):
    return x.primal, x.tangent


def test_a_product_moves_with_both_factors():
    assert pair(Dual(2.0, 1.0) * Dual(5.0, 0.0)) == (10.0, 5.0), "2 moves at speed 1, times 5"
    assert pair(Dual(2.0, 0.0) * Dual(5.0, 1.0)) == (10.0, 2.0), "2, times 5 that moves at speed 1"
    assert pair(Dual(2.0, 3.0) * Dual(5.0, 7.0)) == (10.0, 29.0), "both move, at speeds 3 and 7"


def test_a_quotient_moves_with_numerator_and_denominator():
    assert pair(Dual(6.0, 1.0) / Dual(2.0, 0.0)) == (3.0, 0.5), "6 moves at speed 1, by 2"
    assert pair(Dual(6.0, 0.0) / Dual(2.0, 1.0)) == (3.0, -1.5), "6, by 2 that moves at speed 1"
    assert pair(Dual(6.0, 4.0) / Dual(2.0, 2.0)) == (3.0, -1.0), "both move, at speeds 4 and 2"


def test_what_is_divided_and_multiplied_again_is_what_it_was():
    x, y = Dual(3.0, 1.0), Dual(4.0, -5.0)
    assert pair(x / y * y) == pytest.approx(pair(x))


def test_a_plain_number_does_not_move():
    x = Dual(4.0, 1.0)
    assert (pair(x * 3), pair(3 * x)) == ((12.0, 3.0), (12.0, 3.0))
    assert (pair(x / 2), pair(2 / x)) == ((2.0, 0.5), (0.5, -0.125))


def heron(a):
    """The square root of `a`."""
    x = a
    for _ in range(30):
        x = (x + a / x) * 0.5
    return x


def test_a_whole_program_is_differentiated():
    assert slope(lambda x: x * x * x / (1 + x), 1.0) == 1.25
    assert slope(heron, 9.0) == pytest.approx(1 / 6), "the slope of the square root at 9"


def test_operands_are_left_as_they_are():
    x, y = Dual(6.0, 4.0), Dual(2.0, 3.0)
    with unchanged(x=vars(x), y=vars(y)):
        assert x * y is not x and x / y is not x
        assert pair(x * x) == (36.0, 48.0) and pair(x / x) == (1.0, 0.0)


def test_numbers_of_every_kind_are_multiplied_and_divided():
    assert pair(Dual(7, 1) / 2) == (3.5, 0.5), "of whole numbers it is no whole number"
    assert pair(Dual(-3.0, 2.0) * -1) == (3.0, -2.0) and pair(0 * Dual(3.0, 2.0)) == (0.0, 0.0)
    assert pair(Dual(2j, 1.0) * Dual(1j, 1j)) == (-2.0, -2.0 + 1j)
    assert pair(1 / Dual(2j, 1.0)) == (-0.5j, 0.25)
    x = Dual(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    np.testing.assert_array_equal((x * x).tangent, [2.0, 0.0])
    np.testing.assert_array_equal((1.0 / x).tangent, [-1.0, 0.0])


def test_nan_and_inf_go_through_and_a_division_by_zero_is_told():
    assert (Dual(1.0, 1.0) / float("inf")).primal == 0.0
    assert all(np.isnan(pair(Dual(float("nan"), 1.0) / Dual(2.0, 1.0))))
    assert np.isnan((Dual(0.0, 0.0) * Dual(float("inf"), 1.0)).primal)
    with pytest.raises(ZeroDivisionError):
        Dual(1.0, 1.0) / Dual(0.0, 1.0)
