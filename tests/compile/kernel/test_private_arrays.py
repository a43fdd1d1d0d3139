"""Loops in loops whose results are reductions of what outer loops carry: programs as people write them."""

import numpy as np
import pytest

import tinyjax as jax
from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.runtime.queues import queue_of

POINTS = jnp.arange(1.0, 7.0).reshape(3, 2)
TIMES = jnp.arange(1.0, 3.0)


def floats(*shape):
    return jnp.asarray(np.random.default_rng(0).uniform(-1, 1, shape), jnp.float32)


def agree(f, *args):
    """Compiled, f gives what it gives when Python runs its loops."""
    for compiled, eager in zip(*map(jax.tree.leaves, (jax.jit(f)(*args), f(*args))), strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=2e-5, atol=1e-6)


def test_memory_that_no_kernel_stored_to_shows_in_results():
    queue = queue_of(jax.local_devices()[0])
    assert np.isnan(queue.allocate((3, 2), np.dtype("float32")).read()).all()
    assert (queue.allocate((2**16,), np.dtype("uint8")).read() == 0xAB).all()


# ---- what does not vary within the inner loop is stored in each of its iterations ----


def each_point(c, t):
    return lax.map(lambda q: jnp.sum(c * t, 0), c)


IN_A_LOOP = {
    "map": lambda c: lax.map(lambda t: each_point(c, t), TIMES),
    "scan": lambda c: lax.scan(lambda s, t: (s + 1, each_point(c + s, t)), 0.0, TIMES),
    "fori_loop": lambda c: lax.fori_loop(0, 2, lambda i, x: each_point(x, 0.5 * i + 0.1), c),
    "while_loop": lambda c: lax.while_loop(
        lambda x: jnp.sum(x) < 1e3, lambda x: 0.5 * x + each_point(x, 1.0), c
    ),
    "cond": lambda c: lax.cond(jnp.sum(c) > 0, lambda: each_point(c, 2.0), lambda: c),
}


@pytest.mark.parametrize("loop", IN_A_LOOP)
def test_an_inner_loop_stacks_what_does_not_vary_in_it(loop):
    agree(IN_A_LOOP[loop], POINTS)


@pytest.mark.parametrize("loop", IN_A_LOOP)
def test_a_batched_inner_loop_stacks_what_does_not_vary_in_it(loop):
    agree(jax.vmap(IN_A_LOOP[loop]), jnp.stack([POINTS, POINTS + 1]))


def test_a_reversed_inner_loop_stacks_reductions_from_its_end():
    def step(s, t):
        return s, lax.scan(lambda r, q: (r, jnp.sum(POINTS * t, 0)), 0.0, POINTS, reverse=True)[1]

    agree(lambda: lax.scan(step, 0.0, TIMES)[1])


# ---- programs ----


def test_n_bodies_whose_forces_are_summed_up_in_a_step():
    def step(state, _):
        position, velocity = state

        def force(p):
            apart = position - p
            distance = jnp.sum(apart**2, 1, keepdims=True) + 0.1
            return jnp.sum(apart / distance, 0)

        velocity = velocity + 0.1 * lax.map(force, position)
        return (position + 0.1 * velocity, velocity), jnp.sum(velocity**2)

    agree(lambda p: lax.scan(step, (p, 0 * p), None, 4), floats(5, 3))


def test_attention_of_each_query_in_a_training_loop():
    def attend(w, queries):
        def one(q):
            scores = queries @ w @ q
            return jax.nn.softmax(scores) @ queries

        return lax.map(one, queries)

    def train(w, queries):
        def step(w, _):
            loss, slope = jax.value_and_grad(lambda w: jnp.sum(attend(w, queries) ** 2))(w)
            return w - 0.1 * slope, loss

        return lax.scan(step, w, None, 3)

    agree(train, floats(4, 4), floats(6, 4))


def test_k_means_that_averages_the_points_of_each_centre():
    def fit(points, centres):
        def step(centres, _):
            nearest = jnp.argmin(jnp.sum((points[:, None] - centres) ** 2, -1), 1)

            def centre(k):
                mine = (nearest == k)[:, None]
                return jnp.sum(points * mine, 0) / jnp.maximum(jnp.sum(mine), 1)

            return lax.map(centre, jnp.arange(3)), jnp.sum(centres)

        return lax.scan(step, centres, None, 4)

    agree(fit, floats(20, 2), floats(3, 2))


def test_monte_carlo_samples_of_a_price_in_each_iteration():
    def price(key, strikes):
        def step(total, key):
            draws = jax.random.normal(key, (32,))
            paid = lax.map(lambda k: jnp.mean(jnp.maximum(draws - k, 0)), strikes)
            return total + paid, paid

        return lax.scan(step, jnp.zeros(3), jax.random.split(key, 4))

    agree(price, jax.random.key(0), jnp.array([0.0, 0.5, 1.0]))


def test_the_forward_pass_of_a_hidden_markov_model_in_each_iteration_of_em():
    def fit(transitions, emissions, seen):
        def step(t, _):
            def forward(alpha, symbol):
                alpha = emissions[:, symbol] * (alpha @ t)
                return alpha / jnp.sum(alpha), jnp.log(jnp.sum(alpha))

            _, likelihoods = lax.scan(forward, jnp.ones(3) / 3, seen)
            t = t * (1 + 0.1 * jnp.sum(likelihoods) ** 2)
            return t / jnp.sum(t, 1, keepdims=True), likelihoods

        return lax.scan(step, transitions, None, 3)

    seen = jnp.array([0, 1, 1, 0, 1])
    agree(fit, abs(floats(3, 3)) + 0.1, abs(floats(3, 2)) + 0.1, seen)


def test_kalman_gains_of_each_filter_as_it_goes_on():
    def run(noise, seen):
        def one(q):
            def step(state, z):
                mean, variance = state
                variance = variance + q
                gain = variance / (variance + 0.5)
                mean = mean + gain * (z - mean)
                return (mean, (1 - gain) * variance), (mean, gain, jnp.sum(noise) * jnp.ones(2))

            return lax.scan(step, (0.0, 1.0), seen)[1]

        return lax.map(one, noise)

    agree(run, jnp.array([0.1, 0.2, 0.4]), floats(6))


def test_a_batched_while_loop_of_a_scan():
    def f(x):
        def body(state):
            n, v = state
            return n + 1, lax.scan(lambda c, t: (c, jnp.sum(v) * t), 0.0, v)[1] * 0.3 + 0.1

        return lax.while_loop(lambda s: (s[0] < 5) & (jnp.sum(s[1]) < 4), body, (0, x))

    agree(jax.vmap(f), abs(floats(4, 3)))
