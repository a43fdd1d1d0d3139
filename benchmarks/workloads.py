"""What is measured: each workload once for NumPy, and once for whichever `jax` it is given."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True)
class Workload:
    """`make(jax)` gives the function to measure; `modes` says whether it is jitted, or run eagerly.

    `goal`: how many times as fast as JAX tinyjax wants to be, in the last of the modes; `numpy_goal`:
    the same for NumPy. `numpy` is None for what NumPy does not do. Each `kind` has its own mean."""

    name: str
    args: Callable[[], tuple]
    numpy: Function | None
    make: Callable[[Any], Function]
    modes: tuple[str, ...] = ("eager", "jit")
    goal: float | None = None
    numpy_goal: float | None = None
    kind: str = "jitted"


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


# ---- rows of a matrix ----


def numpy_softmax(x: np.ndarray) -> np.ndarray:
    exp = np.exp(x - x.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True)


def numpy_layernorm(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)


def layernorm(jax: Any) -> Function:
    jnp = jax.numpy

    def normalized(x: Any) -> Any:
        mean, variance = jnp.mean(x, axis=1, keepdims=True), jnp.var(x, axis=1, keepdims=True)
        return (x - mean) / jnp.sqrt(variance + 1e-5)

    return normalized


# ---- a training step ----


def mlp() -> tuple:
    """Weights of 64-256-256-10, 128 images, and their classes as one-hot rows."""
    sizes = (64, 256, 256, 10)
    weights = [uniform(m, n) / np.float32(m) ** 0.5 for m, n in zip(sizes, sizes[1:])]
    layers = [(w, np.zeros(w.shape[1], np.float32)) for w in weights]
    return layers, uniform(128, 64), np.eye(10, dtype=np.float32)[np.arange(128) % 10]


def mlp_loss(jax: Any) -> Function:
    def loss(layers: list, images: Any, targets: Any) -> Any:
        x = images
        for w, b in layers[:-1]:
            x = jax.numpy.tanh(x @ w + b)
        w, b = layers[-1]
        return -jax.numpy.mean(jax.numpy.sum(jax.nn.log_softmax(x @ w + b) * targets, axis=-1))

    return loss


def mlp_step(jax: Any) -> Function:
    def step(layers: list, images: Any, targets: Any) -> list:
        gradients = jax.grad(mlp_loss(jax))(layers, images, targets)
        return jax.tree.map(lambda w, g: w - 0.1 * g, layers, gradients)

    return step


def mlp_gradients_by_example(jax: Any) -> Function:
    def gradient(layers: list, image: Any, target: Any) -> list:
        return jax.grad(mlp_loss(jax))(layers, image, target)

    return jax.vmap(gradient, (None, 0, 0))


# ---- convolutions ----

LAYOUT = ("NHWC", "HWIO", "NHWC")


def convolution(jax: Any) -> Function:
    def convolve(images: Any, kernels: Any) -> Any:
        return jax.lax.conv_general_dilated(
            images, kernels, (1, 1), "SAME", dimension_numbers=LAYOUT
        )

    return convolve


def numpy_convolution(images: np.ndarray, kernels: np.ndarray) -> np.ndarray:
    """Kernels of 3 x 3."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    return np.tensordot(windows, kernels, ((4, 5, 3), (0, 1, 2)))


def cnn() -> tuple:
    """Two layers of kernels and one of weights, 32 images of 28 x 28, and their classes."""
    weights = uniform(3, 3, 1, 16) / 3, uniform(3, 3, 16, 32) / 12, uniform(7 * 7 * 32, 10) / 40
    return weights, uniform(32, 28, 28, 1), np.eye(10, dtype=np.float32)[np.arange(32) % 10]


def cnn_step(jax: Any) -> Function:
    lax, convolve = jax.lax, convolution(jax)

    def half(x: Any) -> Any:
        window = (1, 2, 2, 1)
        return lax.reduce_window(x, -np.inf, lax.max, window, window, "VALID")

    def loss(weights: tuple, images: Any, targets: Any) -> Any:
        first, second, last = weights
        x = half(jax.nn.relu(convolve(images, first)))
        x = half(jax.nn.relu(convolve(x, second)))
        scores = x.reshape(len(images), -1) @ last
        return -jax.numpy.mean(jax.numpy.sum(jax.nn.log_softmax(scores) * targets, axis=-1))

    def step(weights: tuple, images: Any, targets: Any) -> tuple:
        gradients = jax.grad(loss)(weights, images, targets)
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients)

    return step


def numpy_mlp_backward(layers: list, images: np.ndarray, targets: np.ndarray) -> tuple:
    """For each layer, its input and the gradient of the sum of all losses in what it gives."""
    inputs = [images]
    for w, b in layers[:-1]:
        inputs.append(np.tanh(inputs[-1] @ w + b))
    d_out = numpy_softmax(inputs[-1] @ layers[-1][0] + layers[-1][1]) - targets
    d_outs = [d_out]
    for (w, _), x in zip(layers[:0:-1], inputs[:0:-1]):
        d_outs.insert(0, (d_outs[0] @ w.T) * (1 - x * x))
    return inputs, d_outs


def numpy_mlp_gradient(layers: list, images: np.ndarray, targets: np.ndarray) -> list:
    inputs, d_outs = numpy_mlp_backward(layers, images, targets)
    n = np.float32(len(images))
    return [(x.T @ d / n, d.sum(axis=0) / n) for x, d in zip(inputs, d_outs)]


def numpy_mlp_step(layers: list, images: np.ndarray, targets: np.ndarray) -> list:
    gradients = numpy_mlp_gradient(layers, images, targets)
    rate = np.float32(0.1)
    return [(w - rate * dw, b - rate * db) for (w, b), (dw, db) in zip(layers, gradients)]


def numpy_mlp_gradients_by_example(layers: list, images: np.ndarray, targets: np.ndarray) -> list:
    inputs, d_outs = numpy_mlp_backward(layers, images, targets)
    return [(x[:, :, None] * d[:, None, :], d) for x, d in zip(inputs, d_outs)]


# ---- tracing ----


def traced(make: Callable[[Any], Function]) -> Callable[[Any], Function]:
    """Traces a function that is new in each call, so that no cache knows it."""

    def tracing(jax: Any) -> Function:
        function = make(jax)
        return lambda *args: jax.make_jaxpr(lambda *xs: function(*xs))(*args)

    return tracing


def long_chain(jax: Any) -> Function:
    def chain(x: Any) -> Any:
        for _ in range(250):
            x = jax.numpy.sin(x) * 2.0
        return x

    return chain


# ---- all of them ----


def numpy_selu(x: np.ndarray) -> np.ndarray:
    return 1.05070098 * np.where(x > 0, x, 1.67326324 * np.expm1(x))


def numpy_logistic_slope(x: np.ndarray) -> np.ndarray:
    y = 1 / (1 + np.exp(-x))
    return y * (1 - y)


def ten_steps(jax: Any) -> Function:
    return lambda x: jax.lax.fori_loop(0, 10, lambda i, x: x + 0.1 * (x - x * x * x), x)


def numpy_ten_steps(x: np.ndarray) -> np.ndarray:
    for _ in range(10):
        x = x + np.float32(0.1) * (x - x * x * x)
    return x


def matmul(size: int, goal: float) -> Workload:
    name = f"matmul of {size} x {size}"
    make = lambda jax: jax.numpy.matmul  # noqa: E731
    args = lambda: tuple(uniform(2, size, size))  # noqa: E731
    return Workload(name, args, np.matmul, make, ("jit",), goal, 0.95)


ROWS = 2000, 2000

WORKLOADS = [
    # ---- streams ----
    Workload(
        "SELU of 1M",
        lambda: (uniform(1_000_000),),
        numpy_selu,
        lambda jax: jax.nn.selu,
        goal=2,
        numpy_goal=5,
    ),
    Workload(
        "ten steps of a loop on 2000 x 2000",
        lambda: (uniform(*ROWS),),
        numpy_ten_steps,
        ten_steps,
        modes=("jit",),
        goal=2,
        numpy_goal=5,
    ),
    Workload(
        "sum(x + y * z) of 1M",
        lambda: tuple(uniform(3, 1_000_000)),
        lambda x, y, z: np.sum(x + y * z),
        lambda jax: lambda x, y, z: jax.numpy.sum(x + y * z),
        goal=2,
    ),
    Workload(
        "gradient of sum(logistic(x)) of 1M",
        lambda: (uniform(1_000_000),),
        numpy_logistic_slope,
        lambda jax: jax.grad(lambda x: jax.numpy.sum(jax.nn.sigmoid(x))),
        goal=2,
        numpy_goal=5,
    ),
    Workload(
        "sin(x) * cos(x) + tanh(x) of 1M",
        lambda: (uniform(1_000_000),),
        lambda x: np.sin(x) * np.cos(x) + np.tanh(x),
        lambda jax: lambda x: jax.numpy.sin(x) * jax.numpy.cos(x) + jax.numpy.tanh(x),
        goal=2,
        numpy_goal=5,
    ),
    # ---- rows and columns ----
    Workload(
        "softmax of 2000 x 2000",
        lambda: (uniform(*ROWS),),
        numpy_softmax,
        lambda jax: jax.nn.softmax,
        modes=("jit",),
        goal=1.5,
    ),
    Workload(
        "layer norm of 2000 x 2000",
        lambda: (uniform(*ROWS),),
        numpy_layernorm,
        layernorm,
        modes=("jit",),
        goal=1.5,
    ),
    Workload(
        "sums of 2000 columns",
        lambda: (uniform(*ROWS),),
        lambda x: np.sum(x, axis=0),
        lambda jax: lambda x: jax.numpy.sum(x, axis=0),
        modes=("jit",),
        goal=1.5,
    ),
    Workload(
        "sums of 2000 rows",
        lambda: (uniform(*ROWS),),
        lambda x: np.sum(x, axis=1),
        lambda jax: lambda x: jax.numpy.sum(x, axis=1),
        modes=("jit",),
        goal=1.5,
    ),
    # ---- products ----
    matmul(512, 1.5),
    matmul(2000, 1.5),
    matmul(5000, 1.5),
    Workload(
        "gradient of a small network", network, numpy_network_gradient, network_gradient, goal=1
    ),
    Workload("training step of an MLP", mlp, numpy_mlp_step, mlp_step, modes=("jit",), goal=1),
    Workload(
        "gradients of the MLP by example",
        mlp,
        numpy_mlp_gradients_by_example,
        mlp_gradients_by_example,
        modes=("jit",),
        goal=2,
    ),
    Workload(
        "convolution, 32 images of 14 x 14 x 32 by 3 x 3 x 32 x 64",
        lambda: (uniform(32, 14, 14, 32), uniform(3, 3, 32, 64)),
        numpy_convolution,
        convolution,
        modes=("jit",),
        goal=1,
    ),
    Workload("training step of a CNN", cnn, None, cnn_step, modes=("jit",), goal=1),
    # ---- eager ----
    Workload(
        "gradient of the MLP, eager",
        mlp,
        numpy_mlp_gradient,
        lambda jax: jax.grad(mlp_loss(jax)),
        modes=("eager",),
        goal=3.5,
    ),
    Workload(
        "x + y of 10, eager",
        lambda: tuple(uniform(2, 10)),
        np.add,
        lambda jax: jax.numpy.add,
        modes=("eager",),
        goal=3,
    ),
    Workload(
        "gradient of x * sin(x) at a scalar, eager",
        lambda: (np.float32(3.0),),
        lambda x: np.sin(x) + x * np.cos(x),
        lambda jax: jax.grad(lambda x: x * jax.numpy.sin(x)),
        modes=("eager",),
        goal=7.5,
    ),
    # ---- tracing and calling ----
    Workload(
        "make_jaxpr of the MLP's gradient",
        mlp,
        None,
        traced(lambda jax: jax.grad(mlp_loss(jax))),
        modes=("eager",),
        goal=5,
    ),
    Workload(
        "make_jaxpr of 500 operations",
        lambda: (np.float32(3.0),),
        None,
        traced(long_chain),
        modes=("eager",),
        goal=5,
    ),
    Workload(
        "x * sin(x) of a scalar, jitted",
        lambda: (np.float32(3.0),),
        lambda x: x * np.sin(x),
        lambda jax: lambda x: x * jax.numpy.sin(x),
        modes=("jit",),
        goal=0.5,
    ),
    # ---- loops ----
    Workload(
        "Mandelbrot, 1000 x 1000, vmap of while_loop",
        mandelbrot_points,
        numpy_mandelbrot,
        mandelbrot,
        modes=("jit",),
    ),
    Workload(
        "scan of 10,000 steps, 16-vector",
        lambda: (uniform(16) / 2, uniform(16), uniform(10_000, 16)),
        numpy_recurrence,
        recurrence,
        modes=("jit",),
    ),
    Workload(
        "scan of 10,000 steps, 16 x 16 matrix",
        lambda: (uniform(16, 16) / 8, uniform(16), uniform(10_000, 16)),
        numpy_matrix_recurrence,
        matrix_recurrence,
        modes=("jit",),
    ),
    Workload("RNN of 1000 steps", rnn_args, numpy_rnn, rnn, modes=("jit",)),
    Workload("gradient of the RNN", rnn_args, numpy_rnn_gradient, rnn_gradient, modes=("jit",)),
]
