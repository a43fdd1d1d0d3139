"""Lesson 19: what its kernels compute, in NumPy. A kernel is right if it gives this.

Source of the idea, a task with a specification that is run: S. Rush, GPU-Puzzles,
https://github.com/srush/GPU-Puzzles
"""

from __future__ import annotations

from typing import Any

import numpy as np


def add(x: Any, y: Any) -> Any:
    return x + y


def double(x: Any) -> Any:
    return 2 * x


def outer(x: Any, y: Any) -> Any:
    return x[:, None] * y[None, :]


def relu_gradient(x: Any, bias: Any, ct: Any) -> Any:
    """The cotangent of x, where `ct` is that of maximum(x + bias, 0)."""
    return np.where(x + bias > 0, ct, 0)


def total(x: Any) -> Any:
    return x.sum(keepdims=True)


def row_means(x: Any) -> Any:
    return x.mean(axis=1)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def transpose(x: Any) -> Any:
    return x.T


def matmul(x: Any, y: Any) -> Any:
    return x @ y


def quantized_matmul(x: Any, codes: Any, scale: Any) -> Any:
    """x times a matrix of which column j is codes[:, j] * scale[j]."""
    return x @ (codes * scale)


def convolve(x: Any, w: Any) -> Any:
    """out[i] is the sum of x[i + j] * w[j]."""
    return np.lib.stride_tricks.sliding_window_view(x, len(w)) @ w


def convolve_image(x: Any, w: Any) -> Any:
    """out[i, j] is the sum of x[i + a, j + b] * w[a, b]."""
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape)
    return np.einsum("ijab,ab->ij", windows, w)


def running_sum(x: Any) -> Any:
    return np.cumsum(x)


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ k.T / np.sqrt(q.shape[1])) @ v


def dense(x: Any, w: Any, b: Any) -> Any:
    return np.tanh(x @ w + b)
