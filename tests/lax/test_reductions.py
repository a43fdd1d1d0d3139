"""Maxima and positions."""

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.transform.vjp import grad


def f32(values):
    return np.array(values, np.float32)


def test_equal_maxima_share_the_gradient():
    gradient = grad(lambda x: lax.reduce_max(x, (0,)))(f32([1, 5, 5, 2]))
    np.testing.assert_array_equal(gradient, [0, 0.5, 0.5, 0])


def test_positions_are_never_weak():
    assert not lax.argmax(lax.broadcast(2.0, (3,)), 0, np.int32).weak_type


def test_an_axis_may_be_longer_than_the_dtype_of_its_index_can_count():
    x = np.arange(1000, dtype=np.float32)
    assert float(lax.dynamic_slice(x, [lax.convert_element_type(5, np.int8)], [1])[0]) == 5


def test_a_product_with_a_zero_has_the_right_gradient():
    np.testing.assert_array_equal(
        grad(lambda x: lax.reduce_prod(x, (0,)))(f32([2, 0, 3])), [0, 6, 0]
    )


def test_the_extremes_of_complex_numbers_may_have_two_infinite_parts():
    z = jnp.array([complex(np.inf, np.inf)], "complex64")
    assert complex(jnp.min(z)) == complex(np.inf, np.inf)
    assert complex(jnp.max(-z)) == complex(-np.inf, -np.inf)
