"""What numbers, NumPy values, arrays and other objects are to a trace."""

import numpy as np
import pytest

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.structs import ShapeDtypeStruct


def test_a_python_number_has_a_weakly_typed_aval_of_32_bits():
    names = {type(x).__name__: str(get_aval(x)) for x in (2, 2.0, 2j)}
    assert names == {"int": "~int32[]", "float": "~float32[]", "complex": "~complex64[]"}
    assert str(get_aval(True)) == "bool[]", "a bool gives way to every dtype anyway"


def test_a_numpy_value_has_its_shape_and_a_dtype_of_at_most_32_bits():
    assert str(get_aval(np.zeros((2, 3)))) == "float32[2,3]", "float64 becomes float32"
    assert str(get_aval(np.int16(7))) == "int16[]"


def test_a_masked_array_is_refused():
    with pytest.raises(ValueError, match="masked"):
        get_aval(np.ma.masked_array([1.0, 2.0], mask=[False, True]))


def test_an_array_knows_its_aval():
    aval = ShapedArray((2,), np.dtype("float32"), weak_type=True)
    assert get_aval(ArrayImpl(np.zeros(2, np.float32), aval)) is aval


@pytest.mark.parametrize("value", ["two", [1.0, 2.0], None])
def test_what_is_no_array_has_no_aval(value):
    with pytest.raises(TypeError, match="is not a valid JAX type"):
        get_aval(value)


def test_what_stands_for_an_array_without_elements_has_its_aval():
    struct = ShapeDtypeStruct((2, 3), np.float32, weak_type=True)
    assert str(get_aval(struct)) == "~float32[2,3]"


def test_an_object_may_say_which_array_it_stands_for():
    class Two:
        def __jax_array__(self):
            return 2.0

    assert str(get_aval(Two())) == "~float32[]"
