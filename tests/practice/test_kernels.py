import numpy as np
import pytest
from kernel_judge import (
    agree,
    agree_for_drawn_sizes,
    agree_for_other_numbers,
    computes_at_most,
    floats,
    has_grid,
    loops_at_most,
)
from practice import kernel_specs as spec
from practice import kernels

import tinyjax as jax

# ---- add ----


@pytest.mark.parametrize("size", [1, 7, 40])
def test_each_program_adds_its_element(size):
    agree(kernels.add, spec.add, floats(size), floats(size))


def test_numbers_of_any_dtype_are_added():
    agree(kernels.add, spec.add, np.array([1, 2, 3], np.int32), np.array([10, 20, 30], np.int32))
    agree_for_other_numbers(kernels.add, spec.add, (7,), (7,))
    with np.errstate(invalid="ignore"):
        agree(kernels.add, spec.add, np.float32([np.inf, 1]), np.float32([-np.inf, np.inf]))


def test_a_program_adds_one_element_alone():
    computes_at_most(1, kernels.add, floats(7), floats(7))


def test_vectors_of_drawn_sizes_are_added():
    agree_for_drawn_sizes(kernels.add, spec.add, [90], lambda n: [(n,), (n,)])


# ---- double ----


@pytest.mark.parametrize("size", [8, 24, 21, 3, 75])
def test_vectors_of_any_length_are_doubled_also_the_last_block(size):
    agree(kernels.double, spec.double, floats(size))


@pytest.mark.parametrize("size, programs", [(8, 1), (24, 3), (3, 1), (21, 3), (163, 21)])
def test_each_program_doubles_a_block_of_eight(size, programs):
    has_grid(kernels.double, [floats(size)], programs)
    computes_at_most(8, kernels.double, floats(size))


def test_whole_numbers_are_doubled_to_whole_numbers():
    agree(kernels.double, spec.double, np.arange(11, dtype=np.int32))
    agree_for_other_numbers(kernels.double, spec.double, (21,))
    agree(kernels.double, spec.double, np.arange(-20, 20, dtype=np.int8))


def test_vectors_of_drawn_sizes_are_doubled():
    agree_for_drawn_sizes(kernels.double, spec.double, [200], lambda n: [(n,)])


# ---- outer ----


@pytest.mark.parametrize("sizes", [(8, 8), (24, 8), (8, 24), (19, 10), (41, 1), (3, 60)])
def test_all_products_are_there_in_rows_and_columns(sizes):
    agree(kernels.outer, spec.outer, *map(floats, sizes))


def test_products_are_made_tile_by_tile():
    has_grid(kernels.outer, [floats(19), floats(10)], 3, 2)
    has_grid(kernels.outer, [floats(90), floats(3)], 12, 1)
    has_grid(kernels.outer, [floats(3), floats(90)], 1, 12)
    computes_at_most(64, kernels.outer, floats(19), floats(10))


def test_products_of_whole_numbers_are_whole_numbers():
    agree(kernels.outer, spec.outer, *[np.arange(9, dtype=np.int32)] * 2)
    agree_for_other_numbers(kernels.outer, spec.outer, (9,), (10,), least=5001)
    with np.errstate(invalid="ignore"):
        agree(kernels.outer, spec.outer, np.float32([0, 1]), np.float32([np.inf, np.nan, 2]))


def test_products_of_drawn_vectors_are_all_there():
    agree_for_drawn_sizes(
        kernels.outer,
        spec.outer,
        [70, 40],
        lambda m, n: [(m,), (n,)],
        dtypes=["float32 int8", "int32"],
    )


# ---- relu_gradient ----


@pytest.mark.parametrize("shape", [(4, 5), (10, 3), (1, 8)])
def test_a_cotangent_passes_where_the_sum_is_positive(shape):
    agree(
        kernels.relu_gradient, spec.relu_gradient, floats(*shape), floats(shape[1]), floats(*shape)
    )


def test_nothing_passes_where_the_sum_is_zero():
    x, bias = np.full((4, 2), 0.5, np.float32), np.array([-0.5, 0.5], np.float32)
    agree(kernels.relu_gradient, spec.relu_gradient, x, bias, np.ones((4, 2), np.float32))
    x = np.array([[1e-30, -1e-30], [np.inf, 1.0]], np.float32).repeat(2, axis=0)
    for ct in (np.full((4, 2), np.nan, np.float32), np.full((4, 2), np.inf, np.float32)):
        agree(kernels.relu_gradient, spec.relu_gradient, x, np.zeros(2, np.float32), ct)


def test_what_is_no_number_is_stopped_too():
    x, bias = np.full((4, 2), -1.0, np.float32), np.zeros(2, np.float32)
    agree(kernels.relu_gradient, spec.relu_gradient, x, bias, np.full((4, 2), np.nan, np.float32))


def test_nothing_passes_where_the_sum_is_no_number():
    x, bias = np.full((4, 2), np.nan, np.float32), np.zeros(2, np.float32)
    agree(kernels.relu_gradient, spec.relu_gradient, x, bias, np.ones((4, 2), np.float32))
    agree_for_other_numbers(kernels.relu_gradient, spec.relu_gradient, (4, 2), (2,), (4, 2))


def test_of_drawn_rows_a_cotangent_passes_where_it_should():
    agree_for_drawn_sizes(
        kernels.relu_gradient,
        spec.relu_gradient,
        [30, 20],
        lambda m, n: [(m, n), (n,), (m, n)],
        dtypes=["float32"],
    )


# ---- total ----


@pytest.mark.parametrize("size", [8, 24, 3, 21, 17, 130])
def test_all_elements_are_added_and_none_beyond_the_end(size):
    agree(kernels.total, spec.total, floats(size))


def test_whole_numbers_are_added_exactly():
    agree(kernels.total, spec.total, np.arange(21, dtype=np.int32))
    agree(kernels.total, spec.total, 2**24 + np.arange(11, dtype=np.int32))  # too large for float32


@pytest.mark.parametrize("last", [np.inf, -np.inf, np.nan])
def test_an_infinity_before_the_end_counts(last):
    agree(kernels.total, spec.total, np.array([1.0, 2.0, last], np.float32))
    agree_for_other_numbers(kernels.total, spec.total, (21,))


def test_drawn_vectors_are_added_up_from_one_element_on():
    agree_for_drawn_sizes(kernels.total, spec.total, [200], lambda n: [(n,)])


# ---- row_means ----


@pytest.mark.parametrize("shape", [(4, 8), (12, 3), (10, 7), (1, 5), (37, 31)])
def test_each_row_has_its_mean(shape):
    agree(kernels.row_means, spec.row_means, floats(*shape))
    agree(kernels.row_means, spec.row_means, floats(*shape).astype(np.float16), rtol=1e-2)


def test_a_program_has_four_rows():
    has_grid(kernels.row_means, [floats(10, 7)], 3)
    computes_at_most(28, kernels.row_means, floats(10, 7))
    agree_for_other_numbers(kernels.row_means, spec.row_means, (5, 3), least=None)


def test_rows_of_drawn_matrices_have_their_means():
    agree_for_drawn_sizes(
        kernels.row_means, spec.row_means, [20, 90], lambda m, n: [(m, n)], dtypes=["float32"]
    )


# ---- softmax, and long_softmax ----


@pytest.mark.parametrize("shape", [(4, 8), (10, 7), (1, 1), (3, 40)])
def test_rows_become_probabilities(shape):
    agree(kernels.softmax, spec.softmax, floats(*shape))


def test_large_numbers_do_not_overflow():
    x = np.array([[1000.0, 1001.0, 0.0], [-1000.0, -1001.0, -1002.0]], np.float32)
    agree(kernels.softmax, spec.softmax, x)
    agree_for_other_numbers(kernels.softmax, spec.softmax, (4, 3), least=None)
    small = np.array([[0.0, -60.0, -np.inf]], np.float32)
    np.testing.assert_allclose(kernels.softmax(small), [[1, np.exp(-60.0), 0]], rtol=1e-5, atol=0)
    agree(kernels.softmax, spec.softmax, np.array([[-2e4, -2e4 - 1], [-np.inf, -3e35]], np.float32))


@pytest.mark.parametrize("shape", [(3, 48), (1, 16), (2, 80), (1, 160)])
def test_long_rows_become_probabilities(shape):
    agree(kernels.long_softmax, spec.softmax, floats(*shape))


def test_a_row_may_have_thousands_of_elements():
    agree(kernels.long_softmax, spec.softmax, floats(1, 2048))


@pytest.mark.parametrize("first", [0, 1000.0, -1000.0])
def test_the_greatest_element_may_come_in_any_piece(first):
    rising = np.linspace(first, first + 300, 48, dtype=np.float32)
    agree(kernels.long_softmax, spec.softmax, np.stack([rising, rising[::-1], np.roll(rising, 20)]))
    agree_for_other_numbers(kernels.long_softmax, spec.softmax, (2, 48), least=None, halves=False)


def test_a_row_is_looked_at_in_pieces_of_sixteen():
    computes_at_most(16, kernels.long_softmax, floats(2, 80))


def test_a_row_is_gone_through_twice():
    loops_at_most(2, kernels.long_softmax, floats(2, 80))


def test_both_can_be_jitted_and_batched():
    x = floats(3, 4, 16)
    agree(jax.vmap(kernels.long_softmax), lambda x: np.stack(list(map(spec.softmax, x))), x)
    for fun in (kernels.softmax, kernels.long_softmax):
        np.testing.assert_allclose(jax.jit(fun)(x[0]), spec.softmax(x[0]), rtol=1e-5)
    small = np.where(np.arange(32) % 2, -60, 0).astype(np.float32)[None]
    want = np.where(small, np.exp(-60.0), 1) / 16
    np.testing.assert_allclose(kernels.long_softmax(small), want, rtol=1e-5, atol=0)
    for low in (-30000, -1e35):
        found = kernels.long_softmax(np.full((1, 32), low, np.float32))
        np.testing.assert_allclose(found, np.full((1, 32), 1 / 32))


def test_rows_of_drawn_matrices_become_probabilities():
    agree_for_drawn_sizes(
        kernels.softmax, spec.softmax, [20, 90], lambda m, n: [(m, n)], dtypes=["float32"]
    )


def test_drawn_long_rows_become_probabilities():
    agree_for_drawn_sizes(
        kernels.long_softmax, spec.softmax, [3, 16], lambda m, n: [(m, 16 * n)], dtypes=["float32"]
    )
