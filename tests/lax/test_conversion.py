"""Conversions between dtypes: at XLA's edges, and without an equation where there is nothing to do."""

import functools

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.core.tracing import make_jaxpr
from tinyjax.transform.vjp import grad

f32 = functools.partial(np.array, dtype=np.float32)
i32 = functools.partial(np.array, dtype=np.int32)


def test_gradient_passes_through_narrower_dtypes():
    down_and_up = lambda x: lax.convert_element_type(  # noqa: E731
        lax.convert_element_type(x, np.float16), np.float32
    )
    ct = grad(down_and_up)(f32(1.5))
    assert float(ct) == 1 and ct.dtype == np.float32


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


def test_bitcast_changes_the_last_axis_by_size():
    parts = lax.bitcast_convert_type(f32([1, 2]), np.uint8)
    assert parts.shape == (2, 4)
    np.testing.assert_array_equal(lax.bitcast_convert_type(parts, np.float32), [1, 2])


def test_python_integer_too_large_for_int32_converts_to_a_float():
    assert float(lax.convert_element_type(2**40, np.float32)) == 2.0**40


def test_conversion_to_the_same_type_leaves_no_equation():
    table = f32([1, 2])
    jaxpr = make_jaxpr(lambda x: lax.sub(lax.convert_element_type(table, np.float32), x))(table)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["sub"]
    assert len(jaxpr.consts) == 1 and jaxpr.consts[0] is table


def test_conversion_of_a_constant_leaves_no_equation():
    jaxpr = make_jaxpr(lambda x: lax.mul(x, lax.convert_element_type(2, np.float32)))(f32(1))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul"]


@pytest.mark.parametrize(
    "x, name", [(1, "int32"), (2.5, "float32"), (np.ones(2, bool), "bool"), ("int8", "int8")]
)
def test_dtype_is_that_of_an_array_of_it(x, name):
    assert lax.dtype(x) == name
