"""Bools packed into bytes: packbits, unpackbits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array
from tinyjax.numpy import reductions
from tinyjax.numpy.creation import zeros
from tinyjax.numpy.joining import concatenate
from tinyjax.numpy.logic import bitwise_and, left_shift, right_shift
from tinyjax.numpy.manipulation import ravel, reshape, swapaxes
from tinyjax.numpy.util import constant, convert, ensure_arraylike
from tinyjax.transform.jit.api import jitted


@jitted(static_argnames=("axis", "bitorder"))
def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Array:
    """Eight bools in each uint8; as numpy.packbits."""
    a = ensure_arraylike("packbits", a)
    if dtypes.kind(a.dtype) not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    bits = _bit_numbers(bitorder)
    uint8 = np.dtype("uint8")
    a = convert(lax.ne(a, constant(0, a.dtype)), uint8)
    a, axis = (ravel(a), 0) if axis is None else (a, axis)
    a = swapaxes(a, axis, -1)
    missing = -a.shape[-1] % 8
    if missing:
        a = lax.pad(a, constant(0, uint8), [(0, 0, 0)] * (a.ndim - 1) + [(0, missing, 0)])
    a = reshape(a, (*a.shape[:-1], -1, 8))
    packed = convert(reductions.sum(left_shift(a, bits), -1), uint8)
    return swapaxes(packed, axis, -1)


@jitted(static_argnames=("axis", "count", "bitorder"))
def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """The eight bits of each uint8, as uint8; as numpy.unpackbits."""
    a = ensure_arraylike("unpackbits", a)
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    bits = _bit_numbers(bitorder)
    a, axis = (ravel(a), 0) if axis is None else (a, axis)
    a = swapaxes(a, axis, -1)
    out = bitwise_and(right_shift(a[..., None], bits), constant(1, a.dtype))
    out = reshape(out, (*a.shape[:-1], a.shape[-1] * 8))
    if count is not None:
        if count > out.shape[-1]:
            more = zeros((*out.shape[:-1], count - out.shape[-1]), out.dtype)
            out = concatenate([out, more], -1)
        else:
            out = out[..., :count]
    return swapaxes(out, axis, -1)


def _bit_numbers(bitorder: str) -> Any:
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    bits = np.arange(8, dtype=np.uint8)
    return as_array(bits[::-1].copy() if bitorder == "big" else bits)
