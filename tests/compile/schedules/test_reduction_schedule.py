"""The schedules of reductions: results at every boundary of vectors, chunks and pieces."""

from functools import partial

import numpy as np
import pytest
from lowering import aval, interpreted, stages

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.kernel_ir import Allocate, Combine, Load, Store, statement_lines
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.schedules.directive import Directive
from tinyjax.compile.schedules.schedule import directive_lines


def same(f, *args, rtol=1e-5):
    for compiled, eager in zip(
        jax.tree.leaves(jax.jit(f)(*args)), jax.tree.leaves(f(*args)), strict=True
    ):
        assert compiled.dtype == eager.dtype
        compiled, eager = (np.asarray(x) for x in (compiled, eager))
        np.testing.assert_allclose(
            compiled.astype(np.float64), eager.astype(np.float64), rtol=rtol, atol=1e-5
        )


def data(*shape, dtype=np.float32):
    return np.random.default_rng(0).uniform(-2, 2, shape).astype(dtype)


@pytest.mark.parametrize("columns", [1, 7, 15, 16, 17, 63, 64, 65, 130])
def test_rows_of_any_length(columns):
    same(lambda x: (jax.nn.softmax(x), x.sum(1), x.max(1)), data(5, columns))


@pytest.mark.parametrize("columns, width", [(6, "across"), (8, 8), (10, 16), (12, 4), (16, 16)])
def test_a_short_row_has_the_vectors_that_it_fills(columns, width):
    x, w = data(300, columns), data(columns)
    for f in (lambda x, w: (x * w).sum(1), lambda x, w: x @ w):
        schedule = jax.jit(f).lower(x, w).as_text("schedule of k0")
        rows = "Vectorize('i1', 16, gather=True, overlap=True)"
        own = [f"Vectorize('i2{part}', {width})" for part in ("", "_inner")]
        assert any(text in schedule for text in ([rows] if width == "across" else own)), schedule
        same(f, x, w)


@pytest.mark.parametrize("rows", [1, 3, 4, 6, 201, 1025])
def test_any_number_of_rows(rows):
    same(lambda x: (jax.nn.softmax(x), x.sum(1), x.max(1)), data(rows, 40))


@pytest.mark.parametrize("rows", [15, 16, 17, 60, 501])
@pytest.mark.parametrize("columns", [20, 64, 600])
def test_costly_results_of_rows_are_computed_in_vectors(rows, columns):
    def f(x, y):
        return jnp.tanh(jnp.sin(x).sum(1) * y)

    x, y = data(rows, columns), data(rows)
    same(f, x, y, rtol=1e-4)
    schedule = jax.jit(f).lower(x, y).as_text("schedule of k0")
    assert ("Vectorize('i1_inner1', 16)" in schedule) == (rows >= 16)


def test_costly_results_of_rows_that_gather_are_in_vectors_too():
    def f(x, table, at):
        return jnp.tanh(x.sum(1) - jnp.exp(jnp.asarray(table)[at]))

    x, table, at = data(40, 10), data(5), np.arange(40) % 5
    same(f, x, table, at)
    schedule = jax.jit(f).lower(x, table, at).as_text("schedule of k0")
    assert "Vectorize('i1_inner1', 16, gather=True)" in schedule


def test_a_few_rows_are_added_up_together():
    kernel = jax.jit(lambda x: x.sum(1)).lower(data(10, 100)).as_text("kernel")
    loop = kernel.index("for i2_outer in 0 .. 6:")
    assert (
        kernel.count("for i2_outer in 0 .. 6:") == 2
    )  # for four rows, and for the two that are left
    assert kernel[loop:].index("acc1_x3[0] = add") < kernel[loop:].index("low")


@pytest.mark.parametrize("shape", [(300, 2), (17, 3), (40, 30, 5), (301, 8), (300, 13)])
def test_few_columns_are_a_part_of_a_vector(shape):
    x, axis = data(*shape), len(shape) - 2
    width = max(4, 1 << (shape[-1] - 1).bit_length())
    schedule = jax.jit(lambda x: x.sum(axis)).lower(x).as_text("schedule of k0")
    assert f"Vectorize('i{axis + 1}', {width})" in schedule
    same(lambda x: (x.sum(axis), jnp.argmax(x, axis)), x, rtol=1e-4)


@pytest.mark.parametrize("shape", [(3, 16), (4, 17), (5, 64), (130, 31), (9000, 20), (3, 5000)])
def test_columns_of_any_number(shape):
    same(lambda x: (x.sum(0), x.min(0)), data(*shape), rtol=1e-4)


@pytest.mark.parametrize("size", [16384, 16385, 70001])
def test_all_work_items_share_a_large_reduction(size):
    same(lambda x: (jnp.mean(x * x), x.max()), data(size), rtol=1e-4)


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (1, 2), (0, 2), None])
def test_any_axes(axis):
    same(lambda x: x.sum(axis), data(3, 20, 17), rtol=1e-4)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_what_is_added_up_can_be_a_result_too(axis):
    def f(x):
        y = 2 * x
        return y, y.sum(axis)

    same(f, data(600, 70), rtol=1e-4)


def test_results_of_columns_take_another_shape():
    same(lambda x: (x.min(1), x.min(1).reshape(24, 2)), data(3, 65, 16))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: jnp.concatenate([x, x]),
        lambda x: jnp.where(x > 0, x, 1)[::-1],
        lambda x: jnp.repeat(x, 2, 1),
    ],
)
def test_elements_that_move_may_be_none(f):
    same(lambda x: (f(x).sum(0), f(x).sum()), data(0, 3))


def test_what_is_combined_along_no_axis_within_columns_is_no_sum_of_theirs():
    same(lambda x: jax.lax.reduce_or(x > 1, ()).any(0) * 1, data(48, 600))


def test_eight_axes():
    same(lambda x: jax.nn.softmax(x, (6, 7)), data(2, 1, 2, 2, 1, 2, 3, 5))


@pytest.mark.parametrize("shape", [(0, 20), (20, 0)])
def test_no_elements(shape):
    same(lambda x: (x.sum(0), x.sum(1)), data(*shape))


@pytest.mark.parametrize("dtype", ["float16", "int32", "uint8", "bool"])
def test_other_dtypes(dtype):
    x = data(20, 70, dtype=dtype)
    same(lambda x: (x.max(0), x.max(1), (x > 0).any(1), (x > 0).all(0)), x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_vectorized(dtype):
    x = jnp.asarray(data(40, 70), dtype)
    same(lambda x: (x.sum(0), x.sum(1), x.max(1), x * x + x), x, rtol=1e-2)
    assert "x16" in jax.jit(lambda x: x.sum(1)).lower(x).as_text("kernel")


@pytest.mark.parametrize("axis", [0, 1])
def test_every_second_element_is_combined_in_vectors(axis):
    def f(x):
        return jnp.sin(x[:, ::2]).sum(axis)

    x = data(40, 128)
    same(f, x, rtol=1e-4)
    assert "x16 by 2]" in jax.jit(f).lower(x).as_text("kernel")


def test_halves_are_added_in_float32():
    x = np.full((2, 4096), 1, np.float16)
    assert jax.jit(lambda x: x.sum(1))(x).tolist() == [4096, 4096]


@pytest.mark.parametrize("axis", [0, 1])
def test_a_maximum_keeps_nan(axis):
    x = data(40, 40)
    x[7, 33] = np.nan
    assert np.isnan(np.asarray(jax.jit(lambda x: x.max(axis))(x))).sum() == 1


def test_a_row_too_long_to_be_kept_is_computed_again():
    same(jax.nn.softmax, data(20, 40_000), rtol=1e-4)


def test_neighbours_that_are_apart_in_memory():
    same(lambda x: jax.nn.softmax(x.T * 2), data(40, 30))


def test_a_total_that_is_a_result_and_is_given_another_shape_for_its_row():
    def f(x):
        total = x.sum(1)
        return total, x / total[:, None]

    same(f, data(3, 17, 1))


def test_runs_of_memory_with_others_between_are_combined_in_vectors():
    kernel = jax.jit(lambda x: x.sum((0, 2, 3))).lower(data(32, 16, 28, 28)).as_text("kernel")
    assert "a:f32 x16" in kernel and "/" not in kernel.split("the last work-item")[0]


@pytest.mark.parametrize("rows", [30, 30_000])
@pytest.mark.parametrize("columns, width", [(2, 0), (3, 4), (5, 8), (9, 16)])
def test_short_runs_are_in_vectors_that_they_fill_more_than_half(rows, columns, width):
    def f(x, w):
        return ((x - w[:, None]) ** 2).sum()

    same(f, data(rows, columns), data(rows))
    text = jax.jit(f).lower(data(rows, columns), data(rows)).as_text("schedule of k0")
    found = [w for w in (4, 8, 16) if f"\nVectorize('i2_inner', {w})" in text]
    assert found == [width] * (width > 0)


@pytest.mark.parametrize("shape", [(100, 4, 200), (300, 5, 70), (32, 16, 28, 28), (1000, 2, 17)])
def test_axes_on_both_sides_of_those_that_stay(shape):
    axes = (0, *range(2, len(shape)))
    same(lambda x: (x.sum(axes), x.max(axes)), data(*shape), rtol=1e-4)


# ---- each directive can be left out ----

SCHEDULES = [
    (jax.nn.softmax, (6, 37)),
    (lambda x: x.max(1), (2, 150)),
    (lambda x: (x.sum(0), x.min(0)), (9, 2070)),
    (lambda x: (x.sum(0), x.max(0)), (900, 20)),
    (lambda x: (x.sum(), x.max()), (16500,)),
    (lambda x: (x.sum((0, 2)), x.max((0, 2))), (120, 2, 150)),
]
NAMES = ["rows", "row", "blocks", "columns", "split", "runs"]


@pytest.mark.slow
@pytest.mark.parametrize("f, shape", SCHEDULES, ids=NAMES)
def test_without_one_of_its_directives_a_schedule_computes_the_same(f, shape):
    x = np.random.default_rng(0).integers(-2, 3, shape).astype(np.float32)  # sums are exact
    (kernel,) = stages(f, aval(*shape))[2]
    for left_out in directives(kernel):
        results, expected = interpreted(f, x, change=partial(without, left_out))
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-6, err_msg=str(left_out))


def directives(kernel):
    return [step for step in kernel.schedule if isinstance(step, Directive)]


def without(left_out, kernel):
    """The naive nest with one directive of the kernel's schedule left out, and all that need it."""
    made = kernel.naive
    for directive in directives(kernel):
        if directive != left_out and not directive.why_not(made):
            made = directive.apply(made)
    check_kernel(made)
    return made


def test_a_schedule_says_why():
    kernel = stages(jax.nn.softmax, aval(2000, 300))[2][0]
    text = "\n".join(directive_lines(kernel))
    assert all(directive.why for directive in directives(kernel))
    assert "UnrollAndJam('i1', 4)  # the sums of different rows are independent" in text


def test_a_long_row_has_several_accumulators_instead():
    kernel = stages(lambda x: jnp.sum(x, 1), aval(2000, 2000))[2][0]
    text = "\n".join(directive_lines(kernel))
    assert "UnrollAndJam('i2_outer', 4)" in text and "UnrollAndJam('i1" not in text


@pytest.mark.parametrize("f, shape", SCHEDULES, ids=NAMES)
def test_what_directives_add_knows_the_equation_that_it_is_for(f, shape):
    (kernel,) = stages(f, aval(*shape))[2]
    for statement in every_statement(kernel.body):
        if isinstance(statement, (Load, Store, Combine, Allocate)):  # (masks are for several)
            assert statement.origin is not None, "\n".join(statement_lines(statement))


@pytest.mark.parametrize("n", [5, 40, 3000])
@pytest.mark.parametrize("f", [
    lambda x: (jnp.pad(x, 1) ** 2).sum(),
    lambda x: ((jnp.roll(x, 1) - x) ** 2).sum(),
    lambda x: jnp.concatenate([x, 2 * x]).sum(),
    lambda x: (x * x[::-1]).sum(),
    lambda x: jnp.pad(x, 3, mode="reflect").max(),
])  # fmt: skip
def test_sums_across_borders(f, n):
    x = np.random.default_rng(0).integers(-3, 4, n).astype(np.float32)
    assert jax.jit(f)(x) == f(x)
    y = np.stack([x[: n // 5 * 5]] * 3).reshape(-1, 5)
    for axis in (0, 1):
        per_row = jax.vmap(f, axis)
        np.testing.assert_array_equal(jax.jit(per_row)(y), per_row(y))
    if n > 100:
        assert "Vectorize('i1', 16" in jax.jit(f).lower(x).as_text("schedule of k0")


def test_columns_across_borders_are_cut():
    f = lambda x: jnp.pad(x, 1).sum(0)  # noqa: E731
    x = np.ones((40, 50), np.float32)
    assert "Partition('i1')" in jax.jit(f).lower(x).as_text("schedule of k0")
    np.testing.assert_array_equal(jax.jit(f)(x), f(x))


def test_transposed_matrices_are_divided_by_their_largest_elements():
    same(lambda x: x.swapaxes(1, 2) / x.swapaxes(1, 2).max((1, 2), keepdims=True), data(9, 40, 7))


@pytest.mark.parametrize("columns", [31, 33, 63, 99])
def test_rows_across_borders_are_kept_in_vectors(columns):
    """Pieces between borders begin anywhere: the last vector of each stores only a part of itself."""

    def f(x):
        y = jnp.where(jnp.roll(x, 1, 1) + jnp.roll(x, -1, 1) > x, jnp.sin(x), -1.0)
        return y, y.mean(1)

    x = data(6, columns)
    schedule = jax.jit(f).lower(x).as_text("schedule of k0")
    assert "Partition('i2', multiple=16)" in schedule and "Vectorize('i2', 16)" in schedule
    same(f, x)


@pytest.mark.parametrize("f", [jnp.argmax, jnp.argmin, jnp.max])
@pytest.mark.parametrize("columns, width", [(9, 8), (13, 8), (17, 16), (30, 16)])
def test_last_vectors_of_maxima_overlap(f, columns, width):
    x = data(9, columns)
    x[3, -1] = x[4, 0] = x[5, 5] = np.nan
    x[6] = np.inf
    schedule = jax.jit(lambda x: f(x, 1)).lower(x).as_text("schedule of k0")
    assert f"Vectorize('i2', {width}, overlap=True)" in schedule
    same(lambda x: f(x, 1), x)


def test_pieces_of_two_maxima_end_with_a_part_of_a_vector():
    x = np.random.default_rng(0).integers(0, 120, (300, 65)).astype(np.uint8)
    same(lambda x: (jnp.max(2 * x), jnp.min(2 * x)), x)
