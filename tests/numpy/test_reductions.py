"""Options of jnp's reductions, and the dtypes that sums are kept in."""

import numpy as np
import pytest

import tinyjax.numpy as jnp

RNG = np.random.default_rng(0)
V = np.array([0.5, -1.5, 2.0, 3.25], np.float32)
M = RNG.normal(size=(3, 4)).astype(np.float32)
T = RNG.normal(size=(2, 3, 4)).astype(np.float32)


def test_masks_initial_values_and_kept_axes():
    np.testing.assert_allclose(jnp.sum(M, where=M > 0), M[M > 0].sum(), rtol=1e-5)
    np.testing.assert_allclose(jnp.mean(M, 1, where=M > 0), np.mean(M, 1, where=M > 0), rtol=1e-5)
    assert jnp.max(M, where=M > 9, initial=-1) == -1
    assert jnp.sum(T, axis=(0, 2), keepdims=True).shape == (1, 3, 1)
    assert jnp.std(V, ddof=1) == pytest.approx(np.std(V, ddof=1))


def test_integers_and_halves_are_summed_wide():
    assert jnp.sum(np.full(300, 200, np.uint8)) == 60_000
    assert jnp.sum(np.ones(5000, np.float16)) == 5000
    assert jnp.sum(np.ones(3, bool)).dtype == jnp.int32
