from dataclasses import replace

import pytest
from loop_nests import (
    F32,
    A,
    assert_computes_the_same,
    axis,
    column_sums,
    loop,
    row_sums,
    scaled_rows,
)

from tinyjax.compile.kernel.kernel_ir import Allocate, Buffer, For, Kernel, Let, Load, Store, Value
from tinyjax.compile.schedules.interchange import Interchange
from tinyjax.compile.schedules.split import Split


def test_there_is_an_accumulator_for_each_column():
    assert str(Interchange("i1", "i2").apply(column_sums(40, 30))).splitlines()[1:] == [
        "  acc1:f32 = 40 elements of 0.0",
        "  for i2 in 0 .. 30:",
        "    for i1 in 0 .. 40:",
        "      a:f32 = x_in[i2 * 40 + i1]",
        "      acc1[i1] = add acc1[i1] a",
        "  for i1_result in 0 .. 40:",
        "    b:f32 = acc1[i1_result]",
        "    c:f32 = add b b",
        "    y_out[i1_result] = c",
    ]


@pytest.mark.parametrize("columns, rows", [(1, 1), (1, 7), (7, 1), (40, 30)])
def test_each_column_has_its_own_sum(columns, rows):
    naive = column_sums(columns, rows)
    assert_computes_the_same(Interchange("i1", "i2").apply(naive), naive)


@pytest.mark.parametrize("columns", [8, 20, 33])
def test_a_block_of_columns_has_accumulators_for_itself(columns):
    blocks = Split("i1", 8).apply(column_sums(columns, 5))
    kernel = Interchange("i1_inner", "i2").apply(blocks)
    assert "acc1:f32 = 8 elements of 0.0" in str(kernel)
    assert_computes_the_same(kernel, blocks)


def test_a_load_that_the_inner_loop_does_not_need_waits_until_after_it():
    kernel = column_sums(7, 5)
    (outer,) = kernel.body
    d, e = Value("d", F32), Value("e", F32)
    *others, store = outer.body
    after = [Let(e, "add", (d, store.value)), replace(store, value=e)]
    body = [Load(d, kernel.buffers[0], outer.variable), *others, *after]
    naive = replace(kernel, body=[replace(outer, body=body)])
    changed = Interchange("i1", "i2").apply(naive)
    assert [type(s) for s in changed.body] == [Allocate, For, For]
    assert_computes_the_same(changed, naive)


def test_loops_that_can_not_change_places_are_explained():
    split = Split("i2", 4).apply(column_sums(8, 30))
    assert "no axis 'i7'" in Interchange("i7", "i2").why_not(split)
    assert "does not stand directly in" in Interchange("i1", "i2_inner").why_not(split)
    assert "depends on i2_outer" in Interchange("i2_outer", "i2_inner").why_not(split)
    assert "more than accumulators" in Interchange("i1", "i2").why_not(with_load_before())


def test_loops_whose_iterations_need_each_other_stay_in_order():
    i, j = axis("i1", 4), axis("i2", 5)
    y = Buffer("y_out", F32, 30, "kept")
    body = [Load(A, y, i * 5 + j + 4), Store(y, i * 5 + j, A)]
    kernel = Kernel("k0", [y], 1, [loop(i, 4, loop(j, 5, *body))])
    assert "needs what others leave in y_out" in Interchange("i1", "i2").why_not(kernel)


def with_load_before():
    """Rows that begin with a load."""
    kernel = scaled_rows(3, 4)
    (outer,) = kernel.body
    outer.body[:0] = [row_sums(3, 4).body[0].body[1].body[0]]
    return kernel
