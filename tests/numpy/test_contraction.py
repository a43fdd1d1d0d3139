"""jnp.einsum and similar functions."""

import numpy as np
import pytest

import tinyjax.numpy as jnp

RNG = np.random.default_rng(0)
V = np.array([0.5, -1.5, 2.0, 3.25], np.float32)
W = np.array([1.0, 2.0, -3.0, 0.25], np.float32)
M = RNG.normal(size=(3, 4)).astype(np.float32)
T = RNG.normal(size=(2, 3, 4)).astype(np.float32)


@pytest.mark.parametrize(
    "subscripts, operands",
    [
        ("ij,kj->ik", (M, M)), ("ij->j", (M,)), ("ii", (M[:, :3],)), ("ii->i", (M[:, :3],)),
        ("bij,bkj->bik", (T, T)), ("...ij,kj->...ki", (T, M)), ("i,j,k->kij", (V, W, V)),
        ("ij,kj,kl", (M, M, M)), ("aab->b", (T[:, :2],)), ("i,i", (V, W)), ("ij,ij->ij", (M, M)),
    ],
)  # fmt: skip
def test_einsum_equals_numpy(subscripts, operands):
    expected = np.einsum(subscripts, *operands)
    np.testing.assert_allclose(jnp.einsum(subscripts, *operands), expected, rtol=1e-4, atol=1e-5)
