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
]
