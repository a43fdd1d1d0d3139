"""Primitives and bind: from a call to NumPy."""

import warnings

import numpy as np
import pytest

from tinyjax import core, dtypes, primitives
from tinyjax import numpy as jnp
from tinyjax.array import ArrayImpl, ShapedArray


def test_bind_without_a_transformation_computes_with_numpy():
    x = primitives.sin(3.0)
    assert isinstance(x, ArrayImpl)
    assert np.asarray(x) == np.sin(np.float32(3.0))


def test_a_python_scalar_is_weakly_typed_and_so_is_what_is_made_of_it():
    assert core.get_aval(2.0) == ShapedArray((), np.dtype("float32"), weak_type=True)
    assert primitives.mul(2.0, 3.0).weak_type
    assert not primitives.mul(2.0, np.float32(3)).weak_type


def test_abstract_eval_knows_shape_and_dtype_without_values():
    avals = ShapedArray((2, 1), np.dtype("float32")), ShapedArray((1, 3), np.dtype("float32"))
    assert core.abstract_eval_rules[primitives.add_p](*avals).shape == (2, 3)


def test_operands_of_different_dtypes_do_not_fit_a_primitive():
    with pytest.raises(TypeError, match="add requires arguments to have the same dtypes.*int32"):
        primitives.add(np.float32(1), np.int32(1))


def test_operands_of_different_shapes_do_not_fit_a_primitive():
    with pytest.raises(TypeError, match=r"incompatible shapes for broadcasting: \(3,\), \(4,\)"):
        primitives.add(np.ones(3, np.float32), np.ones(4, np.float32))


def test_a_value_that_is_no_array_is_named_in_the_error():
    with pytest.raises(TypeError, match="'two'.*is not a valid JAX type"):
        primitives.sin("two")


def test_a_primitive_of_ones_own_needs_an_impl_and_an_abstract_eval_rule():
    double_p = core.Primitive("double")
    with pytest.raises(NotImplementedError, match="primitive 'double' has no abstract_eval rule"):
        double_p.bind(1.0)
    double_p.def_abstract_eval(lambda aval: aval)
    double_p.def_impl(lambda x: 2 * x)
    assert float(double_p.bind(4.0)) == 8.0


def test_the_current_trace_decides_what_bind_does():
    class Shout(core.Trace):
        def process_primitive(self, primitive, args, params):
            return primitive.name.upper()

    with core.set_current_trace(Shout()):
        assert primitives.sin(1.0) == "SIN"
    assert float(primitives.sin(0.0)) == 0.0


def test_a_python_integer_that_does_not_fit_is_an_error():
    with pytest.raises(OverflowError, match="3000000000"):
        primitives.neg(3_000_000_000)


def test_masked_arrays_are_refused():
    masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    for convert in (primitives.sin, jnp.asarray):
        with pytest.raises(ValueError, match=r"x\.filled"):
            convert(masked)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_long_sum_of_halves_is_rounded_once(dtype):
    ones = np.ones(3000, dtypes.np_dtype(dtype))
    assert float(primitives.reduce_sum(ones, (0,))) == float(ones.dtype.type(3000))


def test_eager_operations_do_not_warn_and_leave_numpys_settings_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(jnp.log(jnp.array(-1.0)))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.array([1.0]) / np.array([0.0])


def test_an_impl_rule_can_call_other_operations():
    twice_sin_p = core.Primitive("twice_sin")
    twice_sin_p.def_abstract_eval(lambda aval: aval)
    twice_sin_p.def_impl(lambda x: np.asarray(primitives.sin(primitives.sin(x))))
    assert float(twice_sin_p.bind(1.0)) == pytest.approx(np.sin(np.sin(1.0)))
