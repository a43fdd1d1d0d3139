"""dot_general, the one primitive behind every matrix product: its rules, and dot and batch_matmul.

dimension_numbers (((1,), (0,)), ((), ())) name the axes of each side that are contracted, then the batch
axes. A product's transpose is a product. The result's axes are the batch axes, then the remaining axes of
the left side, then of the right side.

Source: https://www.openxla.org/stablehlo/spec#dot_general
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core import dtypes, primitives
from tinyjax.core.array import Array, ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.pretty_printer import printed_params
from tinyjax.core.primitives import shape_of
from tinyjax.lax.blas_threads import matmul
from tinyjax.lax.conversion import convert_type
from tinyjax.lax.placing import batched_place, place_of_cotangent, place_params, placed
from tinyjax.lax.precision import canonicalize_precision
from tinyjax.transform.batching import batch_rules, not_mapped
from tinyjax.transform.transposition import defbilinear, inverse

# ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))
DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


# ---- dimension numbers ----


def _as_ints(dimension_numbers: Any) -> Any:
    """Dimension numbers as tuples of ints; a bare int stands for one axis."""
    try:
        return _tuples_as_ints(dimension_numbers)
    except TypeError:  # lists
        return _tuples_as_ints.__wrapped__(dimension_numbers)


@functools.lru_cache(4096)
def _tuples_as_ints(dimension_numbers: Any) -> Any:
    pairs = [[np.atleast_1d(axes).tolist() for axes in pair] for pair in dimension_numbers]
    return tuple((tuple(map(int, lhs)), tuple(map(int, rhs))) for lhs, rhs in pairs)


# ---- dot_general: impl ----


def _operations(eqn: Any) -> int:
    """A multiplication and an addition for each term of a sum."""
    (summed, _), _ = eqn.params["dimension_numbers"]
    lhs = eqn.invars[0].aval.shape
    return 2 * eqn.outvars[0].aval.size * math.prod(lhs[axis] for axis in summed)


dot_general_p = Primitive(
    "dot_general", cost=_operations, makes_nan=True, ignored_params=("out_sharding",)
)


def _remaining(ndim: int, *taken: Sequence[int]) -> list[int]:
    """The axes that are in none of `taken`."""
    return [axis for axis in range(ndim) if axis not in itertools.chain(*taken)]


def _dot_general_impl(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any = None,
) -> np.ndarray:
    """Brings both sides to (batch, rows, contracted) and (batch, contracted, columns)."""
    left_axes, right_axes, rows, columns = _layout(dimension_numbers, lhs.ndim, rhs.ndim)
    out_dtype = _result_dtype(lhs.dtype, rhs.dtype, preferred_element_type)
    dtype = _sum_dtype(out_dtype)
    left = lhs.transpose(left_axes).astype(dtype, copy=False)
    right = rhs.transpose(right_axes).astype(dtype, copy=False)
    num_batch = len(dimension_numbers[1][0])
    if rows == columns == left.ndim - num_batch - 1 == 1:  # matrices already
        return matmul(left, right).astype(out_dtype, copy=False)
    batch, kept = left.shape[:num_batch], left.shape[num_batch : num_batch + rows]
    right_kept = right.shape[right.ndim - columns :]
    contracted = math.prod(left.shape[num_batch + rows :])
    left = left.reshape(math.prod(batch), math.prod(kept), contracted)
    right = right.reshape(math.prod(batch), contracted, math.prod(right_kept))
    return matmul(left, right).reshape(batch + kept + right_kept).astype(out_dtype, copy=False)


@functools.lru_cache(4096)
def _layout(dimension_numbers: Any, lhs_ndim: int, rhs_ndim: int) -> tuple:
    """The axes of the left side in the order batch, kept, contracted, those of the right side in the
    order batch, contracted, kept; how many are kept of each."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_kept = _remaining(lhs_ndim, lhs_contract, lhs_batch)
    rhs_kept = _remaining(rhs_ndim, rhs_contract, rhs_batch)
    left_axes = (*lhs_batch, *lhs_kept, *lhs_contract)
    return left_axes, (*rhs_batch, *rhs_contract, *rhs_kept), len(lhs_kept), len(rhs_kept)


# ---- dot_general: abstract_eval ----


@functools.lru_cache(4096)
def _dot_general_aval(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any = None,
) -> ShapedArray:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    _check_axes("lhs", lhs, lhs_contract, lhs_batch)
    _check_axes("rhs", rhs, rhs_contract, rhs_batch)
    _check_sizes("contracting dimensions", lhs, rhs, lhs_contract, rhs_contract)
    _check_sizes("batch dimensions", lhs, rhs, lhs_batch, rhs_batch)
    lhs_kept = _remaining(lhs.ndim, lhs_contract, lhs_batch)
    rhs_kept = _remaining(rhs.ndim, rhs_contract, rhs_batch)
    shape = tuple(lhs.shape[axis] for axis in (*lhs_batch, *lhs_kept))
    shape += tuple(rhs.shape[axis] for axis in rhs_kept)
    dtype = _result_dtype(lhs.dtype, rhs.dtype, preferred_element_type)
    aval = ShapedArray(shape, dtype, lhs.weak_type and rhs.weak_type)
    return placed(aval, out_sharding)


def _check_axes(side: str, x: ShapedArray, contract: Sequence[int], batch: Sequence[int]) -> None:
    if not all(0 <= axis < x.ndim for axis in (*contract, *batch)):
        raise TypeError(
            f"dot_general requires {side} dimension numbers to be nonnegative and less than the number "
            f"of axes of the {side} value, got {side}_batch of {batch} and {side}_contracting of "
            f"{contract} for {side} of rank {x.ndim}"
        )
    if len({*contract, *batch}) != len(contract) + len(batch):
        raise TypeError(
            f"dot_general requires {side} batch and contracting dimensions to be distinct, got "
            f"{side}_batch {batch} and {side}_contracting {contract}."
        )


def _check_sizes(
    what: str, lhs: ShapedArray, rhs: ShapedArray, lhs_axes: Sequence[int], rhs_axes: Sequence[int]
) -> None:
    lhs_sizes = tuple(lhs.shape[axis] for axis in lhs_axes)
    rhs_sizes = tuple(rhs.shape[axis] for axis in rhs_axes)
    if lhs_sizes != rhs_sizes:
        raise TypeError(
            f"dot_general requires {what} to have the same shape, got {lhs_sizes} and {rhs_sizes}: "
            f"axes {tuple(lhs_axes)} of {lhs.shape} against axes {tuple(rhs_axes)} of {rhs.shape}."
        )


def _sum_dtype(dtype: np.dtype) -> np.dtype:
    """Sums of floats of 16 bits and less are kept in 32 bits, as are sums of the small integers that
    NumPy lacks."""
    if dtypes.is_float(dtype) and dtype.itemsize <= 2:
        return np.dtype("float32")
    return np.dtype("int32") if dtype in dtypes.SMALL_INTEGERS else dtype


@functools.lru_cache
def _result_dtype(lhs: np.dtype, rhs: np.dtype, preferred_element_type: Any) -> np.dtype:
    """The preferred dtype, or the wider one of the two sides. Raises TypeError if neither is."""
    if lhs != rhs and _width(lhs) == _width(rhs):
        raise TypeError(f"lax.dot_general argument type error: {lhs.name}, {rhs.name}")
    dtype = max(lhs, rhs, key=_width)
    if preferred_element_type is None or preferred_element_type == dtype:
        return dtype
    if not dtypes.is_float(dtype) and preferred_element_type.itemsize < dtype.itemsize:
        raise TypeError(
            "`preferred_element_type` must not be narrower than the original type, got "
            f"preferred_element_type of {preferred_element_type.name} for result type of {dtype.name}."
        )
    return preferred_element_type


@functools.cache
def _width(dtype: np.dtype) -> tuple:
    """A sort key: the side with the larger one gives its dtype to the result."""
    is_complex = dtypes.kind(dtype) == "c"
    part = np.zeros((), dtype).real.dtype if is_complex else dtype
    info = dtypes.finfo(part) if dtypes.is_float(part) else None
    digits = (info.maxexp, info.nmant) if info else (-1, -1)
    bits = 1 if part == np.bool_ else 8 * part.itemsize
    return is_complex, *digits, bits, dtypes.kind(part) != "u"


# ---- dot_general: transpose ----


def _transpose_lhs(
    ct: Any, x: Any, y: Any, *, dimension_numbers: Any, swap_ans: bool = False, **params: Any
) -> Any:
    """The cotangent of the left side: `ct` times `y`, contracted over what `y` alone had."""
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    x_kept = _remaining(x.aval.ndim, x_contract, x_batch)
    y_kept = _remaining(len(shape_of(y)), y_contract, y_batch)
    ans_batch = list(range(len(x_batch)))
    behind = len(x_batch) if swap_ans else len(x_batch) + len(x_kept)
    ans_y = list(range(behind, behind + len(y_kept)))
    # `out` has x's batch axes, then those it kept, then those contracted, in y's order.
    axes = [*x_batch, *x_kept, *[x_contract[i] for i in inverse(y_contract)]]
    params.pop("out_sharding", None)
    if (place := place_of_cotangent(x.aval, ct, y)) is not None:
        params["out_sharding"] = place.with_axes(axes)
    out = dot_general_p.bind(
        ct,
        y,
        dimension_numbers=((tuple(ans_y), tuple(y_kept)), (tuple(ans_batch), tuple(y_batch))),
        **params,
    )
    x_ct = primitives.transpose(out, inverse(axes))
    if x_ct.dtype != x.aval.dtype:
        x_ct = convert_type(x_ct, x.aval.dtype, x.aval.weak_type)
    return x_ct


def _transpose_rhs(ct: Any, x: Any, y: Any, *, dimension_numbers: Any, **params: Any) -> Any:
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    swapped = ((y_contract, x_contract), (y_batch, x_batch))
    return _transpose_lhs(ct, y, x, dimension_numbers=swapped, swap_ans=True, **params)


# ---- dot_general: batch ----


def _dot_general_batch(vals: Any, dims: Any, *, dimension_numbers: Any, **params: Any) -> Any:
    """The batch dim becomes a batch axis if both sides are batched, and a kept axis if one side is."""
    (lhs, rhs), (lhs_dim, rhs_dim) = vals, dims
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    lhs_ndim, rhs_ndim = len(shape_of(lhs)), len(shape_of(rhs))
    if lhs_dim is not not_mapped:
        lhs_contract, lhs_batch = _bump(lhs_contract, lhs_dim), _bump(lhs_batch, lhs_dim)
    if rhs_dim is not not_mapped:
        rhs_contract, rhs_batch = _bump(rhs_contract, rhs_dim), _bump(rhs_batch, rhs_dim)
    if lhs_dim is not not_mapped and rhs_dim is not not_mapped:
        lhs_batch, rhs_batch = (lhs_dim, *lhs_batch), (rhs_dim, *rhs_batch)
        out_dim = 0
    elif rhs_dim is not_mapped:
        lhs_kept = _remaining(lhs_ndim, lhs_contract, lhs_batch)
        out_dim = len(lhs_batch) + lhs_kept.index(lhs_dim)
    else:
        rhs_kept = _remaining(rhs_ndim, rhs_contract, rhs_batch)
        out_dim = lhs_ndim - len(lhs_contract) + rhs_kept.index(rhs_dim)
    numbers = ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))
    if "out_sharding" in params:
        params["out_sharding"] = batched_place(params["out_sharding"], vals, dims, out_dim)
    return dot_general_p.bind(lhs, rhs, dimension_numbers=_as_ints(numbers), **params), out_dim


def _bump(axes: Sequence[int], dim: int) -> tuple[int, ...]:
    """The axes, counted with the batch dim."""
    return tuple(axis + (axis >= dim) for axis in axes)


def _printed_dot_general(eqn: Any, context: Any) -> list[tuple[str, Any]]:
    """Hides parameters that are None and the result's split, which its type shows; dimension numbers
    are shown as lists."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = eqn.params["dimension_numbers"]
    lists = ((list(lhs_contract), list(rhs_contract)), (list(lhs_batch), list(rhs_batch)))
    shown = {**eqn.params, "dimension_numbers": lists, "out_sharding": None}
    return [(name, value) for name, value in sorted(shown.items()) if value is not None]


impl_rules[dot_general_p] = _dot_general_impl
abstract_eval_rules[dot_general_p] = _dot_general_aval
defbilinear(dot_general_p, _transpose_lhs, _transpose_rhs)
batch_rules[dot_general_p] = _dot_general_batch
printed_params["dot_general"] = _printed_dot_general


# ---- public functions ----


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: DotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Array:
    """The general product: sums over the contracting axes, side by side over the batch axes.

    `dimension_numbers` is ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)); the result has
    the batch axes, then lhs's others, then rhs's others. Sums are kept in `preferred_element_type`,
    which is also the result's dtype. `out_sharding`, a PartitionSpec, splits the result over
    devices. Raises TypeError where axes, sizes or dtypes do not match."""
    preferred = preferred_element_type
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=_as_ints(dimension_numbers),
        precision=canonicalize_precision(precision),
        preferred_element_type=None if preferred is None else dtypes.canonicalize_dtype(preferred),
        **place_params("dot_general", out_sharding),
    )


def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Array:
    """A product of vectors and matrices (shapes (n) or (m, n) by (n) or (n, k)), or dot_general.

    Raises ValueError for other shapes without dimension_numbers; as jax.lax.dot."""
    if dimension_numbers is None:
        lhs_shape, rhs_shape = shape_of(lhs), shape_of(rhs)
        ranks_fit = len(lhs_shape) in (1, 2) and len(rhs_shape) in (1, 2)
        if not ranks_fit or lhs_shape[-1] != rhs_shape[0]:
            raise ValueError(
                "jax.lax.dot: dimension_numbers must be specified when not performing simple un-batched "
                "matrix-matrix, matrix-vector, or vector-vector products; got "
                f"lhs_shape={lhs_shape} rhs_shape={rhs_shape}"
            )
        dimension_numbers = (((len(lhs_shape) - 1,), (0,)), ((), ()))
    return dot_general(
        lhs, rhs, dimension_numbers, precision, preferred_element_type, out_sharding=out_sharding
    )


def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Array:
    """Matrix products over leading batch axes: shapes (..., m, n) by (..., n, k) give (..., m, k).

    Raises ValueError where ranks differ or are less than 2; as jax.lax.batch_matmul."""
    ndim, rhs_ndim = len(shape_of(lhs)), len(shape_of(rhs))
    if min(ndim, rhs_ndim) < 2:
        raise ValueError(f"Arguments to batch_matmul must be at least 2D, got {ndim}, {rhs_ndim}")
    if ndim != rhs_ndim:
        raise ValueError(f"Arguments to batch_matmul must have same ndim, got {ndim}, {rhs_ndim}")
    batch = tuple(range(ndim - 2))
    return dot_general(lhs, rhs, (((ndim - 1,), (ndim - 2,)), (batch, batch)), precision)
