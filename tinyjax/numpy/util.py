"""The first steps of nearly every jax.numpy function: checking operands, axes and shapes, making
constants."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array, ArrayImpl, LiteralArray, ShapedArray
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.bind import Tracer, as_array, context, is_staging
from tinyjax.core.errors import ConcretizationTypeError
from tinyjax.core.primitives import shape_of
from tinyjax.core.shape_errors import unknown_shape_error
from tinyjax.core.structs import ShapeDtypeStruct
from tinyjax.core.tracing import JaxprTrace, user_level
from tinyjax.lax.conversion import convert_element_type_p
from tinyjax.lax.shape import canonicalize_axis

INT32 = np.dtype("int32")

# ---- operands ----


def is_arraylike(x: Any) -> bool:
    """True for arrays, tracers, NumPy values and Python scalars, but not for lists. True for a
    ShapeDtypeStruct that a traced function closes over: tracing needs only its type."""
    if isinstance(x, (Array, np.ndarray)) or np.isscalar(x) or hasattr(x, "__jax_array__"):
        return True
    return isinstance(x, ShapeDtypeStruct) and is_staging()


def as_operand(x: Any) -> Any:
    """The operand for an arraylike `x`: for a ShapeDtypeStruct, a tracer of its type."""
    if isinstance(x, ShapeDtypeStruct):
        trace: Any = context.trace
        while not isinstance(trace, JaxprTrace):
            trace = trace.parent
        return trace.new_const(x)
    return x.__jax_array__() if hasattr(x, "__jax_array__") else x


def check_arraylike(fun_name: str, *args: Any) -> None:
    """Raises TypeError, naming the position, if an argument is neither array nor scalar."""
    for position, x in enumerate(args):
        if not is_arraylike(x) or isinstance(x, str):
            advice = " jnp.array(...) makes an array of it." if isinstance(x, (list, tuple)) else ""
            raise TypeError(
                f"{fun_name} requires ndarray or scalar arguments, got {type(x)} at position {position}."
                + advice
            )


def ensure_arraylike(fun_name: str, *args: Any) -> Any:
    """The arguments as arrays (one array if there is one). Raises TypeError as check_arraylike."""
    if len(args) == 1 and isinstance(args[0], Array):
        return args[0]
    check_arraylike(fun_name, *args)
    arrays = [as_array(as_operand(x)) for x in args]
    return arrays[0] if len(arrays) == 1 else arrays


def dtype_of(x: Any) -> np.dtype:
    return x.aval.dtype if isinstance(x, Array) else dtypes.dtype(x)


def concrete(x: Any, context: str, advice: str = "") -> Any:
    """`x`, which must have a known value. Raises ConcretizationTypeError for a traced value, with `advice`
    on what to do (how shapes and axes can be known, if there is none)."""
    if isinstance(x, Tracer):
        value = x.concrete()
        if value is None:
            raise ConcretizationTypeError(x, context, advice)
        return value
    return x


def concrete_int(x: Any, context: str, advice: str = "") -> int:
    """A known integer. Raises ConcretizationTypeError if it is traced, TypeError if not an integer."""
    return operator.index(concrete(x, context, advice))


# ---- constants and conversion ----


def constant(value: Any, dtype: np.dtype, weak_type: bool = False) -> ArrayImpl:
    """A scalar array that is known while tracing: a literal of the jaxpr. A Python scalar that already has
    this type is written as it is, 0.1 and not 0.10000000149011612."""
    aval = ShapedArray((), dtype, weak_type)
    unchanged = dtypes.is_python_scalar(value) and get_aval(value) is aval
    return LiteralArray(np.asarray(value, dtype), aval, value if unchanged else None)


def constant_like(x: Any, value: Any) -> ArrayImpl:
    """`value` as a scalar of x's dtype."""
    return constant(value, dtype_of(x))


def weak_constant_like(x: Any, value: Any) -> ArrayImpl:
    """`value` as a scalar of x's dtype, weakly typed if `x` is a weakly typed scalar."""
    return constant(value, dtype_of(x), not shape_of(x) and dtypes.is_weakly_typed(x))


def as_value(x: Any) -> Any:
    """`x` as a result for the user: outside of traces a constant becomes an ordinary Array."""
    if type(x) is LiteralArray and not is_staging():
        return ArrayImpl(x._value, x.aval)
    return x


def convert(x: Any, dtype: np.dtype, weak_type: bool = False) -> Any:
    """`x` in `dtype`. Scalars that are known are converted at once and write no equation."""
    if isinstance(x, Array):
        aval = x.aval
        if aval.dtype == dtype and aval.weak_type == weak_type:
            return x
        if not isinstance(x, LiteralArray):
            return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type)
        x = x._value
    if isinstance(x, np.ndarray) and x.shape:
        return convert(as_array(x), dtype, weak_type)
    if isinstance(x, (float, complex, np.inexact)) and dtypes.kind(dtype) in "iub":
        return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type)
    if type(x) is int:  # must fit the default integer, then wraps: uint8(1) + 300 is 45
        x = to_numpy(x, get_aval(x)).astype(dtype)
    return constant(x, dtype, weak_type)


def user_dtype(dtype: Any, fun_name: str = "") -> np.dtype:
    """A dtype that a user asked for, cut to 32 bits unless x64 is on (with a UserWarning).

    Raises TypeError if it names no dtype that arrays can have."""
    requested = dtypes.np_dtype(dtype)
    found = dtypes.canonicalize_dtype(requested)
    is_python_type = isinstance(dtype, type) and dtype in (bool, int, float, complex)
    if found != requested and not is_python_type:
        where = f"requested in {fun_name} " if fun_name else ""
        warnings.warn(
            f"Explicitly requested dtype {requested.name} {where}is not available, and will be "
            f"truncated to dtype {found.name}. To enable more dtypes, set the jax_enable_x64 "
            "configuration option or the JAX_ENABLE_X64 shell environment variable. See "
            "https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html#double-64bit-precision",
            stacklevel=user_level(),
        )
    return found


def user_dtype_or(dtype: Any, default: np.dtype, fun_name: str = "") -> np.dtype:
    """Like user_dtype, but `default` if `dtype` is None."""
    return default if dtype is None else user_dtype(dtype, fun_name)


# ---- axes and shapes ----


def canonicalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Non-negative axes; None means all. Raises ValueError for one out of range or named twice."""
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list, np.ndarray, range)) else (axis,)
    found = tuple(canonicalize_axis(a, ndim) for a in axes)
    if len(set(found)) != len(found):
        raise ValueError(f"duplicate value in 'axis': {axis}")
    return found


def index_tuple(x: Any) -> tuple[int, ...]:
    """One integer or a sequence of them, as a tuple."""
    try:
        return (operator.index(x),)
    except TypeError:
        return tuple(operator.index(i) for i in x)


def static_axes(axis: Any) -> Any:
    """An `axis` argument, which must be known while tracing: None, an int or a tuple of ints.

    Raises ConcretizationTypeError for a tracer."""
    if axis is None or type(axis) is int:
        return axis
    axis = concrete(axis, "The axis argument must be known statically.")
    try:
        return operator.index(axis)
    except TypeError:
        return tuple(operator.index(a) for a in axis)


def canonicalize_shape(shape: Any) -> tuple[int, ...]:
    """A shape given as an int or a sequence of ints.

    Raises TypeError if an entry is traced, or is no integer."""
    entries = (shape,) if isinstance(shape, Tracer) else shape
    if not isinstance(entries, (tuple, list)):
        entries = np.atleast_1d(shape)
    try:
        return tuple(operator.index(d) for d in entries)
    except TypeError:
        raise unknown_shape_error(tuple(entries)) from None


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to; as numpy.broadcast_shapes.

    Raises ValueError if they do not fit, TypeError for negative sizes."""
    given = [(s,) if np.ndim(s) == 0 else tuple(s) for s in shapes]
    for shape in given:
        if any(n < 0 for n in shape):
            raise TypeError(f"Only sizes of 0 and more can be broadcast, but got shape {shape}")
    try:
        return tuple(int(n) for n in np.broadcast_shapes(*given))
    except ValueError:
        raise ValueError(
            f"Incompatible shapes for broadcasting: shapes={given}. Trailing sizes must be equal or 1"
        ) from None


def broadcast_to(x: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """`x` repeated along new and size-1 axes to `shape`; as numpy.broadcast_to.

    `out_sharding` says how the result is split over devices.
    Raises ValueError if the shapes do not fit."""
    x = ensure_arraylike("broadcast_to", x)
    shape = canonicalize_shape(shape)
    x_shape = x.aval.shape
    if x_shape == shape and out_sharding is None:
        return x
    lead = len(shape) - len(x_shape)
    if lead < 0 or any(a not in (1, b) for a, b in zip(x_shape, shape[lead:])):
        raise ValueError(
            f"Incompatible shapes for broadcasting: {x_shape} and requested shape {shape}: "
            "trailing sizes must be equal, or 1 in the array"
        )
    dimensions = tuple(range(lead, len(shape)))
    return lax.broadcast_in_dim(x, shape, dimensions, out_sharding=out_sharding)


def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """The arguments, each broadcast to their common shape; as numpy.broadcast_arrays."""
    check_arraylike("broadcast_arrays", *args)
    shapes = [shape_of(x) for x in args]
    if len(set(shapes)) <= 1:
        return tuple(as_array(x) for x in args)
    shape = broadcast_shapes(*shapes)
    return tuple(broadcast_to(x, shape) for x in args)
