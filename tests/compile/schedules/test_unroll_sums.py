from dataclasses import replace

import numpy as np
import pytest
from loop_nests import (
    ACC,
    F32,
    A,
    B,
    C,
    assert_computes_the_same,
    axis,
    column_sums,
    doubled,
    loop,
    row_sums,
)

from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Combine,
    Const,
    Kernel,
    Let,
    Load,
    PrivateArray,
    Store,
)
from tinyjax.compile.schedules.reorder import Reorder
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vectorize import Vectorize


def test_each_copy_adds_to_an_accumulator_of_its_own_and_these_are_added_in_pairs():
    assert str(UnrollAndJam("i2", 4).apply(row_sums(1, 40))).splitlines()[2:] == [
        "    acc1:f32 = variable of 0.0",
        "    acc1_y1:f32 = variable of 0.0",
        "    acc1_y2:f32 = variable of 0.0",
        "    acc1_y3:f32 = variable of 0.0",
        "    for i2_by4 in 0 .. 10:",
        "      a:f32 = x_in[i2_by4 * 4]",
        "      a_y1:f32 = x_in[i2_by4 * 4 + 1]",
        "      a_y2:f32 = x_in[i2_by4 * 4 + 2]",
        "      a_y3:f32 = x_in[i2_by4 * 4 + 3]",
        "      acc1[0] = add acc1[0] a",
        "      acc1_y1[0] = add acc1_y1[0] a_y1",
        "      acc1_y2[0] = add acc1_y2[0] a_y2",
        "      acc1_y3[0] = add acc1_y3[0] a_y3",
        "    t1:f32 = acc1",
        "    t2:f32 = acc1_y1",
        "    t3:f32 = acc1_y2",
        "    t4:f32 = acc1_y3",
        "    t5:f32 = add t1 t2",
        "    t6:f32 = add t3 t4",
        "    b:f32 = add t5 t6",
        "    c:f32 = add b b",
        "    y_out[i1] = c",
    ]


@pytest.mark.parametrize("columns", [4, 5, 7, 8, 40])
@pytest.mark.parametrize("op, initial", [("add", 0.0), ("max", -np.inf)])
def test_what_is_left_over_goes_to_the_first_accumulator(columns, op, initial):
    naive = row_sums(3, columns, op, initial)
    assert_computes_the_same(UnrollAndJam("i2", 4).apply(naive), naive)


def test_an_accumulator_may_be_a_vector():
    naive = row_sums(3, 16 * 9)
    kernel = Vectorize("i2_inner", 16).apply(Split("i2", 16).apply(naive))
    kernel = UnrollAndJam("i2_outer", 4).apply(kernel)
    assert "acc1_y3:f32 x16" in str(kernel)
    assert_computes_the_same(kernel, naive)


@pytest.mark.parametrize("rows", [4, 30])
def test_terms_for_an_element_of_an_array_are_added_in_pairs_before(rows):
    naive = column_sums(9, rows)
    kernel = UnrollAndJam("i2", 4).apply(Reorder("i2", ("i1",), in_memory=True).apply(naive))
    lines = [line.strip() for line in str(kernel).splitlines()]
    at = lines.index("t2:f32 = add a a_y1")
    assert lines[at + 1 : at + 3] == ["t3:f32 = add a_y2 a_y3", "t1:f32 = add t2 t3"]
    assert_computes_the_same(kernel, naive)


def test_why_there_can_not_be_several_is_explained():
    assert "no axis 'i7'" in UnrollAndJam("i7", 4).why_not(doubled(8))
    assert "fewer than 4 iterations" in UnrollAndJam("i2", 4).why_not(row_sums(3, 3))


def test_a_sum_that_begins_with_a_number_has_one_accumulator():
    kernel = row_sums(3, 40, initial=1.0)
    assert "would begin with 1.0 in acc1" in UnrollAndJam("i2", 4).why_not(kernel)


def test_a_sum_that_each_iteration_reads_has_one_accumulator():
    x, y = (Buffer(name, F32, 40, role) for name, role in (("x_in", "in"), ("y_out", "out")))
    i = axis("i1", 40)
    sums = [Load(A, x, i), Combine(ACC, index(0), "add", A), Load(B, ACC, index(0)), Store(y, i, B)]
    body = [Allocate(ACC, Const(np.float32(0), F32)), loop(i, 40, *sums)]
    reason = UnrollAndJam("i1", 4).why_not(Kernel("k0", [x, y], 1, body))
    assert reason == "each iteration loads acc1, which the one before it leaves"


def test_iterations_that_need_each_other_for_more_than_the_sum_do_not_take_turns():
    x, y = (Buffer(name, F32, 1, role) for name, role in (("x_in", "in"), ("y_out", "out")))
    carry, i, zero = PrivateArray("carry", F32, 1), axis("i1", 40), Const(np.float32(0), F32)
    step = [Load(A, carry, index(0)), Let(B, "add", (A, A)), Store(carry, index(0), B)]
    sums = loop(i, 40, *step, Combine(ACC, index(0), "add", A))
    body = [Allocate(carry, zero), Allocate(ACC, zero), sums, Load(C, ACC, index(0))]
    kernel = Kernel("k0", [x, y], 1, [*body, Store(y, index(0), C)])
    assert "needs what others leave in carry" in UnrollAndJam("i1", 4).why_not(kernel)


def test_a_loop_that_does_not_begin_at_a_multiple_is_refused():
    kernel = row_sums(1, 40)
    (outer,) = kernel.body
    sums = replace(outer.body[1], start=index(3))
    kernel = replace(kernel, body=[outer.body[0], sums, *outer.body[2:]])
    assert "not 4 at a time" in UnrollAndJam("i2", 4).why_not(kernel)
