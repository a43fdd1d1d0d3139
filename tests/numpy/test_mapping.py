"""jnp.vectorize."""

import numpy as np
import pytest

import tinyjax.numpy as jnp

RNG = np.random.default_rng(0)
V = np.array([0.5, -1.5, 2.0, 3.25], np.float32)
M = RNG.normal(size=(3, 4)).astype(np.float32)
T = RNG.normal(size=(2, 3, 4)).astype(np.float32)


def test_vectorize_maps_over_all_other_axes():
    dot = jnp.vectorize(jnp.dot, signature="(n),(n)->()")
    np.testing.assert_allclose(dot(T, M), np.einsum("bij,ij->bi", T, M), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="inconsistent size"):
        dot(V, V[:3])
