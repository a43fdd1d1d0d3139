"""When a kernel may have an input and an output in the same memory."""

from dataclasses import replace

import numpy as np
import pytest
from drawn import drawn, shown

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.kernel_ir import Buffer, Const, For, Kernel, Let, Load, Store, Value
from tinyjax.compile.memory_plan import (
    can_be_in_place,
    in_place_kernel,
    is_loaded_first,
    is_loaded_once,
)
from tinyjax.compile.schedules.partition import Partition
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize

F32 = np.dtype("float32")
X, OUT = Buffer("x_in", F32, 8, "in"), Buffer("y_out", F32, 8, "out")
PAIR = Value("p", F32, 2)
A, B, AT = Value("a", F32), Value("b", F32), index_var("i", 0, 7)


def loop(*body):
    return Kernel("k0", [X, OUT], 1, [For(AT, index(0), index(8), list(body))])


def test_a_kernel_works_in_place_where_it_reads_each_element_before_it_writes_there():
    kernel = loop(Load(A, X, AT), Let(B, "neg", (A,)), Store(OUT, AT, B))
    assert can_be_in_place(kernel, X, OUT)
    memory = np.arange(8, dtype=np.float32)
    interpret_kernel(in_place_kernel(kernel, 1, [(0, 0)]), [memory])
    np.testing.assert_array_equal(memory, -np.arange(8))


@pytest.mark.parametrize(
    "body, why",
    [
        ([Load(A, X, index(7) - AT), Store(OUT, AT, A)], "another place"),
        ([Load(A, X, AT), Store(OUT, AT, A), Load(B, X, AT)], "loaded after the store"),
        ([Load(A, X, AT)], "where nothing is stored, another iteration may have stored"),
        (
            [Load(A, X, AT), Store(OUT, AT, A), Store(OUT, index(7) - AT, A)],
            "stored over another's",
        ),
        ([Load(A, X, AT), Store(OUT, AT, A, repeats=True)], "chunks that overlap"),
        ([Load(A, X, AT, index(8)), Store(OUT, AT, A)], "all of a vector, or a part of it"),
        ([Load(Value("a", F32, 2), X, AT), Store(OUT, AT, A)], "its neighbour is loaded, too"),
        ([Load(A, X, AT), Store(OUT, AT, Value("a", F32, 2))], "its neighbour is stored, too"),
        (
            [Load(PAIR, X, AT, None, 2), Store(OUT, AT, PAIR)],
            "every other one is loaded, and not stored",
        ),
        ([Load(PAIR, X, AT), Store(OUT, AT, PAIR, None, 2)], "every other one is stored"),
        ([Load(PAIR, X, AT), Store(OUT, AT, PAIR, index(8))], "a part of a vector is stored"),
    ],
)
def test_else_it_does_not(body, why):
    kernel = loop(*body)
    assert not can_be_in_place(kernel, X, OUT), f"{why}:\n{kernel}"


@pytest.mark.parametrize("chunks", [Split, Vectorize])
@pytest.mark.parametrize("then", [[], [Partition("i1_outer", multiple=2)]], ids=["", "in pieces"])
def test_an_element_in_two_chunks_is_changed_once(chunks, then):
    """Also where the loop over chunks is cut, so that no index has a minimum."""
    x = np.arange(20, dtype=np.float32)
    lowered = jax.jit(lambda x: x * 2 + 1, donate_argnums=0).lower(x)
    compiled = lowered.with_schedule("k0", [chunks("i1", 8, overlap=True), *then]).compile()
    np.testing.assert_array_equal(compiled(x), x * 2 + 1)


def test_whole_chunks_are_in_place_where_others_would_overlap():
    lowered = jax.jit(lambda x: x * 2 + 1, donate_argnums=0).lower(np.arange(16, dtype=np.float32))
    for factor, is_in_place in [(8, True), (6, False)]:
        chosen = lowered.with_schedule("k0", [Split("i1", factor, overlap=True)])
        assert ("over_a_in" in chosen.as_text("kernel")) == is_in_place


def test_what_another_loop_reads_is_not_written_over():
    again = For(index_var("j", 0, 7), index(0), index(8), [Load(B, X, index_var("j", 0, 7))])
    writes = For(AT, index(0), index(8), [Load(A, X, AT), Store(OUT, AT, A)])
    for body in ([writes, again], [again, writes]):
        assert not can_be_in_place(Kernel("k0", [X, OUT], 1, body), X, OUT)
    nested = For(AT, index(0), index(8), [Load(A, X, AT), Store(OUT, AT, A), again])
    assert not can_be_in_place(Kernel("k0", [X, OUT], 1, [nested]), X, OUT)


def test_what_a_loop_needs_no_loop_before_it_writes_over():
    fills = For(AT, index(0), index(8), [Store(OUT, AT, Const(1.0, F32))])
    updates = For(AT, index(0), index(8), [Load(A, X, AT), Store(OUT, AT, A)])
    assert is_loaded_first(Kernel("k0", [X, OUT], 1, [updates, fills]), X, OUT)
    assert not is_loaded_first(Kernel("k0", [X, OUT], 1, [fills, updates]), X, OUT)


def test_an_update_of_a_filled_array_reads_its_rows_as_they_were():
    def f(x, i):
        return jax.jvp(lambda x: jnp.put_along_axis(x, i, 1.5, 1, inplace=False), (x,), (x,))[0]

    x, i = jnp.arange(5.0)[:, None], jnp.array([0, 3, 0, -1, -2], "int16")[:, None]
    np.testing.assert_array_equal(jax.jit(f)(x, i), [[1.5], [1], [1.5], [1.5], [4]])


def test_who_does_not_read_an_array_may_write_over_it():
    kernel = loop(Let(A, "const", (1.0,)), Store(OUT, AT, A))
    assert can_be_in_place(kernel, X, OUT)
    for load in ([], [Load(A, X, AT)]):
        kernel = loop(*load, Store(OUT, AT, Const(1.0, F32)))
        assert can_be_in_place(kernel, X, OUT), "a number that is stored is one element"
    assert not can_be_in_place(loop(Load(PAIR, X, AT), Store(OUT, AT, Const(1.0, F32))), X, OUT)


@pytest.mark.parametrize("dtype, size", [("int32", 8), ("float32", 9)])
def test_another_dtype_or_size_is_not_in_place(dtype, size):
    out, value = Buffer("y_out", np.dtype(dtype), size, "out"), Value("b", np.dtype(dtype))
    body = [Load(A, X, AT), Let(value, "convert", (A,)), Store(out, AT, value)]
    kernel = Kernel("k0", [X, out], 1, [For(AT, index(0), index(8), body)])
    assert not can_be_in_place(kernel, X, out)


@pytest.mark.parametrize("dtype", ["int32", "float16", "bool"])
def test_any_dtype_may_be_in_place(dtype):
    source, out = (
        Buffer(name, np.dtype(dtype), 8, role) for name, role in [("x_in", "in"), ("y_out", "out")]
    )
    value = Value("a", np.dtype(dtype))
    body = [Load(value, source, AT), Store(out, AT, value)]
    kernel = Kernel("k0", [source, out], 1, [For(AT, index(0), index(8), body)])
    assert can_be_in_place(kernel, source, out)


@pytest.mark.parametrize("other", [index(7) - AT, (AT + 1).min(7), index(3)])
def test_of_three_loads_each_is_looked_at(other):
    def kernel(*places):
        loads = [Load(Value(f"a{n}", F32), X, at) for n, at in enumerate(places)]
        return loop(*loads, Store(OUT, AT, Value("a0", F32)))

    assert can_be_in_place(kernel(AT, AT, AT), X, OUT)
    for places in [(other, AT, AT), (AT, other, AT), (AT, AT, other), (other, index(0), AT)]:
        assert not can_be_in_place(kernel(*places), X, OUT), f"{other} is loaded, too"


@pytest.mark.parametrize("size", [40, 3000])
def test_the_number_that_all_examples_of_a_loop_read_and_store_is_not_in_place(size):
    def f(count, x):
        return lax.fori_loop(0, 9, lambda i, c: (c[0] + 1, c[1] * 0.5 + c[0]), (count, x))

    x = jnp.arange(size, dtype=jnp.float32)
    expected = f(jnp.float32(3), x)
    lowered = jax.jit(f, donate_argnums=(0, 1)).lower(jnp.float32(3), x)
    (kernel,) = lowered.lowered.plan.all_kernels()
    assert all(b.role != "inout" for b in kernel.buffers if b.name == "out0")
    found = lowered.compile()(jnp.float32(3), x)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1])


def test_what_two_loops_load_is_loaded_once_if_its_index_depends_on_both():
    j = index_var("j", 0, 1)
    for place, is_once in [(j * 4 + AT, True), (AT, False), (j, False)]:
        inner = For(AT, index(0), index(4), [Load(A, X, place)])
        kernel = Kernel("k0", [X], 1, [For(j, index(0), index(2), [inner])])
        assert is_loaded_once(kernel, X) == is_once


@drawn(60, most=5)
def test_in_drawn_nests_of_loops_one_wrong_place_is_enough(rng, most):
    """Loops in loops, of which one works in place; others touch other arrays, and perhaps one more this."""
    bodies, other = [[]], Buffer("z", F32, 8, "in")
    for n in range(most):  # each new loop is in one of those before
        body = [Load(Value(f"z{n}", F32), other, AT), Let(B, "neg", (A,))]
        inside = bodies[rng.integers(len(bodies))]
        loop = For(index_var(f"i{n}", 0, 7), index(0), index(8), body)
        inside.insert(int(rng.integers(len(inside) + 1)), loop)
        bodies.append(body)
    works, wrong = rng.integers(1, most + 1), rng.integers(0, most + 1)
    bodies[works] += [Load(A, replace(X), AT), Let(B, "neg", (A,)), Store(replace(OUT), AT, B)]
    if works != most:  # nothing is read there
        bodies[most] += [Store(OUT, AT, B), Store(OUT, AT + 1, B)]
    kernel = Kernel("k0", [X, other, OUT], 1, bodies[0])
    with shown(kernel=kernel):
        assert can_be_in_place(kernel, X, OUT), (
            "each element is read before it is written, and once"
        )
    bodies[wrong].insert(int(rng.integers(len(bodies[wrong]) + 1)), Load(A, replace(X), AT + 1))
    with shown(kernel=kernel):
        assert not can_be_in_place(kernel, X, OUT), "somewhere a neighbour is read, too"
