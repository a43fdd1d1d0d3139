"""The stages of jit, one at a time."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp


def f(x):
    return jnp.sin(x) * x


def test_trace_gives_the_jaxpr():
    assert "sin a" in str(jax.jit(f).trace(1.0).jaxpr)


def test_lower_shows_opencl_c_and_the_schedule_before_anything_is_built():
    text = jax.jit(f).lower(jax.ShapeDtypeStruct((8,), np.float32)).as_text()
    assert "__kernel void" in text and "sin(" in text
    assert "schedule" in text and "launch" in text


def test_compile_gives_a_callable():
    compiled = jax.jit(f).lower(1.0).compile()
    np.testing.assert_allclose(compiled(2.0), np.sin(2.0) * 2, rtol=1e-6)


def test_a_compiled_function_refuses_other_shapes_dtypes_and_trees():
    compiled = jax.jit(f).lower(np.ones(3, np.float32)).compile()
    with pytest.raises(TypeError, match=r"compiled with float32\[3\] and called with float32\[4\]"):
        compiled(np.ones(4, np.float32))
    with pytest.raises(TypeError, match=r"float32\[3\] and called with int32\[3\]"):
        compiled(np.ones(3, np.int32))
    with pytest.raises(TypeError, match="pytree"):
        compiled((np.ones(3, np.float32),))


def test_an_unknown_dialect_is_an_error():
    with pytest.raises(ValueError, match="stablehlo"):
        jax.jit(f).lower(1.0).as_text("stablehlo")


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, jax.vmap])
def test_a_compiled_function_is_not_transformed(transform):
    compiled = jax.jit(f).lower(1.0).compile()
    with pytest.raises(TypeError, match="transform the jitted function itself"):
        transform(compiled)(jnp.ones(2) if transform is jax.vmap else 1.0)
