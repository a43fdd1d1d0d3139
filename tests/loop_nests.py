"""Naive loop nests written by hand, and a comparison of what two kernels compute."""

import numpy as np
from definite_assignment import check_assignment

from tinyjax.compile.kernel.check_kernel import check_kernel
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
    While,
)

F32 = np.dtype("float32")
A, B, C = (Value(name, F32) for name in "abc")
ACC = PrivateArray("acc1", F32, 1)


def axis(name, size):
    return index_var(name, 0, max(size - 1, 0))


def loop(variable, size, *body):
    return For(variable, index(0), index(size), list(body))


def doubled(count, dtype=F32):
    """y[i1] = x[i1] + x[i1]"""
    x, y = Buffer("x_in", dtype, count, "in"), Buffer("y_out", dtype, count, "out")
    i, a, b = axis("i1", count), Value("a", dtype), Value("b", dtype)
    body = [Load(a, x, i), Let(b, "add", (a, a)), Store(y, i, b)]
    return Kernel("k0", [x, y], 1, [loop(i, count, *body)])


def scaled_rows(rows, columns):
    """y[i1, i2] = x[i1, i2] * row[i1] + i2"""
    count = rows * columns
    x, row = Buffer("x_in", F32, count, "in"), Buffer("row_in", F32, rows, "in")
    y = Buffer("y_out", F32, count, "out")
    i, j = axis("i1", rows), axis("i2", columns)
    at, d, e = i * columns + j, Value("d", F32), Value("e", F32)
    body = [Load(A, x, at), Load(B, row, i), Let(C, "mul", (A, B)), Let(d, "convert", (j,))]
    body += [Let(e, "add", (C, d)), Store(y, at, e)]
    return Kernel("k0", [x, row, y], 1, [loop(i, rows, loop(j, columns, *body))])


def row_sums(rows, columns, op="add", initial=0.0):
    """y[i1] = the sum of x[i1, i2] over i2, times two"""
    x = Buffer("x_in", F32, rows * columns, "in")
    y = Buffer("y_out", F32, rows, "out")
    i, j = axis("i1", rows), axis("i2", columns)
    inner = loop(j, columns, Load(A, x, i * columns + j), Combine(ACC, index(0), op, A))
    after = [Load(B, ACC, index(0)), Let(C, "add", (B, B)), Store(y, i, C)]
    body = [Allocate(ACC, Const(np.float32(initial), F32)), inner, *after]
    return Kernel("k0", [x, y], 1, [loop(i, rows, *body)])


def column_sums(columns, rows):
    """y[i1] = the sum of x[i2, i1] over i2"""
    kernel = row_sums(columns, rows)
    (outer,) = kernel.body
    allocate, inner, *after = outer.body
    i, j = outer.variable, inner.variable
    load = Load(A, kernel.buffers[0], j * columns + i)
    body = [allocate, loop(j, rows, load, inner.body[1]), *after]
    return Kernel("k0", kernel.buffers, 1, [loop(i, columns, *body)])


def halved_until_small(count):
    """y[i1] = x[i1], halved until it is at most 1: how often, differs"""
    x, y = Buffer("x_in", F32, count, "in"), Buffer("y_out", F32, count, "out")
    i, carry, more = axis("i1", count), PrivateArray("carry", F32, 1), Value("more", np.dtype(bool))
    one, half, d = Const(np.float32(1), F32), Const(np.float32(0.5), F32), Value("d", F32)
    test = [Load(B, carry, index(0)), Let(more, "gt", (B, one))]
    step = [Let(C, "mul", (B, half)), Store(carry, index(0), C)]
    body = [Load(A, x, i), Allocate(carry, None), Store(carry, index(0), A)]
    body += [While(test, more, step), Load(d, carry, index(0)), Store(y, i, d)]
    return Kernel("k0", [x, y], 1, [loop(i, count, *body)])


def results(kernel):
    """What a kernel stores, given numbers that differ."""
    rng = np.random.default_rng(0)
    memory = [rng.integers(-50, 50, b.size).astype(b.dtype) for b in kernel.buffers]
    interpret_kernel(kernel, memory)
    return [x for x, b in zip(memory, kernel.buffers) if b.role == "out"]


def assert_computes_the_same(after, before):
    check_kernel(after)
    check_assignment(after)
    for found, wanted in zip(results(after), results(before), strict=True):
        np.testing.assert_array_equal(found, wanted)
