"""The dtypes of results: JAX's promotion, weak types, 64 bits cut to 32."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

I = np.array([3, -1, 4, 1], np.int32)  # noqa: E741


def test_python_scalars_do_not_widen_arrays():
    assert (jnp.float16(1) * 2.5).dtype == jnp.float16
    assert (jnp.int8(1) + 1).dtype == jnp.int8
    assert (jnp.arange(3) * 0.5).dtype == jnp.float32
    assert (jnp.arange(3) * 0.5).weak_type


def test_mixed_dtypes_promote_as_in_jax():
    assert jnp.add(np.int32(1), np.float16(1)).dtype == jnp.float16
    assert jnp.add(np.int8(1), np.uint8(1)).dtype == jnp.int16
    assert jnp.add(jnp.bfloat16(1), np.float16(1)).dtype == jnp.float32
    assert jnp.sin(1).dtype == jnp.float32
    assert jnp.mean(I).dtype == jnp.float32


def test_scalars_are_weakly_typed_until_a_dtype_is_named():
    assert jnp.asarray(2).weak_type
    assert not jnp.asarray(2, dtype=int).weak_type
    assert not jnp.float32(2).weak_type
    assert not jnp.array([1, 2]).weak_type


def test_what_combines_comparisons_of_weak_numbers_is_not_weak():
    for f in (jnp.logical_or, jnp.bitwise_and, jnp.bitwise_xor, jnp.equal):
        weak = jnp.asarray(2.0) < 3
        assert weak.weak_type and not f(weak, weak).weak_type
        assert not jax.jit(lambda x, f=f: f(x < 3, x < 3))(2.0).weak_type


def test_a_matrix_with_a_weakly_typed_diagonal_is_weakly_typed():
    assert jnp.diag(jnp.full(3, 1.0)).weak_type


def test_64_bits_are_cut_to_32_with_a_warning():
    with pytest.warns(UserWarning, match="truncated to dtype float32"):
        assert jnp.zeros(2, np.float64).dtype == jnp.float32
    assert jnp.zeros(2, float).dtype == jnp.float32


MAKERS = {
    "zeros": lambda: jnp.zeros(2, "float64"),
    "array": lambda: jnp.array([1.0], "float64"),
    "arange": lambda: jnp.arange(3, dtype="int64"),
    "linspace": lambda: jnp.linspace(0, 1, 3, dtype="float64"),
    "astype": lambda: jnp.ones(2).astype("float64"),
    "lax": lambda: lax.convert_element_type(1.0, np.float64),
    "at": lambda: jnp.zeros(2, "int32").at[0].set(jnp.float32(0.5)),
    "real": lambda: lax.convert_element_type(jnp.ones(2, "complex64"), np.float32),
}


@pytest.mark.parametrize("name", MAKERS)
def test_such_a_warning_names_the_users_line(name):
    with pytest.warns(Warning) as found:
        MAKERS[name]()
    assert {warning.filename for warning in found} == {__file__}


def test_scalar_types_make_arrays_and_name_dtypes():
    assert isinstance(jnp.float32(2), jax.Array)
    assert jnp.float32 == np.float32
    assert np.dtype(jnp.int8) == np.int8
    assert jnp.issubdtype(jnp.bfloat16, jnp.floating)
    assert jnp.isdtype(jnp.int8, "integral")


def test_integers_that_do_not_fit_raise():
    with pytest.raises(OverflowError):
        jnp.array(2**40)
    with pytest.raises(OverflowError):
        jnp.arange(3) + 2**40


def test_a_literal_of_a_weak_complex_operand_is_complex():
    weak = jnp.asarray(2 + 1j)
    assert "mul (-0.5+0j):c64[] a" in str(jax.make_jaxpr(lambda b: -0.5 * b)(weak))
    assert complex(jax.jit(lambda b: -0.5 * b)(weak)) == -1 - 0.5j


def test_a_weakly_typed_array_may_be_older_than_x64():
    weak = jnp.asarray(2.0)
    with jax.enable_x64(True):
        assert jax.jit(lambda t: t * 0.5)(weak).dtype == jnp.float64
        assert jax.jit(lambda t: t + 1)(weak).dtype == jnp.float32


def test_a_jaxpr_keeps_its_dtypes_when_x64_is_turned_off():
    with jax.enable_x64(True):
        closed, x = jax.make_jaxpr(lambda t: t * 0.5)(2.0), jnp.asarray(2.0)
    assert jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0].dtype == jnp.float64


def test_a_weak_first_carry_wraps_to_the_dtype_of_the_body():
    first = lax.fori_loop(0, 1, lambda i, c: jnp.where(i < 0, c, jnp.uint8(7)), -3)
    assert first.dtype == jnp.uint8 and first == 7


def test_full_takes_an_integer_that_only_the_given_dtype_holds():
    assert int(jnp.full((), 2**32 - 1, "uint32")) == 2**32 - 1
    assert int(jnp.full_like(jnp.uint32(0), 2**32 - 1)) == 2**32 - 1
    assert float(jnp.full((), 2**70, "float32")) == 2.0**70
    with pytest.raises(OverflowError, match="Python integer .* is too large for int32"):
        jnp.full((), 2**70, "int32")
