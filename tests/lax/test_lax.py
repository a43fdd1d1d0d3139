"""The families that are not elementwise: kinks and edges, types, printing, errors.

What holds for each primitive (derivatives, batches, compiled code) is in test_primitives.
"""

import ml_dtypes
import numpy as np
import pytest

from tinyjax import lax
from tinyjax.transform.batching import vmap

nan, inf = np.nan, np.inf
by_row = lax.GatherDimensionNumbers((1,), (0,), (0,))
windows_1d = lax.GatherDimensionNumbers((1,), (), (0,))
to_row = lax.ScatterDimensionNumbers((1,), (0,), (0,))
windows_to_1d = lax.ScatterDimensionNumbers((1,), (), (0,))


def f32(values):
    return np.array(values, np.float32)


def i32(values):
    return np.array(values, np.int32)


def dot(lhs_contract, rhs_contract, lhs_batch=(), rhs_batch=()):
    numbers = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    return lambda a, b: lax.dot_general(a, b, numbers)


rows = i32([[0], [2]])
outside = i32([[-1], [2], [7]])

# ---- batches ----


def test_batching_twice_nests():
    x, i = f32(np.arange(24).reshape(2, 3, 4)), i32([[3, 0, 1], [2, 2, 5]])
    out = vmap(vmap(lambda row, j: lax.dynamic_slice(row, (j,), (2,))))(x, i)
    want = [[x[a, b, min(i[a, b], 2) :][:2] for b in range(3)] for a in range(2)]
    np.testing.assert_array_equal(out, want)


# ---- values at the edges: as JAX's on a CPU ----


@pytest.mark.parametrize(
    "out, want",
    [
        (lambda: lax.reduce_max(f32([]), (0,)), -inf),
        (lambda: lax.reduce_min(i32([]), (0,)), 2**31 - 1),
        (lambda: lax.reduce_max(np.zeros(0, bool), (0,)), False),
        (lambda: lax.reduce_and(i32([]), (0,)), -1),
        (lambda: lax.reduce_prod(f32([]), (0,)), 1),
        (lambda: lax.reduce_max(f32([1, nan, 3]), (0,)), nan),
        (lambda: lax.reduce_max(np.array([1 + 1j, 1 + 2j], np.complex64), (0,)), 1 + 2j),
        (lambda: lax.argmax(f32([1, nan, 3, nan]), 0, np.int32), 1),
        (lambda: lax.argmin(np.array([1, nan], ml_dtypes.bfloat16), 0, np.int32), 1),
        (lambda: lax.argmax(np.array([False, True]), 0, np.int8), 1),
        (lambda: lax.reduce(f32([1, 2, 3]), f32(1), lax.add, (0,)), 7),
        (lambda: lax.reduce(f32([1, 2, 3]), f32(-inf), lax.max, (0,)), 3),
        (lambda: lax.cummax(f32([1, nan, 2])), [1, nan, nan]),
        (lambda: lax.cumlogsumexp(f32([-inf, -inf, 1])), [-inf, -inf, 1]),
        (lambda: lax.cumprod(i32([2, 3, 4]), reverse=True), [24, 12, 4]),
        (lambda: lax.cumsum(f32(np.zeros((0, 2)))), np.zeros((0, 2))),
        (lambda: lax.sort(f32([1, nan, -inf, 0])), [-inf, 0, 1, nan]),
        (lambda: lax.sort((f32([0.0, -0.0, 0.0]), i32([3, 1, 2])))[1], [3, 1, 2]),
        (lambda: lax.sort((i32([1, 0, 1]), i32([3, 9, 2])), num_keys=2)[1], [9, 2, 3]),
        (lambda: np.float32(lax.sort(np.array([nan, 1, -1], ml_dtypes.bfloat16))), [-1, 1, nan]),
        (lambda: lax.sort_key_val(i32([2, 1]), f32([5, 6]))[1], [6, 5]),
        (lambda: lax.top_k(f32([1, nan, 3, 3]), 3)[1], [1, 2, 3]),
        (lambda: lax.top_k(f32([0.0, -0.0, 0.0]), 3)[1], [0, 2, 1]),
        (lambda: lax.top_k(np.array([False, True]), 2)[1], [1, 0]),
        (lambda: lax.dot(np.array([True, False]), np.array([True, True])), True),
        (lambda: lax.dot(np.array([100, 100], np.int8), np.array([2, 2], np.int8)), -112),
        (lambda: lax.pad(i32([1, 2, 3]), i32(0), ((-2, 1, 1),)), [2, 0, 3, 0]),
        (lambda: lax.dynamic_slice(i32(np.arange(5)), (9,), (2,)), [3, 4]),
        (lambda: lax.dynamic_slice(i32(np.arange(5)), (-9,), (2,)), [0, 1]),
        (lambda: lax.dynamic_slice(i32(np.arange(5)), (np.uint8(9),), (2,)), [3, 4]),
        (
            lambda: lax.gather(f32(np.arange(5)), outside, windows_1d, (2,), mode="fill"),
            [[nan, nan], [2, 3], [nan, nan]],
        ),
        (
            lambda: lax.gather(i32(np.arange(5)), outside, windows_1d, (2,), mode="clip"),
            [[0, 1], [2, 3], [3, 4]],
        ),
        (
            lambda: lax.gather(f32([4, 5]), np.array([[200]], np.uint8), windows_1d, (1,)),
            [[5]],
        ),
        (
            lambda: lax.scatter_add(i32(np.zeros(4)), outside, i32(np.ones((3, 2))), windows_to_1d),
            [0, 0, 1, 1],
        ),
        (
            lambda: lax.scatter_add(
                i32(np.zeros(4)), outside, i32(np.ones((3, 2))), windows_to_1d, mode="clip"
            ),
            [1, 1, 2, 2],
        ),
        (
            lambda: lax.scatter_apply(
                f32([[0], [1]]), i32([[0], [0]]), lambda x: x * 2 + 1, to_row, update_shape=(2, 1)
            ),
            [[3], [1]],
        ),
    ],
)
def test_values_at_the_edges(out, want):
    np.testing.assert_array_equal(out(), want)


@pytest.mark.parametrize(
    "weak",
    [
        lambda x: lax.concatenate([x, x], 0),
        lambda x: lax.pad(x, 1.0, ((1, 1, 0),)),
        lambda x: lax.cumsum(x),
        lambda x: lax.sort(x),
        lambda x: lax.reduce_max(x, (0,)),
        lambda x: lax.dynamic_slice(x, (0,), (1,)),
        lambda x: lax.slice(x, (0,), (1,)),
    ],
)
def test_weak_types_pass_through(weak):
    assert weak(lax.broadcast(2.0, (3,))).weak_type


def test_operands_are_not_written_to():
    x = f32(np.zeros(3))
    lax.scatter_add(x, i32([[0]]), f32([1]), lax.ScatterDimensionNumbers((), (0,), (0,)))
    lax.dynamic_update_slice(x, f32([1]), (0,))
    np.testing.assert_array_equal(x, 0)


# ---- errors ----

x23 = f32(np.ones((2, 3)))


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: lax.squeeze(x23, (0,)), ValueError, "size not equal to one"),
        (lambda: lax.squeeze(x23, (2,)), ValueError, "out of bounds"),
        (lambda: lax.expand_dims(x23, (0, 0)), ValueError, "repeated axis"),
        (lambda: lax.rev(x23, (2,)), TypeError, "less than operand ndim"),
        (lambda: lax.tile(x23, (2,)), TypeError, "reps length"),
        (lambda: lax.pad(x23, i32(0), ((0, 0, 0),) * 2), TypeError, "same dtype"),
        (lambda: lax.pad(x23, f32(0), ((0, 0, 0),)), ValueError, "padding_config"),
        (lambda: lax.pad(x23, f32(0), ((-3, 0, 0), (0, 0, 0))), ValueError, "at least 0"),
        (lambda: lax.concatenate([], 0), ValueError, "non-empty"),
        (lambda: lax.concatenate([x23, x23[:1]], 1), TypeError, r"\(2, 3\), \(1, 3\)"),
        (lambda: lax.concatenate([x23, i32(x23)], 1), TypeError, "float32, int32"),
        (lambda: lax.split(x23, (1, 1), 1), ValueError, "Sum of sizes"),
        (lambda: lax.stack([x23, x23[:1]]), ValueError, "same shape"),
        (lambda: lax.slice(x23, (0, 0), (2, 4)), TypeError, "limit_indices"),
        (lambda: lax.slice(x23, (-1, 0), (2, 3)), TypeError, "start_indices"),
        (lambda: lax.index_in_dim(x23, 3, 1), IndexError, "axis 1 with size 3"),
        (lambda: lax.reshape(x23, (4,)), TypeError, r"\(2, 3\)"),
        (lambda: lax.collapse(x23, 1, 0), ValueError, "collapse"),
        (lambda: lax.reduce_max(x23, (2,)), ValueError, "reduce_max"),
        (lambda: lax.reduce_prod(x23 > 1, (0,)), TypeError, "bool"),
        (lambda: lax.reduce_and(x23, (0,)), TypeError, "bool or int"),
        (lambda: lax.argmax(f32([]), 0, np.int32), ValueError, "non-empty"),
        (lambda: lax.argmax(x23, 0, np.float32), TypeError, "index_dtype"),
        (lambda: lax.argmin(np.ones(2, np.complex64), 0, np.int32), TypeError, "complex64"),
        (lambda: lax.cumsum(x23, -1), ValueError, "negative"),
        (lambda: lax.cumsum(x23, 2), ValueError, "out of bounds"),
        (lambda: lax.cumsum(x23 > 1), TypeError, "bool"),
        (lambda: lax.sort((x23, x23[:1])), TypeError, "equal shapes"),
        (lambda: lax.sort(x23, num_keys=2), ValueError, "num_keys"),
        (lambda: lax.sort(f32(1)), ValueError, "out of bounds"),
        (lambda: lax.top_k(x23, 4), ValueError, "k=4"),
        (lambda: lax.top_k(f32(1), 1), ValueError, "dimension 0"),
        (lambda: lax.dot(x23, x23), ValueError, "dimension_numbers"),
        (lambda: dot((1,), (0,))(x23, x23), TypeError, r"\(3,\) and \(2,\)"),
        (lambda: dot((1,), (5,))(x23, x23), TypeError, "rhs"),
        (lambda: dot((1,), (1,), (1,), (0,))(x23, x23), TypeError, "distinct"),
        (lambda: lax.dot(x23, x23[0], precision="best"), ValueError, "Precision"),
        (lambda: lax.batch_matmul(x23, x23[0]), ValueError, "2D"),
        (lambda: lax.dynamic_slice(x23, (0,), (1, 1)), ValueError, "number of operand dimensions"),
        (lambda: lax.dynamic_slice(x23, (0, 1.0), (1, 1)), TypeError, "integers"),
        (lambda: lax.dynamic_slice(x23, (0, 0), (1, 4)), TypeError, "slice_sizes"),
        (lambda: lax.dynamic_update_slice(x23, i32([[1]]), (0, 0)), TypeError, "same dtypes"),
        (lambda: lax.dynamic_update_slice(x23, f32([1]), (0, 0)), TypeError, "rank"),
        (lambda: lax.gather(x23, f32([[0]]), by_row, (1, 3)), ValueError, "integer"),
        (lambda: lax.gather(x23, rows, by_row, (1, 4)), TypeError, "Slice size"),
        (lambda: lax.gather(x23, rows, by_row, (2, 3)), TypeError, "collapse"),
        (lambda: lax.gather(x23, i32([[0, 1]]), by_row, (1, 3)), TypeError, "start_index_map"),
        (lambda: lax.gather(x23, rows, by_row, (1, 3), mode="wrap"), ValueError, "wrap"),
        (lambda: lax.scatter(x23, rows, f32([[1]]), to_row), TypeError, "scatter dimensions"),
        (lambda: lax.scatter(x23, rows, i32(x23), to_row), TypeError, "same dtypes"),
        (lambda: lax.scatter(x23, rows, f32([1]), to_row), TypeError, "rank 2"),
    ],
)
def test_bad_operands_raise_what_jax_raises(call, error, words):
    with pytest.raises(error, match=words):
        call()
