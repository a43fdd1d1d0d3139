import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax

SIZES = [0, 1, 15, 16, 17, 31, 33, 4095, 4096, 4097]


def values(size, dtype):
    rng = np.random.default_rng(size)
    if dtype.kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0, 100, size).astype(dtype)
    x = rng.standard_normal(size).astype(dtype)
    special = np.array([-0.0, np.nan, np.inf, -np.inf, 1e-37, 0.0], dtype)
    x[-len(special) :] = special[:size]
    return x


def assert_same(found, wanted):
    """Zeros have the same sign."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    np.testing.assert_array_equal(found, wanted)
    if found.dtype.kind == "f":
        zeros = found == 0
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(wanted[zeros]))


def steps(x):
    if x.dtype.kind == "b":
        return x ^ ~x, x & x
    doubled = x + x
    return -doubled, doubled * x, doubled > x, lax.convert_element_type(x, np.int32)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint32", "bool", "float16", "int8"])
@pytest.mark.parametrize("size", SIZES)
def test_every_size_and_dtype_is_as_without_a_compiler(size, dtype):
    x = values(size, np.dtype(dtype))
    for found, wanted in zip(jax.jit(steps)(x), steps(x), strict=True):
        assert_same(found, wanted)


@pytest.mark.parametrize("size", SIZES)
def test_doubles_and_longs_go_eight_by_eight(size):
    with jax.enable_x64(True):
        for x in (values(size, np.dtype("float64")), values(size, np.dtype("int64"))):
            if size >= 16:
                assert "x8" in jax.jit(steps).lower(x).as_text("kernel")
            for found, wanted in zip(jax.jit(steps)(x), steps(x), strict=True):
                np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("columns", [16, 17, 31, 48, 100])
def test_rows_and_columns_that_are_broadcast(columns):
    def f(x, row, column):
        return lax.exp(x) * row + column

    shapes = (5, columns), (columns,), (5, 1)
    args = [np.random.default_rng(0).standard_normal(s).astype(np.float32) for s in shapes]
    kernel = jax.jit(f).lower(*args).as_text("kernel")
    assert "exp" in kernel and "x16" in kernel
    np.testing.assert_allclose(jax.jit(f)(*args), f(*args), rtol=1e-5, atol=1e-6)


def test_an_element_number_counts_up_along_the_neighbours():
    def f(x):
        return x + lax.broadcasted_iota(np.int32, (3, 40), 1) * 2

    x = np.arange(120, dtype=np.int32).reshape(3, 40)
    assert "ramp" in jax.jit(f).lower(x).as_text("kernel")
    np.testing.assert_array_equal(jax.jit(f)(x), f(x))


def test_sums_of_columns_are_vectorized():
    x = np.random.default_rng(0).standard_normal((30, 100)).astype(np.float32)
    f = lambda x: lax.reduce_max(x, (0,)) * 2  # noqa: E731
    np.testing.assert_array_equal(jax.jit(f)(x), f(x))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: lax.transpose(x, (1, 0)) * 2,
        lambda x: lax.slice(x, (0, 0), (20, 20), (1, 2)) * 2,
        lambda x: lax.dynamic_index_in_dim(x[0], x[0, 3].astype(int)) * x[:, 1],
    ],
)
def test_what_is_apart_in_memory_is_computed_one_by_one(f):
    x = np.arange(400, dtype=np.float32).reshape(20, 20)
    assert " x16" not in jax.jit(f).lower(x).as_text("kernel")
    np.testing.assert_array_equal(jax.jit(f)(x), f(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("to", ["int32", "uint32", "int64", "uint64"])
def test_floats_out_of_an_integers_range_saturate_in_vectors(dtype, to):
    with jax.enable_x64(True):
        edges = [0.0, -0.5, 0.5, 2**31, 2**31 - 1, -(2**31), 2**32, 2**63, -(2**63), 2**64, 1e30]
        x = np.array([*edges, -1e30, np.nan, np.inf, -np.inf, -1, 2**31 - 200, 2.5], dtype)
        f = lambda x: lax.convert_element_type(x, np.dtype(to))  # noqa: E731
        np.testing.assert_array_equal(jax.jit(f)(x), [jax.jit(f)(each) for each in x])


@pytest.mark.parametrize("op", [lax.abs, lax.floor, lax.ceil, lax.round, lax.sqrt, lax.sign])
def test_signs_of_zero_and_numbers_without_a_fraction_in_vectors(op):
    x = np.array([-0.0, 0, -0.5, 0.5, 1.5, 2.5, -2.5, 1e10, np.inf, np.nan] * 2, np.float32)
    assert_same(jax.jit(op)(x), op(x))


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_a_large_number_leaves_its_neighbours_as_they_are(name):
    # What the driver's own functions on vectors get wrong.
    x = np.array([0.5, 1e30, -2, np.inf, 3e4, np.nan, 1e10, 7] * 4, np.float32)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64))
    np.testing.assert_allclose(jax.jit(getattr(lax, name))(x), exact, rtol=3e-7)
