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


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "uint8", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "shape, axis", [((1,), 0), ((70,), 0), ((5, 40), 1), ((40, 5), 0), ((2, 30, 3), 1)]
)
def test_argmax_finds_the_first_of_equal_elements_and_of_nan_by_reductions(dtype, shape, axis):
    few = np.random.default_rng(0).integers(0, 4, shape)
    arrays = [few, few * 0 - 1]
    if "float" in dtype:
        arrays += [np.where(few == 2, np.nan, few), few * 0 - np.inf, few * -0.0]
    for f in (lax.argmax, lax.argmin):
        jitted = jax.jit(lambda x, f=f: f(x, axis, np.int32))
        for array in arrays:
            x = jax.numpy.asarray(array).astype(dtype)
            assert ": host" not in jitted.lower(x).as_text("schedule")
            assert np.asarray(jitted(x)).tolist() == np.asarray(f(x, axis, np.int32)).tolist()


def test_the_argmax_of_many_elements_is_shared_out():
    kernels = jax.jit(lambda x: lax.argmax(x, 0, np.int32)).lower(np.zeros(2**20, np.float32))
    assert "RFactor" in kernels.as_text("schedule of k0")
