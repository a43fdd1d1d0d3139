import numpy as np

import tinyjax as jax
from tinyjax import lax
from tinyjax import numpy as jnp

X = np.float32(np.random.default_rng(0).random(11))  # a prime: its transforms run on the host


def test_host_steps_that_are_the_same_in_all_iterations_run_once():
    def f(x, k):
        def step(_, x):
            return jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(k * 2), 11) + x

        return lax.fori_loop(0, 3, step, x)

    text = jax.jit(f).lower(X, X[::-1]).as_text("schedule")
    before, inside = text.split("body(")
    assert (before.count("host    fft"), inside.count("host    fft")) == (1, 2)
    np.testing.assert_allclose(jax.jit(f)(X, X[::-1]), f(X, X[::-1]), rtol=1e-4, atol=1e-4)


def test_an_invariant_result_of_an_iteration_moves_too():
    def f(x, xs):
        return lax.scan(lambda c, y: (c + y, jnp.fft.rfft(x)), x, xs)

    xs = np.stack([X, 2 * X])
    assert "host    fft" in jax.jit(f).lower(X, xs).as_text("schedule").split("loop ")[0]
    for a, b in zip(jax.jit(f)(X, xs), f(X, xs)):
        np.testing.assert_allclose(a, b, rtol=1e-6)
