"""Dual numbers: Python's operators carry the tangent along."""

import pytest
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
