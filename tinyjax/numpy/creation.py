"""Making arrays: from data, or of one value.

`jnp.array([x, 2.])` is one concatenate, `jnp.zeros(3)` a broadcast of a scalar. Evenly spaced values are in
ranges.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes, type_promotion
from tinyjax.core.array import Array, ArrayImpl, ShapedArray
from tinyjax.core.avals import check_unmasked
from tinyjax.core.bind import Tracer, as_array, new_array, watched
from tinyjax.core.declared_functions import public
from tinyjax.core.primitives import broadcast_in_dim
from tinyjax.lax.placing import put_result
from tinyjax.lax.transfer import device_put
from tinyjax.numpy.util import (
    as_value,
    broadcast_to,
    canonicalize_shape,
    check_arraylike,
    constant,
    convert,
    ensure_arraylike,
    user_dtype,
    user_dtype_or,
)

# ---- from data ----


def array(
    object: Any, dtype: Any = None, *, copy: bool = True, order: str | None = "K", ndmin: int = 0,
    device: Any = None, out_sharding: Any = None,
) -> Array:  # fmt: skip
    """An array of a (nested) list, a NumPy array, a scalar or an Array; as numpy.array.

    Without `dtype`, that of the data, promoted together; a Python scalar stays weakly typed. `ndmin`
    adds leading axes. Raises TypeError for data that is not numeric and Arrays of unequal shapes, ValueError
    for ragged lists."""
    if order not in (None, "K"):
        raise NotImplementedError("Only implemented for order='K'")
    wanted = None if dtype is None else user_dtype(dtype, "array")
    out = _from_data(object, wanted, copy)
    if ndmin > out.ndim:
        out = lax.expand_dims(out, range(ndmin - out.ndim))
    return _on_device(out, device, out_sharding)


def _from_data(data: Any, dtype: np.dtype | None, copy: bool) -> Any:
    if hasattr(data, "__jax_array__"):
        data = data.__jax_array__()
    if isinstance(data, Array):
        if copy:  # must outlive the original, which may be donated to a jitted call
            data = lax.copy_p.bind(data)
        if dtype is not None and (data.dtype != dtype or data.weak_type):
            return convert(data, dtype)
        return data
    if data is None:
        raise ValueError("None is not a valid value for jnp.array")
    if isinstance(data, (list, tuple)):
        return _from_sequence(data, dtype)
    if dtypes.is_python_scalar(data) and dtype is None:
        return as_array(data)
    return _from_numpy(data, dtype)


def _from_numpy(data: Any, dtype: np.dtype | None) -> ArrayImpl:
    """An array from data that NumPy converts. The elements are copied, as the caller may change the data."""
    check_unmasked(data)
    try:
        host = np.asarray(data)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Unexpected input type for array: {type(data)}") from error
    if host.dtype not in dtypes.SUPPORTED:
        raise TypeError(
            f"Value {data!r} with dtype {host.dtype} is not a valid JAX array type. Only arrays of "
            "numeric types are supported by JAX."
        )
    dtype = dtypes.canonicalize_dtype(host.dtype) if dtype is None else dtype
    if type(data) is int:  # with NumPy's check of the range
        host = np.asarray(data, dtype)
    return new_array(np.array(host, dtype, order="C"), ShapedArray(host.shape, dtype))


def _from_sequence(data: Sequence[Any], dtype: np.dtype | None) -> Any:
    leaves = list(_leaves(data))
    if any(x is None for x in leaves):
        raise ValueError("None is not a valid value for jnp.array")
    if dtype is None:
        leaves_or_arrays = [x if hasattr(x, "dtype") else _check_scalar(x) for x in leaves]
        dtype = (
            type_promotion.promoted_type(*leaves_or_arrays)[0]
            if leaves
            else dtypes.default_dtype(float)
        )
    if any(map(_is_joined, leaves)):
        return _join(data, dtype)
    try:
        host = np.array(_as_numpy(data), dtype)
    except ValueError:
        if any(isinstance(x, ArrayImpl) for x in leaves):
            return _join(data, dtype)  # raises TypeError with the shapes
        raise
    return watched(None, {}, leaves, [ArrayImpl(host, ShapedArray(host.shape, dtype))])[0]


def _join(data: Sequence[Any], dtype: np.dtype) -> Any:
    """Stacks the elements by operations."""
    rows = [lax.expand_dims(_from_data(x, dtype, copy=False), (0,)) for x in data]
    while len(rows) > 16:
        rows = [lax.concatenate(rows[i : i + 16], 0) for i in range(0, len(rows), 16)]
    return lax.concatenate(rows, 0)


def _leaves(data: Any) -> Any:
    for x in data:
        if isinstance(x, (list, tuple)):
            yield from _leaves(x)
        else:
            yield x.__jax_array__() if hasattr(x, "__jax_array__") else x


def _is_joined(x: Any) -> bool:
    """Whether `x` must be joined by operations: it has no value yet, or its type is split."""
    return isinstance(x, Tracer) or isinstance(x, ArrayImpl) and x.aval.extra is not None


def _check_scalar(x: Any) -> Any:
    if not dtypes.is_python_scalar(x):
        return _from_numpy(x, None)
    return x


def _as_numpy(data: Any) -> Any:
    """Nested lists with their Arrays as NumPy arrays."""
    if isinstance(data, (list, tuple)):
        return [_as_numpy(x) for x in data]
    if hasattr(data, "__jax_array__"):
        data = data.__jax_array__()
    return data._value if isinstance(data, ArrayImpl) else data


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """As `array`, but an Array that already matches is returned unchanged; as numpy.asarray."""
    wanted = None if dtype is None else user_dtype(dtype, "asarray")
    return _on_device(_from_data(a, wanted, bool(copy)), device, out_sharding)


def copy(a: Any, order: str | None = None) -> Array:
    """A copy of `a`; as numpy.copy."""
    check_arraylike("copy", a)
    return array(a, copy=True)


def _on_device(x: Any, device: Any, out_sharding: Any = None) -> Any:
    """`x` at the given place. Raises ValueError if that is specified twice."""
    if device is not None and out_sharding is not None:
        raise ValueError(
            f"Only one of `device` or `out_sharding` can be set. Got {device=} and {out_sharding=}"
        )
    if out_sharding is not None:
        x = put_result(x, out_sharding)
    return as_value(x) if device is None else device_put(x, device)


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Array:
    """An array of the bytes of a buffer; as numpy.frombuffer."""
    return asarray(np.frombuffer(buffer, dtypes.np_dtype(dtype), count, offset))


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Array:
    """An array of the numbers in a text; as numpy.fromstring."""
    return asarray(np.fromstring(string, dtypes.np_dtype(dtype), count, sep=sep))


def fromfile(*args: Any, **kwargs: Any) -> Array:
    """Not available, as in JAX: reading is impure. Raises NotImplementedError."""
    raise NotImplementedError("jnp.fromfile() is impure: use jnp.asarray(np.fromfile(...)) instead")


def fromiter(*args: Any, **kwargs: Any) -> Array:
    """Not available, as in JAX: iterating is impure. Raises NotImplementedError."""
    raise NotImplementedError("jnp.fromiter() is impure: use jnp.asarray(np.fromiter(...)) instead")


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """A copy of another library's array, through DLPack; as numpy.from_dlpack.

    Raises TypeError if `x` lacks its methods, and ValueError for copy=False: a JAX array never changes."""
    if not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        raise TypeError(
            "The array passed to from_dlpack must have __dlpack__ and __dlpack_device__ methods, "
            f"and {type(x).__name__} has not: take jnp.asarray"
        )
    if copy is False:
        raise ValueError("from_dlpack needs a copy of what others may change: copy=None or True")
    return _on_device(array(np.from_dlpack(x)), device)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """An array from a .npy file (for .npz: NumPy's archive); as numpy.load."""
    out = np.load(file, *args, **kwargs)
    if not isinstance(out, np.ndarray):
        return out
    return asarray(out.view(dtypes.bfloat16) if out.dtype == np.dtype("V2") else out)


# ---- of one value ----


def _of_value(name: str, value: int, doc: str) -> Callable[..., Array]:
    @public("tinyjax.numpy", name, f"{doc}; as numpy.{name}.")
    def constant_array(
        shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None
    ) -> Array:
        if isinstance(dtype, int) and isinstance(shape, int) and not isinstance(dtype, type):
            raise TypeError(
                f"Cannot interpret '{dtype}' as a data type. Did you accidentally write "
                f"`jax.numpy.{name}({shape}, {dtype})` when you meant `jax.numpy.{name}(({shape}, {dtype}))`?"
            )
        if hasattr(shape, "__next__"):
            raise TypeError("expected sequence object with len >= 0 or a single integer")
        dtype = user_dtype_or(dtype, dtypes.default_dtype(float), name)
        out = _fill(canonicalize_shape(shape), constant(value, dtype), out_sharding)
        return _on_device(out, device, out_sharding)

    return constant_array


_FLOATS = "(float32 unless `dtype` says else; TypeError for a bad shape)"
zeros = _of_value("zeros", 0, f"Zeros {_FLOATS}")
ones = _of_value("ones", 1, f"Ones {_FLOATS}")
empty = _of_value("empty", 0, "Zeros: no memory stays uninitialised here")


def _fill(shape: tuple[int, ...], scalar: Any, out_sharding: Any = None) -> Any:
    """A scalar array repeated to a shape."""
    if not shape:
        return scalar
    return lax.broadcast_in_dim(scalar, shape, (), out_sharding=out_sharding)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """`fill_value` broadcast to `shape`, in its own dtype unless one is given; as numpy.full.

    Raises TypeError for a bad shape, or a fill_value that is no array."""
    check_arraylike("full", fill_value)
    wanted = None if dtype is None else user_dtype(dtype, "full")
    fill = as_array(fill_value) if wanted is None else _converted(fill_value, wanted)
    shape = canonicalize_shape(shape)
    out = broadcast_to(fill, shape) if fill.shape else _fill(shape, fill, out_sharding)
    return _on_device(out, device, out_sharding)


def _converted(value: Any, dtype: np.dtype, weak_type: bool = False) -> Any:
    """`value` in `dtype`, which may hold a Python int that is too large for the default integer.

    Raises OverflowError for an int of more than 64 bits, if `dtype` is an integer's."""
    if type(value) is not int:
        return convert(value, dtype, weak_type)
    if -(2**63) <= value < 2**64:
        return convert(np.array(value).astype(dtype), dtype, weak_type)
    if dtypes.kind(dtype) in "iu":
        raise OverflowError(f"Python integer {value} is too large for {dtype.name}")
    return convert(float(value), dtype, weak_type)


def zeros_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """Zeros of the shape and dtype of `a`, unless others are given; as numpy.zeros_like."""
    out = _full_like("zeros_like", a, 0, dtype, shape, out_sharding)
    return _on_device(out, device, out_sharding)


def ones_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Array:
    """Ones of the shape and dtype of `a`, unless others are given; as numpy.ones_like."""
    out = _full_like("ones_like", a, 1, dtype, shape, out_sharding)
    return _on_device(out, device, out_sharding)


def empty_like(
    prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Array:
    """Zeros of the shape and dtype of `prototype`; as numpy.empty_like."""
    return _on_device(_full_like("empty_like", prototype, 0, dtype, shape), device)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """`fill_value` in the shape and dtype of `a`, unless others are given; as numpy.full_like."""
    check_arraylike("full_like", fill_value)
    out = _full_like("full_like", a, fill_value, dtype, shape, out_sharding)
    return _on_device(out, device, out_sharding)


def _full_like(
    name: str, a: Any, value: Any, dtype: Any, shape: Any, out_sharding: Any = None
) -> Any:
    if not (hasattr(a, "dtype") and hasattr(a, "shape")):
        a = ensure_arraylike(name, a)
    weak_type = dtype is None and dtypes.is_weakly_typed(a)
    new_dtype = user_dtype_or(dtype, dtypes.dtype(a), name)
    new_shape = tuple(a.shape) if shape is None else canonicalize_shape(shape)
    if new_dtype == dtypes.key_dtype:
        raise TypeError(f"jnp.{name} can't make random keys: use jax.random.key")
    fill = _converted(value, new_dtype, weak_type)
    if fill.shape or out_sharding is not None:
        out = broadcast_to(fill, new_shape) if fill.shape else _fill(new_shape, fill, out_sharding)
        return out if out_sharding is not None else lax.creation.like(out, a)
    extra = a.aval.extra if isinstance(a, Tracer) and shape is None else None
    place = {} if extra is None else extra.params_for("broadcast_in_dim")
    out = broadcast_in_dim(fill, new_shape, (), **place) if new_shape else fill
    return lax.creation.like(out, a)
