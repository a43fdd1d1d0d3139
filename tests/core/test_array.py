"""Arrays: immutable values with NumPy's operators, conversions and JAX's printing."""

import copy
import pickle

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.array import ShapedArray

X = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], np.float32)


@pytest.fixture
def x():
    return jnp.array(X)


# ---- operators ----


def test_operators_compute_as_numpy_does(x):
    for ours, theirs in [
        (x + 1, X + 1), (2 - x, 2 - X), (x * x, X * X), (x / 4, X / 4), (1 / x, 1 / X),
        (x // 2, X // 2), (x % 4, X % 4), (x**2, X**2), (-x, -X), (+x, X), (abs(x), abs(X)),
        (x @ x.T, X @ X.T), (x < 0, X < 0), (x >= 3, X >= 3), (x == 4, X == 4), (x != 4, X != 4),
    ]:  # fmt: skip
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_bit_operators_work_on_integers_and_bools():
    i, b = jnp.array([6, 3]), jnp.array([True, False])
    assert ((i & 2) | (i ^ 1)).tolist() == [7, 2]
    assert (i << 1).tolist() == [12, 6]
    assert (i >> 1).tolist() == [3, 1]
    assert (~b).tolist() == [False, True]


def test_an_array_right_of_a_numpy_array_gives_an_array(x):
    assert isinstance(np.ones(3, np.float32) + x, jax.Array)


def test_divmod_and_round(x):
    quotient, rest = divmod(x, 4)
    np.testing.assert_array_equal(quotient * 4 + rest, X)
    assert round(jnp.array(2.7)).dtype == jnp.int32
    assert float(round(jnp.array(2.75), 1)) == pytest.approx(2.8)


@pytest.mark.parametrize("other", [[1, 2, 3], (1, 2, 3)])
def test_a_list_operand_raises_instead_of_meaning_something_else(x, other):
    for operator in (lambda: x + other, lambda: other * x, lambda: x == other):
        with pytest.raises(TypeError, match="unsupported operand"):
            operator()


def test_foreign_operands_are_left_to_python(x):
    with pytest.raises(TypeError):
        x + "a"
    with pytest.raises(TypeError):
        x < None  # noqa: B015


# ---- immutable ----


def test_assignment_raises_and_names_at(x):
    with pytest.raises(TypeError, match=r"x\.at\[idx\]\.set"):
        x[0] = 1.0


def test_in_place_operators_make_a_new_array(x):
    y = x
    y += 1
    assert float(x[0, 0]) == 1.0
    assert float(y[0, 0]) == 2.0


def test_an_array_does_not_share_memory_with_its_source():
    source = np.ones(3, np.float32)
    x = jnp.array(source)
    source[0] = 9
    assert x.tolist() == [1, 1, 1]
    with pytest.raises(ValueError):
        np.asarray(x)[0] = 9


@pytest.mark.parametrize(
    "view", [jnp.transpose, jnp.ravel, jnp.squeeze, jnp.flip, lambda x: jnp.broadcast_to(x, (2, 3))]
)
def test_results_do_not_share_memory_with_a_numpy_operand(view):
    source = np.ones(3, np.float32)
    x = view(source)
    source[:] = 9
    assert x.max() == 1


def test_a_copy_outlives_the_original():
    x = jnp.zeros(3) + 1
    again = jnp.array(x)
    jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert again.tolist() == [1, 1, 1]


def test_arrays_are_not_hashable(x):
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


# ---- leaving ----


def test_scalars_become_python_numbers():
    assert float(jnp.array(2.5)) == 2.5
    assert int(jnp.array(3)) == 3
    assert complex(jnp.array(1j)) == 1j
    assert bool(jnp.array(True))
    with pytest.raises(TypeError, match="real"):
        int(jnp.array(1j))
    assert [10, 20, 30][jnp.array(1)] == 20
    assert jnp.array([[7]]).item() == 7


def test_arrays_with_more_elements_are_no_truth_values(x):
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(TypeError, match="Only scalar arrays"):
        float(x)


def test_iteration_gives_rows_and_stops_at_scalars(x):
    assert [row.shape for row in x] == [(3,), (3,)]
    first, second = x
    assert second.tolist() == X[1].tolist()
    with pytest.raises(TypeError, match="0-d"):
        iter(jnp.array(1.0))


def test_in_looks_for_a_value():
    assert 3 in jnp.array([1, 2, 3])
    assert 4 not in jnp.array([1, 2, 3])


def test_copy_and_deepcopy_keep_the_values(x):
    assert copy.copy(x).tolist() == copy.deepcopy(x).tolist() == x.copy().tolist() == X.tolist()


@pytest.mark.parametrize("make", [lambda x: x, jax.jit(lambda x: x + 0)])
def test_pickle_keeps_value_and_type(x, make):
    for array in (make(x), make(jnp.asarray(2.0))):
        again = pickle.loads(pickle.dumps(array))
        assert again.aval == array.aval and again.tolist() == array.tolist()


def test_dlpack_hands_the_elements_to_numpy(x):
    np.testing.assert_array_equal(np.from_dlpack(x), X)
    np.testing.assert_array_equal(jnp.from_dlpack(X), X)
    assert np.from_dlpack(jnp.float32(1)).shape == ()


def test_writing_through_dlpack_does_not_change_the_array():
    x = jnp.array([1.0, 2.0])
    exported = np.from_dlpack(x)
    if exported.flags.writeable:  # a copy, where the reader knows no read-only arrays
        exported[0] = 9
    assert x.tolist() == [1, 2]


def test_the_array_api_namespace_is_jax_numpy(x):
    assert x.__array_namespace__() is jnp


# ---- what it says of itself ----


def test_attributes(x):
    assert (x.shape, x.ndim, x.size, len(x)) == ((2, 3), 2, 6, 2)
    assert (x.itemsize, x.nbytes) == (4, 24)
    assert x.T.shape == x.mT.shape == (3, 2)
    assert jnp.array(1j).imag == 1


def test_repr_is_jax_s():
    assert repr(jnp.arange(3)) == "Array([0, 1, 2], dtype=int32)"
    assert repr(jnp.array(1.0)) == "Array(1., dtype=float32, weak_type=True)"
    assert repr(jnp.zeros((0, 2))) == "Array([], shape=(0, 2), dtype=float32)"


def test_methods_are_the_functions_of_jax_numpy(x):
    np.testing.assert_allclose(x.sum(axis=0), X.sum(0))
    np.testing.assert_allclose(x.mean(), X.mean())
    np.testing.assert_allclose(x.reshape(3, -1), X.reshape(3, -1))
    np.testing.assert_allclose(x.reshape((3, 2), order="F"), X.reshape((3, 2), order="F"))
    assert x.transpose(1, 0).shape == x.swapaxes(0, 1).shape == (3, 2)
    assert x.argmax() == 4
    assert x.astype(int).dtype == jnp.int32
    assert x.clip(0, 1).max() == 1
    assert x.flatten().shape == x.ravel().shape == (6,)


def test_view_reads_the_same_bytes_as_another_dtype():
    x = jnp.array([1.0, 2.0])
    assert x.view(jnp.int32).tolist() == np.float32([1, 2]).view(np.int32).tolist()
    assert x.view(jnp.uint8).shape == (8,)
    with pytest.raises(ValueError, match="divisor"):
        jnp.zeros(3, jnp.uint8).view(jnp.float32)


def test_tracers_have_the_same_operators(x):
    def f(x):
        return (x.at[0].set(0.0)[::-1] + 1).sum(axis=1).reshape(2, 1)

    np.testing.assert_allclose(jax.make_jaxpr(f)(X).out_avals[0].shape, (2, 1))
    np.testing.assert_allclose(jax.vmap(f)(jnp.stack([x, x]))[0], f(x))


def test_equal_avals_are_one_object():
    aval = ShapedArray((2, 3), np.dtype("float32"))
    assert ShapedArray([2, np.int64(3)], "float32") is aval
    assert aval.update(weak_type=True) is not aval
    assert pickle.loads(pickle.dumps(aval)) is copy.deepcopy(aval) is aval


def test_dlpack_says_which_dtypes_can_be_handed_over():
    assert jax.dlpack.from_dlpack(np.arange(3.0, dtype=np.float32)).tolist() == [0, 1, 2]
    there = [jax.dlpack.is_supported_dtype(d) for d in (jnp.float32, jnp.bfloat16, bool, "float64")]
    assert all(there) and not jax.dlpack.is_supported_dtype("O")
