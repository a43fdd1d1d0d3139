"""Evenly spaced values: arange, linspace, logspace, geomspace."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes, type_promotion
from tinyjax.core.array import Array
from tinyjax.lax.elementwise import real_dtype, to_inexact_dtype
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.creation import _on_device, zeros
from tinyjax.numpy.elementary import log10
from tinyjax.numpy.ufuncs import add, divide, multiply, power, sign, subtract
from tinyjax.numpy.util import (
    broadcast_shapes,
    broadcast_to,
    check_arraylike,
    concrete,
    concrete_int,
    constant,
    convert,
    ensure_arraylike,
    user_dtype,
    user_dtype_or,
)
from tinyjax.transform.jit.api import jitted


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Array:
    """start, start + step, ... before stop; arange(n) is 0 .. n-1; as numpy.arange.

    Raises ConcretizationTypeError for a traced argument (its value is the shape), ValueError for one
    that is no scalar or complex."""
    names = ("stop" if stop is None and step is None else "start", "stop", "step")
    given = []
    for name, value in zip(names, (start, stop, step)):
        if value is not None:
            check_arraylike("arange", value)
            value = concrete(value, f"It arose in the jnp.arange argument '{name}'")
            if np.ndim(value) != 0:
                raise ValueError(f"jax.numpy.arange: arguments must be scalars; got {name}={value}")
            if np.iscomplexobj(value):
                raise ValueError("Passing complex start/stop/step to jnp.arange is not supported.")
        given.append(value)
    start, stop, step = given
    out_dtype = (
        type_promotion.result_type(*[x for x in given if x is not None])
        if dtype is None
        else user_dtype(dtype, "arange")
    )
    if stop is None:
        start, stop = 0, start
    start, stop = _as_number(start), _as_number(stop)
    out = _arange(start, stop, step, out_dtype, out_sharding)
    return _on_device(out, device, out_sharding)


def _as_number(x: Any) -> Any:
    return x.item() if hasattr(x, "item") else x


def _arange(start: Any, stop: Any, step: Any, dtype: np.dtype, out_sharding: Any) -> Any:
    if step is None:
        size = max(0, int(np.ceil(stop - start)))
        count = lax.broadcasted_iota(dtype, (size,), 0, out_sharding=out_sharding)
        return lax.add(constant(start, dtype), count) if start != 0 else count
    step = _as_number(step)
    # Half precision loses whole numbers above 2048: count in float32.
    small = dtypes.is_float(dtype) and dtype.itemsize < 4
    working = np.dtype("float32") if small else dtype
    size = max(0, int(np.ceil((stop - start) / step)))
    count = lax.broadcasted_iota(working, (size,), 0, out_sharding=out_sharding)
    steps = lax.mul(convert(step, working), count)
    return convert(lax.add(convert(start, working), steps), dtype)


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False,
    dtype: Any = None, axis: Any = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """`num` values from start to stop, along `axis`; with retstep also the step; as numpy.linspace.

    Raises ValueError for negative num, ConcretizationTypeError for a traced num."""
    num = concrete_int(num, "'num' argument of jnp.linspace")
    axis = concrete_int(axis, "'axis' argument of jnp.linspace")
    return _on_device(_linspace(start, stop, num, endpoint, retstep, dtype, axis), device)


@jitted(static_argnames=("num", "endpoint", "retstep", "dtype", "axis"))
def _linspace(
    start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int
) -> Any:
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop, dtype = _ends("linspace", start, stop, dtype)
    work_dtype = start.dtype
    shape = broadcast_shapes(start.shape, stop.shape)
    start_b, stop_b = broadcast_to(start, shape), broadcast_to(stop, shape)
    axis = len(shape) + axis + 1 if axis < 0 else axis
    column = (*shape[:axis], 1, *shape[axis:])  # the shape of one sample

    intervals = num - 1 if endpoint else num
    if num > 1:
        delta = divide(subtract(stop, start), constant(intervals, work_dtype))
        # The fractions 0, 1/n, ... are made first, as numpy does: start*(1-f) + stop*f is exact at ends.
        along_axis = [intervals if i == axis else 1 for i in range(len(column))]
        real = real_dtype(work_dtype)
        count = lax.reshape(lax.iota(real, intervals), along_axis)
        fraction = convert(divide(count, constant(intervals, real)), work_dtype)
        from_start = multiply(lax.reshape(start_b, column), subtract(1, fraction))
        step = divide(lax.reshape(stop_b, column), constant(intervals, work_dtype))
        out = add(from_start, multiply(step, convert(count, work_dtype)))
        if endpoint:
            out = lax.concatenate([out, lax.expand_dims(stop_b, (axis,))], axis)
    elif num == 1:
        delta = constant(np.nan, work_dtype) if endpoint else subtract(stop, start)
        out = lax.reshape(start_b, column)
    else:
        delta = constant(np.nan, work_dtype)
        out = zeros((*shape[:axis], 0, *shape[axis:]), dtype)
    if dtypes.kind(dtype) in "iu" and dtypes.is_inexact(out.dtype):
        out = lax.floor(out)
    result = convert(out, dtype)
    return (result, delta) if retstep else result


def _ends(name: str, start: Any, stop: Any, dtype: Any) -> tuple[Any, Any, np.dtype]:
    """Both ends, in the dtype for computing, and the dtype of the result."""
    start, stop = ensure_arraylike(name, start, stop)
    promoted = to_inexact_dtype(type_promotion.result_type(start, stop))
    dtype = user_dtype_or(dtype, promoted, name)
    work_dtype = to_inexact_dtype(dtype)
    return convert(start, work_dtype), convert(stop, work_dtype), dtype


def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0,
    dtype: Any = None, axis: Any = 0,
) -> Array:  # fmt: skip
    """base**start to base**stop with evenly spaced exponents; as numpy.logspace."""
    num = concrete_int(num, "'num' argument of jnp.logspace")
    axis = concrete_int(axis, "'axis' argument of jnp.logspace")
    return _logspace(start, stop, num, endpoint, base, dtype, axis)


@jitted(static_argnames=("num", "endpoint", "dtype", "axis"))
def _logspace(
    start: Any, stop: Any, num: int, endpoint: bool, base: Any, dtype: Any, axis: int
) -> Any:
    start, stop, dtype = _ends("logspace", start, stop, dtype)
    exponents = linspace(start, stop, num, endpoint=endpoint, axis=axis)
    return convert(power(base, exponents), dtype)


def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: Any = 0
) -> Array:
    """start to stop with a constant ratio of neighbours; as numpy.geomspace."""
    num = concrete_int(num, "'num' argument of jnp.geomspace")
    axis = concrete_int(axis, "'axis' argument of jnp.geomspace")
    return _geomspace(start, stop, num, endpoint, dtype, axis)


@jitted(static_argnames=("num", "endpoint", "dtype", "axis"))
def _geomspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    start, stop, dtype = _ends("geomspace", start, stop, dtype)
    direction = sign(start)
    exponents = log10(divide(start, direction)), log10(divide(stop, direction))
    out = multiply(direction, logspace(*exponents, num, endpoint, 10.0, start.dtype, 0))
    axis = canonicalize_axis(axis, out.ndim)
    if axis:
        out = lax.transpose(out, (*range(1, axis + 1), 0, *range(axis + 1, out.ndim)))
    return convert(out, dtype)
