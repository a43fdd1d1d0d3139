"""x[i] and x.at[i]: NumPy's indexing with JAX's rules for what is out of range."""

import numpy as np
import pytest
from lowering import interpreted

import tinyjax as jax
import tinyjax.numpy as jnp

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
K = np.array([2, 0, 1])

INDICES = [
    0, -1, (1, 2), (1, 2, 3), slice(1, None), slice(None, None, -1), (0, slice(2, 0, -1)),
    (slice(None), slice(None, None, 2)), None, (..., 0), (None, 0, ..., None), (),
    (slice(1, 1),), np.array([1, 0]), (0, K), (slice(None), K), (slice(None), slice(None), K),
    (0, K, K), (0, K[:, None], K), (K[:2] % 2, slice(None), K[:2]), (K[:2] % 2, K[:2]),
    (0, slice(None), K), (..., K[:2], None), (slice(None), -K), (0, K, slice(None, None, -2)),
    X > 11, (0, X[0] > 5), (slice(None), np.array([True, False, True])), True, False,
    np.array([[0, 1], [1, 0]]), (1, slice(None), np.array(2)), np.uint8(1),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_reading_equals_numpy(index):
    expected = X[index]
    np.testing.assert_array_equal(jnp.array(X)[index], expected)
    traced = jax.make_jaxpr(lambda x: x[index])(X)
    assert traced.out_avals[0].shape == expected.shape


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_writing_equals_numpy(index):
    expected = X.copy()
    expected[index] = -1.0
    np.testing.assert_array_equal(jnp.array(X).at[index].set(-1.0), expected)
    expected = X.copy()
    np.add.at(expected, index, 2.0)
    np.testing.assert_array_equal(jnp.array(X).at[index].add(2.0), expected)


# ---- the three ways ----


def primitives(f, *args):
    return [eqn.primitive.name for eqn in jax.make_jaxpr(f)(*args).eqns]


def test_known_integers_and_slices_are_a_slice():
    assert primitives(lambda x: x[0], X) == ["slice", "squeeze"]
    assert primitives(lambda x: x[:, ::-1], X) == ["rev"]


def test_traced_integers_are_a_dynamic_slice():
    assert primitives(lambda x, i: x[i], X, 1)[-2:] == ["dynamic_slice", "squeeze"]


def test_index_arrays_are_a_gather():
    assert primitives(lambda x, i: x[i], X, K)[-1] == "gather"
    assert primitives(lambda x, i: x.at[i].set(0.0), X, K)[-1] == "scatter"


# ---- out of range ----


def test_reads_out_of_range_are_clamped():
    x = jnp.arange(4)
    assert int(x[9]) == 3
    assert int(x[-9]) == 0
    assert x[np.array([1, 99])].tolist() == [1, 3]
    assert int(jax.jit(lambda x, i: x[i])(x, 99)) == 3


def test_writes_out_of_range_are_dropped():
    x = jnp.arange(4)
    assert x.at[9].set(7).tolist() == [0, 1, 2, 3]
    assert x.at[np.array([1, 99])].add(5).tolist() == [0, 6, 2, 3]


def test_get_can_fill_or_clip():
    x = jnp.arange(3.0)
    assert np.isnan(x.at[9].get(mode="fill"))
    assert float(x.at[9].get(mode="fill", fill_value=-1)) == -1
    assert float(x.at[9].get(mode="clip")) == 2
    assert x.at[9].set(8, mode="clip").tolist() == [0, 1, 8]


def test_negative_indices_need_not_wrap():
    assert jnp.arange(3).at[-1].set(9, wrap_negative_indices=False).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "dtype, places, mode, expected",
    [
        ("uint64", [1, 2**32, 2**63 - 1, 2**63, 2**64 - 2], "clip", [1, 4, 4, 4, 4]),
        ("uint32", [1, 2**31, 2**32 - 2], "clip", [1, 4, 4]),
        ("int64", [-(2**63), -1, 2**32, 2**63 - 1], "clip", [0, 0, 4, 4]),
        ("uint8", [1, 250], "fill", [1, -1]),
        ("uint32", [1, 2**31, 2**32 - 2], "fill", [1, -1, -1]),
        ("int64", [-5, 2**31, 2**32, 2**32 + 1, -(2**63)], "fill", [-1, -1, 0, 1, 0]),
        ("uint64", [5, 2**31, 2**32 + 1, 2**63, 2**64 - 2], "fill", [-1, -1, 1, 0, -1]),
    ],
)
def test_places_beyond_an_int32_are_clipped_as_they_are_and_filled_by_their_low_bits(
    dtype, places, mode, expected
):
    numbers = jax.lax.GatherDimensionNumbers((), (0,), (0,))

    def read(x, i):
        return jax.lax.gather(x, i[:, None], numbers, (1,), mode=mode, fill_value=-1)

    with jax.enable_x64(True):
        ((found,), (eager,)) = interpreted(read, np.arange(5), np.array(places, dtype))
    assert (eager.tolist(), found.tolist()) == (expected, expected)


def test_an_update_beyond_an_int64_is_clipped_to_the_end():
    numbers = jax.lax.ScatterDimensionNumbers((), (0,), (0,))
    with jax.enable_x64(True):
        last = jnp.array([[2**63 + 1]], "uint64")
        found = jax.lax.scatter_add(jnp.arange(3), last, jnp.ones(1, int), numbers, mode="clip")
    assert found.tolist() == [0, 1, 3]


def test_along_an_axis_an_unsigned_place_wraps_as_an_int32():
    places = np.array([2**32 - 1, 1], "uint32")
    assert jnp.take_along_axis(jnp.arange(5), places, 0).tolist() == [4, 1]


# ---- updates ----


def test_updates_by_each_operation():
    x = jnp.array([1.0, 2.0, 4.0])
    assert x.at[0].subtract(3).tolist() == [-2, 2, 4]
    assert x.at[1:].multiply(2).tolist() == [1, 4, 8]
    assert x.at[1:].divide(2).tolist() == [1, 1, 2]
    assert x.at[2].power(2).tolist() == [1, 2, 16]
    assert x.at[:2].min(1.5).tolist() == [1, 1.5, 4]
    assert x.at[:2].max(1.5).tolist() == [1.5, 2, 4]
    assert x.at[1].apply(lambda v: v * v).tolist() == [1, 4, 4]


def test_add_counts_repeated_indices():
    assert jnp.zeros(3).at[np.array([0, 0, 2])].add(1).tolist() == [2, 0, 1]


def test_updates_of_an_array_without_elements_are_all_outside():
    assert jnp.zeros((0, 3)).at[np.array([1, 0])].set(jnp.ones(3)).shape == (0, 3)


def test_the_array_keeps_its_dtype_and_a_float_into_integers_warns():
    with pytest.warns(FutureWarning, match="incompatible types"):
        out = jnp.arange(3).at[0].set(2.5)
    assert out.dtype == jnp.int32
    assert jnp.zeros(2).at[0].set(1).dtype == jnp.float32


def test_gradients_of_reads_and_writes():
    x = jnp.arange(4.0)
    assert jax.grad(lambda x: x[np.array([1, 1, 2])].sum())(x).tolist() == [0, 2, 1, 0]
    assert jax.grad(lambda x: (x.at[0].set(9.0) ** 2).sum())(x).tolist() == [0, 2, 4, 6]
    assert jax.grad(lambda v: jnp.zeros(3).at[1].set(v).sum())(2.0) == 1


# ---- mistakes ----


@pytest.mark.parametrize(
    "index, error, message",
    [
        ((0, 0, 0, 0), IndexError, "Too many indices"),
        ((..., ...), IndexError, "single ellipsis"),
        ("a", TypeError, "string"),
        (0.5, TypeError, "integer or boolean"),
        ([0, 1], TypeError, "array"),
        ([slice(None)], TypeError, "tuple"),
        (np.array([0.5]), TypeError, "astype"),
        (np.array([True, False, True]), IndexError, "did not match"),
        (int, IndexError, "valid indices"),
        (slice(1.0, 2), TypeError, "float"),
    ],
    ids=repr,
)
def test_what_is_no_index_raises(index, error, message):
    with pytest.raises(error, match=message):
        jnp.array(X)[index]


def test_a_traced_mask_or_slice_end_raises():
    with pytest.raises(jax.errors.NonConcreteBooleanIndexError, match="where"):
        jax.make_jaxpr(lambda x: x[x > 0])(X)
    with pytest.raises(IndexError, match="dynamic_slice"):
        jax.make_jaxpr(lambda x, i: x[:i])(X, 1)


def test_a_value_that_does_not_fit_raises():
    with pytest.raises(ValueError, match="broadcasting"):
        jnp.zeros(3).at[:2].set(jnp.ones(3))


def test_index_take_takes_slices_at_indices_of_several_axes():
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    i, j = np.array([0, 1, -1]), np.array([1, -1, 5])  # 5 counts as 5 % 4
    taken = jax.jit(lambda x: jax.lax.index_take(x, (i, j), (0, 2)))
    np.testing.assert_array_equal(taken(x), x[i, :, j % 4])
    np.testing.assert_array_equal(jax.grad(lambda x: taken(x).sum())(x).sum(), 9)


def test_index_take_needs_a_vector_for_each_axis():
    x, i = np.ones((2, 3), np.float32), np.array([0, 1])
    for idxs, axes in [((i,), (0, 1)), ((i, i), (0,)), ((i[None],), (0,))]:
        with pytest.raises(TypeError, match="index_take needs a vector of indices for each"):
            jax.lax.index_take(x, idxs, axes)
