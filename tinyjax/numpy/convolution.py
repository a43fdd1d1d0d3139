"""jnp.convolve and jnp.correlate: sums of products of two signals, one moved along the other.

Convolution turns the second signal round first, correlation conjugates it. Both are one
lax.conv_general_dilated.
"""

from __future__ import annotations

from typing import Any

from tinyjax.core.array import Array
from tinyjax.lax.convolution_functions import conv_general_dilated
from tinyjax.numpy.manipulation import flip
from tinyjax.numpy.promotion import promote_dtypes, promote_dtypes_inexact
from tinyjax.numpy.ufuncs import conj
from tinyjax.numpy.util import ensure_arraylike
from tinyjax.transform.jit.api import jitted

_STATIC = ("mode", "precision", "preferred_element_type")


@jitted(static_argnames=_STATIC)
def convolve(
    a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """The sums over i of a[i] * v[k - i], of floats: shapes (m,) and (n,).

    `mode` selects the values of k: "full", all m + n - 1 where the signals overlap; "same", the max(m, n)
    in the middle; "valid", the max(m, n) - min(m, n) + 1 where one signal covers the other completely.
    Raises TypeError for lists, ValueError for other shapes, for empty arrays and for another mode; as
    numpy.convolve."""
    a, v = ensure_arraylike("convolve", a, v)
    return _conv(a, v, mode, "convolve", precision, preferred_element_type)


@jitted(static_argnames=_STATIC)
def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """The sums over i of a[i + k] * conj(v[i]); modes and errors are those of `convolve`."""
    a, v = ensure_arraylike("correlate", a, v)
    return _conv(a, v, mode, "correlate", precision, preferred_element_type)


@jitted(static_argnames=(*_STATIC, "op"))
def _conv(x: Any, y: Any, mode: str, op: str, precision: Any, preferred_element_type: Any) -> Array:
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{op}: mode must be one of ['full', 'same', 'valid'], got {mode!r}")
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(
            f"{op}() only supports 1-dimensional inputs, got shapes {x.shape} and {y.shape}; "
            "jax.scipy.signal has it for more dimensions"
        )
    if not x.size or not y.size:
        raise ValueError(f"{op}: inputs cannot be empty, got shapes {x.shape} and {y.shape}.")
    promote = promote_dtypes_inexact if preferred_element_type is None else promote_dtypes
    x, y = promote(x, y)
    order = slice(None)
    if op == "correlate":
        y = conj(y)
    if x.size < y.size:
        x, y = y, x
        if op == "correlate":
            order = slice(None, None, -1)
    if op == "convolve":
        y = flip(y)
    size = y.size
    low = {"full": size - 1, "same": size // 2, "valid": 0}[mode]
    high = {"full": size - 1, "same": size - size // 2 - 1, "valid": 0}[mode]
    options = {"precision": precision, "preferred_element_type": preferred_element_type}
    x, y = x[None, None, :], y[None, None, :]
    out = conv_general_dilated(x, y, (1,), [(low, high)], **options)
    return out[0, 0, order]
