"""What numbers, NumPy values, arrays and other objects are to a trace."""

import enum
from types import SimpleNamespace

import numpy as np
import pytest
from judged import SMALL_FLOAT, each_error, error_passes, raises

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.jaxpr import Var
from tinyjax.core.structs import ShapeDtypeStruct


def test_a_python_number_has_a_weakly_typed_aval_of_32_bits():
    names = {type(x).__name__: str(get_aval(x)) for x in (2, 2.0, 2j)}
    assert names == {"int": "~int32[]", "float": "~float32[]", "complex": "~complex64[]"}
    assert str(get_aval(True)) == "bool[]", "a bool gives way to every dtype anyway"


def test_a_number_of_a_subclass_is_that_number():
    class Mode(enum.IntEnum):
        FAST = 2

    assert str(get_aval(Mode.FAST)) == "~int32[]"
    assert jax.jit(lambda x: x + 1)(Mode.FAST) == 3
    assert jnp.asarray(Mode.FAST).weak_type


def test_a_numpy_value_has_its_shape_and_a_dtype_of_at_most_32_bits():
    assert str(get_aval(np.zeros((2, 3)))) == "float32[2,3]", "float64 becomes float32"
    assert str(get_aval(np.int16(7))) == "int16[]"


def test_a_masked_array_is_refused():
    with pytest.raises(ValueError, match="masked"):
        get_aval(np.ma.masked_array([1.0, 2.0], mask=[False, True]))
    for masked in (np.ma.masked_array(1.0, mask=True), np.ma.masked_array([[1]], mask=[[True]])):
        with pytest.raises(ValueError, match="masked"):
            get_aval(masked)


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
    calls = []
    for stands_for, aval in (
        (3, "~int32[]"),
        (np.ones((2, 0), np.float16), "float16[2,0]"),
        (Two(), "~float32[]"),
    ):
        calls.clear()
        x = SimpleNamespace(__jax_array__=lambda y=stands_for: calls.append(y) or y)
        assert str(get_aval(x)) == aval and len(calls) == 1, "it is asked once"
    with pytest.raises(TypeError, match="is not a valid JAX type"):
        get_aval(SimpleNamespace(__jax_array__=lambda: "two"))


@pytest.mark.parametrize(
    "value, aval",
    [
        (np.float64(3), "float32[]"),
        (np.float32(3), "float32[]"),
        (np.uint64(3), "uint32[]"),
        (np.complex128(1j), "complex64[]"),
        (np.int64(3), "int32[]"),
        (np.bool_(True), "bool[]"),
        (SMALL_FLOAT.type(3), f"{SMALL_FLOAT}[]"),
        (np.float16(3), "float16[]"),
        (np.array(3, np.uint64), "uint32[]"),
        (np.zeros((0, 2, 1), np.complex128), "complex64[0,2,1]"),
        (np.zeros(3, SMALL_FLOAT), f"{SMALL_FLOAT}[3]"),
        (np.zeros(3, np.uint8), "uint8[3]"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_a_numpy_scalar_of_any_dtype_has_its_own_strong_type(value, aval):
    """np.float64 is a subclass of Python's float, and is no Python number."""
    assert str(get_aval(value)) == aval, f"of {value!r}"


def test_with_x64_numbers_and_numpy_values_have_64_bits():
    with jax.enable_x64(True):
        values = [2, 2.0, 2j, True, np.float64(3), np.uint64(3), np.float32(3), np.complex128(1j)]
        found = [str(get_aval(x)) for x in values]
    assert found == [
        *("~int64[]", "~float64[]", "~complex128[]", "bool[]"),
        *("float64[]", "uint64[]", "float32[]", "complex128[]"),
    ]
    assert str(get_aval(2.0)) == "~float32[]", "and no longer than that"


def test_what_merely_has_an_attribute_aval_is_no_array():
    var = Var(get_aval(1.0))
    shaped = SimpleNamespace(shape=(2,), dtype=np.dtype("float32"), ndim=1, size=2)
    others = (var, shaped, np.array("two"), np.array([None]), (1.0,), np.dtype("float32"))
    for value in (SimpleNamespace(aval="rubbish"), *others):
        with pytest.raises(TypeError, match="is not a valid JAX"):
            aval = get_aval(value)
            pytest.fail(f"{value!r} is no array, but {aval} is what came out")


@each_error
def test_an_error_of_jax_array_goes_on(error):
    with error_passes(error()) as raised:
        get_aval(SimpleNamespace(__jax_array__=raises(raised)))


def test_each_value_has_its_own_aval_however_many_were_asked_for_before():
    arrays = [
        ArrayImpl(np.zeros(n, np.float32), ShapedArray((n,), np.dtype("float32"))) for n in (1, 2)
    ]
    structs = [ShapeDtypeStruct((n,), np.float16) for n in (3, 4)]
    objects = [SimpleNamespace(__jax_array__=lambda n=n: np.zeros(n, bool)) for n in (5, 6)]
    values = [*arrays, *structs, *objects]
    assert [get_aval(x).shape for x in values] == [(n,) for n in range(1, 7)]
    for ndim in range(9):
        for dtype in ("int8", "float16", "bool"):
            assert str(get_aval(np.ones((1,) * ndim, dtype))) == f"{dtype}[{','.join('1' * ndim)}]"


def test_a_subclass_of_numpys_array_is_an_array():
    class Table(np.ndarray):
        pass

    for shape, dtype, aval in (
        ((2, 3), np.float64, "float32[2,3]"),
        ((0,), np.int16, "int16[0]"),
        ((), np.bool_, "bool[]"),
    ):
        assert str(get_aval(np.zeros(shape, dtype).view(Table))) == aval
