"""Reductions and products on a GPU, without one: the schedule, and what its kernels compute."""

import dataclasses
from unittest.mock import patch

import numpy as np
import pytest
from loop_nests import assert_computes_the_same
from lowering import aval, data, interpreted, stages

import tinyjax as jax
from tinyjax.compile import lowered
from tinyjax.compile.schedules import product_schedule
from tinyjax.compile.schedules.schedule import directive_lines, scheduled
from tinyjax.compile.schedules.work_groups import WorkGroups
from tinyjax.compile.target import GPU

FUNCTIONS = {
    "all": lambda x: x.sum(),
    "rows": lambda x: (x.max(1), x.mean(1)),
    "columns": lambda x: (x.sum(0), x.min(0)),
    "softmax": lambda x: jax.nn.softmax(x, 1),
    "a sum within": lambda x: x * x.sum(1, keepdims=True) + jax.numpy.stack([x, x * x, x]).sum(0),
}


def schedule_of(f, *shape):
    *_, (kernel,) = stages(f, aval(*shape), target=GPU)
    return list(directive_lines(kernel))


def test_a_row_has_a_group():
    assert schedule_of(FUNCTIONS["softmax"], 50, 100) == [
        "RFactor('i2', 128, as_tree=True)  # items load neighbours, and combine in 7 steps",
        "RFactor('i3', 128, as_tree=True)  # items load neighbours, and combine in 7 steps",
        "Parallelize('i1', 50)  # rows do not wait for each other",
        "WorkGroups(128)  # for a row of 100 elements",
    ]


def test_columns_have_several_work_items_each():
    assert schedule_of(FUNCTIONS["columns"], 500, 100) == [
        "Split('i1', 32)  # 32 neighbours are loaded at once",
        "RFactor('i2', 8, as_tree=True)  # each column has 8 items",
        "Reorder('i2_lane', ('i1_inner',))  # a row's elements are neighbours, a column's are not",
        *(
            f"Reorder('i2_half{n}', ('i1_inner{n}',), stays=True)"
            "  # all columns take a step of the tree together"
            for n in (1, 2, 3)
        ),
        "Parallelize('i1_outer', 4)  # blocks of columns do not wait for each other",
        "WorkGroups(256)  # for columns of 500 elements",
    ]


def test_of_many_elements_each_group_leaves_a_part():
    assert schedule_of(FUNCTIONS["all"], 1000, 1000) == [
        "Fuse(('i1', 'i2'))  # a row is contiguous",
        "RFactor('i1_i2', 245)  # 1,000,000 elements for 1 results",
        "RFactor('i1_i2', 256, as_tree=True)  # items load neighbours, and combine in 8 steps",
        "RFactor('i1_i2_partial', 256, as_tree=True)"
        "  # items load neighbours, and combine in 8 steps",
        "Parallelize('i1_i2_piece', 245)  # each leaves a partial result",
        "WorkGroups(256)  # for each piece",
    ]


def test_a_short_row_has_one_work_item():
    assert schedule_of(FUNCTIONS["softmax"], 5000, 8) == [
        "Parallelize('i1', 5000, group=256)  # a row of 8 elements is no work for a group"
    ]


# Groups of 16 work-items, which are enough to go wrong, take the least time to interpret and to build.
SMALL = dataclasses.replace(GPU, group=16, reduction_items=16, reduction_grain=64)


@pytest.mark.parametrize("shape", [(1, 1), (3, 17), (2, 1023), (1023, 2), (70, 17)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_interpreted_kernels_give_what_eager_mode_gives(name, shape):
    results, expected = interpreted(FUNCTIONS[name], data(*shape), target=SMALL)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_before_work_items_share_its_work_a_kernel_computes_the_same(name):
    *_, (kernel,) = stages(FUNCTIONS[name], aval(3, 100), target=SMALL)
    if isinstance(kernel.schedule[-1], WorkGroups):
        assert_computes_the_same(kernel, scheduled(kernel.naive, kernel.schedule[:-1]))


@pytest.mark.slow  # PoCL takes seconds to build a kernel of work-groups
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_cpu_can_run_them(name):
    f, args = FUNCTIONS[name], [data(70, 40), data(1023, 2)]
    both = lambda args: [f(x) for x in args]  # noqa: E731
    with patch.object(lowered, "target_of", lambda device: SMALL):
        compiled = jax.jit(both).lower(args).compile()
    for found, wanted in zip(jax.tree.leaves(compiled(args)), jax.tree.leaves(both(args))):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_groups_may_have_fewer_items_than_share_a_column(name):
    four = dataclasses.replace(SMALL, group=4, local_size=4)
    results, expected = interpreted(FUNCTIONS[name], data(70, 40), target=four)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def test_the_sum_of_no_elements_is_zero():
    (result,), _ = interpreted(FUNCTIONS["all"], data(0, 3), target=SMALL)
    assert result == 0


# ---- few elements that are long sums ----

LONG_SUMS = {
    "of a product": lambda x: x.T @ x,
    "and more": lambda x: jax.numpy.tanh(x.T @ x / 100),
    "of one number": lambda x: (x * x).sum() + 1,
    "of a convolution": lambda x: jax.lax.conv(x[None, None], x[None, None], (1, 1), [(1, 1)] * 2),
}


def test_few_elements_that_are_long_sums_have_a_group_each():
    assert schedule_of(LONG_SUMS["of a product"], 5000, 3)[-3:] == [
        "RFactor('i3', 256, as_tree=True)  # items load neighbours, and combine in 8 steps",
        "Parallelize('i1_i2', 9)  # rows do not wait for each other",
        "WorkGroups(256)  # for a row of 5,000 elements",
    ]


@pytest.mark.parametrize("name", LONG_SUMS)
def test_groups_give_the_sums_of_eager_mode(name):
    results, expected = interpreted(LONG_SUMS[name], data(70, 3), target=SMALL)
    np.testing.assert_allclose(results[0], expected[0], rtol=1e-4, atol=1e-4)


# ---- products ----

TILES = dataclasses.replace(GPU, group=16)  # of four rows and columns
PRODUCTS = {
    "epilogue": lambda x, y: jax.numpy.tanh(x @ y + 1),
    "transposed": lambda x, y: (x.T @ x, y @ y.T),
    "batch": lambda x, y: jax.numpy.stack([x, x]) @ y,
    "equal numbers": lambda x, y: x @ jax.numpy.full(y.shape, 0.5, "float32"),
    "halves": lambda x, y: x.astype("float16") @ y.astype("float16"),
    "integers": lambda x, y: (x * 9).astype("int32") @ (y * 9).astype("int32"),
}


def test_a_group_has_a_tile_of_a_product():
    assert schedule_of_product(64, 64, 64) == [
        "Split('row', 16, overlap=True)"
        "  # a group has a tile of the result, and reads 16 rows for 256 sums",
        "Split('column', 16, overlap=True)"
        "  # a group has a tile of the result, and reads 16 rows for 256 sums",
        "Reorder('column_outer', ('row_inner',))"
        "  # a group has a tile of the result, and reads 16 rows for 256 sums",
        "Split('k', 16)  # of 16 rows and columns, 16 elements at a time",
        "Reorder('k_outer', ('row_inner', 'column_inner'))"
        "  # all items go on to the next elements together",
        "Reorder('column_inner', ('row_inner',))  # for each column_inner, the same is read",
        "Hoist('column_inner', inner=('row_inner', 'k_inner'))  # read again and again, loaded once",
        "Reorder('row_inner', ('column_inner',))  # for each row_inner, the same is read",
        "Hoist('row_inner', inner=('k_inner', 'column_inner'))  # read again and again, loaded once",
        "Fuse(('row_outer', 'column_outer'))  # tiles are numbered",
        "Parallelize('row_outer_column_outer', 16)  # tiles do not wait for each other",
        "WorkGroups(256)  # what 16 items read is in local memory",
    ]


def schedule_of_product(rows, depth, columns):
    *_, (kernel,) = stages(lambda x, y: x @ y, aval(rows, depth), aval(depth, columns), target=GPU)
    return list(directive_lines(kernel))


@pytest.mark.parametrize(
    "name, sizes",
    [
        *[("epilogue", sizes) for sizes in [(16, 16, 16), (17, 5, 33), (3, 1023, 2), (1, 70, 40)]],
        *[("epilogue", sizes) for sizes in [(16, 64, 3), (40, 40, 3)]],  # three columns
        *[(name, (9, 14, 21)) for name in PRODUCTS],
    ],
    ids=str,
)
def test_interpreted_products_give_what_eager_mode_gives(name, sizes):
    rows, depth, columns = sizes
    args = data(rows, depth), data(depth, columns)
    results, expected = interpreted(PRODUCTS[name], *args, target=TILES)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-2, atol=1e-2)


SEVERAL = [(16, 16, 16), (33, 4, 18), (20, 36, 35), (8, 24, 9)]
NARROW = [(40, 19, 2), (1, 34, 33), (9, 24, 7)]  # an item of these has one element


@pytest.mark.parametrize(
    "name, sizes",
    [
        (name, sizes)
        for name in PRODUCTS
        for sizes in ([*SEVERAL, *NARROW] if name == "transposed" else [SEVERAL[1], NARROW[2]])
    ],  # two products in one program: of all sizes
    ids=str,
)
def test_items_with_several_elements_of_a_product_give_the_same(name, sizes, monkeypatch):
    monkeypatch.setattr(product_schedule, "GROUPS", 1)
    rows, depth, columns = sizes
    args = data(rows, depth), data(depth, columns)
    results, expected = interpreted(PRODUCTS[name], *args, target=TILES)
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("size, each", [(300, 1), (512, 2), (1000, 4)])
def test_items_have_several_rows_and_columns_where_groups_are_enough(size, each):
    for line, axis in zip(schedule_of_product(size, size, size), ("row", "column")):
        assert line.startswith(f"Split('{axis}', {16 * each}, overlap=True)")


@pytest.mark.parametrize("sizes", [(60000, 200, 3), (2, 200, 60000), (50, 200, 60000)], ids=str)
def test_what_an_item_has_is_no_larger_than_the_result(sizes):
    rows, _, columns = sizes
    side = 32 if min(rows, columns) >= 32 else 16
    for line, axis in zip(schedule_of_product(*sizes), ("row", "column")):
        assert line.startswith(f"Split('{axis}', {side}")


def test_before_work_items_share_its_work_a_product_is_the_same():
    shapes = aval(9, 14), aval(14, 21)
    *_, (kernel,) = stages(lambda x, y: x @ y, *shapes, target=TILES)
    assert_computes_the_same(kernel, scheduled(kernel.naive, kernel.schedule[:-1]))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(64, 64, 64), (17, 40, 17), (500, 9, 750)], ids=str)
def test_a_cpu_can_run_products(sizes):
    rows, depth, columns = sizes
    args = data(rows, depth), data(depth, columns)
    with patch.object(lowered, "target_of", lambda device: GPU):
        compiled = jax.jit(PRODUCTS["epilogue"]).lower(*args).compile()
    np.testing.assert_allclose(compiled(*args), PRODUCTS["epilogue"](*args), rtol=1e-4, atol=1e-5)
