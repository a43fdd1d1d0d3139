"""Types that a library enters as arrays."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.interpreters import xla


class Variable:
    def __init__(self, value):
        self.value = np.asarray(value)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.value, dtype)


def test_values_of_an_entered_type_are_operands():
    mappings = jax.core.pytype_aval_mappings
    mappings[Variable] = mappings[np.ndarray]
    x = Variable([1.0, 2.0])
    assert jax.typeof(x).str_short() == "float32[2]"
    np.testing.assert_array_equal(jax.jit(lambda y: 2 * y)(x), [2, 4])
    np.testing.assert_array_equal(jnp.add(x, 1), [2, 3])


def test_the_handler_of_arrays_gives_dtypes_that_there_are():
    assert xla.canonicalize_dtype_handlers[np.ndarray](np.ones(2)).dtype == np.float32


def test_trace_state_is_clean_where_nothing_is_traced():
    from tinyjax._src.core import trace_state_clean

    assert trace_state_clean()
    assert not jax.jit(lambda x: (x, trace_state_clean())[1])(1.0)
    seen = []
    jax.vmap(lambda x: seen.append(trace_state_clean()) or x)(jnp.ones(2))
    assert seen == [False]


def test_what_stands_for_an_array_is_a_valid_jaxtype():
    assert [jax.core.valid_jaxtype(x) for x in (1, np.ones(2), jnp.ones(2), "a", [1])] == [
        *[True] * 3,
        *[False] * 2,
    ]


def test_an_interpreter_can_ask_whether_a_primitive_is_a_call():
    from tinyjax.extend.core import primitives

    assert primitives.call_p.call_primitive
    assert not primitives.sin_p.call_primitive
    assert not primitives.jit_p.map_primitive


def test_safe_map_wants_arguments_of_one_length():
    assert jax.api_util.safe_map(lambda x, y: x + y, [1, 2], [3, 4]) == [4, 6]
    with pytest.raises(ValueError):
        jax.api_util.safe_map(lambda x, y: x + y, [1, 2], [3])
