"""The families that are not elementwise: derivatives by finite differences, batches by loops, edges."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from tinyjax import lax
from tinyjax.config import enable_x64
from tinyjax.interpreters.batching import vmap
from tinyjax.interpreters.jvp import jvp
from tinyjax.interpreters.tracing import make_jaxpr
from tinyjax.interpreters.vjp import grad, vjp

nan, inf = np.nan, np.inf
by_row = lax.GatherDimensionNumbers((1,), (0,), (0,))
windows_1d = lax.GatherDimensionNumbers((1,), (), (0,))
batched_rows = lax.GatherDimensionNumbers((1,), (1,), (1,), (0,), (0,))
to_row = lax.ScatterDimensionNumbers((1,), (0,), (0,))
windows_to_1d = lax.ScatterDimensionNumbers((1,), (), (0,))
to_batched = lax.ScatterDimensionNumbers((1,), (1,), (1,), (0,), (0,))


@pytest.fixture
def x64():
    with enable_x64(True):
        yield


def f32(values):
    return np.array(values, np.float32)


def i32(values):
    return np.array(values, np.int32)


def sample(shape, seed):
    """Distinct values, all well apart, in a random order: no ties, no kinks nearby."""
    size = int(np.prod(shape))
    values = np.linspace(-2, 2, size) + 0.05
    return np.random.default_rng(seed).permutation(values).reshape(shape)


def dot(lhs_contract, rhs_contract, lhs_batch=(), rhs_batch=()):
    numbers = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    return lambda a, b: lax.dot_general(a, b, numbers)


rows = i32([[0], [2]])
twice = i32([[1], [1]])
outside = i32([[-1], [2], [7]])

# name -> (function of arrays, integers after floats, their shapes; integer operands are arrays)
CASES = {
    "squeeze": (lambda x: lax.squeeze(x, (0, 2)), [(1, 3, 1)]),
    "expand_dims": (lambda x: lax.expand_dims(x, (0, 3)), [(2, 3)]),
    "rev": (lambda x: lax.rev(x, (0, 2)), [(2, 3, 4)]),
    "tile": (lambda x: lax.tile(x, (2, 1, 3)), [(2, 3, 1)]),
    "pad outside": (lambda x, v: lax.pad(x, v, ((1, 2, 0), (0, 1, 0))), [(2, 3), ()]),
    "pad inside": (lambda x, v: lax.pad(x, v, ((1, 0, 2), (0, 0, 1))), [(2, 3), ()]),
    "pad negative": (lambda x, v: lax.pad(x, v, ((-1, 2, 1), (1, -2, 0))), [(3, 3), ()]),
    "concatenate": (lambda *xs: lax.concatenate(xs, 1), [(2, 3), (2, 1), (2, 0)]),
    "split": (lambda x: lax.split(x, (1, 0, 2), 1)[2], [(2, 3)]),
    "stack": (lambda *xs: lax.stack(xs, 1), [(2, 3), (2, 3)]),
    "unstack": (lambda x: lax.unstack(x, 1)[1], [(2, 3)]),
    "slice": (lambda x: lax.slice(x, (1, 0), (3, 2)), [(3, 3)]),
    "slice strided": (lambda x: lax.slice(x, (0, 1), (5, 6), (2, 3)), [(5, 6)]),
    "reshape with dimensions": (lambda x: lax.reshape(x, (2, 6), (1, 0)), [(3, 4)]),
    "collapse": (lambda x: lax.collapse(x, 1), [(2, 3, 2)]),
    "reduce_sum": (lambda x: lax.reduce_sum(x, (0, 2)), [(2, 3, 2)]),
    "reduce_prod": (lambda x: lax.reduce_prod(x, (1,)), [(3, 5)]),
    "reduce_prod of all": (lambda x: lax.reduce_prod(x, (0, 1)), [(2, 3)]),
    "reduce_max": (lambda x: lax.reduce_max(x, (0,)), [(3, 4)]),
    "reduce_min": (lambda x: lax.reduce_min(x, (0, 1)), [(3, 4)]),
    "cumsum": (lambda x: lax.cumsum(x, 1, reverse=True), [(2, 5)]),
    "cumprod": (lambda x: lax.cumprod(x, 0), [(5, 2)]),
    "cumprod reversed": (lambda x: lax.cumprod(x, 1, reverse=True), [(2, 4)]),
    "cummax": (lambda x: lax.cummax(x, 1), [(2, 5)]),
    "cummin": (lambda x: lax.cummin(x, 0, reverse=True), [(6, 2)]),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(x, 0), [(5, 2)]),
    "sort": (lambda x: lax.sort(x, 0), [(4, 3)]),
    "sort with followers": (lambda x, y: lax.sort((x, y), 1, num_keys=1), [(3, 4), (3, 4)]),
    "top_k": (lambda x: lax.top_k(x, 2, axis=0)[0], [(4, 3)]),
    "dot of matrices": (dot((1,), (0,)), [(2, 3), (3, 4)]),
    "dot of matrix and vector": (dot((0,), (0,)), [(3, 2), (3,)]),
    "dot batched": (dot((1, 3), (3, 1), (0,), (2,)), [(2, 3, 4, 2), (5, 2, 2, 3)]),
    "dot of nothing contracted": (dot((), ()), [(2,), (3,)]),
    "dot of an empty sum": (dot((1,), (0,)), [(2, 0), (0, 3)]),
    "batch_matmul": (lax.batch_matmul, [(2, 2, 3), (2, 3, 2)]),
    "dynamic_slice": (
        lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 2)),
        [(4, 3), i32(1), i32(2)],
    ),
    "dynamic_update_slice": (
        lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
        [(4, 3), (2, 2), i32(-1), i32(1)],
    ),
    "dynamic_index_in_dim": (
        lambda x, i: lax.dynamic_index_in_dim(x, i, 1, False),
        [(2, 3), i32(1)],
    ),
    "dynamic_update_index_in_dim": (
        lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, 1),
        [(2, 3), (2,), i32(1)],
    ),
    "gather rows": (lambda x, i: lax.gather(x, i, by_row, (1, 3)), [(4, 3), rows]),
    "gather windows, clipped": (
        lambda x, i: lax.gather(x, i, windows_1d, (3,), mode="clip"),
        [(5,), outside],
    ),
    "gather windows, filled": (
        lambda x, i: lax.gather(x, i, windows_1d, (2,), mode="fill", fill_value=0),
        [(5,), outside],
    ),
    "gather batched": (
        lambda x, i: lax.gather(x, i, batched_rows, (1, 1, 3)),
        [(2, 4, 3), i32([[3], [0]])],
    ),
    "scatter": (lambda x, i, u: lax.scatter(x, i, u, to_row), [(4, 3), rows, (2, 3)]),
    "scatter to one place": (lambda x, i, u: lax.scatter(x, i, u, to_row), [(4, 3), twice, (2, 3)]),
    "scatter unique": (
        lambda x, i, u: lax.scatter(x, i, u, to_row, unique_indices=True),
        [(4, 3), rows, (2, 2)],
    ),
    "scatter clipped": (
        lambda x, i, u: lax.scatter(x, i, u, windows_to_1d, mode="clip"),
        [(9,), i32([[-1], [4]]), (2, 3)],
    ),
    "scatter batched": (
        lambda x, i, u: lax.scatter(x, i, u, to_batched, unique_indices=True),
        [(2, 4, 3), i32([[3], [0]]), (2, 3)],
    ),
    "scatter_add": (lambda x, i, u: lax.scatter_add(x, i, u, to_row), [(4, 3), twice, (2, 3)]),
    "scatter_add dropped": (
        lambda x, i, u: lax.scatter_add(x, i, u, windows_to_1d),
        [(5,), outside, (3, 2)],
    ),
    "scatter_sub": (lambda x, i, u: lax.scatter_sub(x, i, u, to_row), [(4, 3), twice, (2, 3)]),
    "scatter_mul": (
        lambda x, i, u: lax.scatter_mul(x, i, u, to_row, unique_indices=True),
        [(4, 3), rows, (2, 3)],
    ),
    "scatter_min": (lambda x, i, u: lax.scatter_min(x, i, u, to_row), [(4, 3), rows, (2, 3)]),
    "scatter_max": (lambda x, i, u: lax.scatter_max(x, i, u, to_row), [(4, 3), twice, (2, 3)]),
}
# These have no derivative, but batch rules.
INTEGER_CASES = {
    "argmax": (lambda x: lax.argmax(x, 1, np.int32), [(3, 4)]),
    "argmin": (lambda x: lax.argmin(x, 0, np.int32), [(3, 4)]),
    "reduce_and": (lambda x: lax.reduce_and(x, (1,)), [i32([[7, 3], [6, 12]])]),
    "reduce_or": (lambda x: lax.reduce_or(x, (0,)), [i32([[7, 3], [6, 12]])]),
    "reduce_xor": (lambda x: lax.reduce_xor(x, (0, 1)), [i32([[7, 3], [6, 12]])]),
    "top_k of ints": (lambda x: lax.top_k(x, 1)[1], [i32([[7, 3], [6, 12]])]),
    "scatter_apply": (
        lambda x, i: lax.scatter_apply(x, i, lax.sin, to_row, update_shape=(2, 3)),
        [(4, 3), twice],
    ),
}


def operands(case, seed=0):
    return [sample(x, seed + n) if isinstance(x, tuple) else x for n, x in enumerate(case[1])]


def leaves(out):
    return list(out) if isinstance(out, (list, tuple)) else [out]


def of_floats(case):
    """The function of the float operands alone, and these; a list of arrays as its result."""
    args = operands(case)
    places = [n for n, x in enumerate(args) if x.dtype == np.float64]

    def fun(*floats):
        full = list(args)
        for n, x in zip(places, floats, strict=True):
            full[n] = x
        return leaves(case[0](*full))

    return fun, [args[n] for n in places]


def directions(arrays, seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(np.shape(x)) for x in arrays]


# ---- derivatives ----


@pytest.mark.parametrize("name", CASES)
def test_jvp_equals_finite_differences(name, x64):
    fun, args = of_floats(CASES[name])
    tangents, step = directions(args, 1), 1e-6
    _, out_dot = jvp(fun, args, tangents)
    above = fun(*[x + step * t for x, t in zip(args, tangents)])
    below = fun(*[x - step * t for x, t in zip(args, tangents)])
    for got, hi, lo in zip(out_dot, above, below, strict=True):
        slope = (np.asarray(hi) - np.asarray(lo)) / (2 * step)
        np.testing.assert_allclose(got, slope, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_vjp_is_the_transpose_of_jvp(name, x64):
    fun, args = of_floats(CASES[name])
    tangents = directions(args, 1)
    outs, out_dot = jvp(fun, args, tangents)
    cts = directions(outs, 2)
    in_cts = vjp(fun, *args)[1](cts)
    forward = sum(np.vdot(ct, t) for ct, t in zip(cts, out_dot, strict=True))
    backward = sum(np.vdot(ct, t) for ct, t in zip(in_cts, tangents, strict=True))
    np.testing.assert_allclose(forward, backward, rtol=1e-9, atol=1e-12)


def test_a_product_with_a_zero_has_the_right_gradient():
    np.testing.assert_array_equal(
        grad(lambda x: lax.reduce_prod(x, (0,)))(f32([2, 0, 3])), [0, 6, 0]
    )


def test_equal_maxima_share_the_gradient():
    gradient = grad(lambda x: lax.reduce_max(x, (0,)))(f32([1, 5, 5, 2]))
    np.testing.assert_array_equal(gradient, [0, 0.5, 0.5, 0])


def test_of_two_updates_to_a_place_the_last_has_the_gradient():
    def f(updates):
        return lax.reduce_sum(lax.scatter(f32(np.zeros((2, 1))), twice, updates, to_row), (0, 1))

    np.testing.assert_array_equal(grad(f)(f32([[3], [4]])), [[0], [1]])


def test_cumlogsumexp_of_minus_infinity_has_a_finite_gradient():
    gradient = grad(lambda x: lax.cumlogsumexp(x)[1])(f32([-inf, 1]))
    np.testing.assert_array_equal(gradient, [0, 1])


def test_the_gradient_of_a_bfloat16_product_is_bfloat16():
    x = np.ones(3, ml_dtypes.bfloat16)
    gradient = grad(lambda a: lax.dot(a, x, preferred_element_type=np.float32))(x)
    assert gradient.dtype == ml_dtypes.bfloat16


def test_overlapping_scatter_mul_has_no_derivative_by_its_updates():
    x = f32(np.ones((2, 2)))
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        jvp(lambda u: lax.scatter_mul(f32(np.ones((3, 2))), rows, u, to_row), [x], [x])


def test_scatter_apply_has_no_derivative():
    x = f32(np.ones((3, 2)))
    with pytest.raises(NotImplementedError, match="scatter_apply"):
        jvp(lambda x: lax.scatter_apply(x, rows, lax.sin, to_row, update_shape=(2, 2)), [x], [x])


# ---- batches ----


@pytest.mark.parametrize("name", [*CASES, *INTEGER_CASES])
def test_vmap_equals_a_loop_for_each_set_of_batched_operands(name, x64):
    """Batched in front or behind, or not at all: all combinations, three examples."""
    case = (CASES | INTEGER_CASES)[name]
    first, *others = [operands(case, seed) for seed in (0, 10, 20)]
    for in_axes in itertools.product((None, 0, -1), repeat=len(first)):
        if all(axis is None for axis in in_axes):
            continue
        examples = [
            [own if axis is not None else shared for own, shared, axis in zip(args, first, in_axes)]
            for args in (first, *others)
        ]
        looped = [leaves(case[0](*args)) for args in examples]
        stacked = [
            first[n] if axis is None else np.stack([args[n] for args in examples], axis)
            for n, axis in enumerate(in_axes)
        ]
        mapped = vmap(lambda *args: leaves(case[0](*args)), in_axes=in_axes)(*stacked)
        for got, want in zip(mapped, zip(*looped), strict=True):
            np.testing.assert_allclose(
                got, np.stack([np.asarray(x) for x in want]), err_msg=in_axes
            )


@pytest.mark.parametrize("indices", [i32([[0], [5], [2]]), i32([[3], [-4], [9]])])
@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
def test_batched_indices_keep_their_mode(indices, mode):
    x = f32(np.arange(5))
    read = lambda i: lax.gather(x, i, windows_1d, (2,), mode=mode)  # noqa: E731
    write = lambda i: lax.scatter_add(x, i, f32(np.ones((1, 2))), windows_to_1d, mode=mode)  # noqa: E731
    for fun in (read, write):
        mapped = vmap(fun)(indices[:, None])
        np.testing.assert_array_equal(mapped, np.stack([fun(i[None]) for i in indices]))


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


def test_the_sums_of_a_float16_product_are_kept_in_float32():
    x = np.full(4096, 1, np.float16)
    assert float(lax.dot(x, x)) == 4096  # in float16, the sum would stop at 2048


@pytest.mark.parametrize(
    "lhs, rhs, preferred, want",
    [
        ("float32", "float32", None, "float32"),
        ("int8", "float32", None, "float32"),
        ("uint32", "int32", None, "int32"),
        ("bfloat16", "bfloat16", "float32", "float32"),
        ("float32", "float32", "bfloat16", "bfloat16"),
        ("float32", "complex64", None, "complex64"),
        ("int8", "int8", "int32", "int32"),
    ],
)
def test_dtype_of_a_product(lhs, rhs, preferred, want):
    out = lax.dot(np.ones(2, lhs), np.ones(2, rhs), preferred_element_type=preferred)
    assert (out.dtype.name, float(out.real if want == "complex64" else out)) == (want, 2)


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


def test_positions_are_never_weak():
    assert not lax.argmax(lax.broadcast(2.0, (3,)), 0, np.int32).weak_type


def test_operands_are_not_written_to():
    x = f32(np.zeros(3))
    lax.scatter_add(x, i32([[0]]), f32([1]), lax.ScatterDimensionNumbers((), (0,), (0,)))
    lax.dynamic_update_slice(x, f32([1]), (0,))
    np.testing.assert_array_equal(x, 0)


def test_associative_scan_takes_trees():
    pairs = (f32([1, 2, 3, 4]), f32([1, 1, 1, 1]))  # x -> a x + b, composed

    def compose(f, g):
        return f[0] * g[0], g[0] * f[1] + g[1]

    a, b = lax.associative_scan(compose, pairs)
    np.testing.assert_array_equal(a, [1, 2, 6, 24])
    np.testing.assert_array_equal(b, [1, 3, 10, 41])


def test_an_axis_may_be_longer_than_the_dtype_of_its_index_can_count():
    x = np.arange(1000, dtype=np.float32)
    assert float(lax.dynamic_slice(x, [lax.convert_element_type(5, np.int8)], [1])[0]) == 5


# ---- printing ----


def test_dot_general_shows_dimension_numbers_as_lists_and_no_nones():
    text = str(make_jaxpr(lambda a, b: lax.dot(a, b, precision="high"))(f32([1]), f32([1])))
    assert "dimension_numbers=(([0], [0]), ([], []))" in text
    assert "precision=(Precision.HIGH, Precision.HIGH)" in text
    assert "preferred" not in text


def test_scatters_of_one_kind_share_the_printed_update_jaxpr():
    def f(x):
        once = lax.scatter_add(x, rows, f32(np.ones((2, 1))), to_row)
        return lax.scatter_add(once, rows, f32(np.ones((2, 1))), to_row)

    text = str(make_jaxpr(f)(f32(np.ones((3, 1)))))
    assert text.startswith(
        "let jaxpr = { lambda ; a:f32[] b:f32[]. let c:f32[] = add a b in (c,) } in"
    )


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
        (lambda: lax.reduce(x23, f32(0), lax.sub, (0,)), NotImplementedError, "associative_scan"),
        (lambda: lax.cumsum(x23, -1), ValueError, "negative"),
        (lambda: lax.cumsum(x23, 2), ValueError, "out of bounds"),
        (lambda: lax.cumsum(x23 > 1), TypeError, "bool"),
        (lambda: lax.associative_scan(1, x23), TypeError, "callable"),
        (lambda: lax.sort((x23, x23[:1])), TypeError, "equal shapes"),
        (lambda: lax.sort(x23, num_keys=2), ValueError, "num_keys"),
        (lambda: lax.sort(f32(1)), ValueError, "out of bounds"),
        (lambda: lax.top_k(x23, 4), ValueError, "k=4"),
        (lambda: lax.top_k(f32(1), 1), TypeError, "1 dimension"),
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
