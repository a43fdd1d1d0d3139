import numpy as np
import pytest
from loop_nests import assert_computes_the_same, column_sums, doubled, row_sums

from tinyjax.compile.schedules.parallelize import Parallelize
from tinyjax.compile.schedules.rfactor import RFactor
from tinyjax.compile.schedules.split import Split


def test_each_piece_leaves_a_partial_result():
    kernel = RFactor("i2", 4).apply(row_sums(3, 102))
    assert str(kernel).splitlines()[1:8] == [
        "  for i2_piece in 0 .. 4:",
        "    for i1 in 0 .. 3:",
        "      acc1:f32 = variable of 0.0",
        "      for i2 in i2_piece * 26 .. min(i2_piece * 26 + 26, 102):",
        "        a:f32 = x_in[i1 * 102 + i2]",
        "        acc1[0] = add acc1[0] a",
        "      t1:f32 = acc1",
    ]
    assert "partial1[i2_piece * 3 + i1] = t1" in str(kernel)


@pytest.mark.parametrize(
    "columns, pieces, multiple", [(40, 4, 1), (41, 4, 5), (100, 3, 16), (9, 9, 1)]
)
@pytest.mark.parametrize("op, initial", [("add", 0.0), ("max", -np.inf)])
def test_no_iteration_is_left_out(columns, pieces, multiple, op, initial):
    for naive in (row_sums(3, columns, op, initial), column_sums(3, columns)):
        kernel = RFactor("i2", pieces, multiple).apply(naive)
        assert_computes_the_same(kernel, naive)
        shared = Parallelize("i2_piece", pieces).apply(kernel)
        assert_computes_the_same(shared, naive)


def test_the_work_item_that_is_done_last_combines_the_pieces():
    kernel = Parallelize("i2_piece", 4).apply(RFactor("i2", 4).apply(row_sums(1, 100)))
    assert kernel.items == 4
    assert "the last to take a ticket:\n    for i1_total in 0 .. 1:" in str(kernel)


def test_work_items_in_whole_groups_that_have_no_piece_do_nothing():
    naive = row_sums(1, 100)
    kernel = Parallelize("i2_piece", 4, 8).apply(RFactor("i2", 4).apply(naive))
    assert kernel.items == 8
    assert_computes_the_same(kernel, naive)


def test_what_can_not_be_split_is_explained():
    assert "no axis 'i7'" in RFactor("i7", 4).why_not(doubled(8))
    assert "begin with 5.0" in RFactor("i2", 4).why_not(row_sums(3, 40, initial=5.0))
    assert "too few iterations" in RFactor("i2", 4, 16).why_not(row_sums(3, 40))
    split = Split("i2", 16).apply(row_sums(3, 40))
    assert "not from 0 to a constant" in RFactor("i2_inner", 2).why_not(split)
