"""What functions in the kernel language give in the interpreter, beside NumPy's in float64."""

import math

import numpy as np
import pytest

import tinyjax.lax.lowering.special  # noqa: F401  (fills definitions)
from tinyjax.compile.kernel.functions.table import called, function_of
from tinyjax.compile.kernel.interpret import apply_op
from tinyjax.compile.kernel.kernel_ir import Const, Value
from tinyjax.compile.kernel.scalar_ops import scalar_ops
from tinyjax.core.dtypes import bfloat16

f32, f64 = np.dtype("float32"), np.dtype("float64")


def each(function):
    """A function of one float for arrays, with inf where that has a pole."""

    def of(x):
        try:
            return function(x)
        except (ValueError, OverflowError):
            return math.inf

    return np.vectorize(of, [f64])


NUMPYS = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "log": np.log, "log1p": np.log1p, "cbrt": np.cbrt, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "erf": each(math.erf), "erfc": each(math.erfc),
    "lgamma": each(math.lgamma),
}  # fmt: skip


def floats():
    rng = np.random.default_rng(0)
    every = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    usual = [rng.uniform(-size, size, 5000).astype(f32) for size in (1, 10, 100)]
    special = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan], f32)
    return np.concatenate([every, *usual, special])


@pytest.mark.parametrize("name", NUMPYS)
def test_the_interpreter_is_within_4_units_in_the_last_place(name):
    with np.errstate(all="ignore"):
        found = apply_op(name, f32, [floats()])
        exact = NUMPYS[name](floats().astype(f64))
        np.testing.assert_array_equal(np.signbit(found)[exact == 0], np.signbit(exact)[exact == 0])
        np.testing.assert_allclose(found, exact.astype(f32), rtol=4 * 2**-23, atol=4 * 2**-149)


OF_FLOAT64 = """
    exp exp2 expm1 logistic log log1p sin cos tan asin acos atan sinh cosh tanh erf erfc cbrt asinh
    acosh atanh
""".split()


@pytest.mark.parametrize("name", OF_FLOAT64)
def test_functions_of_float64_are_within_4_units_in_the_last_place(name):
    assert function_of(name, f64) is not None
    rng = np.random.default_rng(0)
    every = rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(f64)
    usual = [rng.uniform(-size, size, 5000) for size in (1e-9, 1e-3, 1, 10, 700, 1e5)]
    special = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 709.9, 710.47, 710.48, -745, 1e-310]
    x = np.concatenate([every, *usual, special])
    with np.errstate(all="ignore"):
        found, exact = apply_op(name, f64, [x]), NUMPYS[name](x)
    assert found.dtype == f64
    np.testing.assert_array_equal(np.signbit(found)[exact == 0], np.signbit(exact)[exact == 0])
    np.testing.assert_allclose(found, exact, rtol=4 * 2**-52, atol=4 * 2**-1074)


def test_a_power_of_float64_is_within_4_units_in_the_last_place():
    rng = np.random.default_rng(0)
    parts = [0, -0.0, 1, -1, 2, -2, 3, 0.5, 1e-310, -1e300, np.inf, -np.inf, np.nan]
    scales = [(0, 10, 30), (0.999, 1.001, 7e5), (-1e300, 1e300, 1)]
    some = [(rng.uniform(a, b, 9000), rng.uniform(-c, c, 9000)) for a, b, c in scales]
    whole = (rng.uniform(-9, 9, 9000), rng.integers(-330, 330, 9000).astype(f64))
    pairs = [*some, whole, [part.ravel() for part in np.meshgrid(parts, parts)]]
    x, y = map(np.concatenate, zip(*pairs))
    with np.errstate(all="ignore"):
        found, exact = apply_op("pow", f64, [x, y]), np.power(x, y)
    np.testing.assert_array_equal(np.signbit(found)[exact == 0], np.signbit(exact)[exact == 0])
    np.testing.assert_allclose(found, exact, rtol=4 * 2**-52, atol=4 * 2**-1074)


def test_the_angle_of_a_float64_is_within_4_units_in_every_direction():
    rng = np.random.default_rng(0)
    parts = [0, -0.0, 1, -1, 2, -2, 1e-310, -1e300, np.inf, -np.inf, np.nan]
    y, x = (
        np.concatenate([p.ravel(), rng.standard_normal(20_000)]) for p in np.meshgrid(parts, parts)
    )
    with np.errstate(all="ignore"):
        found = apply_op("atan2", f64, [y, x])
    exact = np.arctan2(y, x)
    np.testing.assert_array_equal(np.signbit(found)[exact == 0], np.signbit(exact)[exact == 0])
    np.testing.assert_allclose(found, exact, rtol=4 * 2**-52)


@pytest.mark.parametrize("name", NUMPYS)
def test_the_same_bits_alone_and_in_a_vector(name):
    with np.errstate(all="ignore"):
        x = floats()[-50:]
        alone = np.array([apply_op(name, f32, [each]) for each in x], f32)
        np.testing.assert_array_equal(alone, apply_op(name, f32, [x]))


@pytest.mark.parametrize("name, exact", [("pow", np.power), ("atan2", np.arctan2)])
def test_the_interpreter_is_within_4_units_of_a_function_of_two(name, exact):
    x, y = floats()[-15_000:], floats()[:15_000]
    with np.errstate(all="ignore"):
        found = apply_op(name, f32, [x, y])
        want = exact(x.astype(f64), y.astype(f64)).astype(f32)
        np.testing.assert_allclose(found, want, rtol=4 * 2**-23, atol=4 * 2**-149)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_a_float_is_rounded_to_the_nearest_of_16_bits_and_back(name):
    x, dtype = floats(), np.dtype(name) if name == "float16" else bfloat16
    with np.errstate(all="ignore"):
        rounded = x.astype(dtype)
        bits = apply_op(f"store_{name}", np.dtype("int32"), [x])
        np.testing.assert_array_equal(apply_op(f"round_{name}", f32, [x]), rounded.astype(f32))
        np.testing.assert_array_equal(apply_op(f"load_{name}", f32, [bits]), rounded.astype(f32))


@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_division_of_integers_is_that_of_scalar_ops(dtype):
    dtype, info = np.dtype(dtype), np.iinfo(dtype)
    some = np.array([0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1], dtype)
    x, y = map(np.ravel, np.meshgrid(some, some))
    with np.errstate(all="ignore"):
        for op in ("div", "rem"):
            want = scalar_ops[op].numpy(x, y)
            np.testing.assert_array_equal(apply_op(f"{op}_{dtype}", dtype, [x, y]), want)


def test_a_16_bit_float_is_computed_as_a_float32():
    assert function_of("exp", np.dtype("float16")) is function_of("exp", f32)
    assert function_of("sqrt", f64) is None


@pytest.mark.parametrize("op", ["div", "rem"])
def test_vectors_of_integers_are_divided_by_a_function_and_numbers_are_not(op):
    i32 = np.dtype("int32")
    x, wide = Value("x", i32), Value("x", i32, 4)
    assert called(op, (wide, wide), 4).name == f"{op}_int32_4"
    assert called(op, (x, x), 1) is None
    assert called(op, (wide, Const(3, i32)), 4) is None
