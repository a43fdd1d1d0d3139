"""ShapeDtypeStruct: what is known of an array, and cannot be changed."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp


def test_a_struct_can_be_made_of_an_aval():
    assert jax.ShapeDtypeStruct.like(jax.typeof(jnp.ones(3))) == jax.ShapeDtypeStruct(
        (3,), "float32"
    )


def test_its_length_is_that_of_the_first_axis():
    assert len(jax.ShapeDtypeStruct((2, 3), np.int8)) == 2
    with pytest.raises(TypeError, match="unsized"):
        len(jax.ShapeDtypeStruct((), np.int8))


def test_a_struct_cannot_be_changed():
    struct = jax.ShapeDtypeStruct((2,), np.float32)
    with pytest.raises(RuntimeError, match=r"Cannot reassign attributes \(shape\)"):
        struct.shape = (3,)
    assert struct.update(shape=(3,)).shape == (3,)


def test_what_is_no_sharding_and_no_dtype_is_told():
    with pytest.raises(ValueError, match="sharding should be an instance"):
        jax.ShapeDtypeStruct((2,), np.float32, sharding=3)
    with pytest.raises(TypeError, match="data type 'foo' not understood"):
        jax.ShapeDtypeStruct((2,), "foo")
