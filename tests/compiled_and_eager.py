"""Compiled equals eager: programs of many functions at once, on values where things go wrong."""

import numpy as np

from tinyjax import lax
from tinyjax.core.array import ArrayImpl
from tinyjax.core.config import config
from tinyjax.core.dtypes import bfloat16, is_float, is_inexact, np_dtype
from tinyjax.core.jaxpr import eval_jaxpr
from tinyjax.core.tracing import make_jaxpr
from tinyjax.runtime.devices import devices
from tinyjax.runtime.executable import compile_jaxpr

FLOATS = ["float32", "float16", "bfloat16", "float64"]
INTEGERS = ["int32", "int8", "int16", "int64", "uint32", "uint8", "uint16", "uint64"]
EVERY_DTYPE = FLOATS + INTEGERS + ["bool"]
FLOAT_UNARY = """neg sign floor ceil exp exp2 log expm1 log1p tanh logistic sin cos tan asin acos atan
    sinh cosh asinh acosh atanh sqrt rsqrt cbrt abs erf erfc is_finite square erf_inv lgamma digamma
    stop_gradient copy"""
INTEGER_UNARY = "neg sign population_count clz bitwise_not square"
COMPARISONS = "eq ne lt le gt ge max min"
FLOAT_BINARY = COMPARISONS + " add sub mul div rem pow atan2 nextafter"
INTEGER_BINARY = (
    COMPARISONS
    + """ add sub mul div rem bitwise_and bitwise_or bitwise_xor shift_left
    shift_right_logical shift_right_arithmetic"""
)
BOOL_BINARY = COMPARISONS + " bitwise_and bitwise_or bitwise_xor"


def compare(functions, *args, ulps=4):
    """Compiles all functions of `args` as one program, and compares each with its eager result."""
    args = [np.asarray(x) for x in args]
    with config.set("jax_enable_x64", True):
        closed = make_jaxpr(lambda *xs: [f(*xs) for f in functions.values()])(*args)
        arrays = [ArrayImpl(x, aval) for x, aval in zip(args, closed.in_avals)]
        found = compile_jaxpr(closed, devices("cpu")[0])(arrays)
        wanted = eval_jaxpr(closed.jaxpr, closed.consts, *arrays)
    for name, x, y in zip(functions, found, wanted, strict=True):
        assert_close(name, np.asarray(x), np.asarray(y), ulps)


def assert_close(name, x, y, ulps):
    assert (x.shape, x.dtype) == (y.shape, y.dtype), name
    if not is_inexact(y.dtype):
        np.testing.assert_array_equal(x, y, err_msg=name)
        return
    epsilon = np.finfo(y.dtype).eps if y.dtype != bfloat16 else 2.0**-7
    wide = np.complex128 if y.dtype.kind == "c" else np.float64
    # Compiled numbers below the smallest normal one are 0; float16s are computed as float32s.
    tiny = 2.3e-308 if y.dtype in (np.float64, np.complex128) else 1.2e-38
    tiny = 6e-8 if y.dtype == np.float16 else tiny
    # A float64's lgamma and digamma have units of 1 left near their zeros, as XLA's.
    is_gamma = name.startswith(("lgamma", "digamma")) and y.dtype == np.float64
    least = 10 * epsilon if is_gamma else 2 * tiny
    np.testing.assert_allclose(
        x.astype(wide), y.astype(wide), rtol=ulps * epsilon, atol=least, err_msg=name
    )


def functions(names):
    return {name: getattr(lax, name) for name in names.split()}


def edge_values(dtype):
    """Values where things go wrong, in a square: each meets each. None is below the smallest normal float,
    which is 0 in kernels."""
    dtype = np_dtype(dtype)
    if dtype.kind == "b":
        values = [False, True]
    elif is_float(dtype):
        values = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, 50, -100, 1e4, -1e4, 1e10, 1e20]
        values += [1e38, -1e38, 1e-5, 1e-30, 1e-37, np.inf, -np.inf, np.nan, 0.9999, -0.9999, 255]
        values += [256.5, -129, 32768, 2147483520.0, -2147483648.0, 9.3e18, 0.1]
    else:
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 64, 100, info.max, info.max - 1, info.min]
        values += [-1, -2, -7] if info.min < 0 else []
    with np.errstate(over="ignore"):
        row = np.array(values).astype(dtype) if is_float(dtype) else np.array(values, dtype)
    return np.meshgrid(row, row)


def data(*shape, dtype="float32"):
    return (np.random.default_rng(0).standard_normal(shape) * 3).astype(np_dtype(dtype))
