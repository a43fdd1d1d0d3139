"""Methods of ufuncs: reduce, accumulate, outer, at."""

import numpy as np

import tinyjax.numpy as jnp

V = np.array([0.5, -1.5, 2.0, 3.25], np.float32)
W = np.array([1.0, 2.0, -3.0, 0.25], np.float32)
I = np.array([3, -1, 4, 1], np.int32)  # noqa: E741


def test_ufuncs_reduce_accumulate_and_update():
    assert jnp.add.reduce(V) == V.sum()
    np.testing.assert_array_equal(jnp.maximum.accumulate(V), np.maximum.accumulate(V))
    np.testing.assert_array_equal(jnp.multiply.outer(V, W), np.multiply.outer(V, W))
    assert jnp.add.at(jnp.zeros(3), I[:1] * 0, 2.0, inplace=False).tolist() == [2, 0, 0]
    assert jnp.frompyfunc(lambda a, b: a + 2 * b, 2, 1).reduce(jnp.arange(3)) == 6
