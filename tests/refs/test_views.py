"""Parts of Refs: ref.at[index] is read and written as a Ref."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_a_part_is_read_and_written_in_the_ref():
    ref = jax.new_ref(X)
    part = ref.at[1:3]
    assert (part.shape, part.dtype, part.ndim) == ((2, 4), np.float32, 2)
    np.testing.assert_array_equal(part[0, 1:3], X[1, 1:3])
    part[-1] = jnp.zeros(4)
    part.at[0].at[::2][1] = 7.0
    np.testing.assert_array_equal(ref[...], [X[0], [4, 5, 7, 7], [0, 0, 0, 0]])
    np.testing.assert_array_equal(part.swap(jnp.ones((2, 4))), [[4, 5, 7, 7], [0, 0, 0, 0]])
    np.testing.assert_array_equal(part.get(), np.ones((2, 4)))


def test_a_part_may_begin_where_an_array_says():
    def f(x, i):
        ref = jax.new_ref(x)
        part = ref.at[jax.ds(i, 2)].at[1]
        part.set(part[jnp.array([3, 2, 1, 0])])
        return ref[...]

    expected = np.stack([X[0], X[1], X[2, ::-1]])
    for run in (f, jax.jit(f)):
        np.testing.assert_array_equal(run(X, 1), expected)


def test_a_part_has_the_errors_of_an_index():
    ref = jax.new_ref(X)
    with pytest.raises(ValueError, match="Out of bound indexer: idx=5, dim=2"):
        ref.at[1:3].at[5]
    with pytest.raises(NotImplementedError, match="index the Ref once"):
        ref.at[jnp.array([0, 1])].at[0]
