"""Cumulative sums and top_k as kernels: what the impl rules give."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

X = np.random.default_rng(0).standard_normal((3, 40, 20)).astype(np.float32)
DTYPES = ["uint8", "int32", "float16", "bfloat16", "float32", "bool"]


def check(function, *args):
    """Compiled, without host steps, as eager."""
    assert ": host" not in jax.jit(function).lower(*args).as_text("schedule")
    for found, expected in zip(
        jax.tree.leaves(jax.jit(function)(*args)), jax.tree.leaves(function(*args))
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_elements_up_to_each_one_are_combined(name, axis, reverse):
    check(lambda x: getattr(lax, name)(x, axis, reverse), X)


@pytest.mark.parametrize("dtype", DTYPES[:-1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_dtypes_of_cumulative_sums(name, dtype):
    check(lambda x: getattr(lax, name)(x, 1), jnp.asarray(X * 5).astype(dtype))


@pytest.mark.parametrize("name", ["cumsum", "cummax", "cummin"])
def test_nan_stays_from_where_it_occurs(name):
    check(lambda x: getattr(lax, name)(x, 0), jnp.array([1.0, np.nan, 3.0, -np.inf, 2.0]))


@pytest.mark.parametrize("k", [1, 2, 5, 40])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_greatest_elements_and_their_places(axis, k):
    check(lambda x: lax.top_k(x, min(k, x.shape[axis]), axis=axis), X)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_greatest_and_the_least_of_an_approximation(axis):
    x = np.round(X * 3)
    x[0, :3], x[1, 2] = np.nan, -0.0
    check(lambda x: (lax.approx_max_k(x, 3, axis), lax.approx_min_k(x, 3, axis)), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_elements_stay_in_their_order(dtype):
    check(lambda x: lax.top_k(x, 7), jnp.asarray(np.round(X * 2)).astype(dtype))
    check(lambda x: lax.top_k(x, 7), jnp.zeros((4, 9), dtype))
    check(lambda x: lax.top_k(x, 21), jnp.asarray(np.round(X.reshape(4, 600) * 2)).astype(dtype))


@pytest.mark.parametrize("k", [7, 40])
def test_the_greatest_elements_move_as_vectors(k):
    lowered = jax.jit(lambda x: lax.top_k(x, k)).lower(jnp.zeros((8, 256)))
    lines = lowered.as_text("schedule of k0").splitlines()
    assert sum(line.startswith("Vectorize(") for line in lines) == 2


def test_an_update_of_an_array_that_is_no_whole_vectors_is_in_place():
    lowered = jax.jit(lambda x, i: jnp.sin(x).at[i].set(0.0)).lower(jnp.zeros(289), jnp.arange(3))
    assert "in place" in lowered.as_text("memory")


def test_top_k_is_by_total_order():
    special = np.array([1, np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 2, 2, np.nan], np.float32)
    for k in range(1, 11):
        check(lambda x, k=k: lax.top_k(x, k), special)
    least = jnp.array([np.iinfo(np.int32).min] * 3 + [np.iinfo(np.int32).max])
    check(lambda x: lax.top_k(x, 3), least)


def in_a_loop(function):
    """What the function gives, from within the kernel of a loop."""
    return lambda x: lax.scan(lambda c, _: (c, function(c)), x, None, length=2)[1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_rows_are_sorted_with_what_follows_them(axis, dtype):
    x = jnp.asarray(np.round(X[:, :20, :4] * 3)).astype(dtype)
    check(in_a_loop(lambda x: (jnp.sort(x, axis), jnp.argsort(x, axis))), x)
    check(in_a_loop(lambda x: lax.sort_key_val(x, x[::-1] * x, axis)), x)
    check(in_a_loop(lambda x: jnp.argsort(x, axis, descending=True)), x)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 700])
def test_rows_of_all_sizes_are_sorted(size):
    sort = in_a_loop(lambda x: lax.sort_key_val(x, jnp.arange(size)))
    check(sort, (X.ravel() * 9).astype(np.int32)[:size])


def test_zeros_are_equal_and_nan_is_last():
    x = np.array([0.0, np.nan, -0.0, 1, -np.inf, -np.nan, 0.0, np.inf, -0.0, -1], np.float32)
    check(in_a_loop(lambda x: lax.sort_key_val(x, jnp.arange(10))), x)
    sort = in_a_loop(jnp.sort)
    np.testing.assert_array_equal(np.signbit(jax.jit(sort)(x)), np.signbit(sort(x)))


def test_rows_alone_and_several_keys_are_host_steps():
    for sort in (lambda x: jnp.sort(jnp.repeat(x, 200)), lambda x: jnp.lexsort((x, x))):
        assert ": host" in jax.jit(sort).lower(X[0, :, 0]).as_text("schedule")
        np.testing.assert_array_equal(jax.jit(sort)(X[0, :, 0]), sort(X[0, :, 0]))


def test_a_loop_of_several_kernels_sorts_in_one_of_them():
    def f(x):
        return lax.fori_loop(0, 2, lambda i, x: jnp.sort(x @ x.T / 64), x)

    x = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    text = jax.jit(f).lower(x).as_text("schedule")
    assert "steps, not one kernel" in text and ": host" not in text
    np.testing.assert_allclose(jax.jit(f)(x), f(x), rtol=1e-5, atol=1e-5)


def test_many_of_the_greatest_elements_are_a_host_step():
    text = jax.jit(lambda x: lax.top_k(x, 65)).lower(jnp.zeros(100)).as_text("schedule")
    assert ": host" in text


def test_within_a_loop():
    def step(scores, row):
        scores, places = lax.top_k(jnp.cumsum((scores[:, None] + row).ravel()) % 3, 4)
        return scores, places

    def run(rows):
        return lax.scan(step, jnp.zeros(4), rows)

    assert "one kernel" in jax.jit(run).lower(X[0]).as_text("schedule")
    check(run, X[0])


def test_gradients_and_batches():
    gradient = jax.grad(
        lambda x: (jnp.cumsum(jnp.exp(-x), 0) ** 2).sum() + lax.top_k(x, 3)[0].sum()
    )
    np.testing.assert_allclose(jax.jit(gradient)(X[0]), gradient(X[0]), rtol=1e-5)
    check(jax.vmap(lambda x: (lax.top_k(x, 3), jnp.cumsum(x))), X[0])
