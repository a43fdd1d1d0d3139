"""How far compiled functions are from the exact result, in units in the last place: floats of all sizes."""

import functools
import math

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.core.config_blocks import enable_x64
from tinyjax.runtime.devices import devices
from tinyjax.runtime.queues import queue_of
from tinyjax.transform.jit.api import jit

f32 = np.float32


def each(function):
    """A function of one float for arrays, with inf where that has a pole."""

    def of(x):
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.inf

    return np.vectorize(of, [np.float64])


def digamma(x):
    psi = pytest.importorskip("scipy.special").psi(x)
    return np.where(x == 0, -np.inf, psi)  # as JAX has it


def erf_inv(x):
    return np.copysign(pytest.importorskip("scipy.special").erfinv(x), x)  # of -0.0: -0.0


def i0e(x):
    return pytest.importorskip("scipy.special").i0e(x)


def i1e(x):
    return np.copysign(pytest.importorskip("scipy.special").i1e(x), x)  # of -0.0: -0.0


def logistic(x):
    return np.where(x < 0, np.exp(x), 1) / (1 + np.exp(-np.abs(x)))


# function -> the same in float64, and the error that is allowed, with fused multiply-add or without
UNARY = {
    "exp": (np.exp, 2), "exp2": (np.exp2, 2), "expm1": (np.expm1, 2), "log": (np.log, 1),
    "log1p": (np.log1p, 2), "logistic": (logistic, 4), "sqrt": (np.sqrt, 0.51),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2), "cbrt": (np.cbrt, 1), "sin": (np.sin, 2),
    "cos": (np.cos, 2), "tan": (np.tan, 4), "asin": (np.arcsin, 3), "acos": (np.arccos, 2),
    "atan": (np.arctan, 3), "sinh": (np.sinh, 3), "cosh": (np.cosh, 2), "tanh": (np.tanh, 3),
    "asinh": (np.arcsinh, 2), "acosh": (np.arccosh, 2), "atanh": (np.arctanh, 2),
    "erf": (each(math.erf), 2), "erfc": (each(math.erfc), 4), "erf_inv": (erf_inv, 70),  # near 1, as XLA
    "lgamma": (each(math.lgamma), 2),
    "digamma": (digamma, 1), "square": (np.square, 0.51),
    "bessel_i0e": (i0e, 5), "bessel_i1e": (i1e, 4),
}  # fmt: skip
BINARY = {"pow": (np.power, 1), "atan2": (np.arctan2, 3)}

SPECIAL = f32(
    [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38, 3.4e38, -3.4e38]
)


def floats():
    """Floats of all exponents and both signs, around those where a function turns or ends, and zeros of
    sines; the special ones come first and last."""
    rng = np.random.default_rng(0)
    every = (np.arange(0, 2**32, 2**17) + rng.integers(0, 2**17, 2**15)).astype(np.uint32)
    turns = np.arange(-6400, 6400, dtype=np.float32) * f32(np.pi / 2)
    turning = f32([0.5, -0.5, 1, -1, 2, 3, -2, 10, 88.72, -87.3, -103.97, 9.19, 128, -126, -149])
    near = turning.view(np.int32)[:, None] + np.arange(-100, 100, dtype=np.int32)
    usual = [rng.uniform(-size, size, 5000).astype(np.float32) for size in (1, 3, 10, 100, 1e5)]
    parts = [SPECIAL, every.view(np.float32), turns, near.ravel().view(np.float32), *usual, SPECIAL]
    return without_least(np.concatenate(parts))


def without_least(x):
    """0 for what is below the smallest normal float, as in kernels."""
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def pairs():
    """Pairs of such floats; of special ones all pairs, first."""
    rng = np.random.default_rng(0)
    some = np.concatenate([SPECIAL, f32([2, -2, 3, -3, 0.5, -2.5, 1 + 2**-23, 2**24 + 2])])
    special = [values.ravel() for values in np.meshgrid(some, some)]
    every = rng.integers(0, 2**32, (2, 20_000), dtype=np.uint32).view(np.float32)
    usual = rng.uniform(-5, 5, (2, 20_000))
    powers = [np.exp(rng.uniform(-80, 80, 20_000)), rng.uniform(-1.2, 1.2, 20_000)]
    whole = [rng.uniform(-9, 9, 5000), rng.integers(-30, 30, 5000)]
    both = zip(special, every, usual, powers, whole)
    return [without_least(np.concatenate(parts).astype(np.float32)) for parts in both]


def assert_accurate(found, exact, allowed):
    """nan, inf and the sign of 0 are as they should be, and the error is at most `allowed`, or next to
    nothing where a number on the way is."""
    nearest, wide = exact.astype(found.dtype), exact.dtype
    np.testing.assert_array_equal(np.isnan(found), np.isnan(exact))
    np.testing.assert_array_equal(np.isinf(exact) & (found != exact), False)
    is_zero = exact == 0
    np.testing.assert_array_equal(np.signbit(found)[is_zero], np.signbit(exact)[is_zero])
    largest = np.finfo(found.dtype).max
    unit = np.spacing(np.minimum(np.abs(nearest), largest)).astype(wide)
    # inf is one unit above the largest float
    with_end = np.clip(found.astype(wide), -float(largest), float(largest))
    error = np.abs(with_end - np.clip(exact, -float(largest), float(largest))) / unit
    error[np.abs(found - exact) <= 4 * np.finfo(found.dtype).tiny] = 0
    worst = np.nanargmax(error)
    assert error[worst] <= allowed, (found[worst], exact[worst])


@pytest.fixture(autouse=True)
def quiet():
    with np.errstate(all="ignore"):
        yield


@functools.cache
def all_of(names):
    """One program of all functions: built once."""
    return jit(lambda *args: {name: getattr(lax, name)(*args) for name in names})


@functools.cache
def found_at_once():
    return all_of(tuple(UNARY))(floats())


@pytest.mark.parametrize("name", UNARY)
def test_a_function_is_within_4_units_in_the_last_place(name):
    exact, allowed = UNARY[name]
    assert_accurate(np.asarray(found_at_once()[name]), exact(floats().astype(np.float64)), allowed)


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_is_within_4_units_in_the_last_place(name):
    exact, allowed = BINARY[name]
    x, y = pairs()
    found = np.asarray(all_of(tuple(BINARY))(x, y)[name])
    assert_accurate(found, exact(x.astype(np.float64), y.astype(np.float64)), allowed)


def test_the_angle_to_a_point_on_an_axis_is_the_nearest_float():
    y, x = f32([[2, 2, -2, -2, 0, -0.0, np.inf, -np.inf], [0, -0.0, 0, -0.0, -2, -2, -2, -2]])
    exact = np.arctan2(y.astype(np.float64), x.astype(np.float64))
    np.testing.assert_array_equal(np.asarray(jit(lax.atan2)(y, x)), exact.astype(f32))


def test_alone_functions_are_as_accurate():
    x = np.concatenate([floats()[:12], floats()[5000::50]])[:700]
    parts = [all_of(tuple(UNARY))(part) for part in x.reshape(-1, 7)]  # fewer than a vector has
    for name, (exact, allowed) in UNARY.items():
        found = np.concatenate([part[name] for part in parts])
        assert_accurate(found, exact(x.astype(np.float64)), allowed)


def test_a_number_below_the_smallest_normal_float_is_0_in_kernels_and_stays_one_elsewhere():
    x = np.full(100, 1e-38, np.float32)
    np.testing.assert_array_equal(np.asarray(jit(lambda x: x * f32(0.5))(x)), 0)
    assert (x * f32(0.5)).min() > 0  # the calling thread is as it was


@pytest.mark.parametrize("name", ["sin", "tan", "asin", "atan", "sinh", "tanh", "expm1", "asinh"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_of_the_smallest_normal_floats_is_these(name, dtype):
    with enable_x64(True):
        x = np.finfo(dtype).tiny * np.linspace(-4, 4, 64).astype(dtype)
        x = x[np.abs(x) >= np.finfo(dtype).tiny]
        np.testing.assert_array_equal(np.asarray(all_of((name,))(x)[name]), x)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_floats_are_rounded_from_a_good_float32(dtype):
    x = lax.convert_element_type(np.linspace(-20, 20, 4001, dtype=np.float32), dtype)
    for name, found in all_of(tuple(UNARY))(x).items():
        exact = UNARY[name][0](np.asarray(x).astype(np.float64)).astype(np.float32)
        exact = without_least(exact)
        nearest = np.asarray(lax.convert_element_type(exact, dtype))
        is_number = ~np.isnan(exact)
        np.testing.assert_array_equal(np.isnan(np.asarray(found).astype(np.float32)), ~is_number)
        bits, wanted = (
            np.asarray(a).view(np.int16).astype(int)[is_number] for a in (found, nearest)
        )
        assert abs(bits - wanted).max() <= 1, name
        assert (bits != wanted).mean() < 0.01, name


def test_every_float16_is_a_float32_and_each_float32_is_rounded_to_the_nearest_float16():
    halves = np.arange(2**16).astype(np.uint16).view(np.float16)
    numbers = np.sort(halves[np.isfinite(halves)].astype(np.float32))
    ties = (numbers[1:] + numbers[:-1]) / 2
    beside = [np.nextafter(ties, np.float32(to)) for to in (-np.inf, np.inf)]
    most = [65519.996, 65520.0, 1e30, np.inf, -np.inf, np.nan, 2.0**-25, 1e-45, -0.0]
    x = np.concatenate([floats(), ties, *beside, np.array(most, np.float32)])
    to_float = jit(lambda h: lax.convert_element_type(h, np.float32))
    to_half = jit(lambda x: lax.convert_element_type(x, np.float16))
    for found, exact in (
        (to_float(halves), halves.astype(np.float32)),
        (to_half(x), x.astype(np.float16)),
    ):
        np.testing.assert_array_equal(np.asarray(found), exact)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(exact))


# ---- float64 ----

# The truth is that of long doubles, where those are longer; else it is as good as the function itself.
LONG = np.longdouble
NO_LONG = {"erf", "erfc", "erf_inv", "bessel_i0e", "bessel_i1e"}  # of which there are none


def doubles():
    """Doubles of all exponents and both signs, and around those where a function turns or ends."""
    rng = np.random.default_rng(0)
    every = rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    turning = np.array([0.5, 1, -1, 709.78, -745.13, -708.4, 1024, -1022, -1074])
    near = turning.view(np.int64)[:, None] + np.arange(-100, 100)
    usual = [rng.uniform(-size, size, 5000) for size in (1, 3, 30, 1000, 1e6)]
    to_1 = [sign * (1 - 2.0 ** -np.arange(1, 54)) for sign in (1, -1)]
    parts = [SPECIAL, floats(), every, near.ravel().view(np.float64), *usual, *to_1]
    return without_least(np.concatenate(parts))


@functools.cache
def found_of_doubles():
    with enable_x64(True):
        return all_of(tuple(UNARY))(doubles())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in UNARY if "gamma" not in name])
def test_a_function_of_float64_is_within_4_units_in_the_last_place(name):
    x = doubles() if name in NO_LONG else doubles().astype(LONG)
    assert_accurate(np.asarray(found_of_doubles()[name]), UNARY[name][0](x).astype(LONG), 4)


@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_float64s_is_within_4_units_in_the_last_place(name):
    x, y = (np.concatenate([part, part[-5000:] * np.pi]) for part in map(np.float64, pairs()))
    with enable_x64(True):
        found = np.asarray(all_of(tuple(BINARY))(x, y)[name])
    assert_accurate(found, BINARY[name][0](x.astype(LONG), y.astype(LONG)), 4)


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_a_gamma_function_of_float64_has_twenty_units_of_1_where_it_is_smaller(name):
    x = np.linspace(0.01, 50, 5000)  # left of 0 SciPy has fewer digits
    with enable_x64(True):
        found = np.asarray(jit(getattr(lax, name))(x))
    exact = UNARY[name][0](x)
    unit = np.spacing(np.maximum(np.abs(exact), 1))
    assert np.max(np.abs(found - exact) / unit) <= 20  # XLA has 18


# ---- why there are functions of our own ----

BUILT_IN = """
__kernel void tj_test_sin(__global const float *x, __global float *y) {
  vstore8(sin(vload8(get_global_id(0), x)), get_global_id(0), y);
}
"""


@pytest.mark.skipif(
    "pthread" not in devices()[0].device_kind, reason="another driver, which may be right"
)
def test_the_drivers_sine_of_a_vector_is_wrong_beside_a_large_number_and_ours_is_not():
    x = np.random.default_rng(0).uniform(-10, 10, (64, 8)).astype(np.float32)
    x[:, 3] = 1e30
    queue = queue_of(devices()[0])
    (kernel,) = queue.build(BUILT_IN, ["tj_test_sin"])
    y = queue.allocate(x.shape, np.dtype("float32"))
    queue.launch(kernel, 64, 1, [queue.upload(x), y])
    exact = np.sin(x.astype(np.float64))
    with pytest.raises(AssertionError):
        assert_accurate(np.ravel(y.read()), exact.ravel(), 4)
    assert_accurate(np.ravel(jit(lax.sin)(x)), exact.ravel(), 2)


def test_powers_of_the_smallest_float64_are_those_of_0_or_exact():
    x = np.float64([1e-308, -1e-310, 5e-324] * 8)
    with enable_x64(True):
        for exponent, limit in (3.0, 0.0), (-3.0, np.inf):
            args = x, np.full_like(x, exponent)
            found = jit(lax.pow).lower(*args).compile()(*args)
            np.testing.assert_array_equal(found, np.copysign(limit, x))
