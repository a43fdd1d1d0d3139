"""Trends of jax.scipy.signal: what is left of data when its mean, or its nearest line, is taken off.

A trend is subtracted by one product: the nearest line is linear in the data, and its matrix depends on their
number alone.

Source: https://docs.scipy.org/doc/scipy/reference/generated/scipy.signal.detrend.html
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from tinyjax.core.array import Array
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import ensure_arraylike


def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: None = None
) -> Array:
    """`data` minus its trend along `axis`: its mean ("constant"), or the line nearest to it ("linear").

    `bp`: where another line begins, an index or several. Raises ValueError for another type and for
    indices out of range, NotImplementedError for overwrite_data; as scipy.signal.detrend."""
    if overwrite_data is not None:
        raise NotImplementedError("detrend: arrays are never overwritten, leave overwrite_data out")
    if type not in ("linear", "constant"):
        raise ValueError(f"detrend: type must be 'linear' or 'constant', got {type!r}")
    (data,) = promote_dtypes_inexact(ensure_arraylike("detrend", data))
    if type == "constant":
        return data - data.mean(axis, keepdims=True)
    axis = canonicalize_axis(axis, data.ndim)
    size = data.shape[axis]
    ends = np.unique(np.concatenate([[0], np.ravel(bp), [size]]).astype(int))
    if ends[0] < 0 or ends[-1] > size:
        raise ValueError(
            f"detrend: bp, where lines begin, must be from 0 up to the data's size {size}, got {bp}"
        )
    rows = jnp.moveaxis(data, axis, -1)
    parts = [
        part - part @ _on_a_line(part.shape[-1], data.dtype)
        for part in jnp.split(rows, ends[1:-1].tolist(), axis=-1)
    ]
    return jnp.moveaxis(jnp.concatenate(parts, axis=-1), -1, axis)


def _on_a_line(size: int, dtype: Any) -> np.ndarray:
    """The matrix that takes `size` values to those of the nearest line (least squares)."""
    line = np.stack([np.ones(size), np.arange(1, size + 1) / size], 1)
    return (line @ np.linalg.pinv(line)).astype(dtype)
