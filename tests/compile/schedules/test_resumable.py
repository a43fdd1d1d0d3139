"""A loop that is launched for some iterations at a time computes what it computes in one launch."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.interpret import interpret_kernel
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
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
from tinyjax.compile.schedules.resumable import Resumable

INT32, BOOL = np.dtype("int32"), np.dtype(bool)
ZERO = index(0)


def number(n):
    return Const(np.int32(n), INT32)


def doubling(end):
    """out[0] = the first power of two times in[0] that is at least `end`"""
    given, out = Buffer("x_in", INT32, 1, "in"), Buffer("out0", INT32, 1, "out")
    carry = PrivateArray("carry_1", INT32, 1)
    a, b, c, d = (Value(name, INT32) for name in "abcd")
    holds = Value("t1", BOOL)
    head = [Load(b, carry, ZERO), Let(holds, "lt", (b, number(end)))]
    body = [Let(c, "add", (b, b)), Store(carry, ZERO, c)]
    start = [Load(a, given, ZERO), Allocate(carry, None), Store(carry, ZERO, a)]
    after = [Load(d, carry, ZERO), Store(out, ZERO, d)]
    return Kernel("while", [given, out], 1, [*start, While(head, holds, body), *after])


def running_sums(count):
    """out[i1] = the sum of in[0] .. in[i1]; the carry itself is stored nowhere"""
    given, out = Buffer("x_in", INT32, count, "in"), Buffer("out0", INT32, count, "out")
    carry, i = PrivateArray("carry_1", INT32, 1), index_var("i1", 0, count - 1)
    a, b, c = (Value(name, INT32) for name in "abc")
    body = [Load(a, given, i), Load(b, carry, ZERO), Let(c, "add", (a, b))]
    body += [Store(carry, ZERO, c), Store(out, i, c)]
    loop = For(i, ZERO, index(count), body)
    return Kernel("scan", [given, out], 1, [Allocate(carry, number(0)), loop])


def launched(kernel, x, size, iterations):
    """What the launches of a kernel leave in out0, and how many there were."""
    memory = [np.array(x, np.int32), np.zeros(size, np.int32)]
    memory += [np.zeros(b.size, b.dtype) for b in kernel.buffers[2:]]
    start, launches, length = 0, 0, kernel.iterations.length
    while length is None or start < length:
        stop = start + iterations if length is None else min(start + iterations, length)
        memory[2][:] = start, stop, 0, 0
        interpret_kernel(kernel, memory)
        launches += 1
        if length is None and not memory[2][2]:
            break
        start = 1 if length is None else stop
        stop = 1 + iterations
    return memory[1].tolist(), launches


@pytest.mark.parametrize(("iterations", "launches"), [(3, 3), (100, 1)])
def test_a_while_goes_on_from_the_results_of_the_launch_before(iterations, launches):
    kernel = Resumable("", work=1).apply(doubling(100))
    check_kernel(kernel)
    assert launched(kernel, [3], 1, iterations) == ([192], launches)


def test_a_carry_that_is_stored_nowhere_gets_a_buffer():
    kernel = Resumable("i1", work=1).apply(running_sums(7))
    check_kernel(kernel)
    assert [buffer.name for buffer in kernel.buffers] == ["x_in", "out0", "iterations", "kept1"]
    assert launched(kernel, range(7), 7, 2) == ([0, 1, 3, 6, 10, 15, 21], 4)


def test_the_loop_is_asked_for_by_its_axis():
    naive = running_sums(3)
    assert Resumable("i7", work=1).why_not(naive) == "it has no axis 'i7'; its axes are i1"
    assert Resumable("", work=1).why_not(naive) == "it has no while"
    once = Resumable("i1", work=1).apply(naive)
    assert Resumable("i1", work=1).why_not(once) == "it is resumable already"


def test_a_loop_without_iterations_leaves_what_it_is_given():
    def halved(i, x):
        return lax.fori_loop(0, i + 1, lambda _, y: y / 2, x)

    x = np.float32([1, 2, 3])
    lowered = jax.jit(lambda x: lax.fori_loop(0, 0, halved, x)).lower(x)
    (kernel,) = lowered.compiler_ir("schedule").kernels.values()
    assert kernel.iterations.length == 0
    memory = [x, *(np.zeros(b.size, b.dtype) for b in kernel.buffers[1:])]
    memory[-1][3] = 100  # the most iterations of loops inside
    interpret_kernel(kernel, memory)
    assert any(np.array_equal(found, x) for found in memory[1:])
