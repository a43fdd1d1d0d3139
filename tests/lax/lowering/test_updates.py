"""Scatters of one window as kernels: what the impl rules give, inside the operand and outside."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp

X = jnp.arange(24.0).reshape(4, 6) - 7
KINDS = ["set", "add", "subtract", "mul", "min", "max"]
WINDOWS = {
    "a number": lambda at, i: (at[i, 2], 3.0),
    "a row": lambda at, i: (at[i], jnp.arange(6.0)),
    "a column": lambda at, i: (at[:, i], jnp.arange(4.0)),
    "a block": lambda at, i: (at[1:3, 2:5], jnp.ones((2, 3)) + i),
}


def has_host_steps(function, *args):
    return ": host" in jax.jit(function).lower(*args).as_text("schedule")


def check(function, *args):
    assert not has_host_steps(function, *args)
    np.testing.assert_array_equal(jax.jit(function)(*args), function(*args))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_window_is_combined_with_its_update(kind, window):
    def update(x, i):
        place, values = WINDOWS[window](x.at, i)
        return getattr(place, kind)(values)

    check(update, X, 3)


@pytest.mark.parametrize("mode", ["drop", "clip", "promise_in_bounds"])
def test_a_window_outside_is_dropped_or_moved_inside(mode):
    update = lambda x, i: x.at[:, i].add(1.0, mode=mode)  # noqa: E731
    for i in (-9, -1, 0, 5, 6, np.uint8(200)):
        np.testing.assert_array_equal(jax.jit(update)(X, i), update(X, i))
    assert not has_host_steps(update, X, 0)


@pytest.mark.parametrize("place", [0, 100, 200, 255])
def test_an_index_of_eight_bits_is_compared_with_a_larger_size(place):
    numbers = jax.lax.ScatterDimensionNumbers((), (0,), (0,))
    update = lambda x, i: jax.lax.scatter_add(x, i, jnp.float32(1), numbers)  # noqa: E731
    check(update, jnp.zeros(300), np.array([place], np.uint8))


def test_each_of_a_batch_has_a_window_of_its_own():
    check(jax.vmap(lambda x, i: x.at[i].set(-1.0)), X, jnp.array([0, 5, 9, -1]))


def test_a_function_of_the_users_is_applied_by_a_host_step():
    update = lambda x, i: x.at[i].apply(jnp.sin)  # noqa: E731
    assert has_host_steps(update, X, 1)
    np.testing.assert_array_equal(jax.jit(update)(X, 1), update(X, 1))


def test_a_loop_that_writes_a_row_in_each_iteration_is_one_kernel():
    def rows(x):
        return jax.lax.fori_loop(1, 4, lambda i, x: x.at[i].set(x[i - 1] * 2), x)

    check(rows, X)
    assert "one kernel" in jax.jit(rows).lower(X).as_text("schedule")


# ---- several windows ----

PLACES = jnp.array([2, -1, 0, 2, 9, 3, 2, -30])


@pytest.mark.parametrize("mode", ["drop", "clip", "promise_in_bounds"])
@pytest.mark.parametrize("kind", KINDS)
def test_windows_are_changed_one_after_the_other(kind, mode):
    rows = jnp.sin(jnp.arange(8 * 6.0)).reshape(8, 6)
    check(lambda x, i, u: getattr(x.at[i], kind)(u, mode=mode), X, PLACES, rows)
    check(lambda x, i, u: getattr(x.at[:, i], kind)(u.T[:4], mode=mode), X, PLACES, rows)
    check(lambda x, i, u: getattr(x.at[i, i + 1], kind)(u[:, 0], mode=mode), X, PLACES, rows)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("kind", ["set", "add", "min", "max", "mul"])
def test_dtypes_of_windows(dtype, kind):
    x, u = (jnp.arange(-9, 9).reshape(6, 3) + n for n in (0, 2))
    x, u = x.astype(dtype), u.astype(dtype)
    check(lambda x, u: getattr(x.at[PLACES[:6]], kind)(u), x, u)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 8, 12, 16, 17, 40, 64, 100])
def test_columns_are_shared_out_or_vectors(columns):
    rows = np.random.default_rng(0).standard_normal((8, columns)).astype(np.float32)
    check(lambda x, u: x.at[PLACES].add(u * 2).at[1].set(x[0]), jnp.zeros((4, columns)), rows)


def test_each_of_a_batch_has_windows_of_its_own():
    places = PLACES.reshape(4, 2)
    check(jax.vmap(lambda x, i: x.at[i].add(1.5)), X, places)
    check(jax.vmap(lambda x, i: x.at[i].add(1.5), (None, 0)), X[0], places)
    check(jax.vmap(lambda x, u: x.at[PLACES].max(u), (0, None)), X, jnp.arange(8.0) - 3)


@pytest.mark.parametrize("reduce", ["sum", "max", "min", "prod"])
def test_segments_and_gradients(reduce):
    data = jnp.sin(jnp.arange(24.0)).reshape(8, 3)
    ids = jnp.array([1, 0, 3, 3, 1, 7, -2, 0])
    segments = getattr(jax.ops, f"segment_{reduce}")
    check(lambda x, ids: segments(x, ids, 5), data, ids)
    if reduce in ("sum", "max"):
        gradient = jax.grad(lambda x: (segments(x, ids, 4) ** 2).sum())
        np.testing.assert_allclose(jax.jit(gradient)(data), gradient(data), rtol=1e-6)


def test_the_gradient_of_a_gather_is_an_update():
    data, ids = jnp.sin(jnp.arange(24.0)).reshape(8, 3), jnp.array([1, 0, 3, 3, 1, 7, -2, 0])
    gradient = jax.grad(lambda x: (jnp.exp(x)[ids] * data).sum())
    assert not has_host_steps(gradient, data)
    np.testing.assert_allclose(jax.jit(gradient)(data), gradient(data), rtol=1e-6)


def test_updates_of_nothing_change_nothing():
    check(lambda x, i: x.at[i].add(1.0), X, jnp.zeros(0, int))
    check(lambda x, i: x.at[i].add(1.0), jnp.zeros((0, 3)), PLACES)
