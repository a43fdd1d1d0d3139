"""Ufunc methods, such as jnp.add.reduce, of functions of two arguments; and frompyfunc.

Any binary function can reduce, accumulate or update; for add, multiply, ... the methods are sum, cumsum,
.at[].add.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array
from tinyjax.core.eval_shape import eval_shape
from tinyjax.core.primitives import shape_of
from tinyjax.core.structs import ShapeDtypeStruct
from tinyjax.lax.shape import canonicalize_axis
from tinyjax.numpy import cumulative, elementary, logic, reductions, ufuncs
from tinyjax.numpy.logic import equal
from tinyjax.numpy.manipulation import moveaxis, ravel, reshape
from tinyjax.numpy.mapping import vectorize
from tinyjax.numpy.selecting import where_
from tinyjax.numpy.util import broadcast_to, check_arraylike, convert, ensure_arraylike
from tinyjax.transform.batching import vmap
from tinyjax.transform.jit.api import jitted


class ufunc:  # noqa: N801  (NumPy's name)
    """A function of one element of each argument, made to work on arrays by vectorize.

    Binary ones also have reduce, accumulate, outer and at."""

    def __init__(self, func: Callable, /, nin: int, nout: int, *, identity: Any = None):
        self.__name__ = getattr(func, "__name__", "ufunc")
        self.__doc__ = func.__doc__
        self.nin, self.nout, self.nargs = nin, nout, nin
        self.identity = identity
        self._call = vectorize(func)

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __call__(self, *args: Any) -> Any:
        check_arraylike(self.__name__, *args)
        return self._call(*args)

    def reduce(self, a: Any, axis: Any = 0, **options: Any) -> Array:
        """The function applied between all elements along `axis`; as numpy.ufunc.reduce."""
        self._check_binary("reduce")
        return _reducing(self, self.identity)(a, axis, **options)

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None) -> Array:
        """All the intermediate results of reduce; as numpy.ufunc.accumulate."""
        self._check_binary("accumulate")
        return _accumulating(self)(a, axis, dtype)

    def outer(self, A: Any, B: Any, /) -> Array:  # noqa: N803  (NumPy's names)
        """The function of each pair of elements; as numpy.ufunc.outer."""
        self._check_binary("outer")
        return _outer(self, A, B)

    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Array:
        """`a` with a[indices] = function(a[indices], b); needs inplace=False; as numpy.ufunc.at."""
        _check_not_inplace(inplace)
        return _at(self, a, indices, b)

    def _check_binary(self, method: str) -> None:
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")


def frompyfunc(func: Callable, /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A ufunc of a function of `nin` scalars that gives `nout`; as numpy.frompyfunc."""
    return ufunc(func, nin, nout, identity=identity)


# ---- by any binary function ----


def _reducing(function: Callable, identity: Any) -> Callable:
    """The method reduce of a function."""

    @jitted(static_argnames=("axis", "dtype", "keepdims"))
    def reduce(
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        a = ensure_arraylike("reduce", a)
        if where is not None and initial is None and identity is None:
            raise ValueError(
                "the reduction has no identity, so to use a where mask one has to specify 'initial'."
            )
        if isinstance(axis, tuple):
            raise NotImplementedError("reduce over a tuple of axes: one axis, or None for all")
        if axis is None:
            kept_shape: tuple[int, ...] = (1,) * a.ndim
            a, axis = ravel(a), 0
            where = None if where is None else ravel(broadcast_to(where, (a.size,)))
        else:
            axis = canonicalize_axis(axis, a.ndim)
            kept_shape = tuple(1 if i == axis else n for i, n in enumerate(a.shape))
        rows = moveaxis(a, axis, 0)
        masks = None if where is None else moveaxis(broadcast_to(where, a.shape), axis, 0)
        start = identity if initial is None else initial
        if start is None and not rows.shape[0]:
            raise ValueError("zero-size array to reduction operation which has no identity")
        first = rows[0] if start is None else broadcast_to(as_array(start), rows.shape[1:])
        dtype = _result_dtype(function, a, a) if dtype is None else np.dtype(dtype)

        def combine(i: Any, out: Any) -> Any:
            step = function(out, convert(rows[i], dtype))
            return step if masks is None else where_(masks[i], step, out)

        begin = 1 if start is None else 0
        out = lax.fori_loop(begin, rows.shape[0], combine, convert(first, dtype))
        return reshape(out, kept_shape) if keepdims else out

    return reduce


def _accumulating(function: Callable) -> Callable:
    """The method accumulate of a function."""

    @jitted(static_argnames=("axis", "dtype"))
    def accumulate(a: Any, axis: int = 0, dtype: Any = None) -> Any:
        a = ensure_arraylike("accumulate", a)
        if axis is None or isinstance(axis, tuple):
            raise ValueError("accumulate does not allow multiple axes")
        dtype = _result_dtype(function, a, a) if dtype is None else np.dtype(dtype)
        if not a.size:
            return lax.full(a.shape, 0, dtype)
        rows = moveaxis(a, axis, 0)

        def step(carry: Any, _: None) -> Any:
            i, out = carry
            is_first, start = equal(i, 0), convert(rows[0], dtype)
            out = where_(is_first, start, function(convert(out, dtype), convert(rows[i], dtype)))
            return (i + 1, out), out

        first = 0, convert(rows[0], dtype)
        return moveaxis(lax.scan(step, first, None, length=rows.shape[0])[1], 0, axis)

    return accumulate


def _result_dtype(function: Callable, *args: Any) -> np.dtype:
    """The dtype of the function of elements of `args`."""
    return eval_shape(function, *[ShapeDtypeStruct((), x.dtype) for x in args]).dtype


def _outer(function: Callable, a: Any, b: Any) -> Any:
    check_arraylike("outer", a, b)
    of_pairs = vmap(vmap(function, in_axes=(None, 0)), in_axes=(0, None))
    return reshape(of_pairs(ravel(a), ravel(b)), (*shape_of(a), *shape_of(b)))


def _at(function: Callable, a: Any, indices: Any, b: Any = None) -> Any:
    """Updates one element after the other, as an index may occur more than once."""
    a = ensure_arraylike("at", a)
    index = indices if isinstance(indices, tuple) else (indices,)
    if any(isinstance(i, slice) or i is None or i is Ellipsis for i in index):
        args = () if b is None else (b,)
        return a.at[indices].set(function(a[indices], *args))
    columns = [ravel(as_array(i)) for i in index]
    operands = [] if b is None else [ravel(broadcast_to(b, shape_of(index[0])))]
    dtype = _result_dtype(function, a, *operands)
    operands = [convert(x, dtype) for x in operands]

    def step(carry: Any, _: None) -> Any:
        k, out = carry
        place = tuple(column[k] for column in columns)
        out = out.at[place].set(function(out[place], *[x[k] for x in operands]))
        return (k + 1, out), None

    (_, out), _ = lax.scan(step, (0, convert(a, dtype)), None, length=columns[0].size)
    return out


def _check_not_inplace(inplace: bool) -> None:
    if inplace:
        raise NotImplementedError(
            "Because JAX arrays are immutable, jnp.ufunc.at() cannot operate inplace like np.ufunc.at(): "
            "pass inplace=False and capture the result"
        )


# ---- by the functions that have names ----


def _at_method(name: str) -> Callable:
    def at(a: Any, indices: Any, b: Any, /, *, inplace: bool = True) -> Array:
        _check_not_inplace(inplace)
        return getattr(ensure_arraylike("at", a).at[indices], name)(b)

    return at


def _reduce_axis_0(reduction: Callable) -> Callable:
    """A reduction with axis 0 by default, as ufuncs have."""

    def reduce(a: Any, axis: Any = 0, **options: Any) -> Array:
        return reduction(a, axis=axis, **options)

    return reduce


def _bits(reducer: Callable, combine: Callable, identity: int) -> Callable:
    return _reduce_axis_0(reductions.reduce_bits(reducer, combine, identity))


# function -> (identity, reduce, accumulate, at)
_METHODS: dict[Callable, tuple[Any, Callable | None, Callable | None, str | None]] = {
    ufuncs.add: (0, _reduce_axis_0(reductions.sum), cumulative.cumsum, "add"),
    ufuncs.multiply: (1, _reduce_axis_0(reductions.prod), cumulative.cumprod, "multiply"),
    ufuncs.subtract: (None, None, None, "subtract"),
    ufuncs.maximum: (None, _reduce_axis_0(reductions.max), None, "max"),
    ufuncs.minimum: (None, _reduce_axis_0(reductions.min), None, "min"),
    logic.logical_and: (True, _reduce_axis_0(reductions.all), None, None),
    logic.logical_or: (False, _reduce_axis_0(reductions.any), None, None),
    logic.logical_xor: (False, None, None, None),
    logic.bitwise_and: (-1, _bits(lax.reduce_and, lax.bitwise_and, -1), None, None),
    logic.bitwise_or: (0, _bits(lax.reduce_or, lax.bitwise_or, 0), None, None),
    logic.bitwise_xor: (0, _bits(lax.reduce_xor, lax.bitwise_xor, 0), None, None),
    elementary.logaddexp: (-np.inf, None, None, None),
    elementary.logaddexp2: (-np.inf, None, None, None),
}


def attach() -> None:
    """Gives the named functions their methods."""
    for function, (identity, reduce, accumulate, at) in _METHODS.items():
        methods: Any = function  # type checkers reject attributes of functions
        methods.identity = identity
        methods.nin, methods.nout, methods.nargs = 2, 1, 2
        methods.reduce = reduce or _reducing(function, identity)
        methods.accumulate = _accumulate_axis_0(accumulate or _accumulating(function))
        methods.outer = functools.partial(_outer, function)
        methods.at = _at_method(at) if at else functools.partial(_checked_at, function)


def _accumulate_axis_0(accumulate: Callable) -> Callable:
    def accumulate_(a: Any, axis: int = 0, dtype: Any = None) -> Array:
        return accumulate(a, axis=axis, dtype=dtype)

    return accumulate_


def _checked_at(
    function: Callable, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True
) -> Any:
    _check_not_inplace(inplace)
    return _at(function, a, indices, b)
