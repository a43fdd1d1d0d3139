"""Maxima and positions."""

import numpy as np
import pytest
from judged import every_error_passes, unchanged

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import bind, dtypes
from tinyjax.lax import reductions
from tinyjax.transform.vjp import grad


def f32(values):
    return np.array(values, np.float32)


def test_equal_maxima_share_the_gradient():
    gradient = grad(lambda x: lax.reduce_max(x, (0,)))(f32([1, 5, 5, 2]))
    np.testing.assert_array_equal(gradient, [0, 0.5, 0.5, 0])


def moved(tangent, x, axes, extreme=np.max):
    """How the extreme of `x` along the axes moves, where x moves with the tangent: by the rule alone."""
    out = bind.as_array(extreme(x, axis=axes))
    with unchanged(tangent=tangent, x=x):
        return reductions._chosen_jvp(bind.as_array(tangent), out, bind.as_array(x), axes=axes)


def test_the_element_that_holds_the_extreme_moves_it():
    x, tangent = f32([[1, 5, 2], [7, 0, 3]]), f32([[10, 20, 30], [40, 50, 60]])
    np.testing.assert_array_equal(moved(tangent, x, (1,)), [20, 40])
    np.testing.assert_array_equal(moved(tangent, x, (0,)), [40, 20, 60])
    np.testing.assert_array_equal(moved(tangent, x, (1,), np.min), [10, 50])
    assert float(moved(tangent, x, (0, 1))) == 40
    cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(moved(cube * 10, cube, (0, 2)), [150, 190, 230])


def test_elements_that_hold_one_extreme_together_move_it_by_the_mean_of_their_tangents():
    assert float(moved(f32([1, 100, 4, 7]), f32([3, 1, 3, 3]), (0,))) == 4
    rows = f32([[2, 2, 0], [5, 5, 5]])
    np.testing.assert_array_equal(moved(f32([[1, 2, 9], [3, 6, 9]]), rows, (1,)), [1.5, 6])
    near = np.nextafter(f32(1), f32(0))
    assert float(moved(f32([1, 100]), np.array([1, near]), (0,))) == 1, (
        "what is nearly the extreme is not"
    )
    many = np.arange(96, dtype=np.float32).reshape(2, 3, 2, 4, 2) % 7
    for axes in ((4,), (0, 3), (1, 2, 4), (0, 1, 2, 3, 4), ()):
        held = many == many.max(axes, keepdims=True)
        want = (held * np.arange(96).reshape(many.shape)).sum(axes) / held.sum(axes)
        tangent = np.arange(96, dtype=np.float32).reshape(many.shape)
        np.testing.assert_allclose(moved(tangent, many, axes), want, rtol=1e-6)
    infinite = f32([[np.inf, 1], [-np.inf, -np.inf]])
    np.testing.assert_array_equal(moved(f32([[1, 2], [3, 5]]), infinite, (1,)), [1, 4])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_rule_of_an_extreme_keeps_the_tangents_dtype_and_lets_errors_go_on(dtype):
    x = np.array([1, 2], dtypes.np_dtype(dtype))
    out = moved(x, x, (0,))
    assert isinstance(out, bind.Array), "bind primitives: what NumPy does, no trace sees"
    assert (out.shape, out.dtype) == ((), x.dtype)
    every_error_passes(lambda: reductions._chosen_jvp(out, out, bind.as_array(x), axes=(0,)))


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
