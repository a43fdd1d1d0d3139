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
    doubled,
    loop,
    row_sums,
)

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Combine,
    Const,
    Kernel,
    Let,
    Load,
    Store,
    Value,
    While,
)
from tinyjax.compile.kernel.known import truth
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.plan import make_plan
from tinyjax.compile.schedules.parallelize import Parallelize
from tinyjax.compile.schedules.partition import Partition, borders
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.compile.target import CPU

BOOL = np.dtype(bool)


def shifted(count, by=1):
    """y[i1] = x[i1 - by], and before that 0"""
    x, y = Buffer("x_in", F32, count, "in"), Buffer("y_out", F32, count, "out")
    i, test, zero = axis("i1", count), Value("t1", BOOL), Const(np.float32(0), F32)
    body = [Let(test, "ge", (i, index(by))), Load(A, x, (i - by).max(0))]
    body += [Let(B, "select", (test, A, zero)), Store(y, i, B)]
    return Kernel("k0", [x, y], 1, [loop(i, count, *body)])


def vectors(naive, axis):
    return Vectorize(f"{axis}_inner", 16).apply(Split(axis, 16).apply(naive))


def test_a_loop_that_begins_later_has_no_borders_before():
    (first,) = shifted(35).body
    assert borders(first) == [1]
    assert borders(replace(first, start=index(32))) == []


def window_sums(count):
    """Sums over windows of four elements, from two before an array's first to one after its last: the kernel
    without the passes, one of which would pad the array, its arguments, and what it should give."""
    f = lambda x, w: lax.conv_general_dilated(x, w, (1,), [(2, 1)])  # noqa: E731
    args = jnp.arange(1.0, count + 1)[None, None], jnp.array([[[1.0, 10, 100, 1000]]])
    (kernel,) = make_plan(jax.make_jaxpr(f)(*args), CPU).all_kernels()
    return kernel, args, f(*args)


@pytest.mark.parametrize("count", [1, 2, 5, 100])
def test_windows_across_borders_have_zeros_outside(count):
    kernel, args, expected = window_sums(count)
    out = np.zeros(count, np.float32)
    interpret_kernel(kernel, [*map(np.ravel, args), out])
    np.testing.assert_array_equal(out, np.ravel(expected))


@pytest.mark.parametrize("n", [33, 100])
def test_sums_within_loops_and_branches_count_each_element_of_an_array_with_edges_once(n):
    def total(is_plain, x):
        return lax.cond(is_plain, jnp.sum, lambda x: jnp.sum(jnp.pad(x, 1, mode="edge")), x)

    x = jnp.arange(float(n))
    assert jax.jit(total)(False, x) == total(False, x) == n * (n - 1) / 2 + n - 1


def test_a_border_is_apart():
    assert str(Partition("i1").apply(shifted(100))).splitlines()[1:] == [
        "  for i1_border1 in 0 .. 1:",
        "    y_out[0] = 0.0",
        "  for i1 in 0 .. 99:",
        "    a:f32 = x_in[i1]",
        "    y_out[i1 + 1] = a",
    ]


@pytest.mark.parametrize("by", [1, 3, 99, 100])
def test_the_pieces_compute_the_same(by):
    naive = shifted(100, by)
    if by < 100:
        assert_computes_the_same(Partition("i1").apply(naive), naive)
    else:
        assert Partition("i1").why_not(naive)


def sum_of_two(first, second):
    """y[0] = the sum of one array and of another after it"""
    x, z, y = (Buffer(f"{n}_in", F32, size, "in") for n, size in zip("xzy", (first, second, 1)))
    y, count = replace(y, role="out"), first + second
    i, test, zero = axis("i1", count), Value("t1", BOOL), Const(np.float32(0), F32)
    body = [Let(test, "lt", (i, index(first))), Load(A, x, i.min(first - 1))]
    body += [Load(B, z, (i - first).max(0)), Let(C, "select", (test, A, B))]
    summed = loop(i, count, *body, Combine(ACC, index(0), "add", C))
    total = Value("d", F32)
    after = [Load(total, ACC, index(0)), Store(y, index(0), total)]
    return Kernel("k0", [x, z, y], 1, [Allocate(ACC, zero), summed, *after])


@pytest.mark.parametrize("first", [1, 7, 8, 16, 40])
@pytest.mark.parametrize("second", [9, 16, 55])
def test_all_long_pieces_of_a_sum_become_vectors_together(first, second):
    naive = sum_of_two(first, second)
    kernel = Vectorize("i1", 16, gather=True).apply(Partition("i1", multiple=16).apply(naive))
    assert_computes_the_same(kernel, naive)
    vectors = [size >= 8 for size in (first, second)]
    loads = [s for s in every_statement(kernel.body) if isinstance(s, Load)]
    assert vectors == [
        any(s.target.width == 16 and s.memory.name == name for s in loads)
        for name in ("x_in", "z_in")
    ]


def test_a_piece_of_a_shared_loop_begins_at_a_multiple():
    i1 = Parallelize("i1", 2, multiple=16).apply(shifted(100, 5))
    assert "for i1 in max(item * 64, 16) .. " in str(Partition("i1", multiple=16).apply(i1))


@pytest.mark.parametrize("items", [2, 7, 50])
def test_each_run_of_a_loop_that_is_shared_out_has_its_pieces(items):
    naive = shifted(100, 5)
    kernel = Partition("i1").apply(Parallelize("i1", items).apply(naive))
    assert_computes_the_same(kernel, naive)
    assert "select" not in str(kernel)


def test_only_the_last_vector_needs_a_mask():
    lines = str(Partition("i2_outer").apply(vectors(row_sums(3, 100), "i2"))).splitlines()
    start = lines.index("    for i2_outer in 0 .. 6:")
    assert lines[start + 1 : start + 3] == [
        "      a:f32 x16 = x_in[i1 * 100 + i2_outer * 16 x16]",
        "      acc1[0] = add acc1[0] a",
    ]
    assert "x_in[i1 * 100 + 96 x16 before i1 * 100 + 100]" in "\n".join(lines[start + 3 :])


@pytest.mark.parametrize("columns", [1, 15, 17, 33, 100])
def test_vectors_compute_the_same(columns):
    for naive, axis_name in ((row_sums(3, columns), "i2"), (doubled(columns), "i1")):
        kernel = Partition(f"{axis_name}_outer").apply(vectors(naive, axis_name))
        assert_computes_the_same(kernel, naive)


def test_an_index_by_a_value_that_is_known_is_that_number():
    """Of two stores the first is at 0, and reads what is at i; then the other way around."""
    x = np.arange(5, dtype=np.int32)
    step = lambda i, x: x.at[jnp.stack([i, 0])].set(x[jnp.stack([0, i])])  # noqa: E731
    f = lambda x: lax.fori_loop(1, 4, step, x)  # noqa: E731
    (kernel,) = jax.jit(f).lower(x).lowered.plan.all_kernels()
    out = np.zeros(5, np.int32)
    interpret_kernel(kernel, [x, np.zeros(1, np.int32), out])
    np.testing.assert_array_equal(out, f(x))


def test_a_loop_of_one_iteration_is_gone():
    assert "for" not in str(Partition("i1").apply(doubled(1)))


def test_why_a_loop_stays_whole():
    assert Partition("i7").why_not(doubled(8)) == "it has no axis 'i7'; its axes are i1"
    reason = Partition("i1").why_not(doubled(8))
    assert reason == "no test of i1 has an answer that changes at a number"
    kernel = doubled(1)
    body = [replace(kernel.body[0], body=[While([], truth(False), [])])]
    assert Partition("i1").why_not(replace(kernel, body=body)) == "it has a while inside"


def test_names_in_a_border_are_new():
    kernel = shifted(100)
    before = [Load(Value("b_1", F32), kernel.buffers[0], index(7))]
    *rest, store = kernel.body[0].body
    total = Let(Value("c", F32), "add", (B, Value("b_1", F32)))
    changed = replace(kernel.body[0], body=[*rest, total, replace(store, value=total.target)])
    naive = replace(kernel, body=[*before, changed])
    pieces = Partition("i1").apply(naive)
    assert "c_1 = add 0.0 b_1" in str(pieces).replace(":f32", "")
    assert_computes_the_same(pieces, naive)


# ---- pieces beside each other ----


def padded(u):
    inner = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    return jnp.pad(inner, 1)


def turned(u):
    rows = jnp.concatenate([u[-1:], u[:-1]], 0)
    return rows + jnp.concatenate([u[:, 1:], u[:, :1]], 1)


@pytest.mark.parametrize("shape", [(32, 32), (33, 17), (3, 50)])
@pytest.mark.parametrize("stencil", [padded, turned])
def test_borders_of_one_row_and_of_one_column_within_a_loop(stencil, shape):
    """Vectors of 16 leave one column over, or none; and the borders' loops are as long as the others."""

    def loop(u):
        return lax.fori_loop(0, 7, lambda _, u: u + 0.1 * stencil(u), u)

    u = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for f in (loop, jax.grad(lambda u: jnp.sum(loop(u) ** 2))):
        np.testing.assert_allclose(jax.jit(f)(u), f(u), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("edge", [False, True])
def test_a_known_bool_is_stored_in_all_lanes(edge):
    def framed(x):
        return jnp.pad(x, ((3, 2), (0, 0)), constant_values=edge)

    x = np.random.default_rng(0).integers(0, 2, (64, 64)).astype(bool)
    np.testing.assert_array_equal(jax.jit(framed)(x), framed(x))
