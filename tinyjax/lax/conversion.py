"""Conversions between dtypes: convert_element_type and bitcast_convert_type; and copy.

A conversion to integers saturates, and gives 0 for NaN. A conversion that changes nothing leaves no
equation.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import Array, LiteralArray, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.facts import MOVES
from tinyjax.core.jaxpr import Literal
from tinyjax.core.pretty_printer import printed_params
from tinyjax.core.primitives import shape_of
from tinyjax.core.quiet import run_quietly
from tinyjax.core.tracing import JaxprTrace, JaxprTracer, staging_rules, user_level
from tinyjax.lax.elementwise import canonicalize_user_dtype
from tinyjax.transform.batching import batch_rules, defvectorized, moveaxis
from tinyjax.transform.jvp import defjvp2, defzero, zero_tangent
from tinyjax.transform.transposition import deflinear2, transpose_rules

# ---- convert_element_type: the value, in another dtype ----

convert_element_type_p = Primitive(
    "convert_element_type",
    axes="elementwise",
    cost=1,
    makes_nan=False,
    linear="all",
    keys="same",
    ignored_params=("sharding",),
)


def _convert_impl(x: np.ndarray, *, new_dtype: np.dtype, weak_type: bool = False) -> np.ndarray:
    if dtypes.kind(x.dtype) == "c" and dtypes.kind(new_dtype) != "c":
        x = x.real
    if dtypes.kind(x.dtype) == "f" and dtypes.kind(new_dtype) in "iu":
        return _float_to_int(x, new_dtype)
    return x.astype(new_dtype)


def _float_to_int(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cuts off the fraction. A value out of range becomes the nearest integer in it; NaN becomes zero."""
    info = dtypes.iinfo(dtype)
    x = x.astype(np.float64)
    high, low = x >= float(info.max) + 1, x <= info.min
    inside = np.where(high | low | np.isnan(x), 0, x).astype(dtype)
    return np.where(high, dtype.type(info.max), np.where(low, dtype.type(info.min), inside))


def _convert_aval(x: ShapedArray, *, new_dtype: np.dtype, weak_type: bool) -> ShapedArray:
    if dtypes.key_dtype in (x.dtype, new_dtype):
        raise ValueError(
            f"Cannot convert_element_type from {dtypes.short_name(x.dtype)} to "
            f"{dtypes.short_name(new_dtype)}: use jax.random.key_data and wrap_key_data"
        )
    return ShapedArray(x.shape, new_dtype, weak_type)


def _convert_jvp(tangent: Any, out: Any, x: Any, *, new_dtype: Any, weak_type: Any) -> Any:
    if not dtypes.is_inexact(new_dtype):
        return zero_tangent(out)
    return convert_element_type_p.bind(tangent, new_dtype=new_dtype, weak_type=weak_type)


def _convert_transpose(ct: Any, x: Any, *, new_dtype: Any, weak_type: Any) -> list[Any]:
    aval = x.aval
    return [convert_element_type_p.bind(ct, new_dtype=aval.dtype, weak_type=aval.weak_type)]


def _convert_staging(trace: JaxprTrace, args: Any, params: dict[str, Any]) -> Any:
    """Writes no equation for a literal, or for an operand that has the type already."""
    atom = trace.atom(args[0])
    aval = ShapedArray(atom.aval.shape, params["new_dtype"], params["weak_type"])
    if aval == atom.aval:
        return JaxprTracer(trace, aval, atom)
    if isinstance(atom, Literal):
        return JaxprTracer(trace, aval, Literal(_known(atom.val, aval.dtype), aval))
    return NotImplemented


def _known(scalar: Any, dtype: np.dtype) -> np.ndarray:
    return np.asarray(run_quietly(_convert_impl, np.array(scalar), new_dtype=dtype))


impl_rules[convert_element_type_p] = _convert_impl
abstract_eval_rules[convert_element_type_p] = _convert_aval
defjvp2(convert_element_type_p, _convert_jvp)
transpose_rules[convert_element_type_p] = _convert_transpose
defvectorized(convert_element_type_p)
staging_rules[convert_element_type_p] = _convert_staging
printed_params["convert_element_type"] = lambda eqn, context: [
    (name, eqn.params[name]) for name in ("new_dtype", "weak_type")
]


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """`operand` cast elementwise to `new_dtype`; the result is never weakly typed.

    Floats lose their fraction on the way to integers, saturate at the ends of the range, and NaN
    becomes 0; integers wrap; complex numbers lose their imaginary part, with a ComplexWarning.
    Raises TypeError if `operand` is no array or scalar, or `new_dtype` no dtype."""
    return convert_type(operand, canonicalize_user_dtype(new_dtype, "convert_element_type"))


def dtype(x: Any) -> np.dtype:
    """The dtype that an array of `x` would have: of a number, an array, or anything that names a dtype.

    Raises TypeError if it is none of them."""
    if isinstance(x, (type, str, np.dtype)):
        return canonicalize_user_dtype(x, "dtype")
    return dtypes.dtype(x)


def convert_type(operand: Any, new_dtype: np.dtype | None = None, weak_type: bool = False) -> Any:
    """As convert_element_type, for a canonical dtype (None keeps it) and a weak type to set.

    Scalars become constants; an array that has the type is returned as it is."""
    if hasattr(operand, "__jax_array__"):
        operand = operand.__jax_array__()
    old_dtype = dtypes.dtype(operand)
    if new_dtype is None:
        new_dtype = old_dtype
    if dtypes.kind(old_dtype) == "c" and dtypes.kind(new_dtype) in "biuf":
        message = "Casting complex values to real discards the imaginary part"
        warnings.warn(message, np.exceptions.ComplexWarning, stacklevel=user_level())
    if isinstance(operand, Array):
        if old_dtype == new_dtype and operand.weak_type == weak_type:
            return operand
    elif old_dtype == new_dtype and weak_type and dtypes.is_python_scalar(operand):
        return operand
    elif not shape_of(operand) and new_dtype != dtypes.key_dtype:
        # A Python int may be larger than int32: it goes straight to the new dtype.
        return LiteralArray(_known(operand, new_dtype), ShapedArray((), new_dtype, weak_type))
    return convert_element_type_p.bind(operand, new_dtype=new_dtype, weak_type=bool(weak_type))


# ---- bitcast_convert_type: the bits, as another dtype ----

bitcast_convert_type_p = Primitive("bitcast_convert_type", axes="first operand", makes_nan=False)


def _bitcast_impl(x: np.ndarray, *, new_dtype: np.dtype) -> np.ndarray:
    x = np.ascontiguousarray(x).reshape(x.shape)
    if x.dtype.itemsize > new_dtype.itemsize:
        return x[..., None].view(new_dtype)
    if x.dtype.itemsize < new_dtype.itemsize:
        return x.view(new_dtype)[..., 0]
    return x.view(new_dtype)


def _bitcast_aval(x: ShapedArray, *, new_dtype: np.dtype) -> ShapedArray:
    if x.dtype != new_dtype and not {dtypes.kind(x.dtype), dtypes.kind(new_dtype)} <= set("iuf"):
        raise TypeError(
            "lax.bitcast_convert_type takes integers and floats; bool and complex only if the dtype "
            f"stays. Got {x.dtype.name} to {new_dtype.name}: use x.view(dtype), or real and imag"
        )
    if x.dtype != new_dtype and {x.dtype, new_dtype} & dtypes.BELOW_A_BYTE:
        raise ValueError(
            f"bitcast_convert_type from {x.dtype.name} to {new_dtype.name}: elements of less than 8 bits "
            "are kept in a byte each"
        )
    old_bits, new_bits = 8 * x.dtype.itemsize, 8 * new_dtype.itemsize
    if old_bits > new_bits:
        return ShapedArray((*x.shape, old_bits // new_bits), new_dtype)
    if old_bits == new_bits:
        return ShapedArray(x.shape, new_dtype)
    last = x.shape[-1] if x.shape else 1
    if last * old_bits != new_bits:
        raise ValueError(
            f"bitcast_convert_type from {x.dtype.name} to {new_dtype.name} makes one element of the "
            f"last axis, which needs size {new_bits // old_bits}; got shape {x.shape}"
        )
    return ShapedArray(x.shape[:-1], new_dtype)


def _bitcast_batch(vals: Any, dims: Any, *, new_dtype: np.dtype) -> Any:
    (x,), (dim,) = vals, dims
    if new_dtype.itemsize > dtypes.dtype(x).itemsize:  # the axis to merge is not the batch dim
        x, dim = moveaxis(x, dim, 0), 0
        _bitcast_aval(ShapedArray(shape_of(x)[1:], dtypes.dtype(x)), new_dtype=new_dtype)
    return bitcast_convert_type_p.bind(x, new_dtype=new_dtype), dim


impl_rules[bitcast_convert_type_p] = _bitcast_impl
abstract_eval_rules[bitcast_convert_type_p] = _bitcast_aval
defzero(bitcast_convert_type_p)  # and so never transposed
batch_rules[bitcast_convert_type_p] = _bitcast_batch


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of `operand` read as `new_dtype`.

    A narrower dtype adds a last axis of the parts, a wider one takes such an axis away. Raises
    TypeError for bool and complex, ValueError where the last axis does not fit."""
    new_dtype = canonicalize_user_dtype(new_dtype, "bitcast_convert_type")
    return bitcast_convert_type_p.bind(operand, new_dtype=new_dtype)


copy_p = Primitive("copy", axes="elementwise", **MOVES, keys="same")
impl_rules[copy_p] = np.copy
abstract_eval_rules[copy_p] = lambda x: x
deflinear2(copy_p, lambda ct, x: [copy_p.bind(ct)])
defvectorized(copy_p)


def copy(x: Any) -> Any:
    """A copy of an array; in a jaxpr it is an equation."""
    return copy_p.bind(x)
