"""Loops that each example of a batch runs by itself."""

import numpy as np
import pytest
from loop_kernels import agree, floats, loop_of

import tinyjax as jax
from tinyjax import lax
from tinyjax import numpy as jnp

MIX = floats(3, 3)


def filtered(xs):
    """A recurrence of small matrices, whose carry has two shapes."""

    def step(carry, x):
        m, p = carry
        p = MIX @ p @ MIX.T / 4 + jnp.outer(x, x)
        m = MIX @ m + p @ x
        return (m, p / (1 + jnp.trace(p))), m

    return lax.scan(step, (jnp.zeros(3), jnp.eye(3)), xs)


@pytest.mark.parametrize("count", [4, 16, 21, 37])
def test_each_example_of_a_batch_runs_the_loop_by_itself(count):
    xs = floats(count, 5, 3)
    kernel = loop_of(lambda xs: lax.scan(*in_front(jax.vmap(filtered), xs)), xs)
    assert kernel.form == "by example, vectorized by 16" or count == 4
    agree(jax.vmap(filtered), xs, rtol=1e-5)


@pytest.mark.parametrize("count, size, form", [
    (16, 32, "sequential"), (16, 31, "sequential"), (16, 17, "by example"), (64, 32, "by example")
])  # fmt: skip
def test_few_examples_run_together_if_the_neighbours_of_each_fill_vectors(count, size, form):
    xs, weights = floats(2, count, size), floats(size, size)

    def f(xs):
        return lax.scan(lambda h, x: (jnp.tanh(h @ weights + x), h), jnp.zeros((count, size)), xs)

    assert loop_of(f, xs).form.startswith(form)
    np.testing.assert_allclose(jax.jit(f)(xs)[0], f(xs)[0], atol=1e-5)


def in_front(f, xs):
    """The scan that vmap makes, without the transpositions around it."""
    m, p = jnp.zeros((len(xs), 3)), jnp.tile(jnp.eye(3), (len(xs), 1, 1))

    def step(carry, x):
        m, p = carry
        p = jnp.einsum("ij,bjk,lk->bil", MIX, p, MIX) / 4 + x[:, :, None] * x[:, None]
        m = m @ MIX.T + jnp.einsum("bij,bj->bi", p, x)
        return (m, p), m

    return step, (m, p), xs.swapaxes(0, 1)


def test_what_all_examples_share_is_stored_by_the_first():
    def f(xs):
        def step(carry, x):
            count, m = carry
            return (count + 1, m @ MIX + x), count * 2

        return lax.scan(step, (0, jnp.zeros((6, 3))), xs)

    agree(f, floats(4, 6, 3))


def test_loops_and_branches_inside():
    def one(x):
        def step(c, y):
            total, _ = lax.scan(lambda s, z: (s * 0.5 + z @ MIX, ()), c, jnp.stack([y, y * 2]))
            return lax.cond(x.shape[0] > 1, jnp.sin, jnp.cos, total + jnp.cumsum(y)), total

        return lax.scan(step, jnp.zeros(3), x)

    agree(jax.vmap(one), floats(17, 4, 3), rtol=1e-5)


def test_examples_go_on_until_their_own_condition_fails():
    def one(x):
        def step(state):
            v, n = state
            return MIX @ v / 2 + x, n + 1

        return lax.while_loop(lambda s: (jnp.abs(s[0]).max() > 0.3) & (s[1] < 9), step, (x, 0))

    agree(jax.vmap(one), floats(19, 3) * 2, rtol=1e-5)


def test_each_example_sorts_and_sums_rows_of_its_own():
    def one(x):
        def step(c, y):
            c = jnp.sort(c) + lax.top_k(y, 3)[0]
            return c, lax.sort_key_val(y, c)

        return lax.scan(step, x[0], x)

    agree(jax.vmap(one), floats(17, 2, 3), rtol=1e-5)


def test_rows_are_chosen_by_numbers_that_each_example_has_of_its_own():
    def one(x, i):
        def step(c, j):
            row = c[(i + j) % 3]
            return c.at[j].set(row @ MIX), row

        return lax.scan(step, x, jnp.arange(3))

    agree(jax.vmap(one), floats(20, 3, 3), np.arange(20) % 3, rtol=1e-5)


@pytest.mark.parametrize(
    "step, form",
    [
        (lambda c, row: c * row[::-1] + row[:, None], "elementwise"),
        (lambda c, row: c * jnp.exp(row) - lax.iota(np.float32, 3), "elementwise"),
        (lambda c, row: lax.fori_loop(0, 2, lambda i, c: c * row + i, c), "elementwise"),
        (lambda c, row: c * jnp.exp(row * c[0, 0]), "sequential"),
        (lambda c, row: c.T * row, "sequential"),
        (lambda c, row: c - c.sum() * row, "sequential"),
    ],
)
def test_each_element_runs_a_loop_that_computes_it_from_its_own_alone(step, form):
    f = lambda x, row: lax.fori_loop(0, 3, lambda i, c: step(c, row) / 4, x)  # noqa: E731
    kernel = loop_of(f, MIX, MIX[0])
    assert kernel.form.startswith(form)
    assert form != "elementwise" or "elements" not in str(kernel)
    agree(f, MIX, MIX[0], rtol=1e-5)


@pytest.mark.parametrize(
    "step",
    [
        lambda c, x: (c - c.mean(0), x),
        lambda c, x: (c[::-1] + x, x),
        lambda c, x: (jnp.roll(c, 1, 0), c.sum(0)),
        lambda c, x: (c.at[2].add(x[0]), x),
    ],
)
def test_examples_that_need_each_other_run_in_one_work_item(step):
    f = lambda c, xs: lax.scan(step, c, xs)  # noqa: E731
    c, xs = floats(6, 3), floats(2, 6, 3)
    assert loop_of(f, c, xs).form.startswith("sequential")
    agree(f, c, xs, rtol=1e-5)


def test_examples_do_not_each_compute_a_sum_that_they_share():
    def gradient(state, weights, inputs, factors):
        def step(carry, row):
            total, state = carry
            x, factor = row
            state = jnp.tanh(state * factor)
            return (total + x.T @ state, state), ()

        return lax.scan(step, (weights, state), (inputs, factors))[0]

    args = floats(16, 12), floats(5, 12), floats(3, 16, 5), floats(3, 16, 12)
    assert loop_of(gradient, *args).form.startswith("sequential")
    agree(gradient, *args, rtol=1e-5)


def test_examples_repeat_a_little_that_they_share():
    def f(x, keys):
        def step(x, key):
            low = jax.random.randint(key, (3000,), 0, 4)  # all derive two keys
            return x + low[:, None] * (x * x).sum(-1, keepdims=True), None

        return lax.scan(step, x, keys)[0]

    args = floats(3000, 2) / 9, jax.random.split(jax.random.PRNGKey(0), 3)
    text = jax.jit(f).lower(*args).as_text("schedule")
    assert "one kernel, by example" in text
    np.testing.assert_allclose(jax.jit(f)(*args), f(*args), rtol=1e-5)


def test_each_example_computes_only_what_it_reads_of_an_iota():
    def f(x, scales):
        def step(x, scale):
            numbers = jnp.arange(x.size).reshape(x.shape)
            return x + scale * jnp.sin(x + numbers % 7).sum(-1, keepdims=True), None

        return lax.scan(step, x, scales)[0]

    args = floats(300, 2), floats(3)
    assert loop_of(f, *args).form.startswith("by example")
    agree(f, *args, rtol=1e-5)
