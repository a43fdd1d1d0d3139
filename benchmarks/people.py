"""Programs as people write them: nobody has tuned tinyjax for these."""

import importlib
from typing import Any

import numpy as np
from workloads import Function, Workload


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# ---- an LSTM ----

STEPS, BATCH, INPUTS, HIDDEN = 100, 32, 32, 64


def lstm_args() -> tuple:
    weights = normal(INPUTS, 4 * HIDDEN) / 10, normal(HIDDEN, 4 * HIDDEN, seed=1) / 10
    return (*weights, normal(STEPS, BATCH, INPUTS, seed=2))


def lstm_gradient(jax: Any) -> Function:
    jnp, sigmoid = jax.numpy, importlib.import_module(f"{jax.__name__}.nn").sigmoid

    def cell(carry: tuple, x: Any) -> tuple:
        h, state, w, u = carry
        i, f, g, o = jnp.split(x @ w + h @ u, 4, -1)
        state = sigmoid(f) * state + sigmoid(i) * jnp.tanh(g)
        h = sigmoid(o) * jnp.tanh(state)
        return (h, state, w, u), h

    def loss(w: Any, u: Any, xs: Any) -> Any:
        zeros = jnp.zeros((BATCH, HIDDEN))
        return jnp.mean(jax.lax.scan(cell, (zeros, zeros, w, u), xs)[1] ** 2)

    return jax.grad(loss, (0, 1))


# ---- a Kalman filter ----


def kalman_filter(jax: Any) -> Function:
    jnp, size = jax.numpy, 4
    transition = 0.8 * np.eye(size, dtype=np.float32) + normal(size, size) / 20
    observed, noise = normal(2, size, seed=1), np.eye(2, dtype=np.float32)

    def step(carry: tuple, y: Any) -> tuple:
        mean, cov = carry
        mean, cov = transition @ mean, transition @ cov @ transition.T + 0.1 * jnp.eye(size)
        innovation = observed @ cov @ observed.T + noise
        gain = jnp.linalg.solve(innovation, observed @ cov).T
        mean, cov = mean + gain @ (y - observed @ mean), cov - gain @ observed @ cov
        return (mean, cov), mean

    return jax.vmap(lambda ys: jax.lax.scan(step, (jnp.zeros(size), jnp.eye(size)), ys)[1])


# ---- message passing on a graph ----

NODES, EDGES, FEATURES = 5_000, 40_000, 64


def graph_args() -> tuple:
    senders, receivers = np.random.default_rng(1).integers(0, NODES, (2, EDGES)).astype(np.int32)
    return normal(FEATURES, FEATURES) / 10, normal(NODES, FEATURES, seed=2), senders, receivers


def message_passing(jax: Any) -> Function:
    jnp, ops = jax.numpy, importlib.import_module(f"{jax.__name__}.ops")

    def loss(w: Any, x: Any, senders: Any, receivers: Any) -> Any:
        for _ in range(3):
            x = jnp.tanh(ops.segment_sum((x @ w)[senders], receivers, NODES) / 8 + x)
        return jnp.mean(x**2)

    return jax.value_and_grad(loss)


# ---- bodies that attract each other ----


def bodies(jax: Any) -> Function:
    def acceleration(x: Any) -> Any:
        d = x[:, None] - x[None]
        return -(d / ((d**2).sum(-1, keepdims=True) + 0.1) ** 1.5).sum(1)

    def step(i: Any, state: tuple) -> tuple:
        x, v = state
        return x + 0.01 * (v + 0.005 * acceleration(x)), v + 0.01 * acceleration(x)

    return lambda x, v: jax.lax.fori_loop(0, 50, step, (x, v))


# ---- a Gaussian process ----


def process_args() -> tuple:
    x = normal(300, 3)
    return np.array([0, 0, -2], np.float32), x, np.sin(x.sum(1))


def gaussian_process(jax: Any) -> Function:
    jnp = jax.numpy
    linalg = importlib.import_module(f"{jax.__name__}.scipy.linalg")

    def loss(t: Any, x: Any, y: Any) -> Any:
        d = ((x[:, None] - x[None]) ** 2).sum(-1)
        k = jnp.exp(t[0]) * jnp.exp(-d / 2 / jnp.exp(t[1])) + (jnp.exp(t[2]) + 1e-4) * jnp.eye(300)
        root = jnp.linalg.cholesky(k)
        solution = linalg.cho_solve((root, True), y)
        return 0.5 * y @ solution + jnp.log(jnp.diag(root)).sum()

    return jax.value_and_grad(loss)


# ---- the game of life ----


def board() -> tuple:
    return ((np.random.default_rng(0).random((512, 512)) < 0.3).astype(np.uint8),)


def game_of_life(jax: Any) -> Function:
    jnp, moves = jax.numpy, (-1, 0, 1)

    def step(b: Any, _: None) -> tuple:
        n = sum(jnp.roll(b, (i, j), (0, 1)) for i in moves for j in moves if i or j)
        return ((n == 3) | ((b == 1) & (n == 2))).astype(jnp.uint8), None

    return lambda b: jax.lax.scan(step, b, None, length=50)[0]


PEOPLE = [
    Workload(name, args, None, make, modes=("jit",), goal=1, kind="as people write them")
    for name, args, make in (
        ("gradient of an LSTM of 100 steps", lstm_args, lstm_gradient),
        ("Kalman filter, vmapped scan", lambda: (normal(64, 200, 2),), kalman_filter),
        ("message passing, segment_sum", graph_args, message_passing),
        ("n-body, 200 x 200 x 3", lambda: (normal(200, 3), normal(200, 3) / 10), bodies),
        ("gradient of a Gaussian process", process_args, gaussian_process),
        ("game of life, uint8, rolls", board, game_of_life),
    )
]
