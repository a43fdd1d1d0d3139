"""A round on words of any size, and the way back from it."""

import itertools

import pytest
from practice.small_words import one_round, rotated, undo_round


def test_what_falls_out_of_a_small_word_comes_back_at_the_right():
    assert rotated(0b1001, 1, 4) == 0b0011, f"1001 by 1 is 0011, not {rotated(0b1001, 1, 4):04b}"
    assert rotated(0b10110, 2, 5) == 0b11010, f"10110 by 2 is 11010, not {rotated(0b10110, 2, 5):b}"


def test_the_first_word_becomes_the_sum_without_what_is_carried():
    assert one_round(7, 4, 1, 4)[0] == 11, f"7 + 4 is 11, not {one_round(7, 4, 1, 4)[0]}"
    assert one_round(13, 6, 1, 4)[0] == 3, (
        f"13 + 6 is 19, and 3 in 4 bits: {one_round(13, 6, 1, 4)[0]}"
    )


def test_the_second_word_is_rotated_and_combined_with_the_new_first():
    got = one_round(7, 4, 1, 4)[1]
    assert got == 0b1000 ^ 11, f"0100 rotated is 1000, and with 1011 that makes 0011, not {got:04b}"


def test_words_have_32_bits_where_nothing_else_is_said():
    got = one_round(2**32 - 1, 2, 13)
    assert got == (1, 2 << 13 ^ 1), f"the sum 1 is what is left of 2**32 + 1: {got}"


def test_undoing_a_round_gives_the_words_before():
    for x1, x2 in itertools.product(range(8), repeat=2):
        got = undo_round(*one_round(x1, x2, 1, 3), 1, 3)
        assert got == (x1, x2), f"({x1}, {x2}) went into a round, and {got} came back out of it"


def test_undoing_takes_any_distance_and_words_of_32_bits():
    for distance in (1, 13, 31):
        got = undo_round(*one_round(5, 2**32 - 3, distance), distance)
        assert got == (5, 2**32 - 3), f"by a rotation of {distance}: {got}"


def test_no_two_pairs_of_words_become_the_same():
    pairs = {one_round(*pair, 2, 4) for pair in itertools.product(range(16), repeat=2)}
    assert len(pairs) == 256, (
        f"256 pairs become {len(pairs)}: some are lost, and could not be undone"
    )


@pytest.mark.parametrize("bits", [*range(1, 18), 31, 32, 64, 100])
def test_words_of_any_size_are_rotated_by_any_distance(bits):
    top = 2**bits - 1
    for x in {0, 1, top, top // 3, 2 ** (bits - 1)}:
        for distance in {0, 1, bits // 2, bits - 1, bits} & set(range(bits + 1)):
            text = f"{x:0{bits}b}"
            want = int(text[distance % bits :] + text[: distance % bits], 2)
            assert rotated(x=x, distance=distance, bits=bits) == want, f"{text} by {distance}"
            for y in {0, top, top // 5}:
                after = one_round(x1=x, x2=y, distance=distance, bits=bits)
                assert all(0 <= word <= top for word in after), f"words of {bits} bits, not {after}"
                assert undo_round(*after, distance=distance, bits=bits) == (x, y)
