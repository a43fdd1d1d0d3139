import re

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.interpreters.batching import vmap
from tinyjax.interpreters.jit import jit


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "tanh", "sin", "cos"])
def test_a_function_is_within_two_units_in_the_last_place(name):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 100_000, dtype=np.uint32).view(
        np.float32
    )  # of any size, nan, inf
    turns = np.arange(-6400, 6400, dtype=np.float32) * np.float32(np.pi / 2)  # zeros of sin and cos
    x = np.concatenate([bits, turns, rng.uniform(-100, 100, 100_000).astype(np.float32)])
    found = np.asarray(jit(getattr(lax, name))(x))
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64))
        nearest = exact.astype(np.float32)
        error = np.abs(found - exact) / np.spacing(np.abs(nearest))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    finite = np.isfinite(nearest)
    np.testing.assert_array_equal(found[~finite], nearest[~finite])
    assert error[finite].max() < 2


@pytest.mark.parametrize("function", [lax.tanh, lax.expm1, lax.sin])
def test_the_sign_of_zero_is_kept(function):
    assert np.signbit(np.asarray(jit(function)(np.float32(-0.0))))


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_side_by_side_a_large_number_leaves_its_neighbours_as_they_are(name):
    x = np.array([0.5, 1e30, -2, np.inf, 3e4, np.nan, 1e10, 7] * 2, np.float32)
    step = lambda c, _: (getattr(lax, name)(c), c)  # noqa: E731
    f = jit(lambda x: lax.scan(step, x, None, length=2)[1][1])
    assert f"tj_{name}_16(" in f.lower(x).as_text()
    found = f(x)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64))
    np.testing.assert_allclose(found, exact, rtol=3e-7)


@pytest.mark.parametrize("name", ["exp", "expm1", "tanh"])
def test_a_function_has_a_form_for_several_elements_side_by_side(name):
    grow = lambda c: getattr(lax, name)(c) + c  # noqa: E731
    loop = jit(vmap(lambda x: lax.while_loop(lambda c: c < 9, grow, x)))
    x = np.arange(1, 9, dtype=np.float32)
    assert re.search(rf"tj_{name}_\d+\(", loop.lower(x).as_text())
    want = [lax.while_loop(lambda c: c < 9, grow, each) for each in x]
    np.testing.assert_allclose(loop(x), want, rtol=1e-5)
