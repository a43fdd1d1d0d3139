import numpy as np
import pytest
from loop_nests import F32, A, B, assert_computes_the_same, axis, doubled, loop

from tinyjax.compile.kernel.indices import index, index_var
from tinyjax.compile.kernel.kernel_ir import (
    Allocate,
    Buffer,
    Kernel,
    Let,
    Load,
    PrivateArray,
    Store,
    Value,
)
from tinyjax.compile.schedules.gather import Gather
from tinyjax.compile.schedules.split import Split
from tinyjax.compile.schedules.vectorize import Vectorize


def apart(count, place):
    """y[i1] = 2 x[place(i1)]"""
    x, y = Buffer("x_in", F32, 2 * count, "in"), Buffer("y_out", F32, count, "out")
    i = axis("i1", count)
    body = [Load(A, x, place(i)), Let(B, "add", (A, A)), Store(y, i, B)]
    return Kernel("k0", [x, y], 1, [loop(i, count, *body)])


@pytest.mark.parametrize("size", [15, 16, 17, 100])
@pytest.mark.parametrize("place", [lambda i: i * 2, lambda i: i // 3, lambda i: index(99) - i])
def test_elements_that_lie_apart_are_copied_and_loaded_as_vectors(size, place):
    naive = apart(100, place) if size == 100 else apart(size, lambda i: i * 2)
    kernel = Gather("i1_inner").apply(Split("i1", 16).apply(naive))
    vectors = Vectorize("i1_inner", 16).apply(kernel)
    assert "b:f32 x16 = add a a" in str(vectors)
    assert_computes_the_same(kernel, naive)
    assert_computes_the_same(vectors, naive)


def test_neighbours_need_no_copy():
    reason = Gather("i1_inner").why_not(Split("i1", 16).apply(doubled(100)))
    assert reason == "neighbouring iterations load neighbouring elements"
    assert "no axis 'i7'" in Gather("i7").why_not(doubled(5))


def test_a_place_that_the_iteration_stores_is_not_gathered_from():
    int32 = np.dtype("int32")
    x, y = Buffer("x_in", F32, 16, "in"), Buffer("y_out", F32, 16, "out")
    i, place = axis("i1", 16), PrivateArray("p", int32, 1)
    number, u = Value("n", int32), Value("u", int32)
    body = [Allocate(place, None), Let(number, "convert", (i,)), Store(place, index(0), number)]
    body += [Load(u, place, index(0)), Load(A, x, index_var("u", 0, 15)), Store(y, i, A)]
    naive = Kernel("k0", [x, y], 1, [loop(i, 16, *body)])
    assert "depends on what iterations store in p" in Gather("i1").why_not(naive)
