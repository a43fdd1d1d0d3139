"""jnp.pad: NumPy's modes."""

import numpy as np
import pytest

import tinyjax.numpy as jnp

RNG = np.random.default_rng(0)
M = RNG.normal(size=(3, 4)).astype(np.float32)


@pytest.mark.parametrize(
    "mode", ["edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean"]
)
def test_pad_equals_numpy(mode):
    np.testing.assert_allclose(
        jnp.pad(M, (2, 3), mode=mode), np.pad(M, (2, 3), mode=mode), rtol=1e-5
    )
