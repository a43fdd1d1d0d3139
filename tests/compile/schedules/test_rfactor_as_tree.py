from dataclasses import replace

import numpy as np
import pytest
from loop_nests import (
    ACC,
    F32,
    A,
    B,
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
    Load,
    PrivateArray,
    Store,
    Value,
)
from tinyjax.compile.schedules.rfactor import RFactor


def test_lanes_take_neighbours_and_are_combined_in_pairs():
    assert str(RFactor("i2", 4, as_tree=True).apply(row_sums(3, 102))).splitlines()[2:-2] == [
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
        assert_computes_the_same(RFactor("i2", 16, as_tree=True).apply(naive), naive)


def test_what_can_not_be_a_tree_is_explained():
    assert "no axis 'i7'" in RFactor("i7", 4, as_tree=True).why_not(doubled(8))
    assert "3 is no power of two" in RFactor("i2", 3, as_tree=True).why_not(row_sums(3, 40))
    assert "combines into no variables" in RFactor("i1", 4, as_tree=True).why_not(doubled(8))
    assert "would begin with 5.0" in RFactor("i2", 4, as_tree=True).why_not(
        row_sums(3, 40, initial=5.0)
    )
    tree = RFactor("i2", 4, as_tree=True).apply(row_sums(3, 40))
    assert "every 4th iteration" in RFactor("i2", 4, as_tree=True).why_not(tree)


def running(is_variable):
    """A sum whose iterations read what the one before left: the sum so far, or another variable."""
    x, y, total = (
        Buffer(n, F32, s, r)
        for n, s, r in (("x_in", 40, "in"), ("y_out", 40, "out"), ("t_out", 1, "out"))
    )
    i, variable, d = axis("i2", 40), PrivateArray("p", F32, 1), Value("d", F32)
    one, zero = (Const(np.float32(number), F32) for number in (1, 0))
    source = variable if is_variable else ACC
    body = [
        Load(A, x, i),
        Combine(ACC, index(0), "add", A),
        Load(B, source, index(0)),
        Store(y, i, B),
    ]
    body += [Store(variable, index(0), A)] if is_variable else []
    made = [Allocate(variable, one)] if is_variable else []
    made.append(Allocate(ACC, zero))
    return Kernel(
        "k0",
        [x, y, total],
        1,
        [*made, loop(i, 40, *body), Load(d, ACC, index(0)), Store(total, index(0), d)],
    )


@pytest.mark.parametrize(
    "is_variable, why", [(False, "each iteration loads acc1"), (True, "leave in p")]
)
def test_what_the_iteration_before_leaves_is_no_part_of_a_tree(is_variable, why):
    assert why in RFactor("i2", 4, as_tree=True).why_not(running(is_variable))


def test_a_variable_may_be_combined_twice_in_an_iteration():
    naive = row_sums(3, 40)
    (rows,) = naive.body
    allocate, sweep, *after = rows.body
    twice = replace(sweep, body=[*sweep.body, sweep.body[1]])
    naive = replace(naive, body=[replace(rows, body=[allocate, twice, *after])])
    assert_computes_the_same(RFactor("i2", 4, as_tree=True).apply(naive), naive)
