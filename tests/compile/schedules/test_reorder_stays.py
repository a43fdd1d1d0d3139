import pytest
from loop_nests import assert_computes_the_same, row_sums, scaled_rows

from tinyjax.compile.schedules.reorder import Reorder
from tinyjax.compile.schedules.split import Split


def test_sums_are_kept_in_an_array_until_they_are_needed():
    kernel = Reorder("i2", ("i1",), stays=True).apply(row_sums(3, 5))
    assert str(kernel).splitlines()[1:] == [
        "  each_acc1:f32 = 4 elements",
        "  for i1 in 0 .. 3:",
        "    acc1:f32 = variable of 0.0",
        "    for i2 in 0 .. 5:",
        "      a:f32 = x_in[i1 * 5 + i2]",
        "      acc1[0] = add acc1[0] a",
        "    t1:f32 = acc1",
        "    each_acc1[i1] = t1",
        "  for i3 in 0 .. 3:",
        "    b:f32 = each_acc1[i3]",
        "    c:f32 = add b b",
        "    y_out[i3] = c",
    ]


@pytest.mark.parametrize("rows, factor", [(1, 2), (8, 4), (9, 4)])
def test_both_parts_together_do_what_one_loop_did(rows, factor):
    naive = row_sums(rows, 5)
    kernel = Split("i1", factor).apply(naive)
    assert_computes_the_same(Reorder("i2", ("i1_inner",), stays=True).apply(kernel), naive)
    assert_computes_the_same(
        Reorder("i2", ("i1_outer", "i1_inner"), stays=True).apply(kernel), naive
    )


@pytest.mark.parametrize(
    "kernel, directive, reason",
    [
        (row_sums(3, 5), Reorder("i2", ("i7",), stays=True), "no axis 'i7'"),
        (
            row_sums(3, 5),
            Reorder("i1", ("i2",), stays=True),
            "i1 is no loop right in the loop over i2",
        ),
        (
            row_sums(3, 5),
            Reorder("i1", ("i1", "i2"), stays=True),
            "not all that the loop over i1 has inside",
        ),
    ],
)
def test_only_what_is_in_the_loops_is_parted(kernel, directive, reason):
    assert reason in directive.why_not(kernel)


def test_a_loop_with_nothing_after_it_is_left_as_it_is():
    naive = scaled_rows(3, 5)
    assert_computes_the_same(Reorder("i2", ("i1",), stays=True).apply(naive), naive)
