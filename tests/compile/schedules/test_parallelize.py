import numpy as np
import pytest
from loop_nests import assert_computes_the_same, doubled, row_sums, scaled_rows

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.kernel.indices import index_value
from tinyjax.compile.schedules.parallelize import Parallelize
from tinyjax.compile.schedules.split import Split


def test_each_work_item_has_a_run_of_the_iterations():
    kernel = Parallelize("i1", 4).apply(doubled(100))
    assert kernel.items == 4
    assert "for i1 in item * 25 .. item * 25 + 25:" in str(kernel)


@pytest.mark.parametrize("items, group", [(1, 1), (4, 1), (4, 3), (17, 64), (1023, 2)])
@pytest.mark.parametrize("size", [1, 17, 1023])
def test_work_items_beyond_the_last_run_find_an_empty_loop(size, items, group):
    kernel = Parallelize("i1", items, group).apply(doubled(size))
    assert kernel.items % group == 0
    assert_computes_the_same(kernel, doubled(size))


def test_work_items_in_groups_go_on_by_their_number():
    text = str(Parallelize("i1", 4, 4).apply(doubled(100)))
    assert "for i1 in item .. 100 by 4:" in text


@pytest.mark.parametrize("rows, columns", [(1, 17), (3, 100), (5, 1)])
def test_several_work_items_share_a_row(rows, columns):
    naive = scaled_rows(rows, columns)
    kernel = Parallelize("i2", 4).apply(Parallelize("i1", 2).apply(naive))
    assert kernel.items == 8
    assert_computes_the_same(kernel, naive)


def test_sums_of_rows_are_shared_out_by_rows():
    kernel = Parallelize("i1", 3).apply(row_sums(7, 20))
    assert_computes_the_same(kernel, row_sums(7, 20))


@pytest.mark.parametrize(
    "kernel, directive, reason",
    [
        (row_sums(7, 20), Parallelize("i2", 4), "needs what others leave in acc1"),
        (row_sums(7, 20), Parallelize("i3", 4), "no axis 'i3'"),
        (doubled(8), Parallelize("i1", 0), "1 work-item or more"),
        (
            Parallelize("i1", 2).apply(scaled_rows(2, 5)),
            Parallelize("i2", 5, 4),
            "do not fill groups of 4",
        ),
        (Split("i1", 4).apply(doubled(9)), Parallelize("i1_inner", 4), "no constants"),
    ],
)
def test_iterations_that_depend_on_each_other_are_not_shared_out(kernel, directive, reason):
    assert reason in directive.why_not(kernel)


@pytest.mark.parametrize("size", [1, 17, 100])
def test_runs_may_begin_at_multiples_of_a_number(size):
    kernel = Parallelize("i1", 3, multiple=4).apply(doubled(size))
    assert all(number % 4 == 0 for number in starts(kernel))
    assert_computes_the_same(kernel, doubled(size))


def starts(kernel):
    (loop,) = kernel.body
    return [index_value(loop.start, {"item": item}) for item in range(kernel.items)]


def test_a_border_is_shared_out_too():
    differences = jax.jit(lambda x: jnp.concatenate([x[1:], x[:1]]) - x)
    x = np.arange(100_003, dtype=np.float32)
    text = differences.lower(x).as_text()
    assert "ticket" not in text and "i1_border1 = item;" in text
    np.testing.assert_array_equal(differences(x), np.roll(x, -1) - x)


def test_pieces_of_few_long_rows_are_shared_out():
    x = np.arange(200_006, dtype=np.float32).reshape(2, -1)
    rolled = jax.jit(lambda x: jnp.roll(x, 3, 1))
    assert "work-items: 50" in rolled.lower(x).as_text("kernel")
    np.testing.assert_array_equal(rolled(x), np.roll(x, 3, 1))
