import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "uint8", "float16"])
@pytest.mark.parametrize("shape, axis", [((5,), 0), ((7, 3), 0), ((2, 16, 3), 1), ((40, 2), 1)])
def test_short_arrays_are_sorted_by_another_in_kernels(dtype, shape, axis):
    random = np.random.default_rng(0)
    keys, values = random.integers(0, 4, shape).astype(dtype), np.float32(random.random(shape))
    values.flat[0] = -0.0
    if dtype == "float32":
        keys.flat[:4] = 0, np.nan, np.inf, -0.0
    f = jax.jit(lambda keys, values: lax.sort_key_val(keys, values, axis))
    assert ": host" not in f.lower(keys, values).as_text("schedule")
    for x, y in zip(f(keys, values), lax.sort_key_val(keys, values, axis)):
        assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
