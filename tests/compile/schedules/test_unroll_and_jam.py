from dataclasses import replace

import numpy as np
import pytest
from loop_nests import ACC, A, assert_computes_the_same, row_sums, scaled_rows

import tinyjax as jax
from tinyjax import lax
from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Combine,
    Const,
    For,
    Kernel,
    Let,
    Load,
    PrivateArray,
    Store,
    Value,
)
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam

F32 = np.dtype("float32")


def doubled(count):
    """A kernel that doubles `count` elements in a loop."""
    x, out = Buffer("x_in", F32, count, "in"), Buffer("y_out", F32, count, "out")
    i, a, b = index_var("i1", 0, count - 1), Value("a", F32), Value("b", F32)
    body = [Load(a, x, i), Let(b, "add", (a, a)), Store(out, i, b)]
    return Kernel("k0", [x, out], 1, [For(i, index(0), index(count), body)])


def test_iterations_stand_beside_each_other():
    kernel = UnrollAndJam("i1", 2).apply(doubled(4))
    assert str(kernel).splitlines()[1:] == [
        "  for i1_by2 in 0 .. 2:",
        "    a:f32 = x_in[i1_by2 * 2]",
        "    a_x1:f32 = x_in[i1_by2 * 2 + 1]",
        "    b:f32 = add a a",
        "    b_x1:f32 = add a_x1 a_x1",
        "    y_out[i1_by2 * 2] = b",
        "    y_out[i1_by2 * 2 + 1] = b_x1",
    ]


def test_each_copy_adds_the_same_number():
    out, total = Buffer("out", F32, 2, "out"), PrivateArray("total", F32, 2)
    i, j, t = index_var("i", 0, 3), index_var("j", 0, 1), Value("t", F32)
    half = Combine(total, j, "add", Const(np.float32(0.5), F32))
    body = [
        Allocate(total, Const(np.float32(0), F32)),
        For(i, index(0), index(4), [For(j, index(0), index(2), [half])]),
        For(j, index(0), index(2), [Load(t, total, j), Store(out, j, t)]),
    ]
    kernel, found = Kernel("k0", [out], 1, body), np.zeros(2, np.float32)
    interpret_kernel(UnrollAndJam("i", 2).apply(kernel), [found])
    np.testing.assert_array_equal(found, 2)


def test_copies_of_copies_have_names_of_their_own():
    kernel = UnrollAndJam("i1", 3).apply(UnrollAndJam("i2", 2).apply(scaled_rows(6, 4)))
    assert_computes_the_same(kernel, scaled_rows(6, 4))


@pytest.mark.parametrize("count", [3, 4, 5, 9, 11])
def test_no_iteration_is_left_out(count):
    kernel = UnrollAndJam("i1", 3).apply(doubled(count))
    x, out = np.arange(count, dtype=np.float32), np.zeros(count, np.float32)
    interpret_kernel(kernel, [x, out])
    np.testing.assert_array_equal(out, 2 * x)


def ten_steps(x):
    return lax.fori_loop(0, 10, lambda i, x: x + 0.1 * (x - x * x * x), x)


def test_chunks_go_through_a_short_loop_together():
    text = jax.jit(ten_steps).lower(np.zeros(1000, np.float32)).as_text("kernel")
    (inner,) = [part for part in text.split("for ") if part.startswith("i2 in 0 .. 10")][:1]
    assert "c_x5:f32 x16" in inner


@pytest.mark.parametrize("size", [1, 15, 16, 95, 96, 97, 112, 1000, 6151])
def test_a_short_loop_is_right_for_every_number_of_chunks(size):
    x = np.random.default_rng(size).uniform(-1, 1, size).astype(np.float32)
    np.testing.assert_array_equal(jax.jit(ten_steps)(x), ten_steps(x))


@pytest.mark.parametrize("rows", [3, 4, 9])
def test_a_directive_jams_the_loops_within(rows):
    naive = row_sums(rows, 5)
    kernel = UnrollAndJam("i1", 4).apply(naive)
    assert_computes_the_same(kernel, naive)
    assert ("acc1_x3[0] = add acc1_x3[0] a_x3" in str(kernel)) == (rows >= 4)


def test_iterations_that_need_each_other_are_not_unrolled():
    naive = row_sums(3, 8)
    (outer,) = naive.body
    allocate, inner, *after = outer.body
    load, so_far, total = inner.body[0], Value("s", F32), Value("n", F32)
    add = [Load(so_far, ACC, index(0)), Let(total, "add", (so_far, A)), Store(ACC, index(0), total)]
    body = [allocate, replace(inner, body=[load, *add]), *after]
    kernel = replace(naive, body=[replace(outer, body=body)])
    assert "same elements of acc1" in UnrollAndJam("i2", 4).why_not(kernel)


def test_all_iterations_of_a_short_loop_need_no_loop():
    text = str(UnrollAndJam("i1", 2).apply(row_sums(2, 5)))
    assert [line.strip() for line in text.splitlines() if "for" in line] == ["for i2 in 0 .. 5:"]
    assert "a_x1:f32 = x_in[5 + i2]" in text


def test_what_is_the_same_in_all_iterations_is_computed_once():
    text = str(UnrollAndJam("i2", 5).apply(scaled_rows(3, 5)))
    assert text.count("= row_in[i1]") == 1 and text.count("= x_in[") == 5


def test_a_chunk_that_may_be_shorter_is_not_unrolled():
    kernel = Split("i1", 4).apply(row_sums(10, 5))
    assert "not 3 at a time" in UnrollAndJam("i1_inner", 3).why_not(kernel)
