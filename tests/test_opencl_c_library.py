import re

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.interpreters.batching import vmap
from tinyjax.interpreters.jit import jit


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "tanh"])
def test_a_function_is_within_two_units_in_the_last_place(name):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 100_000, dtype=np.uint32).view(
        np.float32
    )  # of any size, nan, inf
    x = np.concatenate([bits, rng.uniform(-100, 100, 100_000).astype(np.float32)])
    found = np.asarray(jit(getattr(lax, name))(x))
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64))
        nearest = exact.astype(np.float32)
        error = np.abs(found - exact) / np.spacing(np.abs(nearest))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    finite = np.isfinite(nearest)
    np.testing.assert_array_equal(found[~finite], nearest[~finite])
    assert error[finite].max() < 2


@pytest.mark.parametrize("function", [lax.tanh, lax.expm1])
def test_the_sign_of_zero_is_kept(function):
    assert np.signbit(np.asarray(jit(function)(np.float32(-0.0))))


@pytest.mark.parametrize("name", ["exp", "expm1", "tanh"])
def test_a_function_has_a_form_for_several_elements_side_by_side(name):
    grow = lambda c: getattr(lax, name)(c) + c  # noqa: E731
    loop = jit(vmap(lambda x: lax.while_loop(lambda c: c < 9, grow, x)))
    x = np.arange(1, 9, dtype=np.float32)
    assert re.search(rf"tj_{name}\d+\(", loop.lower(x).as_text())
    want = [lax.while_loop(lambda c: c < 9, grow, each) for each in x]
    np.testing.assert_allclose(loop(x), want, rtol=1e-5)
