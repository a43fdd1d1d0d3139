"""jnp.linalg's norms."""

import numpy as np
import pytest

import tinyjax.numpy as jnp

V = np.array([0.5, -1.5, 2.0, 3.25], np.float32)


@pytest.mark.parametrize("ord", [None, 0, 1, 2, 3, np.inf, -np.inf])
def test_vector_norm_equals_numpy(ord):
    np.testing.assert_allclose(jnp.linalg.norm(V, ord), np.linalg.norm(V, ord), rtol=1e-5)
