import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def test_an_element_that_is_known_to_be_of_the_padding_is_the_padding():
    x = jnp.arange(1.0, 3.0)
    f = jax.jit(lambda x: lax.pad(x, 7.0, [(1, 1, 1)])[2] * x)
    np.testing.assert_array_equal(f(x), 7 * x)


def test_an_element_that_is_known_to_be_outside_of_the_window_stays():
    x = jnp.arange(1.0, 5.0)
    f = jax.jit(lambda x, y: lax.dynamic_update_slice(x, y, (0,))[3] * x)
    np.testing.assert_array_equal(f(x, -x[:2]), 4 * x)


def test_the_last_part_of_a_split_is_less_than_a_vector():
    x = jnp.arange(8.0).reshape(4, 2)
    last = jax.jit(lambda x: jnp.split(x, [1])[1]).lower(x).compile()
    np.testing.assert_array_equal(last(x), x[1:])
