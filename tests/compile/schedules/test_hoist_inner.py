import pytest
from loop_nests import ACC, F32, A, B, C, assert_computes_the_same, axis, loop, row_sums

from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Combine,
    Const,
    Kernel,
    Let,
    Load,
    Store,
)
from tinyjax.compile.schedules.hoist import Hoist
from tinyjax.compile.schedules.split import Split


def matrix_by_vector(rows, depth):
    """y[i1] = the sum of x[i1, i2] * v[2 * i2] over i2"""
    x, v = Buffer("x_in", F32, rows * depth, "in"), Buffer("v_in", F32, 2 * depth, "in")
    y = Buffer("y_out", F32, rows, "out")
    i, j = axis("i1", rows), axis("i2", depth)
    body = [Load(A, x, i * depth + j), Load(B, v, j * 2), Let(C, "mul", (A, B))]
    inner = loop(j, depth, *body, Combine(ACC, index(0), "add", C))
    zero = Allocate(ACC, Const(F32.type(0), F32))
    after = [Load(A, ACC, index(0)), Store(y, i, A)]
    return Kernel("k0", [x, v, y], 1, [loop(i, rows, zero, inner, *after)])


def test_what_all_rows_read_is_copied_before_them():
    text = str(Hoist("i1", ("i2",)).apply(matrix_by_vector(3, 5)))
    assert text.splitlines()[1:6] == [
        "  panel1:f32 = 8 elements",
        "  for i3 in 0 .. 5:",
        "    b1:f32 = v_in[i3 * 2]",
        "    panel1[i3] = b1",
        "  for i1 in 0 .. 3:",
    ]
    assert "b:f32 = panel1[i2]" in text and "a:f32 = x_in[i1 * 5 + i2]" in text


@pytest.mark.parametrize("rows, depth", [(1, 1), (3, 5), (4, 8)])
def test_what_is_computed_from_the_copy_is_the_same(rows, depth):
    naive = matrix_by_vector(rows, depth)
    assert_computes_the_same(Hoist("i1", ("i2",)).apply(naive), naive)
    chunks = Split("i1", 2).apply(naive)
    assert_computes_the_same(Hoist("i1_inner", ("i2",)).apply(chunks), naive)


@pytest.mark.parametrize(
    "directive, reason",
    [
        (Hoist("i1", ("i2",)), "reads nothing that is the same in all iterations of i1"),
        (Hoist("i2", ("i1",)), "the loop over i1 is not in that over i2"),
        (Hoist("i1", ("i9",)), "no axis 'i9'"),
    ],
)
def test_what_differs_is_not_copied(directive, reason):
    assert reason in directive.why_not(row_sums(3, 5))
