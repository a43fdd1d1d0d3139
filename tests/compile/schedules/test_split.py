from dataclasses import replace

import pytest
from loop_nests import assert_computes_the_same, doubled, row_sums

from tinyjax.compile.kernel.kernel_ir import Store
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.parallelize import Parallelize
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize

SIZES = [1, 16, 17, 1023]


def test_the_inner_loop_takes_the_values_that_the_loop_had():
    assert str(Split("i1", 16).apply(doubled(100))).splitlines()[1:4] == [
        "  for i1_outer in 0 .. 7:",
        "    for i1_inner in i1_outer * 16 .. min(i1_outer * 16 + 16, 100):",
        "      a:f32 = x_in[i1_inner]",
    ]


def test_chunks_that_are_all_whole_need_no_minimum():
    assert "in i1_outer * 16 .. i1_outer * 16 + 16:" in str(Split("i1", 16).apply(doubled(96)))


@pytest.mark.parametrize("factor", [1, 3, 16])
@pytest.mark.parametrize("size", SIZES)
def test_no_iteration_is_left_out(size, factor):
    assert_computes_the_same(Split("i1", factor).apply(doubled(size)), doubled(size))


@pytest.mark.parametrize("columns", [1, 5, 48])
def test_a_loop_that_combines_can_be_split(columns):
    naive = row_sums(3, columns)
    assert_computes_the_same(Split("i2", 4).apply(naive), naive)
    assert_computes_the_same(Split("i1", 2).apply(naive), naive)


@pytest.mark.parametrize("size", [1, 500, 512])
def test_chunks_of_chunks_need_no_second_minimum(size):
    once = Split("i1", 64).apply(doubled(size))
    twice = Split("i1_inner", 16).apply(once)
    assert str(twice).count("min") <= 2, f"a multiple of 16 is no end within a chunk:\n{twice}"
    assert_computes_the_same(twice, doubled(size))


def test_the_run_of_a_work_item_can_be_split():
    shared = Parallelize("i1", 4).apply(doubled(250))
    whole = Parallelize("i1", 4).apply(doubled(256))
    assert "63" in Split("i1", 16).why_not(shared)
    split = Split("i1", 16).apply(whole)
    assert_computes_the_same(split, doubled(256))
    assert "i1_outer in item * 4 .. item * 4 + 4:" in str(split), "four chunks for each work-item"
    assert "min" not in str(split), "all chunks are whole"


def test_a_wrong_axis_or_factor_is_explained():
    assert Split("i7", 4).why_not(doubled(8)) == "it has no axis 'i7'; its axes are i1"
    assert "1 or more" in Split("i1", 0).why_not(doubled(8))
    with pytest.raises(
        ValueError, match=r"Split\('i7', 4\) can't be applied to k0: it has no axis"
    ):
        Split("i7", 4).apply(doubled(8))


@pytest.mark.parametrize("size", [16, 17, 40])
def test_the_last_chunk_may_be_a_whole_one_that_overlaps_with_the_one_before(size):
    kernel = Split("i1", 16, overlap=True).apply(doubled(size))
    assert_computes_the_same(kernel, doubled(size))
    assert Vectorize("i1_inner", 16).why_not(kernel) == ""
    assert "before" not in str(Vectorize("i1_inner", 16).apply(kernel))
    kernel = Split("i1", 5, overlap=True).apply(doubled(size))
    assert_computes_the_same(kernel, doubled(size))


def test_a_sum_would_count_twice_what_chunks_share():
    assert "left in acc1" in Split("i2", 4, overlap=True).why_not(row_sums(3, 10))


@pytest.mark.parametrize("factor, repeats", [(8, False), (6, True)])
def test_stores_of_chunks_that_overlap_have_a_mark(factor, repeats):
    """A kernel that changes its operand's memory would do so twice."""
    stores = [
        s
        for s in every_statement(Split("i1", factor, overlap=True).apply(doubled(16)).body)
        if isinstance(s, Store)
    ]
    assert [s.repeats for s in stores] == [repeats]


@pytest.mark.parametrize("overlap", [False, True])
def test_chunks_know_their_equation_and_their_range(overlap):
    naive = doubled(100)
    (loop,) = naive.body
    naive = replace(naive, body=[replace(loop, origin="the equation")])
    (outer,) = Split("i1", 16, overlap).apply(naive).body
    (inner,) = outer.body
    assert outer.origin == inner.origin == "the equation"
    assert (outer.variable.lo, outer.variable.hi) == (0, 6)
    assert (inner.variable.lo, inner.variable.hi) == ((0, 15) if overlap else (0, 99))
