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

from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import Buffer, For, Kernel, Let, Load, Store, Value
from tinyjax.compile.schedules.chooser import Chooser
from tinyjax.compile.schedules.reorder import Reorder, tile
from tinyjax.compile.schedules.schedule import scheduled
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.compile.target import CPU


def test_two_loops_change_places():
    kernel = Reorder("i2", ("i1",)).apply(scaled_rows(3, 5))
    loops = [line.strip() for line in str(kernel).splitlines() if "for" in line]
    assert loops == ["for i2 in 0 .. 5:", "for i1 in 0 .. 3:"]
    assert_computes_the_same(kernel, scaled_rows(3, 5))


def test_there_is_an_accumulator_for_each_column():
    assert str(Reorder("i2", ("i1",), in_memory=True).apply(column_sums(40, 30))).splitlines()[
        1:
    ] == [
        "  each_acc1:f32 = 64 elements of 0.0",
        "  for i2 in 0 .. 30:",
        "    for i1 in 0 .. 40:",
        "      a:f32 = x_in[i2 * 40 + i1]",
        "      each_acc1[i1] = add each_acc1[i1] a",
        "  for i3 in 0 .. 40:",
        "    b:f32 = each_acc1[i3]",
        "    c:f32 = add b b",
        "    y_out[i3] = c",
    ]


@pytest.mark.parametrize("columns, rows", [(1, 1), (1, 7), (7, 1), (40, 30)])
def test_each_column_has_its_own_sum(columns, rows):
    naive = column_sums(columns, rows)
    for in_memory in (False, True):
        assert_computes_the_same(Reorder("i2", ("i1",), in_memory).apply(naive), naive)


@pytest.mark.parametrize("columns", [8, 20, 33])
def test_a_block_of_columns_has_accumulators_for_itself(columns):
    blocks = Split("i1", 8).apply(column_sums(columns, 5))
    kernel = Reorder("i2", ("i1_inner",)).apply(blocks)
    assert "each_acc1:f32 = 8 elements of 0.0" in str(kernel)
    assert_computes_the_same(kernel, blocks)


def test_a_sum_is_in_a_variable_meanwhile():
    kernel = Reorder("i2", ("i1",)).apply(row_sums(3, 5))
    assert str(kernel).splitlines()[1:5] == [
        "  each_acc1:f32 = 4 elements of 0.0",
        "  for i2 in 0 .. 5:",
        "    for i1 in 0 .. 3:",
        "      t1:f32 = each_acc1[i1]",
    ]
    assert_computes_the_same(kernel, row_sums(3, 5))


def with_statements_before(kernel, *before):
    (outer,) = kernel.body
    return replace(kernel, body=[replace(outer, body=[*before, *outer.body])])


def test_a_value_that_several_parts_read_has_a_name_in_each():
    """So that loops of one iteration can be left out."""
    kernel = column_sums(8, 5)
    (outer,) = kernel.body
    d, e, f = (Value(name, F32) for name in "def")
    allocate, inner, *others, store = outer.body
    load, combine = inner.body
    inner = replace(inner, body=[load, Let(e, "mul", (load.target, d)), replace(combine, value=e)])
    after = [inner, *others, Let(f, "add", (d, store.value)), replace(store, value=f)]
    before = Load(d, kernel.buffers[0], outer.variable)
    naive = replace(kernel, body=[replace(outer, body=[allocate, before, *after])])
    changed = Reorder("i2", ("i1",), in_memory=True).apply(naive)
    for each in ("i3", "i4"):
        changed = Vectorize(each, 8).apply(changed)
    assert_computes_the_same(changed, naive)


def test_what_the_inner_loop_needs_is_computed_before_it():
    """By way of another value, too."""
    kernel = scaled_rows(3, 4)
    p, q, r = (Value(name, F32) for name in "pqr")
    load, double = Load(p, kernel.buffers[0], index(0)), Let(q, "add", (p, p))
    (outer,) = kernel.body
    (inner,) = outer.body
    *others, store = inner.body
    used = [*others, Let(r, "add", (q, q)), replace(store, value=r)]
    nest = replace(kernel, body=[replace(outer, body=[replace(inner, body=used)])])
    naive = with_statements_before(nest, load, double)
    for in_memory in (False, True):
        assert_computes_the_same(Reorder("i2", ("i1",), in_memory).apply(naive), naive)


def test_sums_that_begin_with_a_value_of_their_row_are_accumulators_in_memory():
    kernel = row_sums(3, 5)
    (outer,) = kernel.body
    allocate, inner, *after = outer.body
    load, combine = inner.body
    p, q = Value("p", F32), Value("q", F32)
    body = [load, Let(q, "sub", (load.target, p)), replace(combine, value=q)]
    first = Load(p, kernel.buffers[0], outer.variable * 5)
    rows = replace(outer, body=[first, allocate, replace(inner, body=body), *after])
    naive = replace(kernel, body=[rows])
    changed = Reorder("i2", ("i1",), in_memory=True).apply(naive)
    assert "each_acc1:f32 = 4 elements of 0.0" in str(changed)
    assert_computes_the_same(changed, naive)


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
    assert "store the same elements of y_out" in Reorder("i2", ("i1",)).why_not(kernel)


def test_a_wrong_order_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="i1 is no loop right in the loop over i2"):
        Reorder("i1", ("i2",)).apply(row_sums(3, 5))


# ---- tiles ----


def transposed(rows, columns, between=1):
    """y[i1, i2, i3] = x[i3, i2, i1]"""
    count = rows * columns * between
    x, y = Buffer("x_in", F32, count, "in"), Buffer("y_out", F32, count, "out")
    i, j, k = axis("i1", rows), axis("i2", between), axis("i3", columns)
    body = [Load(A, x, (k * between + j) * rows + i), Store(y, (i * between + j) * columns + k, A)]
    inner = loop(j, between, loop(k, columns, *body))
    return Kernel("k0", [x, y], 1, [loop(i, rows, inner)])


def in_tiles(naive, axes, height, width):
    chooser = Chooser(naive, CPU)
    chooser.tile(axes, height, width, why="")
    return chooser.finished()


def test_loops_between_come_first_and_loops_within_a_tile_last():
    text = str(in_tiles(transposed(10, 8, 3), ("i1", "i2", "i3"), 4, 4))
    loops = [line.split()[1] for line in text.splitlines() if "for" in line]
    assert loops == ["i2", "i1_outer", "i3_outer", "i1_inner", "i3_inner"]


@pytest.mark.parametrize("rows, columns", [(1, 1), (4, 8), (5, 17), (33, 2)])
def test_tiles_at_the_edge_overlap_or_are_smaller(rows, columns):
    naive = transposed(rows, columns, 2)
    assert_computes_the_same(in_tiles(naive, ("i1", "i2", "i3"), 4, 4), naive)


def test_tiles_of_iterations_that_depend_on_each_other_stay_in_order():
    y = Buffer("y_out", F32, 8, "kept")
    i, j = axis("i1", 4), axis("i2", 2)
    body = [Load(A, y, index(0)), Store(y, i * 2 + j, A)]
    kernel = Kernel("k0", [y], 1, [loop(i, 4, loop(j, 2, *body))])
    with pytest.raises(ValueError, match="Reorder.*can't be applied"):
        scheduled(kernel, tile(("i1", "i2"), 2, 1, why=""))


def test_a_directive_for_an_axis_needs_its_name():
    with pytest.raises(ValueError, match="needs its name"):
        scheduled(transposed(4, 4), [Split("", 2)])
