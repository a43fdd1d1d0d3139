"""Gives Array its operators and methods: +, x[i], x.sum(), x.at, x.T.

Values and tracers share the base class Array, and `attach` sets these functions on it, once. Operators give
NotImplemented for foreign operands, so that Python can ask the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes
from tinyjax.core.array import Array, ArrayImpl
from tinyjax.core.bind import Tracer
from tinyjax.core.errors import ConcretizationTypeError
from tinyjax.lax.transfer import device_put
from tinyjax.numpy import (
    choosing,
    elementary,
    indexing,
    linear_algebra,
    logic,
    manipulation,
    reductions,
    rounding,
    triangles,
    ufuncs,
)
from tinyjax.numpy.array_api import check_version
from tinyjax.numpy.at import IndexUpdateHelper
from tinyjax.numpy.util import concrete, convert, ensure_arraylike, index_tuple, user_dtype

_OPERANDS = (Array, int, float, complex, np.generic, np.ndarray)

# ---- operators ----


def _accepted(other: Any) -> Any:
    """`other` if an operator can work with it, else NotImplemented."""
    if isinstance(other, _OPERANDS):
        return other
    if hasattr(other, "__jax_array__"):
        return other.__jax_array__()
    return NotImplemented


def _operator(
    function: Callable, symbol: str, rejects: tuple[type, ...], reflected: bool = False
) -> Callable:
    def operator(self: Any, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            if type(other) in rejects:
                raise _unsupported(symbol, *((other, self) if reflected else (self, other)))
            other = _accepted(other)
            if other is NotImplemented:
                return NotImplemented
        return function(other, self) if reflected else function(self, other)

    return operator


def _unsupported(symbol: str, left: Any, right: Any) -> TypeError:
    return TypeError(
        f"unsupported operand type(s) for {symbol}: {type(left).__name__!r} and "
        f"{type(right).__name__!r}; jnp.array converts lists and tuples"
    )


# name -> (function, symbol, whether Python also has the reflected form)
_BINARY: dict[str, tuple[Callable, str, bool]] = {
    "add": (ufuncs.add, "+", True),
    "sub": (ufuncs.subtract, "-", True),
    "mul": (ufuncs.multiply, "*", True),
    "truediv": (ufuncs.true_divide, "/", True),
    "floordiv": (ufuncs.floor_divide, "//", True),
    "mod": (ufuncs.remainder, "%", True),
    "divmod": (ufuncs.divmod, "divmod()", True),
    "pow": (ufuncs.power, "**", True),
    "matmul": (linear_algebra.matmul, "@", True),
    "and": (logic.bitwise_and, "&", True),
    "or": (logic.bitwise_or, "|", True),
    "xor": (logic.bitwise_xor, "^", True),
    "lshift": (logic.left_shift, "<<", True),
    "rshift": (logic.right_shift, ">>", True),
    "eq": (logic.equal, "==", False),
    "ne": (logic.not_equal, "!=", False),
    "lt": (logic.less, "<", False),
    "le": (logic.less_equal, "<=", False),
    "gt": (logic.greater, ">", False),
    "ge": (logic.greater_equal, ">=", False),
}
# Where a list would silently mean something else (repeat, concatenate, False) JAX raises at once.
_REJECTED: dict[str, tuple[type, ...]] = {
    "add": (list, tuple),
    "mul": (list, tuple),
    "eq": (list, tuple, dict, set),
    "ne": (list, tuple, dict, set),
}

_UNARY: dict[str, Callable] = {
    "neg": ufuncs.negative,
    "pos": ufuncs.positive,
    "abs": ufuncs.absolute,
    "invert": logic.bitwise_not,
}


def _clip(self: Any, min: Any = None, max: Any = None) -> Any:
    return elementary.clip(self, min=min, max=max)


def _trace(self: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return triangles.trace(self, offset=offset, axis1=axis1, axis2=axis2, dtype=dtype)


def _round(x: Any, ndigits: int | None = None) -> Any:
    out = rounding.round(x, decimals=ndigits or 0)
    return convert(out, dtypes.default_dtype(int)) if ndigits is None else out


def _iter(self: Any) -> Iterator[Any]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    return iter(lax.unstack(self))


def _reversed(self: Any) -> Iterator[Any]:
    if self.ndim == 0:
        raise TypeError("iteration over a 0-d array")
    return reversed(list(self))


def _contains(self: Any, other: Any) -> Any:
    if other is None or isinstance(other, str):
        raise TypeError(f"Array.__contains__: unsupported operand type {type(other)}.")
    other = ensure_arraylike("Array.__contains__", other)
    if self.ndim != 1 or other.ndim != 0:
        raise ValueError(
            "Array.__contains__: the array must be one-dimensional and the value a scalar, got shapes "
            f"{self.shape} and {other.shape}: use jnp.any(x == value)"
        )
    return reductions.any(logic.equal(self, other))


# ---- methods ----


def _reshape(self: Any, *args: Any, order: str = "C", out_sharding: Any = None) -> Any:
    shape = args[0] if len(args) == 1 else args
    return manipulation.reshape(self, shape, order, out_sharding=out_sharding)


def _transpose(self: Any, *args: Any) -> Any:
    if len(args) == 1 and args[0] is None:
        args = ()
    axes = index_tuple(args[0]) if len(args) == 1 else index_tuple(args)
    return manipulation.transpose(self, axes if args else None)


def _value(self: Any, use: str) -> Any:
    if not isinstance(self, Tracer):
        return self
    value = self.concrete()
    if value is None:
        advice = (
            "Return the array, and convert it outside of the function; to look at it, "
            'jax.debug.print("{}", x) prints values while the function runs.'
        )
        raise ConcretizationTypeError(self, use, advice, or_static=False)
    return value


def _item(self: Any, *args: Any) -> Any:
    return np.asarray(_value(self, "in item()")).item(*args)


def _tolist(self: Any) -> Any:
    return np.asarray(_value(self, "in tolist()")).tolist()


def _copy(self: Any) -> Any:
    return lax.copy_p.bind(self)


def _view(self: Any, dtype: Any = None) -> Any:
    """The same bytes as another dtype; if the sizes differ, the last axis changes."""
    if dtype is None:
        return self
    new = user_dtype(dtype, "view")
    if self.ndim == 0:
        if new.itemsize != self.dtype.itemsize:
            raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
        return manipulation.squeeze(_view(self[None], new))
    if self.shape[-1] * self.dtype.itemsize % new.itemsize:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of "
            "the last axis of the array."
        )
    if np.bool_ in (self.dtype, new):
        uint8 = np.dtype("uint8")
        if self.dtype == np.bool_:
            return _view(convert(self, uint8), new)
        return convert(_view(self, uint8), new)
    ratio = new.itemsize / self.dtype.itemsize
    if ratio > 1:
        grouped = self.reshape(*self.shape[:-1], -1, int(ratio))
        return lax.bitcast_convert_type(grouped, new)
    out = lax.bitcast_convert_type(self, new)
    return out.reshape(*self.shape[:-1], -1) if ratio < 1 else out


def _to_device(self: Any, device: Any, *, stream: Any = None) -> Any:
    if stream is not None:
        raise NotImplementedError("stream argument of array.to_device()")
    return device_put(self, device)


def _dlpack(self: Any, **options: Any) -> Any:
    """A DLPack capsule of the host's elements: other libraries read them without a copy."""
    value = np.asarray(concrete(self, "in __dlpack__"), order="C")  # it is read-only
    if options.get("max_version") is None:
        value = value.copy()  # for readers before DLPack 1.0, which has no read-only arrays
    return value.__dlpack__(**options)


def _dlpack_device(self: Any) -> tuple[int, int]:
    return (1, 0)  # kDLCPU


def _compress(self: Any, condition: Any, axis: int | None = None, **options: Any) -> Any:
    return choosing.compress(condition, self, axis, **options)


# Methods that are functions of jax.numpy.
_METHODS = """
    all any argmax argmin argpartition argsort astype choose conj conjugate cumprod cumsum diagonal dot max
    mean min nonzero prod ptp ravel repeat round searchsorted sort squeeze std sum swapaxes take var
""".split()
_OWN_METHODS: dict[str, Callable] = {
    "clip": _clip,
    "compress": _compress,
    "copy": _copy,
    "flatten": manipulation.ravel,
    "item": _item,
    "reshape": _reshape,
    "to_device": _to_device,
    "tolist": _tolist,
    "trace": _trace,
    "transpose": _transpose,
    "view": _view,
    "__contains__": _contains,
    "__copy__": _copy,
    "__deepcopy__": lambda self, memo: _copy(self),
    "__getitem__": indexing.getitem,
    "__iter__": _iter,
    "__reversed__": _reversed,
    "__round__": _round,
    "__setitem__": indexing.setitem,
}
_PROPERTIES: dict[str, Callable] = {
    "T": manipulation.transpose,
    "mT": manipulation.matrix_transpose,
    "at": IndexUpdateHelper,
    "imag": ufuncs.imag,
    "itemsize": lambda self: self.dtype.itemsize,
    "nbytes": lambda self: self.size * self.dtype.itemsize,
    "real": ufuncs.real,
}


def attach(namespace: ModuleType) -> None:
    """Sets operators, methods and properties on Array (values and tracers have them from there).

    `namespace` is jax.numpy, which `__array_namespace__` returns."""
    for name, (function, symbol, has_reflected) in _BINARY.items():
        rejects = _REJECTED.get(name, ())
        setattr(Array, f"__{name}__", _operator(function, symbol, rejects))
        if has_reflected:
            setattr(Array, f"__r{name}__", _operator(function, symbol, rejects, reflected=True))
    for name, unary in _UNARY.items():
        setattr(Array, f"__{name}__", unary)
    for name in _METHODS:
        setattr(Array, name, getattr(namespace, name))
    for name, function in _OWN_METHODS.items():
        setattr(Array, name, function)
    for name, function in _PROPERTIES.items():
        setattr(Array, name, property(function))
    # __eq__ gives an array, so Python would make arrays unhashable by itself, in its own words.
    Array.__hash__ = ArrayImpl.__hash__  # type: ignore[method-assign,assignment]
    ArrayImpl.__dlpack__ = _dlpack  # type: ignore[attr-defined]
    ArrayImpl.__dlpack_device__ = _dlpack_device  # type: ignore[attr-defined]
    _attach_namespace(namespace)


def _attach_namespace(namespace: ModuleType) -> None:
    def __array_namespace__(self: Any, /, *, api_version: str | None = None) -> Any:
        check_version(api_version)
        return namespace

    def array_module(self: Any, types: Any) -> Any:
        known = all(issubclass(t, (Array, np.ndarray)) for t in types)
        return namespace if known else NotImplemented

    Array.__array_namespace__ = __array_namespace__  # type: ignore[attr-defined]
    ArrayImpl.__array_module__ = array_module  # type: ignore[attr-defined]
