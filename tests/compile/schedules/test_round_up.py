import pytest
from loop_nests import assert_computes_the_same, doubled, row_sums

from tinyjax.compile.schedules.reorder import Reorder
from tinyjax.compile.schedules.round_up import RoundUp
from tinyjax.compile.schedules.split import Split


def sums_and_results(rows, factor):
    """Sums of rows in chunks, kept in an array; then their doubles."""
    kernel = Split("i1", factor).apply(row_sums(rows, 5))
    return Reorder("i2", ("i1_outer", "i1_inner"), stays=True).apply(kernel)


def test_the_last_chunk_reads_its_last_row_again():
    text = str(RoundUp("i1_inner", 4).apply(sums_and_results(10, 4)))
    assert "for i1_inner in 0 .. 4:" in text
    assert "x_in[min(i1_outer * 4 + i1_inner, 9) * 5 + i2]" in text


def test_nothing_is_looked_up_where_chunks_are_full():
    text = str(RoundUp("i1_inner", 4).apply(sums_and_results(12, 4)))
    assert "x_in[(i1_outer * 4 + i1_inner) * 5 + i2]" in text


def test_results_are_the_same():
    for rows in (4, 9, 11):
        kernel = RoundUp("i1_inner", 4).apply(sums_and_results(rows, 4))
        assert_computes_the_same(kernel, row_sums(rows, 5))


@pytest.mark.parametrize("count", [4, 10, 17])
def test_no_result_is_stored_beyond_the_end(count):
    kernel = RoundUp("i1_inner", 4).apply(Split("i1", 4).apply(doubled(count)))
    assert_computes_the_same(kernel, doubled(count))


def test_a_chunk_has_no_more_iterations_than_all_get():
    kernel = Split("i1", 4).apply(doubled(10))
    assert "may have 4 iterations" in RoundUp("i1_inner", 3).why_not(kernel)
    assert "no axis" in RoundUp("i9", 4).why_not(kernel)
