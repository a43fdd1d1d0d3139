import pytest
from loop_nests import F32, A, assert_computes_the_same, axis, doubled, loop, row_sums, scaled_rows

from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import Buffer, Kernel, Load, Store
from tinyjax.compile.schedules.fuse import Fuse, divides
from tinyjax.compile.schedules.split import Split


def copied(*shape):
    """y[i1, i2, ...] = x[i1, i2, ...]"""
    count, at = 1, index(0)
    axes = [axis(f"i{n}", size) for n, size in enumerate(shape, 1)]
    for i, size in zip(axes, shape):
        count, at = count * size, at * size + i
    x, y = Buffer("x_in", F32, count, "in"), Buffer("y_out", F32, count, "out")
    body = [Load(A, x, at), Store(y, at, A)]
    for i, size in zip(reversed(axes), reversed(shape)):
        body = [loop(i, size, *body)]
    return Kernel("k0", [x, y], 1, body)


def test_elements_are_numbered_as_they_lie_in_memory():
    kernel = Fuse(("i1", "i2", "i3")).apply(copied(2, 3, 5))
    assert str(kernel).splitlines()[1:] == [
        "  for i1_i2_i3 in 0 .. 30:",
        "    a:f32 = x_in[i1_i2_i3]",
        "    y_out[i1_i2_i3] = a",
    ]
    assert_computes_the_same(kernel, copied(2, 3, 5))


@pytest.mark.parametrize("axes", [("i1", "i2"), ("i2", "i3")])
@pytest.mark.parametrize("shape", [(2, 3, 17), (17, 3, 2)])
def test_some_of_the_axes_can_be_collapsed(axes, shape):
    assert_computes_the_same(Fuse(axes).apply(copied(*shape)), copied(*shape))


def test_what_needs_the_row_alone_divides():
    naive = scaled_rows(5, 7)
    kernel = Fuse(("i1", "i2")).apply(naive)
    assert divides(kernel, "i1_i2") and not divides(Fuse(("i1", "i2")).apply(copied(5, 7)), "i1_i2")
    assert "row_in[i1_i2 / 7]" in str(kernel) and "x_in[i1_i2]" in str(kernel)
    assert_computes_the_same(kernel, naive)


@pytest.mark.parametrize(
    "kernel, axes, reason",
    [
        (copied(2, 3), ("i1", "i7"), "no axis 'i7'; its axes are i1, i2"),
        (copied(2, 3), ("i2", "i1"), "i1 is not all that the loop over i2 has inside"),
        (row_sums(2, 3), ("i1", "i2"), "i2 is not all that the loop over i1 has inside"),
        (copied(2, 3), ("i1",), "two axes or more"),
        (Split("i1", 4).apply(doubled(8)), ("i1_outer", "i1_inner"), "not from 0 to a constant"),
    ],
)
def test_loops_that_are_not_nested_perfectly_are_left(kernel, axes, reason):
    assert reason in Fuse(axes).why_not(kernel)
