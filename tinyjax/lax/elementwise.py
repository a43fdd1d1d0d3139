"""Shared by the elementwise families: making a primitive, and constants for rules.

A rule writes `constant(x, 2)` and not `2`: the constant must have x's dtype.
"""

from __future__ import annotations

import functools
import operator
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import Array, LiteralArray, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.declared_functions import public
from tinyjax.core.primitives import elementwise_aval, shape_of
from tinyjax.core.shape_errors import unknown_shape_error
from tinyjax.core.tracing import user_level
from tinyjax.transform.batching import defbroadcasting, defvectorized
from tinyjax.transform.jvp import defzero

# ---- making primitives ----

# The kinds of dtypes that a primitive takes, as dtypes.kind names them.
FLOAT, INEXACT, INTEGER, BOOL_OR_INT = "f", "fc", "iu", "biu"
NUMBER, ORDERED, ANY = "iufc", "biuf", "biufc"


OutDtype = Callable[[Any], Any] | None


def elementwise(
    name: str, kinds: str, impl: Callable, out_dtype: OutDtype = None, **facts: Any
) -> Primitive:
    """A primitive that works element by element on operands of one dtype, whose kind is in `kinds`.

    The result has that dtype, or `out_dtype(dtype)`. `facts` are those of core/facts.py. If the result
    can't be a float, `cost` (one operation) and `makes_nan` are implied, and it has no derivative."""
    is_step = out_dtype is to_bool or not {*kinds} & {*INEXACT}
    if is_step:
        facts = {"cost": 1, "makes_nan": False} | facts
    primitive = Primitive(name, axes="elementwise", **facts)
    impl_rules[primitive] = impl
    if is_step:
        defzero(primitive)  # and so never transposed

    rule = functools.partial(elementwise_aval, name, kinds)

    @functools.lru_cache(4096)
    def abstract_eval(*avals: ShapedArray, **params: Any) -> ShapedArray:
        out = rule(*avals)
        return out if out_dtype is None else out.update(dtype=out_dtype(out.dtype))

    abstract_eval_rules[primitive] = abstract_eval
    return primitive


def unary(
    name: str, kinds: str, impl: Callable, out_dtype: OutDtype = None, **facts: Any
) -> Primitive:
    """An elementwise primitive of one operand, with its batch rule."""
    primitive = elementwise(name, kinds, impl, out_dtype, **facts)
    defvectorized(primitive)
    return primitive


def nary(
    name: str, kinds: str, impl: Callable, out_dtype: OutDtype = None, **facts: Any
) -> Primitive:
    """An elementwise primitive of several operands, with its batch rule."""
    primitive = elementwise(name, kinds, impl, out_dtype, **facts)
    defbroadcasting(primitive)
    return primitive


# ---- functions that apply one primitive ----
# Operands must have one dtype, and equal shapes, sizes of 1, or no axes. Raises TypeError otherwise.


def of_one(primitive: Primitive, doc: str, name: str = "") -> Callable[[Any], Any]:
    """lax.`name`(x), by default of the primitive's name."""

    @public("tinyjax.lax", name or primitive.name, doc)
    def elementwise(x: Any) -> Any:
        return primitive.bind(x)

    return elementwise


def of_two(primitive: Primitive, doc: str, name: str = "") -> Callable[[Any, Any], Any]:
    """lax.`name`(x, y), as of_one."""

    @public("tinyjax.lax", name or primitive.name, doc)
    def elementwise(x: Any, y: Any) -> Any:
        return primitive.bind(x, y)

    return elementwise


# ---- dtypes ----


def to_bool(dtype: Any) -> np.dtype:
    """The out_dtype of comparisons."""
    return np.dtype(bool)


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the real part: float32 for complex64, any real dtype itself."""
    return np.zeros((), dtype).real.dtype if dtype.kind == "c" else dtype


_64_BITS = {np.dtype(d) for d in ("int64", "uint64", "float64", "complex128")}


def to_inexact_dtype(dtype: np.dtype) -> np.dtype:
    """Floats and complex stay; bools and integers become float32, 64-bit integers float64."""
    if dtypes.is_inexact(dtype):
        return dtype
    return np.dtype("float64" if dtype in _64_BITS else "float32")


def to_complex_dtype(dtype: np.dtype) -> np.dtype:
    """The complex dtype that holds `dtype`."""
    return np.dtype("complex128" if dtype in _64_BITS else "complex64")


# ---- computing in a wider dtype ----


def in_float32(impl: Callable) -> Callable:
    """`impl` with floats of 16 bits and less computed in float32, and rounded once, at the end."""

    @functools.wraps(impl)
    def widened(*arrays: np.ndarray, **params: Any) -> np.ndarray:
        dtype = arrays[0].dtype
        if dtypes.is_float(dtype) and dtype.itemsize <= 2:
            return impl(*[x.astype(np.float32) for x in arrays], **params).astype(dtype)
        return impl(*arrays, **params)

    return widened


def in_float64(impl: Callable) -> Callable:
    """`impl` computed in float64, with the result in the operands' dtype."""

    @functools.wraps(impl)
    def widened(*arrays: np.ndarray) -> np.ndarray:
        return np.asarray(impl(*[x.astype(np.float64) for x in arrays])).astype(arrays[0].dtype)

    return widened


MANY = 2**13  # from this number of elements on, threads share the work of SciPy


def from_scipy(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """The impl rule of an elementwise `function(special, *arrays)`, where `special` is scipy.special. It gets
    arrays of 64 bits (complex ones of 128)."""

    def impl(*arrays: np.ndarray) -> np.ndarray:
        # Imported when the first function is computed: it takes longer than importing tinyjax.
        from scipy import special

        dtype = arrays[0].dtype
        wide = np.complex128 if dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            return np.asarray(function(special, *[x.astype(wide) for x in arrays])).astype(dtype)

    def shared(*arrays: np.ndarray) -> np.ndarray:
        if arrays[0].size < MANY:
            return impl(*arrays)
        from concurrent.futures import ThreadPoolExecutor

        parts = [np.array_split(x.ravel(), os.cpu_count() or 1) for x in arrays]
        try:
            with ThreadPoolExecutor() as threads:
                return np.concatenate([*threads.map(impl, *parts)]).reshape(arrays[0].shape)
        except RuntimeError:  # not every platform can start threads
            return impl(*arrays)

    return shared


def wrapping(impl: Callable) -> Callable:
    """`impl` with results that wrap around for integers of 2 and 4 bits, each of which is stored in a
    byte."""

    @functools.wraps(impl)
    def wrapped(x: np.ndarray) -> np.ndarray:
        out = impl(x)
        if x.dtype in dtypes.SMALL_INTEGERS:
            return out.view(np.int8).astype(np.int32).astype(x.dtype)
        return out

    return wrapped


def constant(like: Any, value: complex) -> Any:
    """`value` as a scalar operand with the dtype of `like`; weakly typed if `like` is a weak scalar."""
    dtype = dtypes.dtype(like)
    if dtypes.is_weakly_typed(like) and not shape_of(like):
        scalar = dtypes.scalar_type_of(like)(value)
        if dtypes.dtype(scalar) == dtype:
            return scalar
    return LiteralArray(np.array(value, dtype), ShapedArray((), dtype))


# ---- arguments from users ----


def canonicalize_shape(shape: Any, name: str) -> tuple[int, ...]:
    """A shape given as an int or a sequence of ints, as a tuple.

    Raises TypeError if an entry is no integer known while tracing, or is negative."""
    sizes: Sequence[Any] = (shape,) if isinstance(shape, (int, np.integer)) else shape
    try:
        checked = tuple(map(operator.index, sizes))
    except TypeError:
        entries = (shape,) if isinstance(shape, Array) else tuple(shape)
        raise unknown_shape_error(entries) from None
    if min(checked, default=0) < 0:
        raise TypeError(f"{name} shape must have every element be nonnegative, got {checked}.")
    return checked


def canonicalize_user_dtype(dtype: Any, name: str) -> np.dtype:
    """The dtype that a user gave to function `name`; warns if it is cut to 32 bits.

    Raises TypeError if it is no dtype that arrays can have."""
    wanted = dtypes.np_dtype(dtype)
    got = dtypes.canonicalize_dtype(wanted)
    if got != wanted and dtype not in (int, float, complex):
        warnings.warn(
            f"Explicitly requested dtype {wanted.name} requested in {name} is not available, and will "
            f"be truncated to dtype {got.name}: set jax_enable_x64 for 64 bits "
            "(jax.config.update('jax_enable_x64', True))",
            stacklevel=user_level(),
        )
    return got
