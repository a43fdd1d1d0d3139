"""Changing the shape and order of an array: reshape, transpose, squeeze, flip, roll, ...

Joining and splitting arrays is in joining.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import Tracer, as_array
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.lax.transfer import device_put
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.ufuncs import imag, remainder, subtract
from tinyjax.numpy.util import (
    as_value,
    broadcast_shapes,
    broadcast_to,
    canonicalize_shape,
    check_arraylike,
    constant,
    convert,
    ensure_arraylike,
    index_tuple,
    static_axes,
    user_dtype,
)
from tinyjax.transform.jit.api import jitted

# ---- shape ----


def reshape(
    a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None
) -> Array:
    """The elements of `a` in another shape, one size of which may be -1; as numpy.reshape. `out_sharding`
    splits it over devices. Raises TypeError if the sizes don't match, NotImplementedError for order 'A'."""
    a = ensure_arraylike("reshape", a)
    new_shape = _fill_in_unknown_size(a.shape, shape)
    if order == "C":
        return lax.reshape(a, new_shape, out_sharding=out_sharding)
    if order == "F":  # column-major: reverse the axes, reshape, reverse back
        return transpose(lax.reshape(a, new_shape[::-1], range(a.ndim)[::-1]))
    if order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    raise ValueError(f"Unexpected value for 'order' argument: {order}.")


def _fill_in_unknown_size(old: tuple[int, ...], shape: Any) -> tuple[int, ...]:
    new = canonicalize_shape(shape)
    size = math.prod(old)
    unknown = [i for i, n in enumerate(new) if n == -1]
    if len(unknown) > 1:
        raise TypeError(f"can only specify one unknown axis size with a `-1` value, got {shape}")
    if not unknown:
        if math.prod(new) != size:
            raise TypeError(
                f"cannot reshape array of shape {old} (size {size}) into shape {shape} "
                f"(size {math.prod(new)})"
            )
        return new
    others = math.prod(n for n in new if n != -1)
    if others == 0 or size % others:
        raise TypeError(
            f"cannot reshape array of shape {old} (size {size}) into shape {shape} because the product "
            f"of specified axis sizes ({others}) does not evenly divide {size}"
        )
    return tuple(size // others if n == -1 else n for n in new)


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Array:
    """`a` with one axis; as numpy.ravel."""
    a = ensure_arraylike("ravel", a)
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    return reshape(a, (a.size,), order, out_sharding=out_sharding)


def squeeze(a: Any, axis: Any = None) -> Array:
    """`a` without its size-1 axes (or those in `axis`); as numpy.squeeze.

    Raises ValueError for an axis of another size."""
    a = ensure_arraylike("squeeze", a)
    if axis is None:
        return lax.squeeze(a, tuple(i for i, n in enumerate(a.shape) if n == 1))
    return lax.squeeze(a, index_tuple(axis))


def expand_dims(a: Any, axis: Any) -> Array:
    """`a` with size-1 axes that are the result's axes `axis`; as numpy.expand_dims."""
    return lax.expand_dims(ensure_arraylike("expand_dims", a), index_tuple(axis))


@jitted
def atleast_1d(*arys: Any) -> Any:
    """Gives scalars one axis, leaves other arrays unchanged; a tuple for several; as numpy.atleast_1d."""
    return _at_least("atleast_1d", arys, lambda x: () if x.ndim else (0,))


@jitted
def atleast_2d(*arys: Any) -> Any:
    """Adds leading axes up to two; a tuple for several; as numpy.atleast_2d."""
    return _at_least("atleast_2d", arys, lambda x: range(2 - x.ndim))


@jitted
def atleast_3d(*arys: Any) -> Any:
    """Adds axes on both sides up to three; a tuple for several; as numpy.atleast_3d."""
    new_axes = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _at_least("atleast_3d", arys, lambda x: new_axes.get(x.ndim, ()))


def _at_least(name: str, arys: tuple[Any, ...], new_axes: Callable) -> Any:
    check_arraylike(name, *arys)
    arrays = [as_array(x) for x in arys]
    out = [lax.expand_dims(x, tuple(new_axes(x))) if len(new_axes(x)) else x for x in arrays]
    return out[0] if len(out) == 1 else tuple(out)


# ---- the order of axes ----


def transpose(a: Any, axes: Any = None) -> Array:
    """`a` with its axes reversed, or in the order `axes`; as numpy.transpose."""
    a = ensure_arraylike("transpose", a)
    if axes is None:
        return lax.transpose(a, tuple(range(a.ndim))[::-1])
    return lax.transpose(a, tuple(canonicalize_axis(i, a.ndim) for i in axes))


def permute_dims(a: Any, /, axes: Any) -> Array:
    """`a` with its axes in the order `axes`; as numpy.permute_dims."""
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Array:
    """`x` with its last two axes swapped; as numpy.matrix_transpose. Raises ValueError below two."""
    x = ensure_arraylike("matrix_transpose", x)
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose requires at least 2 dimensions; got ndim={x.ndim}")
    return lax.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """`a` with two axes swapped; as numpy.swapaxes."""
    a = ensure_arraylike("swapaxes", a)
    axis1, axis2 = canonicalize_axis(axis1, a.ndim), canonicalize_axis(axis2, a.ndim)
    order = list(range(a.ndim))
    order[axis1], order[axis2] = axis2, axis1
    return lax.transpose(a, tuple(order))


def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    """`a` with axes `source` moved to places `destination`; as numpy.moveaxis."""
    a = ensure_arraylike("moveaxis", a)
    source = [canonicalize_axis(i, a.ndim) for i in index_tuple(source)]
    destination = [canonicalize_axis(i, a.ndim) for i in index_tuple(destination)]
    if len(source) != len(destination):
        raise ValueError(f"Inconsistent number of elements: {len(source)} vs {len(destination)}")
    order = [i for i in range(a.ndim) if i not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return lax.transpose(a, tuple(order))


@jitted(static_argnames=("axis", "start"))
def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """`a` with `axis` moved to lie before `start`; as numpy.rollaxis."""
    a = ensure_arraylike("rollaxis", a)
    axis = canonicalize_axis(axis, a.ndim)
    if not -a.ndim <= start <= a.ndim:
        raise ValueError(f"start={start!r} must satisfy {-a.ndim}<=start<={a.ndim}")
    if start < 0:
        start += a.ndim
    return moveaxis(a, axis, start - 1 if start > axis else start)


# ---- the order of elements ----


def flip(m: Any, axis: Any = None) -> Array:
    """`m` reversed along `axis` (all axes if None); as numpy.flip."""
    return _flip(ensure_arraylike("flip", m), static_axes(axis))


@jitted(static_argnames=("axis",))
def _flip(m: Any, axis: Any = None) -> Any:
    if axis is None:
        return lax.rev(m, tuple(range(m.ndim)))
    return lax.rev(m, tuple(canonicalize_axis(i, m.ndim) for i in index_tuple(axis)))


def fliplr(m: Any) -> Array:
    """`m` with its columns reversed; as numpy.fliplr."""
    return _flip(ensure_arraylike("fliplr", m), 1)


def flipud(m: Any) -> Array:
    """`m` with its rows reversed; as numpy.flipud."""
    return _flip(ensure_arraylike("flipud", m), 0)


@jitted(static_argnames=("k", "axes"))
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """`m` turned by k quarter turns in the plane of `axes`; as numpy.rot90."""
    m = ensure_arraylike("rot90", m)
    if m.ndim < 2:
        raise ValueError(
            "rot90 requires its first argument to have ndim at least two, but got first argument of "
            f"shape {m.shape}, which has ndim {m.ndim}"
        )
    ax1, ax2 = (canonicalize_axis(i, m.ndim) for i in axes)
    if ax1 == ax2:
        raise ValueError("Axes must be different")
    k = k % 4
    if k == 0:
        return m
    if k == 2:
        return flip(flip(m, ax1), ax2)
    return swapaxes(flip(m, ax2), ax1, ax2) if k == 1 else flip(swapaxes(m, ax1, ax2), ax2)


def roll(a: Any, shift: Any, axis: Any = None) -> Array:
    """`a` shifted along `axis`; elements that leave one end enter at the other; as numpy.roll.

    `shift` may be traced; `axis` may not."""
    a = ensure_arraylike("roll", a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    axes = tuple(canonicalize_axis(i, a.ndim) for i in index_tuple(axis))
    traced = isinstance(shift, Tracer) or any(
        isinstance(s, Tracer) for s in (shift if isinstance(shift, (tuple, list)) else ())
    )
    if traced:
        return _roll_dynamic(a, asarray(shift), axes)
    return _roll_static(a, index_tuple(shift), axes)


@jitted(static_argnames=("shift", "axis"))
def _roll_static(a: Any, shift: tuple[int, ...], axis: tuple[int, ...]) -> Any:
    for i, s in zip(*np.broadcast_arrays(axis, shift)):
        size = a.shape[i]
        if size:
            start = int(-s % size)
            tail = lax.slice_in_dim(a, start, size, axis=int(i))
            a = lax.concatenate([tail, lax.slice_in_dim(a, 0, start, axis=int(i))], int(i))
    return a


@jitted(static_argnames=("axis",))
def _roll_dynamic(a: Any, shift: Any, axis: tuple[int, ...]) -> Any:
    shape = broadcast_shapes(shift.shape, (len(axis),))
    if len(shape) != 1:
        raise ValueError("'shift' and 'axis' arguments to roll must be scalars or 1D arrays")
    int32 = np.dtype("int32")
    for s, i in zip(broadcast_to(shift, shape), np.broadcast_to(axis, shape)):
        i = int(i)
        size = constant(a.shape[i], int32)
        start = remainder(convert(s, int32), lax.max(size, constant(1, int32)))
        doubled = lax.concatenate((a, a), i)
        a = lax.dynamic_slice_in_dim(doubled, subtract(size, start), a.shape[i], axis=i)
    return a


# ---- dtype ----


def astype(x: Any, dtype: Any, /, *, copy: bool = False, device: Any = None) -> Array:
    """`x` in another dtype; None is the default float; as numpy.astype."""
    x = ensure_arraylike("astype", x)
    new_dtype = dtypes.default_dtype(float) if dtype is None else user_dtype(dtype, "astype")
    if dtypes.kind(x.dtype) == "c":
        if new_dtype == np.bool_:
            x = lax.ne(x, constant(0, x.dtype))
        elif dtypes.kind(new_dtype) != "c":
            x = lax.real(x)
    out = convert(x, new_dtype)
    if device is not None:
        return device_put(out, device)
    return lax.copy_p.bind(out) if copy else as_value(out)


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of `x`, an array, scalar or list, is complex; as numpy.iscomplexobj."""
    return dtypes.kind(x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype) == "c"


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex; as numpy.isrealobj."""
    return not iscomplexobj(x)


@jitted
def iscomplex(x: Any) -> Array:
    """Whether the imaginary part is not zero; as numpy.iscomplex."""
    part = as_array(imag(x))
    return lax.ne(part, constant(0, part.dtype))


@jitted
def isreal(x: Any) -> Array:
    """Whether the imaginary part is zero; as numpy.isreal."""
    part = as_array(imag(x))
    return lax.eq(part, constant(0, part.dtype))


def isscalar(element: Any) -> bool:
    """Whether this is a Python scalar or an array without axes; as numpy.isscalar."""
    if isinstance(element, (np.ndarray, Array)):
        return element.ndim == 0
    return bool(np.isscalar(element)) or (
        hasattr(element, "__jax_array__") and as_array(element).ndim == 0
    )


def ndim(a: Any) -> int:
    """How many axes `a` has; as numpy.ndim."""
    return len(shape(a))


def shape(a: Any) -> tuple[int, ...]:
    """The shape of `a`; as numpy.shape. Raises TypeError for lists."""
    if hasattr(a, "shape"):
        return a.shape
    return ensure_arraylike("shape", a).shape


def size(a: Any, axis: Any = None) -> int:
    """How many elements `a` has, or along `axis`; as numpy.size."""
    sizes = shape(a)
    if axis is None:
        return math.prod(sizes)
    return math.prod(sizes[canonicalize_axis(i, len(sizes))] for i in index_tuple(axis))
