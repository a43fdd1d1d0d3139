"""What is measured: each workload once for NumPy, and once for whichever `jax` it is given."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True)
class Workload:
    """`make(jax)` gives the function to measure; `modes` says whether it is jitted, or run eagerly."""

    name: str
    args: Callable[[], tuple]
    numpy: Function
    make: Callable[[Any], Function]
    modes: tuple[str, ...] = ("eager", "jit")


def uniform(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-2, 2, shape).astype(np.float32)


# ---- a network, its gradient derived by hand for NumPy ----


def network() -> tuple:
    weights = uniform(64, 64), uniform(64, 10)
    return weights, uniform(128, 64), np.eye(10, dtype=np.float32)[np.arange(128) % 10]


def numpy_network_gradient(weights: tuple, images: np.ndarray, targets: np.ndarray) -> list:
    w1, w2 = weights
    hidden = np.tanh(images @ w1)
    scores = hidden @ w2
    exp = np.exp(scores - scores.max(axis=1, keepdims=True))
    d_scores = (exp / exp.sum(axis=1, keepdims=True) - targets) / len(images)
    d_hidden = (d_scores @ w2.T) * (1 - hidden**2)
    return [images.T @ d_hidden, hidden.T @ d_scores]


def network_gradient(jax: Any) -> Function:
    def loss(weights: tuple, images: Any, targets: Any) -> Any:
        w1, w2 = weights
        scores = jax.numpy.tanh(images @ w1) @ w2
        return -jax.numpy.mean(jax.numpy.sum(jax.nn.log_softmax(scores) * targets, axis=1))

    return jax.grad(loss)


# ---- loops ----


def mandelbrot_points() -> tuple:
    imaginary, real = np.mgrid[-1.5:1.5:1000j, -2:1:1000j].astype(np.float32)
    return real, imaginary


def numpy_mandelbrot(real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
    counts, places = np.zeros(real.size, np.int32), np.arange(real.size)
    a, b = real.ravel(), imaginary.ravel()
    x, y = np.zeros_like(a), np.zeros_like(a)
    for _ in range(200):
        inside = x * x + y * y <= 4
        x, y, a, b, places = (values[inside] for values in (x, y, a, b, places))
        x, y = x * x - y * y + a, 2 * x * y + b
        counts[places] += 1
    return counts.reshape(real.shape)


def mandelbrot(jax: Any) -> Function:
    def rounds_of(real: Any, imaginary: Any) -> Any:
        def is_inside(state: tuple) -> Any:
            x, y, count = state
            return (count < 200) & (x * x + y * y <= 4.0)

        def next_state(state: tuple) -> tuple:
            x, y, count = state
            return x * x - y * y + real, 2 * x * y + imaginary, count + 1

        return jax.lax.while_loop(is_inside, next_state, (0 * real, 0 * imaginary, 0))[2]

    return jax.vmap(jax.vmap(rounds_of))


def numpy_recurrence(decay: np.ndarray, state: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    states = np.empty_like(inputs)
    for step, x in enumerate(inputs):
        states[step] = state = decay * state + x
    return states


def recurrence(jax: Any) -> Function:
    def run(decay: Any, state: Any, inputs: Any) -> Any:
        def step(state: Any, x: Any) -> tuple:
            state = decay * state + x
            return state, state

        return jax.lax.scan(step, state, inputs)[1]

    return run


def numpy_matrix_recurrence(matrix: np.ndarray, state: np.ndarray, inputs: np.ndarray) -> Any:
    states = np.empty_like(inputs)
    for step, x in enumerate(inputs):
        states[step] = state = matrix @ state + x
    return states


def matrix_recurrence(jax: Any) -> Function:
    def run(matrix: Any, state: Any, inputs: Any) -> Any:
        def step(state: Any, x: Any) -> tuple:
            state = matrix @ state + x
            return state, state

        return jax.lax.scan(step, state, inputs)[1]

    return run


def rnn_args() -> tuple:
    weights = uniform(32, 32) / 8, uniform(32, 32)[::-1] / 8, uniform(32)
    return weights, uniform(1000, 32)


def numpy_rnn(weights: tuple, inputs: np.ndarray) -> np.ndarray:
    w, u, b = weights
    state, states = np.zeros(32, np.float32), np.empty_like(inputs)
    for step, x in enumerate(inputs):
        states[step] = state = np.tanh(w @ x + u @ state + b)
    return states


def rnn(jax: Any) -> Function:
    def run(weights: tuple, inputs: Any) -> Any:
        w, u, b = weights

        def step(state: Any, x: Any) -> tuple:
            state = jax.numpy.tanh(w @ x + u @ state + b)
            return state, state

        return jax.lax.scan(step, jax.numpy.zeros(32), inputs)[1]

    return run


def numpy_rnn_gradient(weights: tuple, inputs: np.ndarray) -> list:
    _, u, _ = weights
    states = numpy_rnn(weights, inputs)
    before = np.concatenate([np.zeros((1, 32), np.float32), states[:-1]])
    d_w, d_u, d_b = (np.zeros_like(x) for x in weights)
    d_state = np.zeros(32, np.float32)
    for x, h, state in zip(inputs[::-1], before[::-1], states[::-1]):
        d_sum = (d_state + 2 * state) * (1 - state**2)
        d_w += np.outer(d_sum, x)
        d_u += np.outer(d_sum, h)
        d_b += d_sum
        d_state = d_sum @ u
    return [d_w, d_u, d_b]


def rnn_gradient(jax: Any) -> Function:
    run = rnn(jax)
    return jax.grad(lambda weights, inputs: jax.numpy.sum(run(weights, inputs) ** 2))


# ---- all of them ----


def numpy_selu(x: np.ndarray) -> np.ndarray:
    return 1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x))


WORKLOADS = [
    Workload(
        "SELU of 1M",
        lambda: (uniform(1_000_000),),
        numpy_selu,
        lambda jax: jax.nn.selu,
    ),
    Workload(
        "sum(x + y * z) of 1M",
        lambda: tuple(uniform(3, 1_000_000)),
        lambda x, y, z: np.sum(x + y * z),
        lambda jax: lambda x, y, z: jax.numpy.sum(x + y * z),
    ),
    Workload(
        "sin(x) * cos(x) + tanh(x) of 1M",
        lambda: (uniform(1_000_000),),
        lambda x: np.sin(x) * np.cos(x) + np.tanh(x),
        lambda jax: lambda x: jax.numpy.sin(x) * jax.numpy.cos(x) + jax.numpy.tanh(x),
    ),
    Workload(
        "matmul of 512 x 512",
        lambda: tuple(uniform(2, 512, 512)),
        np.matmul,
        lambda jax: jax.numpy.matmul,
    ),
    Workload("gradient of a small network", network, numpy_network_gradient, network_gradient),
    Workload(
        "x + y of 10, eager",
        lambda: tuple(uniform(2, 10)),
        np.add,
        lambda jax: jax.numpy.add,
        modes=("eager",),
    ),
    Workload(
        "gradient of x * sin(x) at a scalar, eager",
        lambda: (np.float32(3.0),),
        lambda x: np.sin(x) + x * np.cos(x),
        lambda jax: jax.grad(lambda x: x * jax.numpy.sin(x)),
        modes=("eager",),
    ),
    Workload(
        "x * sin(x) of a scalar, jitted",
        lambda: (np.float32(3.0),),
        lambda x: x * np.sin(x),
        lambda jax: lambda x: x * jax.numpy.sin(x),
        modes=("jit",),
    ),
    Workload(
        "Mandelbrot, 1000 x 1000, vmap of while_loop, jitted",
        mandelbrot_points,
        numpy_mandelbrot,
        mandelbrot,
        modes=("jit",),
    ),
    Workload(
        "scan of 10,000 steps, 16-vector, jitted",
        lambda: (uniform(16) / 2, uniform(16), uniform(10_000, 16)),
        numpy_recurrence,
        recurrence,
        modes=("jit",),
    ),
    Workload(
        "scan of 10,000 steps, 16 x 16 matrix, jitted",
        lambda: (uniform(16, 16) / 8, uniform(16), uniform(10_000, 16)),
        numpy_matrix_recurrence,
        matrix_recurrence,
        modes=("jit",),
    ),
    Workload("RNN of 1000 steps, jitted", rnn_args, numpy_rnn, rnn, modes=("jit",)),
    Workload(
        "gradient of the RNN, jitted",
        rnn_args,
        numpy_rnn_gradient,
        rnn_gradient,
        modes=("jit",),
    ),
]
