"""Lists in parts, and put together again."""

import pytest

from tinyjax.core.lists import drop, merge_lists, pick, split_list


def test_a_list_in_parts_of_given_sizes_and_the_rest():
    assert split_list("abcdef", 1, 0, 3) == [["a"], [], ["b", "c", "d"], ["e", "f"]]


def test_flags_part_a_list_in_two_and_merge_lists_puts_it_together():
    flags = [True, False, False, True]
    assert pick("abcd", flags) == ["a", "d"]
    assert drop("abcd", flags) == ["b", "c"]
    assert merge_lists(flags, drop("abcd", flags), pick("abcd", flags)) == list("abcd")


@pytest.mark.parametrize("part", [pick, drop])
def test_there_must_be_a_flag_for_each(part):
    with pytest.raises(ValueError):
        part("abc", [True, False])
