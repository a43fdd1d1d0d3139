"""lax.reduce and lax.reduce_window: combining by a function, over axes and over windows."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

affine = lambda a, b: a * b + 1  # noqa: E731
pairs = lambda a, b: (a[0] + b[0], a[1] * b[1])  # noqa: E731
IMAGE = np.array([[1, 2, 3], [6, 5, 4], [7, 9, 8]], np.float32)


def test_any_associative_function_reduces():
    total_and_product = lax.reduce(
        (IMAGE, IMAGE),
        (np.float32(0), np.float32(1)),
        lambda a, b: (a[0] + b[0], a[1] * b[1]),
        (1,),
    )
    np.testing.assert_array_equal(total_and_product[0], IMAGE.sum(1))
    np.testing.assert_array_equal(total_and_product[1], IMAGE.prod(1))


def test_the_initial_value_counts_once():
    assert lax.reduce(np.ones(5, np.float32), np.float32(10), lambda a, b: a + b, (0,)) == 15


def test_a_function_that_has_a_primitive_becomes_it():
    jaxpr = jax.make_jaxpr(lambda x: lax.reduce(x, -jnp.inf, lax.max, (0,)))(IMAGE)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["reduce_max"]


def test_average_pooling_sums_over_windows():
    sums = lax.reduce_window(IMAGE, 0.0, lax.add, (2, 2))
    np.testing.assert_array_equal(sums, [[14, 14], [27, 26]])


def test_same_padding_gives_a_window_for_each_element():
    assert lax.reduce_window(IMAGE, 0.0, lax.add, (2, 2), (1, 1), "SAME").shape == IMAGE.shape


def test_the_initial_value_counts_once_in_a_window_and_padding_not_at_all():
    x = np.array([1, 2, 3], np.float32)
    spread = lax.reduce_window(x, 5.0, lax.add, (2,), (1,), [(2, 0)], (2,))
    np.testing.assert_array_equal(spread, [5, 6, 6, 7, 7, 8])
    assert lax.reduce_window(x[:0], 5.0, lax.add, (2,), (1,), [(1, 1)]) == 5


def test_the_gradient_of_a_sum_counts_the_windows_that_an_element_is_in():
    counts = jax.grad(lambda x: jnp.sum(lax.reduce_window(x, 0.0, lax.add, (2, 2))))(IMAGE)
    np.testing.assert_array_equal(counts, [[1, 2, 1], [2, 4, 2], [1, 2, 1]])


def test_the_gradient_of_a_maximum_goes_to_the_element_chosen():
    winners = jax.grad(lambda x: jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (2, 2))))(IMAGE)
    np.testing.assert_array_equal(winners, [[0, 0, 0], [1, 1, 0], [0, 2, 0]])


def test_pooling_without_padding_compiles_to_one_kernel():
    pool = jax.jit(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID"))
    assert pool.lower(IMAGE).as_text().count("__kernel") == 1
    np.testing.assert_array_equal(pool(IMAGE), [[6, 5], [9, 9]])


def test_a_general_function_over_windows_has_no_reverse_mode():
    with pytest.raises(ValueError, match="Reverse-mode"):
        jax.grad(lambda x: jnp.sum(lax.reduce_window(x, 1.0, lax.mul, (2, 2))))(IMAGE)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: lax.reduce(IMAGE, 0.0, affine, (2,)), ValueError, "axes"),
        (lambda: lax.reduce(IMAGE, 0.0, affine, (0, 0)), ValueError, "distinct"),
        (lambda: lax.reduce((IMAGE, IMAGE[0]), (0.0, 0.0), pairs, (0,)), ValueError, "one shape"),
        (
            lambda: lax.reduce_window((IMAGE, IMAGE.T[:2]), (0.0, 0.0), pairs, (2, 2)),
            ValueError,
            "one",
        ),
        (lambda: lax.reduce_window(IMAGE, 0.0, lax.add, (2.5, 2)), TypeError, "integers"),
    ],
)
def test_bad_parameters_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("combine, start", [(lax.add, 0.0), (lax.max, -np.inf), (lax.min, np.inf)])
def test_windows_of_weakly_typed_numbers_are_weakly_typed(combine, start):
    assert lax.reduce_window(jnp.full(3, 1.0), start, combine, (2,)).weak_type
