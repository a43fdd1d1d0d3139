from dataclasses import replace

import numpy as np
import pytest
from definite_assignment import check_assignment
from loop_nests import assert_computes_the_same, doubled, row_sums, scaled_rows

from tinyjax.compile.kernel.check_kernel import KernelError
from tinyjax.compile.kernel.kernel_ir import Barrier
from tinyjax.compile.kernel.substitution import replaced
from tinyjax.compile.schedules.parallelize import Parallelize
from tinyjax.compile.schedules.reorder import Reorder
from tinyjax.compile.schedules.rfactor import RFactor
from tinyjax.compile.schedules.schedule import scheduled
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.compile.schedules.work_groups import WorkGroups


def test_a_group_adds_up_a_row():
    kernel = row_sums(3, 102)
    for directive in (RFactor("i2", 4, as_tree=True), Parallelize("i1", 3), WorkGroups(4)):
        kernel = directive.apply(kernel)
    assert str(kernel).splitlines() == [
        "kernel k0(x_in: f32[306], y_out: f32[3]), work-items: 12 in groups of 4",
        "  items1:f32 = 4 elements, one for the group",
        "  is_first1:bool = eq local_id 0",
        "  acc1:f32 = variable of 0.0",
        "  for i2 in local_id .. 102 by 4:",
        "    a:f32 = x_in[group_id * 102 + i2]",
        "    acc1[0] = add acc1[0] a",
        "  t1:f32 = acc1",
        "  items1[local_id] = t1",
        "  barrier",
        "  for i2_half1 in local_id .. 2 by 4:",
        "    t2:f32 = items1[i2_half1 + 2]",
        "    items1[i2_half1] = add items1[i2_half1] t2",
        "  barrier",
        "  for i2_half2 in local_id .. 1 by 4:",
        "    t3:f32 = items1[1]",
        "    items1[i2_half2] = add items1[i2_half2] t3",
        "  barrier",
        "  b:f32 = items1[0]",
        "  c:f32 = add b b",
        "  if is_first1:",
        "    y_out[group_id] = c",
    ]


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 17), (2, 1023)])
@pytest.mark.parametrize("op, initial", [("add", 0.0), ("max", -np.inf)])
def test_all_rows_are_added_up(rows, columns, op, initial):
    naive = row_sums(rows, columns, op, initial)
    kernel = Parallelize("i1", rows).apply(RFactor("i2", 16, as_tree=True).apply(naive))
    assert_computes_the_same(WorkGroups(16).apply(kernel), naive)


def test_a_group_shares_out_the_elements_of_a_row():
    kernel = WorkGroups(8).apply(Parallelize("i1", 3).apply(scaled_rows(3, 17)))
    assert "for i2 in local_id .. 17 by 8:" in str(kernel) and "barrier" not in str(kernel)
    assert_computes_the_same(kernel, scaled_rows(3, 17))


@pytest.mark.parametrize("columns", [64, 1023])
def test_the_last_group_combines_what_all_have_left(columns):
    naive = row_sums(2, columns)
    split = RFactor("i2", 8, as_tree=True).apply(RFactor("i2", 4).apply(naive))
    grid = Parallelize("i2_piece", 4).apply(RFactor("i2_partial", 8, as_tree=True).apply(split))
    kernel = WorkGroups(8).apply(grid)
    assert kernel.items == 32 and "the last to take a ticket" in str(kernel)
    assert_computes_the_same(kernel, naive)


def tile_of_products():
    """Four tiles of two rows and four columns; what is computed of them is stored in a separate loop."""
    tiles = [Split("i1", 2), Split("i2", 4), Reorder("i2_outer", ("i1_inner",))]
    return scheduled(scaled_rows(4, 7), [*tiles, Parallelize("i1_outer", 2)])


def test_two_loops_are_shared_out_if_the_inner_one_is_short():
    kernel = WorkGroups(8).apply(tile_of_products())
    text = str(kernel)
    assert "for i1_inner in group_id * 2 + local_id / 4 .. group_id * 2 + 2 by 2:" not in text
    assert "for i2_inner in i2_outer * 4 + local_id % 4 .. min(i2_outer * 4 + 4, 7) by 4:" in text
    assert "row_in[group_id * 2 + local_id / 4]" in text
    assert_computes_the_same(kernel, scaled_rows(4, 7))


def test_without_its_barriers_a_kernel_is_refused():
    kernel = WorkGroups(8).apply(RFactor("i2", 8, as_tree=True).apply(row_sums(1, 25)))
    body = replaced(kernel.body, lambda s: [] if isinstance(s, Barrier) else [s])
    with pytest.raises(KernelError, match="items1 may be loaded before it is stored"):
        check_assignment(replace(kernel, body=body))


def test_names_that_were_in_loops_of_their_own_stay_apart():
    naive = row_sums(1, 25)
    split = RFactor("i2", 8, as_tree=True).apply(RFactor("i2", 3, 8).apply(naive))
    kernel = WorkGroups(8).apply(Parallelize("i2_piece", 3).apply(split))
    assert_computes_the_same(kernel, naive)


def test_what_groups_can_not_do_is_explained():
    assert "no power of two" in WorkGroups(6).why_not(doubled(8))
    vectors = Vectorize("i1_inner", 4).apply(Split("i1", 4).apply(doubled(8)))
    assert "it has vectors" in WorkGroups(4).why_not(vectors)
    groups = WorkGroups(4).apply(doubled(8))
    assert "in groups of 4 already" in WorkGroups(2).why_not(groups)
    (row,) = row_sums(1, 8).body
    stepped = replace(row, step=2)
    assert "can't be shared out" in WorkGroups(4).why_not(replace(doubled(8), body=[stepped]))
