"""Positions in memory, which know their range."""

import itertools

from tinyjax.compile.kernel.indices import index, index_value, index_var


def test_indices_simplify_by_their_range():
    i, j = index_var("i1", 0, 3), index_var("i2", 0, 9)
    assert str(i * 10 + j) == "i1 * 10 + i2"
    assert (i * 0 + j) is j
    assert (j % 10) is j
    assert (j // 10).is_const(0)
    assert i.min(5) is i and i.max(-1) is i
    assert str((i + 1) * 2) == "(i1 + 1) * 2"
    assert (index(59) % 9).is_const(5)
    assert str(i - (j - 1)) == "i1 - (i2 - 1)"
    assert (i * 5 + 5 - i * 5).is_const(5)
    assert (i * 5 + 5 - (i * 5 + 3)).is_const(2)
    assert str(i * 5 + 5 - (j + i * 5)) == "5 - i2"


def test_a_term_that_is_less_than_0_is_not_divided_apart():
    """C rounds it towards zero, and a sum of two terms down."""
    i, j = index_var("i1", 1, 3), index_var("i2", 0, 3)
    left = i * 4 + (j - 3)
    for row in range(1, 4):
        for column in range(4):
            scope = {"i1": row, "i2": column}
            assert index_value(left % 4, scope) == (4 * row + column - 3) % 4
            assert index_value((index(-3) + i * 4) // 3, scope) == (4 * row - 3) // 3


def test_an_index_knows_its_range():
    i = index_var("i1", 0, 3)
    shifted = (i * 10 - 5).max(0)
    assert (shifted.lo, shifted.hi) == (0, 25)


def test_rows_and_columns_are_put_together_again():
    flat, i = index_var("f", 0, 59), index_var("i1", 0, 3)
    assert flat // 5 * 5 + flat % 5 is flat
    assert str((i * 12 + flat // 5) * 5 + flat % 5) == "i1 * 60 + f"
    assert str((i * 13 + flat // 5 + 1) * 5 + flat % 5) == "(i1 * 13 + 1) * 5 + f"
    assert str((flat // 5 - i + 3) * 5 + flat % 5) == "(0 - i1 + 3) * 5 + f"


def test_the_row_of_an_element_is_found_without_a_division():
    row, column = index_var("i1", 0, 3), index_var("i2", 0, 9)
    flat = row * 10 + column
    assert (flat // 10) is row and (flat % 10) is column
    assert str(flat // 5) == "i1 * 2 + i2 / 5", (
        "a row is a multiple of 5, its column is not below it"
    )
    assert str((row * 20 + column) // 10) == "i1 * 2"


def test_a_variable_is_replaced_wherever_it_stands():
    i, j = index_var("i1", 0, 9), index_var("i2", 0, 1)
    change = {"i1": j * 4 + 1}
    at = (i * 3 + 2).min(20).with_variables(lambda v: change.get(v.args[0], v))
    assert str(at) == "(i2 * 4 + 1) * 3 + 2"


def test_a_stride_is_how_far_the_next_iteration_is():
    i, j = index_var("i1", 0, 9), index_var("i2", 0, 9)
    assert [(at).stride("i1") for at in (j, i, i * 3 - j, j - i, i * 2 + i)] == [0, 1, 3, -1, 3]
    assert [at.stride("i1") for at in (i // 2, i % 3, i.min(4), i * i, j // 2)] == [None] * 4 + [0]


def test_a_remainder_of_multiples_is_one_too():
    chunk = index_var("i1", 0, 9) * 16
    assert ((chunk % 32).hi, ((chunk + 8) % 32).hi, (chunk % 24).hi) == (16, 24, 16)


def test_a_multiple_of_a_row_and_column_is_divided_by_its_terms():
    i, j = index_var("i1", 0, 2), index_var("i2", 0, 7)
    at = (i * 8 + j) * 4
    assert (at // 32) is i
    assert str(at % 32 % 16) == str(at % 16) == "(i2 * 4) % 16"
    for times, divisor in itertools.product((2, 4, 6, 16), (4, 8, 12, 32)):
        at = (i * 8 + j) * times
        for row, column in itertools.product(range(3), range(8)):
            scope, number = {"i1": row, "i2": column}, (row * 8 + column) * times
            assert index_value(at // divisor, scope) == number // divisor
            assert index_value(at % divisor % 4, scope) == number % divisor % 4
