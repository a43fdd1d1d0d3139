"""A custom primitive: the mean of each few neighbours.

An operation that JAX does not have, with a rule for each transformation: impl and abstract_eval (lesson 1),
JVP (lesson 2), batching (lesson 5).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.core import dtypes, primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive
from tinyjax.transform.batching import batch_rules, moveaxis
from tinyjax.transform.jvp import deflinear_jvp

moving_mean_p = Primitive("moving_mean")


def moving_mean(x: Any, window: int) -> Any:
    """The means of each `window` neighbours along the last axis of `x`, which gets shorter: of
    [1., 3., 5., 9.] and a window of 2, they are [2., 4., 7.]. Binds
    moving_mean_p; the window is a parameter."""
    return moving_mean_p.bind(x, window=window)


def moving_mean_impl(x: np.ndarray, *, window: int) -> np.ndarray:
    """The means as a NumPy array, for an `x` of any number of axes."""
    return np.lib.stride_tricks.sliding_window_view(x, window, axis=-1).mean(-1)


def moving_mean_aval(x: ShapedArray, *, window: int) -> ShapedArray:
    """The aval of the means: of x's dtype, not weakly typed, and the last axis shorter by `window - 1`.

    Raises ValueError, which names the window, where it is less than 1 or larger than the last axis; and
    TypeError, which names the dtype, for integers and bools. Complex numbers have means."""
    if not dtypes.is_inexact(x.dtype):
        raise TypeError(f"a moving mean is of floats, and this array is of {x.dtype}")
    if not 1 <= window <= x.shape[-1]:
        raise ValueError(f"a window of {window} does not fit an array of shape {x.shape}")
    return ShapedArray((*x.shape[:-1], x.shape[-1] - window + 1), x.dtype)


def moving_mean_batch(vals: Any, dims: Any, *, window: int) -> Any:
    """The batching rule: the means of each example, wherever the batch dim is; and where it is then. A batch
    dim that is in nobody's way stays."""
    (x,), (dim,) = vals, dims
    if dim == len(primitives.shape_of(x)) - 1:
        x, dim = moveaxis(x, dim, 0), 0
    return moving_mean_p.bind(x, window=window), dim


moving_mean_p.def_impl(moving_mean_impl)
moving_mean_p.def_abstract_eval(moving_mean_aval)
deflinear_jvp(moving_mean_p)  # it is linear: the mean moves by the mean of the movements
batch_rules[moving_mean_p] = moving_mean_batch
