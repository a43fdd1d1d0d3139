"""Elementwise primitives: kinks and XLA's edges, accuracy, types, errors.

What holds for each primitive (derivatives, batches, compiled code) is in test_primitives.
"""

import functools

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.core import primitives
from tinyjax.core.config import enable_x64
from tinyjax.core.tracing import make_jaxpr
from tinyjax.transform.vjp import grad

f32 = functools.partial(np.array, dtype=np.float32)
i32 = functools.partial(np.array, dtype=np.int32)
i8 = functools.partial(np.array, dtype=np.int8)
u8 = functools.partial(np.array, dtype=np.uint8)
INT_MIN = np.iinfo(np.int32).min


@pytest.fixture
def x64():
    with enable_x64(True):
        yield


# ---- derivatives ----


def test_a_tie_of_max_shares_the_tangent():
    assert float(grad(lambda x: lax.max(x, f32(2)))(f32(2))) == 0.5


def test_steps_have_zero_derivative():
    for f in (lax.floor, lax.ceil, lax.round, lax.sign):
        assert float(grad(f)(f32(1.3))) == 0


def test_pow_of_zero_to_an_integer_zero_has_derivative_zero():
    assert float(grad(lambda x: lax.pow(x, np.int32(0)))(f32(0))) == 0


def test_derivative_of_abs_at_zero_is_one():
    assert float(grad(lax.abs)(f32(0))) == 1


def test_clamp_differentiates_by_a_scalar_bound():
    x = f32([0, 1, 5, 6])
    clamped_sum = lambda high: primitives.reduce_sum(lax.clamp(f32(-1), x, high), (0,))  # noqa: E731
    assert float(grad(clamped_sum)(f32(3))) == 2


def test_stop_gradient_stops_every_level():
    f = lambda x: lax.mul(x, lax.stop_gradient(lax.mul(x, x)))  # noqa: E731
    assert float(grad(f)(3.0)) == 9
    assert float(grad(grad(f))(3.0)) == 0


def test_stop_gradient_takes_a_tree():
    a, b = lax.stop_gradient((f32(1), {"b": f32([2, 3])}))
    assert float(a) == 1 and b["b"].shape == (2,)


def test_gradient_passes_through_narrower_dtypes():
    down_and_up = lambda x: lax.convert_element_type(  # noqa: E731
        lax.convert_element_type(x, np.float16), np.float32
    )
    ct = grad(down_and_up)(f32(1.5))
    assert float(ct) == 1 and ct.dtype == np.float32


# ---- edges, as XLA has them ----


def test_integer_division_by_zero():
    np.testing.assert_array_equal(lax.div(i32([5, -5, 0]), i32([0, 0, 0])), [-1, -1, -1])
    np.testing.assert_array_equal(lax.rem(i32([5, -5, 0]), i32([0, 0, 0])), [5, -5, 0])
    assert int(lax.div(u8(5), u8(0))) == 255


def test_smallest_integer_over_minus_one():
    assert int(lax.div(i32(INT_MIN), i32(-1))) == INT_MIN
    assert int(lax.rem(i32(INT_MIN), i32(-1))) == 0
    assert int(lax.abs(i32(INT_MIN))) == INT_MIN


def test_division_truncates_and_rem_has_the_sign_of_x():
    np.testing.assert_array_equal(lax.div(i32([-7, 7, -7]), i32([2, -2, -2])), [-3, -3, 3])
    np.testing.assert_array_equal(lax.rem(i32([-7, 7, -7]), i32([2, -2, -2])), [-1, 1, -1])
    np.testing.assert_array_equal(lax.rem(f32([-5.5, 5.5]), f32([2, -2])), [-1.5, 1.5])


def test_shifts_past_the_width():
    shifts = i32([31, 32, 40, -1])
    np.testing.assert_array_equal(lax.shift_left(i32([1] * 4), shifts), [INT_MIN, 0, 0, 0])
    np.testing.assert_array_equal(lax.shift_right_arithmetic(i32([-8] * 4), shifts), [-1] * 4)
    np.testing.assert_array_equal(lax.shift_right_logical(i32([-8] * 4), shifts), [1, 0, 0, 0])


def test_float_to_integer_saturates():
    x = f32([np.nan, np.inf, -np.inf, 1e20, -1.7, 300])
    to = functools.partial(lax.convert_element_type, x)
    info = np.iinfo(np.int32)
    np.testing.assert_array_equal(to(np.int32), [0, info.max, info.min, info.max, -1, 300])
    np.testing.assert_array_equal(to(np.uint8), [0, 255, 0, 255, 0, 255])


def test_integer_to_narrower_integer_wraps():
    np.testing.assert_array_equal(lax.convert_element_type(i32([300, -129]), np.int8), [44, 127])


def test_nan_is_true_as_a_bool():
    np.testing.assert_array_equal(
        lax.convert_element_type(f32([np.nan, 0, -0.0]), bool), [True, False, False]
    )


def test_complex_to_real_warns_and_keeps_the_real_part():
    with pytest.warns(np.exceptions.ComplexWarning):
        assert int(lax.convert_element_type(np.complex64(1 + 2j), np.int32)) == 1


def test_max_and_min_hand_nan_on():
    assert np.isnan(lax.max(f32([np.nan, 1]), f32([1, np.nan]))).all()
    assert np.isnan(lax.clamp(f32(0), f32([np.nan]), f32(1))).all()


def test_max_orders_complex_numbers_by_real_part_first():
    x, y = np.complex64([1 + 2j, 3]), np.complex64([1 + 3j, 2 + 9j])
    np.testing.assert_array_equal(lax.max(x, y), [1 + 3j, 3])
    np.testing.assert_array_equal(lax.min(x, y), [1 + 2j, 2 + 9j])


def test_sign_keeps_negative_zero_and_nan():
    out = np.asarray(lax.sign(f32([-0.0, np.nan, -3])))
    assert np.signbit(out[0]) and out[0] == 0 and np.isnan(out[1]) and out[2] == -1


def test_rounding_of_halves():
    x = f32([0.5, 1.5, -2.5, 0.49999997])
    np.testing.assert_array_equal(lax.round(x), [1, 2, -3, 0])
    np.testing.assert_array_equal(lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), [0, 2, -2, 0])


def test_powers_at_the_edges():
    x, y = f32([0, 0, -2, -2, 1, np.nan]), f32([0, -1, 3, 0.5, np.nan, 0])
    np.testing.assert_array_equal(lax.pow(x, y), f32([1, np.inf, -8, np.nan, 1, 1]))
    np.testing.assert_array_equal(
        lax.integer_pow(f32([2, 0, -0.0]), -3), f32([0.125, np.inf, -np.inf])
    )


def test_select_n_takes_the_nearest_case_for_an_index_out_of_range():
    cases = [np.full(4, k, np.float32) for k in range(3)]
    np.testing.assert_array_equal(lax.select_n(i32([-1, 1, 2, 7]), *cases), [0, 1, 2, 2])


def test_counting_bits():
    np.testing.assert_array_equal(lax.clz(i8([0, 1, -1])), [8, 7, 0])
    np.testing.assert_array_equal(lax.population_count(i8([0, 5, -1])), [0, 2, 8])


def test_reduce_precision_rounds_to_even_and_overflows():
    x = f32([1.1, 3.14159, 1e20, -1e20, np.nan, 1e-30])
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(lax.reduce_precision(x, 5, 10), expected)


def test_bitcast_changes_the_last_axis_by_size():
    parts = lax.bitcast_convert_type(f32([1, 2]), np.uint8)
    assert parts.shape == (2, 4)
    np.testing.assert_array_equal(lax.bitcast_convert_type(parts, np.float32), [1, 2])


def test_total_order_has_a_place_for_nan_and_negative_zero():
    x = f32([-np.nan, -np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan])
    assert np.asarray(lax.lt_to_p.bind(x[:-1], x[1:])).all()


def test_sixteen_bit_floats_are_rounded_once():
    x = np.linspace(-3, 3, 50).astype(np.float16)
    for f, exact in ((lax.logistic, lambda x: 1 / (1 + np.exp(-x))), (lax.tanh, np.tanh)):
        out = np.asarray(f(x))
        assert out.dtype == np.float16
        np.testing.assert_array_equal(out, exact(x.astype(np.float32)).astype(np.float16))


# ---- special functions against SciPy ----


@pytest.mark.parametrize(
    "name, low, high",
    [
        ("erf", -4, 4),
        ("erfc", -4, 12),
        ("erfinv", -0.999999, 0.999999),
        ("gammaln", -5, 40),
        ("digamma", -5, 40),
    ],
)
def test_special_function_is_accurate(name, low, high, x64):
    special = pytest.importorskip("scipy.special")
    ours = {"erfinv": lax.erf_inv, "gammaln": lax.lgamma}.get(name) or getattr(lax, name)
    x = np.linspace(low, high, 1001) + 1e-3 * np.sin(np.arange(1001)) * (high < 30) * 1e-3
    np.testing.assert_allclose(ours(x), getattr(special, name)(x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_polygamma_is_accurate(order, x64):
    special = pytest.importorskip("scipy.special")
    x = np.linspace(0.1, 30, 200)
    expected = special.polygamma(order, x)
    np.testing.assert_allclose(lax.polygamma(np.float64(order), x), expected, rtol=1e-11)


def test_special_functions_at_poles():
    poles = f32([0, -1, -np.inf])
    np.testing.assert_array_equal(lax.lgamma(poles), [np.inf] * 3)
    assert np.isnan(lax.digamma(poles)).all()
    np.testing.assert_array_equal(
        lax.erf_inv(f32([-1, 1, 0, 2])), f32([-np.inf, np.inf, 0, np.nan])
    )


# ---- types ----


def test_weak_types_go_through():
    assert lax.exp(1.0).weak_type
    assert lax.sub(1.0, 2.0).weak_type
    assert not lax.sub(1.0, f32(2)).weak_type
    assert lax.full((2,), 1).weak_type
    assert not lax.full((2,), 1, np.float32).weak_type
    assert not lax.bitwise_not(True).weak_type


def test_python_integer_too_large_for_int32_converts_to_a_float():
    assert float(lax.convert_element_type(2**40, np.float32)) == 2.0**40


def test_sixty_four_bits_are_cut_with_a_warning():
    with pytest.warns(UserWarning, match="float64 requested in full is not available"):
        assert lax.full((), 1, np.float64).dtype == np.float32


def test_iota_counts_along_its_dimension():
    np.testing.assert_array_equal(lax.iota(np.float32, 3), [0, 1, 2])
    np.testing.assert_array_equal(lax.broadcasted_iota(np.int32, (2, 3), 1), [[0, 1, 2]] * 2)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: lax.exp(i32(1)), TypeError, "exp does not accept dtype int32"),
        (lambda: lax.abs(u8(1)), TypeError, "abs does not accept dtype uint8"),
        (lambda: lax.sub(f32(1), i32(1)), TypeError, "same dtypes, got float32, int32"),
        (lambda: lax.sub(f32([1, 2]), f32([1, 2, 3])), TypeError, "incompatible shapes"),
        (lambda: lax.pow(i32(2), i32(3)), TypeError, "pow does not accept dtype int32"),
        (lambda: lax.integer_pow(i32(2), -1), TypeError, "negative powers"),
        (lambda: lax.select(f32(1), f32(1), f32(2)), TypeError, "must be boolean or integer"),
        (lambda: lax.select(np.array([True]), f32(1), f32(2)), TypeError, "`which` must be scalar"),
        (lambda: lax.clamp(f32([0]), f32([1, 2]), f32(1)), TypeError, "min.shape"),
        (lambda: lax.lt(np.complex64(1), np.complex64(1)), TypeError, "lt does not accept"),
        (lambda: lax.complex(np.float16(1), np.float16(1)), TypeError, "float32 or float64"),
        (lambda: lax.iota(bool, 3), TypeError, "iota does not accept dtype bool"),
        (lambda: lax.broadcasted_iota(np.int32, (2,), 1), ValueError, "iota dimension"),
        (lambda: lax.full((-1,), 0.0), TypeError, "nonnegative"),
        (lambda: lax.full((2.5,), 0.0), TypeError, "concrete values of integer type"),
        (lambda: lax.full((2,), np.ones(2)), TypeError, "scalar fill_value"),
        (lambda: lax.convert_element_type(1.0, "no such"), TypeError, "no such"),
        (lambda: lax.bitcast_convert_type(u8([1]), np.int32), ValueError, "last axis"),
        (lambda: lax.reduce_precision(f32(1), 0, 3), ValueError, "exponent_bits must be positive"),
        (lambda: lax.exp("text"), TypeError, "not a valid JAX type"),
        (lambda: grad(lambda m: lax.polygamma(m, f32(1)))(f32(1)), ValueError, "respect to m"),
    ],
)
def test_misuse_is_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_shape_that_depends_on_a_tracer_is_explained():
    with pytest.raises(TypeError, match="static"):
        make_jaxpr(lambda n: lax.full((n,), 0.0))(3)


# ---- jaxprs ----


def test_conversion_to_the_same_type_leaves_no_equation():
    table = f32([1, 2])
    jaxpr = make_jaxpr(lambda x: lax.sub(lax.convert_element_type(table, np.float32), x))(table)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sub"]
    assert len(jaxpr.consts) == 1 and jaxpr.consts[0] is table


def test_conversion_of_a_constant_leaves_no_equation():
    jaxpr = make_jaxpr(lambda x: lax.mul(x, lax.convert_element_type(2, np.float32)))(f32(1))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"]
