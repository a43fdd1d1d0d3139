"""Updates as loops: what a loop's body stores, and that nothing is copied where it can be in place."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax import numpy as jnp

X = jnp.arange(12.0)
ROWS = X.reshape(4, 3)
PLACES = jnp.array([3, 1, 3, -1, 20])


def naive_text(body, *carry):
    """The naive nest of a loop whose iteration i makes body(i, *carry) of the carry."""

    def f(*carry):
        return lax.fori_loop(-2, 9, lambda i, carry: body(i, *carry), carry)

    found, expected = jax.jit(f)(*carry), f(*carry)
    for left, right in zip(found, expected):
        np.testing.assert_array_equal(left, right)
    return jax.jit(f).lower(*carry).as_text("loop nests")


def assert_in_place(body, *carry):
    text = naive_text(body, *carry)
    assert "new_" not in text
    return text


def test_only_the_element_that_is_set_is_stored():
    text = assert_in_place(lambda i, x: (x.at[i].set(x[i - 1] * 2),), X)
    _, loop = text.split("for i2 in")
    iteration, _ = loop.split("for i3 in")  # which copies the last carry
    assert iteration.count("carry_2[") == 2


@pytest.mark.parametrize(
    "body",
    [
        lambda i, x: (x.at[i].add(3),),
        lambda i, x: (x.at[i].set(x[i + 1]).at[i + 1].set(x[i]),),
        lambda i, x: (x.at[i].set(1).at[i].add(x[3]),),
        lambda i, x: (x.at[3].set(x[i]),),
        lambda i, x: (x.at[i].set(5, mode="clip"),),
        lambda i, x: (x.at[lax.convert_element_type(x[i], "int32")].add(1),),
        lambda i, x: (lax.dynamic_update_slice(x, lax.dynamic_slice(x, (i,), (5,)) * 2, (i + 2,)),),
        lambda i, x: (lax.dynamic_update_slice(x, lax.rev(x, (0,))[:7], (i,)),),
    ],
)
def test_a_window_may_be_computed_from_what_it_is_stored_over(body):
    assert_in_place(body, X)


@pytest.mark.parametrize(
    "body",
    [
        lambda i, x: (x.at[i].set(x[i - 1] + 1),),
        lambda i, x: (x.at[:, i].set(x[:, i - 1] + 1),),
        lambda i, x: (x.at[i, i].set(x[1, 2] + 1),),
        lambda i, x: (lax.dynamic_update_slice(x, x[1:3, 1:] * 2, (i, i - 1)),),
        lambda i, x: (x.at[PLACES].add(i * 1.5),),
        lambda i, x: (x.at[PLACES].set(-x.at[PLACES].get(mode="clip")),),
        lambda i, x: (jax.vmap(lambda row, place: row.at[place].mul(i))(x, PLACES[:4]),),
    ],
)
def test_rows_columns_and_blocks(body):
    naive_text(body, ROWS)


def test_several_windows_of_a_carry_are_changed_in_place():
    assert_in_place(lambda i, x: (x.at[PLACES].add(i * 1.5).at[PLACES].max(3.0),), ROWS)


def test_the_iteration_may_read_the_old_array_or_the_new_one():
    x, one = X.astype("int32"), jnp.int32(1)  # sums of integers are equal in any order
    assert_in_place(lambda i, x, s: (x.at[i].set(s), s + x[i - 1]), x, one)
    assert_in_place(lambda i, x, s: (x := x.at[i].set(s), s + jnp.sum(x)), x, one)
    both = naive_text(lambda i, x, s: (y := x.at[i].set(s), s + y[i] - jnp.sum(x * y)), x, one)
    assert "new_" in both


def test_what_is_read_later_is_not_written_over():
    naive_text(lambda i, x: (x.at[PLACES].add(x[PLACES]),), X)
    naive_text(lambda i, x, y: (x.at[i].set(2.0), y + x), X, X * 2)
    naive_text(lambda i, x, y: (y, x.at[i].set(y[i])), X, X * 2)
    naive_text(lambda i, x, y: (x := x.at[i].set(y[i]), x), X, X * 2)


def test_two_arrays_may_be_made_by_one_loop():
    assert_in_place(lambda i, x, y: (x.at[i].set(y[i - 1]), y.at[i + 1].set(x[i])), X, X * 2)


def test_of_a_batch_each_has_a_condition_of_its_own():
    def count(x, limit):
        step = lambda c: (c[0] + 1, c[1].at[c[0] % 3].add(1.0))  # noqa: E731
        return lax.while_loop(lambda c: c[0] < limit, step, (0, x))

    limits = jnp.array([0, 5, 2, 9])
    for left, right in zip(jax.jit(jax.vmap(count))(ROWS, limits), jax.vmap(count)(ROWS, limits)):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize(("columns", "items"), [(3, 1), (64, 4)])
def test_work_items_do_not_share_short_rows(columns, items):
    """Two that store to the same cache line wait for each other."""

    def total(x, i):
        return jax.ops.segment_sum(x, i, 500)

    x = np.random.default_rng(0).integers(-9, 9, (4000, columns)).astype(np.float32)
    i = np.random.default_rng(1).integers(-2, 502, 4000)
    head = jax.jit(total).lower(x, i).as_text("kernel").split("\n")[0]
    assert head.endswith(f"work-items: {items}")
    np.testing.assert_array_equal(jax.jit(total)(x, i), total(x, i))
