"""Operands of one dtype and one rank: the steps before `lax.add` in `jnp.add(x, 2)`.

A Python scalar takes the array's dtype (it is weakly typed), then ranks are made equal, and then comes the
bind.

Source: https://docs.jax.dev/en/latest/jep/9407-type-promotion.html
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes, type_promotion
from tinyjax.core.array import Array
from tinyjax.core.bind import as_array, prepare_operands
from tinyjax.core.config import config
from tinyjax.core.primitives import shape_of
from tinyjax.core.tracing import user_level
from tinyjax.lax.conversion import convert_element_type_p
from tinyjax.lax.elementwise import to_inexact_dtype
from tinyjax.numpy.util import (
    as_operand,
    broadcast_shapes,
    check_arraylike,
    constant,
    convert,
    dtype_of,
)

# ---- dtypes ----


def to_numeric_dtype(dtype: np.dtype) -> np.dtype:
    """Bools become int32; all else stays."""
    return np.dtype("int32") if dtype == np.bool_ else dtype


def promote_dtypes(*args: Any) -> list[Any]:
    """The arguments as arrays of the dtype that they promote to together."""
    if len(args) == 1:
        return [as_array(args[0])]
    dtype, weak_type = type_promotion.promoted_type(*args)
    return _converted(args, dtype, weak_type)


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """Like promote_dtypes, but integers and bools become floats."""
    dtype, weak_type = type_promotion.promoted_type(*args)
    return _converted(args, to_inexact_dtype(dtype), weak_type)


def promote_dtypes_numeric(*args: Any) -> list[Any]:
    """Like promote_dtypes, but bools become integers."""
    if len(args) == 1 and isinstance(args[0], Array) and args[0].aval.dtype != np.bool_:
        return [args[0]]
    dtype, weak_type = type_promotion.promoted_type(*args)
    return _converted(args, to_numeric_dtype(dtype), weak_type)


def _converted(args: Sequence[Any], dtype: np.dtype, weak_type: bool) -> list[Any]:
    """The operands of one operation, converted to this type after the features' prepare_operands."""
    for prepare in prepare_operands:
        args = prepare(convert_element_type_p, args, {})
    return [convert(x, dtype, weak_type) for x in args]


# ---- ranks ----


def promote_shapes(fun_name: str, *args: Any) -> list[Any]:
    """The arguments with leading axes of size 1 added until all ranks are equal; scalars stay."""
    ranks = {len(shape_of(x)) for x in args} - {0}
    if len(ranks) < 2:
        return [as_array(x) for x in args]
    if config.jax_numpy_rank_promotion != "allow":
        _warn_or_raise_rank_promotion(fun_name, [shape_of(x) for x in args])
    broadcast_shapes(*[shape_of(x) for x in args])  # raises where sizes do not fit
    rank = max(ranks)
    return [broadcast_to_rank(x, rank) for x in args]


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """`x` with leading axes of size 1 added until it has `rank` axes."""
    shape = shape_of(x)
    missing = rank - len(shape)
    if not missing:
        return as_array(x)
    return lax.broadcast_in_dim(as_array(x), (1,) * missing + shape, range(missing, rank))


def _warn_or_raise_rank_promotion(fun_name: str, shapes: Sequence[tuple[int, ...]]) -> None:
    listed = " ".join(map(str, shapes))
    if config.jax_numpy_rank_promotion == "raise":
        raise ValueError(
            f"Operands could not be broadcast together for {fun_name} on shapes {listed} and with the "
            "config option jax_numpy_rank_promotion='raise'. Reshape to equal ranks: x[None, :]"
        )
    warnings.warn(
        f"Following NumPy automatic rank promotion for {fun_name} on shapes {listed}. Set the "
        "jax_numpy_rank_promotion config option to 'allow' to disable this warning.",
        stacklevel=user_level(),
    )


# ---- both ----


def promote_args(fun_name: str, *args: Any) -> list[Any]:
    """The arguments checked and promoted, in dtype and rank. Raises TypeError for non-arrays."""
    return _promote_pair(args, "biufc") or _promote(fun_name, promote_dtypes, args)


def promote_args_numeric(fun_name: str, *args: Any) -> list[Any]:
    """Like promote_args, but bools become integers."""
    return _promote_pair(args, "iufc") or _promote(fun_name, promote_dtypes_numeric, args)


def promote_args_inexact(fun_name: str, *args: Any) -> list[Any]:
    """Like promote_args, but integers and bools become floats."""
    if len(args) == 1 and isinstance(args[0], Array) and args[0].aval.dtype.kind in "fc":
        return [args[0]]
    return _promote_pair(args, "fc") or _promote(fun_name, promote_dtypes_inexact, args)


def _promote_pair(args: Sequence[Any], kinds: str) -> list[Any] | None:
    """The fast path: two arrays of one type, or an array and a Python number that gives way to it.

    None if neither case applies."""
    if len(args) != 2:
        return None
    x, y = args
    if not isinstance(x, Array):
        x = _as_operand_of(y, x, kinds) if isinstance(y, Array) else None
    elif not isinstance(y, Array):
        y = _as_operand_of(x, y, kinds)
    if x is None or y is None:
        return None
    a, b = x.aval, y.aval
    if a is not b and (a.dtype != b.dtype or a.weak_type != b.weak_type or a.extra is not b.extra):
        return None
    if a.dtype.kind not in kinds:
        return None
    if a.weak_type and (
        a.dtype.kind == "b" or a.dtype != dtypes.default_dtype(dtypes.scalar_type_of(x))
    ):
        return None  # it does not stay weak, or was made before jax_enable_x64 changed
    if len(a.shape) == len(b.shape) or not a.shape or not b.shape:
        return [x, y]
    return _same_rank(x, y) if config.jax_numpy_rank_promotion == "allow" else None


def _same_rank(x: Any, y: Any) -> list[Any] | None:
    """Two arrays, the shorter one with leading axes of size 1 if its sizes are the other's last ones."""
    a, b = x.aval.shape, y.aval.shape
    rank = max(len(a), len(b))
    short, long = sorted((a, b), key=len)
    if short != long[rank - len(short) :]:
        return None
    return [broadcast_to_rank(x, rank), broadcast_to_rank(y, rank)]


def _as_operand_of(array: Any, number: Any, kinds: str) -> Any:
    """A Python number in the type of an array, if it is of its kind or a lower one; else None."""
    aval = array.aval
    kind = aval.dtype.kind
    if kind in kinds:
        if kind in "fc" and type(number) in (float, int):
            return constant(number, aval.dtype, aval.weak_type)
        if kind in "iu" and type(number) is int and -(2**31) <= number < 2**31:
            return constant(np.int64(number).astype(aval.dtype), aval.dtype, aval.weak_type)
    return None


def _promote(fun_name: str, promote: Any, args: Sequence[Any]) -> list[Any]:
    check_arraylike(fun_name, *args)
    args = [as_operand(x) for x in args]
    for x in args:
        if getattr(x, "dtype", None) == dtypes.float0:
            raise TypeError(
                f"Called {fun_name} with a float0 array: the tangent of an integer has no information. "
                "If you did not expect one, you took a gradient with respect to an integer argument"
            )
        if getattr(x, "dtype", None) == dtypes.key_dtype and len(args) == 1:
            raise TypeError(f"{fun_name} does not accept dtype key<fry>.")
    if any(getattr(x, "dtype", None) == dtypes.key_dtype for x in args):
        if not all(getattr(x, "dtype", None) == dtypes.key_dtype for x in args):
            listed = ", ".join(dtypes.short_name(dtype_of(x)) for x in args)
            raise TypeError(f"{fun_name} does not accept dtypes {listed}.")
        return promote_shapes(fun_name, *args)
    return promote_shapes(fun_name, *promote(*args))
