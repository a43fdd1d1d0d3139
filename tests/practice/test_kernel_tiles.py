import numpy as np
import pytest
from kernel_judge import (
    RNG,
    agree,
    agree_for_drawn_sizes,
    agree_for_other_numbers,
    computes_at_most,
    floats,
    has_grid,
)
from practice import kernel_specs as spec
from practice import kernel_tiles as kernels

# ---- transpose ----


@pytest.mark.parametrize("shape", [(8, 8), (16, 24), (24, 8), (40, 8), (8, 48)])
def test_rows_become_columns(shape):
    agree(kernels.transpose, spec.transpose, floats(*shape))


def test_a_program_transposes_a_tile():
    has_grid(kernels.transpose, [floats(16, 24)], 3, 2)
    computes_at_most(64, kernels.transpose, floats(16, 24))


def test_whole_numbers_stay_whole_numbers():
    agree(kernels.transpose, spec.transpose, np.arange(128, dtype=np.int32).reshape(8, 16))
    agree_for_other_numbers(kernels.transpose, spec.transpose, (8, 16))


def test_drawn_matrices_are_transposed():
    agree_for_drawn_sizes(
        kernels.transpose,
        spec.transpose,
        [7, 5],
        lambda m, n: [(8 * m, 8 * n)],
        dtypes=["float32", "bool"],
    )


# ---- matmul ----


@pytest.mark.parametrize("m, k, n", [(8, 8, 8), (16, 8, 24), (8, 32, 8), (16, 24, 8), (8, 48, 40)])
def test_products_are_summed_over_all_tiles(m, k, n):
    agree(kernels.matmul, spec.matmul, floats(m, k), floats(k, n))
    halves = [x.astype(np.float16) for x in (floats(m, k), floats(k, n))]
    agree(kernels.matmul, spec.matmul, *halves, rtol=5e-2)


def test_the_tiles_of_one_sum_follow_each_other():
    has_grid(kernels.matmul, [floats(16, 24), floats(24, 8)], 2, 1, 3)
    computes_at_most(64, kernels.matmul, floats(16, 24), floats(24, 8))
    agree_for_other_numbers(kernels.matmul, spec.matmul, (8, 16), (16, 8), least=5001, halves=False)


def test_drawn_matrices_are_multiplied():
    agree_for_drawn_sizes(
        kernels.matmul,
        spec.matmul,
        [4, 8, 3],
        lambda m, k, n: [(8 * m, 8 * k), (8 * k, 8 * n)],
        rtol=1e-3,
    )


# ---- quantized_matmul ----


def codes(*shape):
    return RNG.integers(-128, 128, shape).astype(np.int8)


@pytest.mark.parametrize("m, k, n", [(8, 8, 8), (8, 32, 16), (16, 24, 8), (8, 48, 16)])
def test_codes_are_scaled_column_by_column(m, k, n):
    agree(
        kernels.quantized_matmul,
        spec.quantized_matmul,
        floats(m, k),
        codes(k, n),
        abs(floats(n)) / 9,
    )


def test_codes_are_no_floats_before_they_are_in_a_tile():
    args = floats(16, 24), codes(24, 8), floats(8)
    computes_at_most(64, kernels.quantized_matmul, *args)


def test_the_greatest_codes_do_not_overflow():
    x, most = np.ones((8, 16), np.float32), np.full((16, 8), 127, np.int8)
    agree(kernels.quantized_matmul, spec.quantized_matmul, x, most, np.full(8, 0.5, np.float32))
    x[1, 3], scale = np.nan, np.arange(-4, 4).astype(np.float32)
    agree(
        kernels.quantized_matmul, spec.quantized_matmul, x, np.full((16, 8), -128, np.int8), scale
    )


def test_the_scale_is_applied_to_the_complete_sum():
    """Codes that cancel, times a scale that makes each partial sum too large for float32."""
    x, scale = np.ones((8, 16), np.float32), np.full(8, 1e36, np.float32)
    most = np.repeat([[127], [-126]], 8, axis=0).astype(np.int8) * np.ones((1, 8), np.int8)
    agree(kernels.quantized_matmul, spec.quantized_matmul, x, most, scale)


def test_drawn_matrices_are_multiplied_with_codes():
    def of_floats(x, y, scale):
        """Like quantized_matmul, of numbers that are drawn: y is rounded."""
        return kernels.quantized_matmul(x, (6 * y).astype(np.int8), scale)

    agree_for_drawn_sizes(
        of_floats,
        lambda x, y, scale: spec.quantized_matmul(x, (6 * y).astype(np.int8), scale),
        [3, 8, 3],
        lambda m, k, n: [(8 * m, 8 * k), (8 * k, 8 * n), (8 * n,)],
        dtypes=["float32"],
        rtol=1e-3,
    )


# ---- convolutions ----


@pytest.mark.parametrize("size, width", [(8, 1), (16, 3), (27, 4), (9, 9), (10, 2), (60, 13)])
def test_a_vector_is_convolved_also_at_its_end(size, width):
    agree(kernels.convolve, spec.convolve, floats(size), floats(width))


def test_a_program_makes_eight_elements():
    has_grid(kernels.convolve, [floats(27), floats(4)], 3)
    computes_at_most(8 * 4, kernels.convolve, floats(80), floats(4))


def test_an_infinity_counts_only_where_it_is_covered():
    x = floats(20)
    x[-1] = np.inf
    agree(kernels.convolve, spec.convolve, x, np.array([1.0, 2.0, 3.0], np.float32))
    agree_for_other_numbers(kernels.convolve, spec.convolve, (20,), (3,), least=5001)
    with np.errstate(invalid="ignore"):
        agree(kernels.convolve, spec.convolve, x, np.array([1.0, 0.0, 0.0], np.float32))


@pytest.mark.parametrize(
    "image, window",
    [
        ((8, 8), (1, 1)),
        ((20, 13), (3, 2)),
        ((10, 18), (3, 5)),
        ((9, 9), (3, 3)),
        ((34, 27), (7, 8)),
    ],
)
def test_an_image_is_convolved_also_at_its_edges(image, window):
    agree(kernels.convolve_image, spec.convolve_image, floats(*image), floats(*window), rtol=1e-4)


def test_a_program_makes_a_tile_of_the_image():
    computes_at_most(64 * 6, kernels.convolve_image, floats(40, 26), floats(3, 2))
    agree_for_other_numbers(
        kernels.convolve_image, spec.convolve_image, (9, 10), (2, 3), least=5001
    )


def test_drawn_vectors_are_convolved():
    agree_for_drawn_sizes(
        kernels.convolve,
        spec.convolve,
        [60, 30],
        lambda n, width: [(n + width,), (width,)],
        rtol=1e-3,
    )


def test_drawn_images_are_convolved():
    agree_for_drawn_sizes(
        kernels.convolve_image,
        spec.convolve_image,
        [30, 40, 6, 9],
        lambda m, n, a, b: [(m + a, n + b), (a, b)],
        rtol=1e-3,
        count=4,
    )


# ---- running_sum ----


@pytest.mark.parametrize("size", [8, 3, 24, 21, 130])
def test_a_block_goes_on_where_the_one_before_it_ended(size):
    agree(kernels.running_sum, spec.running_sum, floats(size))


def test_running_sums_of_whole_numbers_are_exact():
    agree(kernels.running_sum, spec.running_sum, np.arange(40, dtype=np.int32))
    agree(kernels.running_sum, spec.running_sum, 2**24 + np.arange(11, dtype=np.int32))


def test_sums_may_be_zero_at_the_end_of_a_block():
    x = np.repeat(np.float32([1, -1, 2, -2, 0, 3]), 8)
    for numbers in (x, x.astype(np.int32), x[8:], np.zeros_like(x), -0.0 * x):
        agree(kernels.running_sum, spec.running_sum, numbers)


def test_an_infinity_is_carried_on():
    x = floats(20)
    x[9] = np.inf
    agree(kernels.running_sum, spec.running_sum, x)
    agree_for_other_numbers(kernels.running_sum, spec.running_sum, (20,), least=10**6, halves=False)


def test_a_second_call_begins_at_zero():
    x = floats(16)
    agree(kernels.running_sum, spec.running_sum, x)
    agree(kernels.running_sum, spec.running_sum, x)


def test_drawn_vectors_have_their_running_sums():
    agree_for_drawn_sizes(kernels.running_sum, spec.running_sum, [200], lambda n: [(n,)], rtol=1e-3)
