import re

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.transform.batching import vmap
from tinyjax.transform.jit.api import jit

FUNCTIONS = ["exp", "expm1", "log", "log1p", "tanh", "sin", "cos", "logistic", "erf"]


def inputs():
    """Numbers of any size, nan, inf, the zeros of sin and cos, numbers of common size, and the edges."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    turns = np.arange(-6400, 6400, dtype=np.float32) * np.float32(np.pi / 2)
    edges = np.array([0, -0.0, -1, -104, -103.5, -87.4, -80, 88.7228, 88.8, 1e-40], np.float32)
    common = [rng.uniform(-size, size, 50_000).astype(np.float32) for size in (1, 5, 110)]
    return np.concatenate([bits, turns, edges, *common])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_the_same_for_scalars_and_vectors(name):
    x = inputs()[-200:]
    f = jit(getattr(lax, name))
    np.testing.assert_allclose(f(x), [f(each) for each in x], rtol=3e-7)


@pytest.mark.parametrize("function", [lax.tanh, lax.expm1, lax.sin, lax.log1p, lax.erf])
def test_the_sign_of_zero_is_kept(function):
    assert np.signbit(np.asarray(jit(function)(np.float32(-0.0))))


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_a_large_number_leaves_the_other_lanes_as_they_are(name):
    x = np.array([0.5, 1e30, -2, np.inf, 3e4, np.nan, 1e10, 7] * 2, np.float32)
    step = lambda c, _: (getattr(lax, name)(c), c)  # noqa: E731
    f = jit(lambda x: lax.scan(step, x, None, length=2)[1][1])
    assert f"tj_{name}_16(" in f.lower(x).as_text()
    found = f(x)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(np.float64))
    np.testing.assert_allclose(found, exact, rtol=3e-7)


@pytest.mark.parametrize("name", ["exp", "expm1", "tanh", "erf", "log1p"])
def test_a_function_has_a_form_for_vectors(name):
    grow = lambda c: getattr(lax, name)(c) + c  # noqa: E731
    loop = jit(vmap(lambda x: lax.while_loop(lambda c: c < 9, grow, x)))
    x = np.arange(1, 9, dtype=np.float32)
    assert re.search(rf"tj_{name}_\d+\(", loop.lower(x).as_text())
    want = [lax.while_loop(lambda c: c < 9, grow, each) for each in x]
    np.testing.assert_allclose(loop(x), want, rtol=1e-5)
