"""Scatters: gradients, and how their update functions are printed."""

import numpy as np
import pytest

from tinyjax import lax
from tinyjax.core.tracing import make_jaxpr
from tinyjax.transform.jvp import jvp
from tinyjax.transform.vjp import grad

to_row = lax.ScatterDimensionNumbers((1,), (0,), (0,))


def f32(values):
    return np.array(values, np.float32)


def i32(values):
    return np.array(values, np.int32)


rows = i32([[0], [2]])


twice = i32([[1], [1]])


def test_of_two_updates_to_a_place_the_last_has_the_gradient():
    def f(updates):
        return lax.reduce_sum(lax.scatter(f32(np.zeros((2, 1))), twice, updates, to_row), (0, 1))

    np.testing.assert_array_equal(grad(f)(f32([[3], [4]])), [[0], [1]])


def test_overlapping_scatter_mul_has_no_derivative_by_its_updates():
    x = f32(np.ones((2, 2)))
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        jvp(lambda u: lax.scatter_mul(f32(np.ones((3, 2))), rows, u, to_row), [x], [x])


def test_scatter_apply_has_no_derivative():
    x = f32(np.ones((3, 2)))
    with pytest.raises(NotImplementedError, match="scatter_apply"):
        jvp(lambda x: lax.scatter_apply(x, rows, lax.sin, to_row, update_shape=(2, 2)), [x], [x])


def test_scatters_of_one_kind_share_the_printed_update_jaxpr():
    def f(x):
        once = lax.scatter_add(x, rows, f32(np.ones((2, 1))), to_row)
        return lax.scatter_add(once, rows, f32(np.ones((2, 1))), to_row)

    text = str(make_jaxpr(f)(f32(np.ones((3, 1)))))
    assert text.startswith(
        "let jaxpr = { lambda ; a:f32[] b:f32[]. let c:f32[] = add a b in (c,) } in"
    )


def test_a_clipped_update_that_wins_takes_the_derivative():
    def f(y):
        indices, updates = np.array([[5], [7]]), np.zeros(2, np.float32)
        numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
        return lax.reduce_sum(lax.scatter_min(y, indices, updates, numbers, mode="clip"), (0,))

    np.testing.assert_array_equal(grad(f)(np.float32([0.9, 0.5])), [1.0, 0.0])
