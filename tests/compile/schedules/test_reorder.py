import pytest
from loop_nests import F32, A, assert_computes_the_same, axis, loop, row_sums, scaled_rows

from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import Buffer, For, Kernel, Load, Store
from tinyjax.compile.schedules.reorder import Reorder
from tinyjax.compile.schedules.split import Split


def test_two_loops_change_places():
    kernel = Reorder("i2", ("i1",)).apply(scaled_rows(3, 5))
    loops = [line.strip() for line in str(kernel).splitlines() if "for" in line]
    assert loops == ["for i2 in 0 .. 5:", "for i1 in 0 .. 3:"]
    assert_computes_the_same(kernel, scaled_rows(3, 5))


def test_a_sum_whose_loop_moves_out_has_an_accumulator_for_each_row():
    kernel = Reorder("i2", ("i1",)).apply(row_sums(3, 5))
    assert str(kernel).splitlines()[1:5] == [
        "  each_acc1:f32 = 4 elements of 0.0",
        "  for i2 in 0 .. 5:",
        "    for i1 in 0 .. 3:",
        "      t1:f32 = each_acc1[i1]",
    ]
    assert_computes_the_same(kernel, row_sums(3, 5))


@pytest.mark.parametrize("rows, columns", [(1, 1), (4, 9), (7, 4), (8, 8)])
def test_a_part_of_a_sum_moves_out_of_a_tile_of_rows(rows, columns):
    naive = row_sums(rows, columns)
    kernel = Split("i2", 4).apply(Split("i1", 3).apply(naive))
    kernel = Reorder("i2_outer", ("i1_outer", "i1_inner")).apply(kernel)
    assert_computes_the_same(kernel, naive)


def test_a_loop_that_another_one_bounds_stays_in_it():
    i, j = axis("i1", 4), axis("i2", 4)
    x, y = Buffer("x_in", F32, 16, "in"), Buffer("y_out", F32, 16, "kept")
    inner = For(j, index(0), i + 1, [Load(A, x, i * 4 + j), Store(y, i * 4 + j, A)])
    kernel = Kernel("k0", [x, y], 1, [loop(i, 4, inner)])
    assert "which a loop around it decides" in Reorder("i2", ("i1",)).why_not(kernel)


def test_loops_whose_iterations_need_each_other_stay_in_order():
    i, j = axis("i1", 4), axis("i2", 5)
    y = Buffer("y_out", F32, 30, "kept")
    body = [Load(A, y, i * 5 + j + 4), Store(y, i * 5 + j, A)]
    kernel = Kernel("k0", [y], 1, [loop(i, 4, loop(j, 5, *body))])
    assert "same elements of y_out" in Reorder("i2", ("i1",)).why_not(kernel)


def test_a_wrong_order_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="i1 is no loop right in the loop over i2"):
        Reorder("i1", ("i2",)).apply(row_sums(3, 5))
