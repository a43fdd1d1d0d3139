import numpy as np
import pytest
from loop_nests import assert_computes_the_same, column_sums, doubled, row_sums

from tinyjax.compile.schedules.tree_reduction import TreeReduction


def test_lanes_take_neighbours_and_are_combined_in_pairs():
    assert str(TreeReduction("i2", 4).apply(row_sums(3, 102))).splitlines()[2:-2] == [
        "    items1:f32 = 4 elements",
        "    for i2_lane in 0 .. 4:",
        "      acc1:f32 = variable of 0.0",
        "      for i2 in i2_lane .. 102 by 4:",
        "        a:f32 = x_in[i1 * 102 + i2]",
        "        acc1[0] = add acc1[0] a",
        "      t1:f32 = acc1",
        "      items1[i2_lane] = t1",
        "    for i2_half1 in 0 .. 2:",
        "      t2:f32 = items1[i2_half1 + 2]",
        "      items1[i2_half1] = add items1[i2_half1] t2",
        "    for i2_half2 in 0 .. 1:",
        "      t3:f32 = items1[1]",
        "      items1[i2_half2] = add items1[i2_half2] t3",
        "    b:f32 = items1[0]",
    ]


@pytest.mark.parametrize("columns", [1, 17, 64, 1023])
@pytest.mark.parametrize("op, initial", [("add", 0.0), ("max", -np.inf)])
def test_no_element_is_left_out(columns, op, initial):
    for naive in (row_sums(3, columns, op, initial), column_sums(3, columns)):
        assert_computes_the_same(TreeReduction("i2", 16).apply(naive), naive)


def test_what_can_not_be_a_tree_is_explained():
    assert "no axis 'i7'" in TreeReduction("i7", 4).why_not(doubled(8))
    assert "3 is no power of two" in TreeReduction("i2", 3).why_not(row_sums(3, 40))
    assert "combines into no variables" in TreeReduction("i1", 4).why_not(doubled(8))
    tree = TreeReduction("i2", 4).apply(row_sums(3, 40))
    assert "every 4th iteration" in TreeReduction("i2", 4).why_not(tree)
