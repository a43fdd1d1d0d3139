import pytest
from loop_nests import F32, A, assert_computes_the_same, axis, loop, row_sums, scaled_rows

from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.kernel_ir import Buffer, Kernel, Load, Store
from tinyjax.compile.schedules.tile import Tile


def transposed(rows, columns, between=1):
    """y[i1, i2, i3] = x[i3, i2, i1]"""
    count = rows * columns * between
    x, y = Buffer("x_in", F32, count, "in"), Buffer("y_out", F32, count, "out")
    i, j, k = axis("i1", rows), axis("i2", between), axis("i3", columns)
    body = [Load(A, x, (k * between + j) * rows + i), Store(y, (i * between + j) * columns + k, A)]
    inner = loop(j, between, loop(k, columns, *body))
    return Kernel("k0", [x, y], 1, [loop(i, rows, inner)])


def test_loops_between_come_first_and_loops_within_a_tile_last():
    text = str(Tile("i1", "i3", 4, 4).apply(transposed(10, 8, 3)))
    loops = [line.split()[1] for line in text.splitlines() if "for" in line]
    assert loops == ["i2", "i1_outer", "i3_outer", "i1_inner", "i3_inner"]


@pytest.mark.parametrize("rows, columns", [(1, 1), (4, 8), (5, 17), (33, 2)])
def test_tiles_at_the_edge_are_smaller(rows, columns):
    naive = transposed(rows, columns, 2)
    assert_computes_the_same(Tile("i1", "i3", 4, 4).apply(naive), naive)


@pytest.mark.parametrize(
    "kernel, directive, reason",
    [
        (scaled_rows(4, 5), Tile("i1", "i7", 4, 4), "no axis 'i7'"),
        (scaled_rows(4, 5), Tile("i2", "i1", 4, 4), "i1 is not nested perfectly in i2"),
        (scaled_rows(4, 5), Tile("i1", "i1", 4, 4), "not nested perfectly"),
        (row_sums(4, 5), Tile("i1", "i2", 4, 4), "i2 is not nested perfectly in i1"),
    ],
)
def test_only_perfect_nests_are_tiled(kernel, directive, reason):
    assert reason in directive.why_not(kernel)


def test_loops_whose_iterations_depend_on_each_other_stay_in_order():
    y = Buffer("y_out", F32, 8, "kept")
    i, j = axis("i1", 4), axis("i2", 2)
    body = [Load(A, y, index(0)), Store(y, i * 2 + j, A)]
    kernel = Kernel("k0", [y], 1, [loop(i, 4, loop(j, 2, *body))])
    assert "needs what others leave in y_out" in Tile("i1", "i2", 2, 2).why_not(kernel)
