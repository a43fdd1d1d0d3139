"""Products that leave a scan: which ones do, and that results stay the same."""

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

STEPS, ROWS, SIZE = 6, 4, 32
RNG = np.random.default_rng(0)
X = jnp.asarray(RNG.normal(size=(STEPS, ROWS, SIZE)), jnp.float32)
W, U = (jnp.asarray(RNG.normal(size=(SIZE, SIZE)) / 8, jnp.float32) for _ in range(2))
H = jnp.zeros((ROWS, SIZE))


def products(f, *args):
    """How many products are in the bodies of scans, and how many are not."""
    eqns = jax.jit(f).lower(*args).compiler_ir("simplified").eqns
    inside = [e for eqn in eqns if eqn.primitive.name == "scan" for e in eqn.params["jaxpr"].eqns]
    return tuple(sum(e.primitive.name == "dot_general" for e in some) for some in (inside, eqns))


def assert_same(f, *args):
    for a, b in zip(jax.tree.leaves(jax.jit(f)(*args)), jax.tree.leaves(f(*args)), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def rnn(xs, w, u):
    return lax.scan(lambda h, x: (jnp.tanh(x @ w + h @ u),) * 2, H, xs)


def test_a_product_of_xs_is_before_the_loop():
    assert products(rnn, X, W, U) == (1, 1)
    assert_same(rnn, X, W, U)


def test_a_product_with_a_matrix_that_the_carry_keeps_is_too():
    def f(xs, w, u):
        def step(carry, x):
            h, w = carry
            return (jnp.tanh(x @ w + h @ u), w), h

        return lax.scan(step, (H, w), xs, reverse=True)

    assert products(f, X, W, U) == (1, 1)
    assert_same(f, X, W, U)


def test_a_product_that_the_carry_does_not_need_is_after_the_loop():
    def f(xs, w, u):
        def step(h, x):
            h = jnp.tanh(x + h @ u)
            return h, (jnp.sin(h @ w).sum(0), 1.0, h)

        return lax.scan(step, H, xs, reverse=True)

    assert products(f, X, W, U) == (1, 1)
    assert_same(f, X, W, U)


def test_rows_joined_from_x_and_carry_have_a_product_each():
    both = jnp.concatenate([W, U])

    def f(xs, both):
        def step(h, x):
            h = jnp.concatenate([x, h], -1) @ both
            return h, None

        return lax.scan(step, H, xs)

    assert products(f, X, both) == (1, 1)
    assert_same(f, X, both)


@pytest.mark.parametrize("known, before", [(SIZE, 1), (SIZE // 2, 0)])
def test_joined_rows_that_are_results_have_one_product_if_few_are_known(known, before):
    both = jnp.concatenate([W[:known], U])

    def f(xs, both):
        def step(h, x):
            rows = jnp.concatenate([x, h], -1)
            return rows @ both, rows

        return lax.scan(step, H, xs)

    assert products(f, X[..., :known], both) == (1, before)
    assert_same(f, X[..., :known], both)


def test_a_sum_of_products_is_one_product():
    gradient = jax.grad(lambda w, u, xs: jnp.sum(rnn(xs, w, u)[1] ** 2), (0, 1))
    inside, outside = products(gradient, W, U, X)
    assert (inside, outside) == (2, 3)  # h @ u and d @ u.T; x @ w, dw and du
    assert_same(gradient, W, U, X)


@pytest.mark.parametrize("result", ["before", "after"])
def test_a_sum_that_is_read_in_the_loop_stays(result):
    def f(xs):
        def step(total, x):
            after = total + x.T @ x
            return after, jnp.sum(after if result == "after" else total)

        return lax.scan(step, jnp.ones((SIZE, SIZE)), xs)

    assert products(f, X) == (1, 0)
    assert_same(f, X)


def test_other_terms_of_the_sum_stay():
    def f(xs):
        def step(total, x):
            return total + (x.T @ x + jnp.sin(x[0])[:, None] * jnp.ones(SIZE)), None

        return lax.scan(step, jnp.ones((SIZE, SIZE)), xs)

    assert products(f, X) == (0, 1)
    assert_same(f, X)


def test_products_that_would_need_much_memory_stay():
    xs = jax.ShapeDtypeStruct((200_000, ROWS, SIZE), jnp.float32)
    matrix = jax.ShapeDtypeStruct((SIZE, SIZE), jnp.float32)
    assert products(rnn, xs, matrix, matrix) == (2, 0)


def test_what_a_callback_or_a_branch_reads_stays():
    def f(xs, w):
        def step(h, x):
            y = lax.cond(x[0, 0] > 0, lambda y: y + 1, jnp.sin, h @ w)
            shape = jax.ShapeDtypeStruct(y.shape, y.dtype)
            return x, jax.pure_callback(lambda y: np.asarray(y) + 1, shape, (y + h) @ w)

        return lax.scan(step, H, xs)

    assert products(f, X, W) == (2, 0)
    assert_same(f, X, W)


def test_products_of_large_matrices_that_the_loop_makes_stay():
    def f(xs, w):
        return lax.scan(lambda c, x: (c, jnp.sin(jnp.outer(x, x)) @ w), 0, xs)

    xs = jax.ShapeDtypeStruct((50, 1000), jnp.float32)
    assert products(f, xs, jax.ShapeDtypeStruct((1000, 2), jnp.float32)) == (1, 0)


@pytest.mark.parametrize("what", ["before", "after", "sum"])
def test_effects_happen_once_in_each_iteration(what):
    def f(xs, w):
        def step(c, x):
            jax.debug.callback(lambda n: seen.append(float(n)), c[0])
            if what == "sum":
                return (c[0] + 1, c[1] + x.T @ x), None
            return (c[0] + 1, c[1]), (x if what == "before" else c[0] * x) @ w

        return lax.scan(step, (0.0, jnp.zeros((SIZE, SIZE))), xs)

    seen = []
    assert products(f, X, W) == (0, 1)
    assert_same(f, X, W)
    jax.effects_barrier()
    assert seen == [*range(STEPS)] * 2
