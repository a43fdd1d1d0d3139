"""Running sums and products, and differences: cumsum, cumprod, diff, gradient, trapezoid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array
from tinyjax.core.declared_functions import public
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy.joining import concatenate
from tinyjax.numpy.logic import bitwise_and, equal, greater, isnan, less, not_equal
from tinyjax.numpy.manipulation import moveaxis, ravel
from tinyjax.numpy.promotion import promote_dtypes, promote_dtypes_inexact
from tinyjax.numpy.reductions import _integer_sum_dtype, check_no_out
from tinyjax.numpy.reductions import sum as sum_
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.ufuncs import (
    absolute,
    add,
    divide,
    floor_divide,
    multiply,
    negative,
    remainder,
    subtract,
)
from tinyjax.numpy.util import (
    broadcast_to,
    concrete_int,
    constant_like,
    convert,
    ensure_arraylike,
    index_tuple,
    user_dtype,
)
from tinyjax.transform.jit.api import jitted

# ---- running reductions ----


def _cumulative(
    name: str, reduction: Callable, a: Any, axis: int | None, dtype: Any, out: Any = None,
    nan_as: int | None = None, promote_integers: bool = False,
) -> Any:  # fmt: skip
    check_no_out(name, out)
    a = ensure_arraylike(name, a)
    if axis is None or (a.ndim == 0 and a.aval.weak_type):
        a = lax.reshape(a, (a.size,))
    axis = canonicalize_axis(axis or 0, a.ndim)
    if nan_as is not None:
        a = where_(isnan(a), constant_like(a, nan_as), a)
    if dtype is not None:
        result_dtype = user_dtype(dtype, name)
    elif promote_integers or a.dtype == np.bool_:
        result_dtype = _integer_sum_dtype(a.dtype)
    else:
        result_dtype = a.dtype
    # Bools are summed as integers, and made bools again.
    is_bool = result_dtype == np.bool_
    work_dtype = _integer_sum_dtype(result_dtype) if is_bool else result_dtype
    return convert(reduction(convert(a, work_dtype), axis), result_dtype)


def _running(
    name: str, reduction: Callable, doc: str, nan_as: int | None = None
) -> Callable[..., Array]:
    @jitted(static_argnames=("axis", "dtype"))
    @public("tinyjax.numpy", name, f"{doc}; as numpy.{name}.")
    def running(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Array:
        return _cumulative(name, reduction, a, axis, dtype, out, nan_as)

    return running


cumsum = _running("cumsum", lax.cumsum, "Running sums along `axis` (of the flat array if None)")
cumprod = _running("cumprod", lax.cumprod, "Running products along `axis` (as in cumsum)")
nancumsum = _running("nancumsum", lax.cumsum, "As cumsum with NaN as 0", nan_as=0)
nancumprod = _running("nancumprod", lax.cumprod, "As cumprod with NaN as 1", nan_as=1)


@jitted(static_argnames=("axis", "dtype"))
def _cumsum_with_promotion(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return _cumulative("cumulative_sum", lax.cumsum, a, axis, dtype, promote_integers=True)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Running sums along `axis`, a 0 in front if include_initial; as numpy.cumulative_sum.

    Raises ValueError for scalars, and without `axis` for two or more axes."""
    x, axis = _cumulative_operand("cumulative_sum", x, axis)
    out = _cumsum_with_promotion(x, axis=axis, dtype=dtype)
    return _with_initial(out, 0, axis) if include_initial else out


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Running products along `axis`, a 1 in front if include_initial; as numpy.cumulative_prod."""
    x, axis = _cumulative_operand("cumulative_prod", x, axis)
    out = _cumulative("cumulative_prod", lax.cumprod, x, axis, dtype)
    return _with_initial(out, 1, axis) if include_initial else out


def _cumulative_operand(name: str, x: Any, axis: int | None) -> tuple[Any, int]:
    x = ensure_arraylike(name, x)
    if x.ndim == 0:
        raise ValueError("The input must be non-scalar to take a cumulative sum or product.")
    if axis is None and x.ndim > 1:
        raise ValueError(
            f"The input array has rank {x.ndim}, however axis was not set to an explicit value. The "
            "axis argument is only optional for one-dimensional arrays."
        )
    return x, canonicalize_axis(axis or 0, x.ndim)


def _with_initial(x: Any, value: int, axis: int) -> Any:
    shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
    return lax.concatenate([broadcast_to(constant_like(x, value), shape), x], axis)


# ---- differences ----


@jitted(static_argnames=("n", "axis"))
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """The n-th differences of neighbours along `axis`; as numpy.diff.

    Raises ValueError for scalars and negative n."""
    a = ensure_arraylike("diff", a)
    n = concrete_int(n, "'n' argument of jnp.diff")
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if a.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    axis = canonicalize_axis(axis, a.ndim)
    parts = [_edge(x, a.shape, axis) for x in (prepend, append)]
    parts = [x for x in (parts[0], a, parts[1]) if x is not None]
    if len(parts) > 1:
        a = concatenate(parts, axis)
    later = (slice(None),) * axis + (slice(1, None),)
    earlier = (slice(None),) * axis + (slice(None, -1),)
    difference = not_equal if a.dtype == np.bool_ else subtract
    for _ in range(n):
        a = difference(a[later], a[earlier])
    return a


def _edge(x: Any, shape: tuple[int, ...], axis: int) -> Any:
    if x is None:
        return None
    x = ensure_arraylike("diff", x)
    return x if x.ndim else broadcast_to(x, (*shape[:axis], 1, *shape[axis + 1 :]))


@jitted
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """Differences of neighbours in the flat array, with given ends; as numpy.ediff1d."""
    a = ravel(ensure_arraylike("ediff1d", ary))
    result = lax.sub(a[1:], a[:-1])
    if to_begin is not None:
        result = concatenate((ravel(convert(as_array(to_begin), a.dtype)), result))
    if to_end is not None:
        result = concatenate((result, ravel(convert(as_array(to_end), a.dtype))))
    return result


@jitted(static_argnames=("axis", "edge_order"))
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """Central differences of `f` along each axis (one-sided at edges); as numpy.gradient.

    A list of arrays, or one array for one axis. `varargs` are spacings: scalars or 1-d coordinates."""
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    a, *spacing = promote_dtypes_inexact(f, *varargs)
    axes = (
        range(a.ndim) if axis is None else [canonicalize_axis(i, a.ndim) for i in index_tuple(axis)]
    )
    if not len(axes):
        return []
    if min(a.shape[i] for i in axes) < 2:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2 elements are "
            "required."
        )
    if len(spacing) <= 1:
        spacing = list(spacing or [1.0]) * len(axes)
    if len(spacing) != len(axes):
        raise TypeError(f"Invalid number of spacing arguments {len(spacing)} for axis={axis!r}")
    grads = [_gradient_along(a, h, i) for i, h in zip(axes, spacing)]
    return grads[0] if len(axes) == 1 else grads


def _gradient_along(a: Any, h: Any, axis: int) -> Any:
    part = lambda start, stop: lax.slice_in_dim(a, start, stop, axis=axis)  # noqa: E731
    upper = subtract(part(1, 2), part(0, 1))
    lower = subtract(part(-1, None), part(-2, -1))
    if np.ndim(h) == 0:
        inner = divide(multiply(subtract(part(2, None), part(None, -2)), 0.5), h)
        lower, upper = divide(lower, h), divide(upper, h)
        return concatenate((upper, inner, lower), axis)
    if np.ndim(h) != 1 or len(h) != a.shape[axis]:
        raise ValueError(
            "Spacing arrays must be 1D arrays or scalars, as long as the axis they belong to."
        )
    # The parabola through three unevenly spaced points, differentiated at the middle one.
    x = h.reshape([len(h) if i == axis else 1 for i in range(a.ndim)])
    x_part = lambda start, stop: lax.slice_in_dim(x, start, stop, axis=axis)  # noqa: E731
    upper = divide(upper, subtract(x_part(1, 2), x_part(0, 1)))
    lower = divide(lower, subtract(x_part(-1, None), x_part(-2, -1)))
    d1 = subtract(x_part(1, -1), x_part(0, -2))
    d2 = subtract(x_part(2, None), x_part(1, -1))
    left = -d2 / (d1 * (d1 + d2)) * part(0, -2)
    middle = (d2 - d1) / (d1 * d2) * part(1, -1)
    right = d1 / (d2 * (d1 + d2)) * part(2, None)
    return concatenate((upper, left + middle + right, lower), axis)


@jitted(static_argnames=("axis",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral of samples `y` by the trapezoidal rule; as numpy.trapezoid."""
    if x is None:
        (y,) = promote_dtypes_inexact(ensure_arraylike("trapezoid", y))
        width = as_array(dx)
        if width.ndim:
            width = lax.expand_dims(width, range(y.ndim - width.ndim))
            width = moveaxis(width, axis, -1)
    else:
        y, x = promote_dtypes_inexact(*ensure_arraylike("trapezoid", y, x))
        width = diff(x) if x.ndim == 1 else moveaxis(diff(x, axis=axis), axis, -1)
    y = moveaxis(y, axis, -1)
    if width.ndim == 0 or width.shape[-1] == 1:
        width = width if width.ndim == 0 else width[..., 0]
        total = sum_(y, -1)
        ends = multiply(0.5, add(y[..., 0], y[..., -1]))
        return multiply(width, subtract(total, ends))
    return multiply(0.5, sum_(multiply(width, add(y[..., 1:], y[..., :-1])), -1))


@jitted(static_argnames=("axis",))
def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Array:
    """Angles with jumps above half a period taken out; as numpy.unwrap."""
    p, period = promote_dtypes(ensure_arraylike("unwrap", p), period)
    if dtypes.kind(p.dtype) == "c":
        raise ValueError("jnp.unwrap does not support complex inputs.")
    if p.shape[axis] == 0:
        return p
    if discont is None:
        discont = divide(period, 2)
    half = floor_divide(period, 2) if dtypes.kind(p.dtype) in "iu" else divide(period, 2)
    steps = diff(p, axis=axis)
    wrapped = subtract(remainder(add(steps, half), period), half)
    upward = bitwise_and(equal(wrapped, negative(half)), greater(steps, 0))
    wrapped = where_(upward, half, wrapped)
    correction = where_(less(absolute(steps), discont), 0, subtract(wrapped, steps))
    first = lax.slice_in_dim(p, 0, 1, axis=axis)
    rest = add(lax.slice_in_dim(p, 1, None, axis=axis), cumsum(correction, axis=axis))
    return concatenate((first, rest), axis)
