"""The derivatives of a maximum or minimum over windows: values at the chosen elements.

A window's tangent is that of the element that it chooses (a gather), and so that element gets the window's
cotangent (a scatter); the two are each other's transposes.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.lax import shape as shapes
from tinyjax.lax import slicing
from tinyjax.lax.comparison import ge_p
from tinyjax.lax.reductions import max_identity, min_identity
from tinyjax.lax.selection import choose
from tinyjax.lax.sliding_windows import (
    batched_windows,
    check_windows,
    reduce_window_shape_tuple,
    window_elements,
    window_places,
)
from tinyjax.transform.batching import batch_rules, bdim_at_front
from tinyjax.transform.jvp import Zero, jvp_rules, zero_tangent
from tinyjax.transform.transposition import is_undefined_primal, transpose_rules

# source, operand -> of each window of `operand`, the element of `source` at the place chosen
select_and_gather_add_p = Primitive("select_and_gather_add", makes_nan=False)
# source, operand -> each element of `source` at the place that its window of `operand` chooses
select_and_scatter_add_p = Primitive("select_and_scatter_add", makes_nan=True)


def _neutral(select_prim: Primitive, dtype: np.dtype) -> np.ndarray:
    return (max_identity if select_prim is ge_p else min_identity)(dtype)


def _gather_impl(
    source: np.ndarray, operand: np.ndarray, *, select_prim: Primitive, **windows: Any
) -> np.ndarray:
    fill = _neutral(select_prim, operand.dtype)
    places = zip(window_elements(operand, fill, **windows), window_elements(source, 0, **windows))
    shape = reduce_window_shape_tuple(operand.shape, **windows)
    best, carried = np.full(shape, fill), np.zeros(shape, source.dtype)
    for element, along in places:
        keep = impl_rules[select_prim](best, element)
        best, carried = choose(keep, best, element), choose(keep, carried, along)
    return carried


def _gather_aval(
    source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **windows: Any
) -> ShapedArray:
    check_windows("select_and_gather_add", operand.ndim, **windows)
    return ShapedArray(reduce_window_shape_tuple(operand.shape, **windows), source.dtype)


def _gather_transpose(
    ct: Any, source: Any, operand: Any, *, select_prim: Primitive, base_dilation: tuple[int, ...],
    window_dilation: tuple[int, ...], **windows: Any,
) -> list[Any]:  # fmt: skip
    if not is_undefined_primal(source) or is_undefined_primal(operand):
        raise NotImplementedError("select_and_gather_add is linear in its first operand alone")
    if any(spread != 1 for spread in window_dilation):
        raise NotImplementedError(
            "reverse-mode differentiation of a maximum over windows with window_dilation: it is not "
            "defined in JAX either. Use strided slices and jnp.maximum"
        )
    has_holes = any(base != 1 for base in base_dilation)
    if has_holes:
        config = [(0, 0, base - 1) for base in base_dilation]
        operand = slicing.pad(operand, _neutral(select_prim, operand.aval.dtype), config)
    spread_ct = select_and_scatter_add_p.bind(ct, operand, select_prim=select_prim, **windows)
    if has_holes:
        shape = spread_ct.aval.shape
        spread_ct = slicing.slice(spread_ct, (0,) * len(shape), shape, base_dilation)
    return [spread_ct, None]


def _scatter_impl(
    source: np.ndarray,
    operand: np.ndarray,
    *,
    select_prim: Primitive,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
) -> np.ndarray:
    """Two passes over the places of a window: the first finds each window's choice, the second scatters."""
    windows: Any = {"window_dimensions": window_dimensions, "window_strides": window_strides}
    fill = _neutral(select_prim, operand.dtype)
    elements = window_elements(operand, fill, padding=padding, **windows)
    inside = window_elements(np.ones(operand.shape, bool), False, padding=padding, **windows)
    best, chosen = np.full(source.shape, fill), np.full(source.shape, -1, np.int32)
    for number, (element, is_inside) in enumerate(zip(elements, inside)):
        is_better = is_inside & ((chosen < 0) | ~impl_rules[select_prim](best, element))
        best = choose(is_better, element, best)
        chosen = choose(is_better, np.full_like(chosen, number), chosen)
    shape = [low + size + high for size, (low, high) in zip(operand.shape, padding)]
    out = np.zeros(shape, source.dtype)
    for number, place in enumerate(window_places(shape, **windows)):
        out[place] += choose(chosen == number, source, np.zeros_like(source))
    config = [(-low, -high, 0) for low, high in padding]
    return impl_rules[slicing.pad_p](out, source.dtype.type(0), padding_config=config)


def _scatter_aval(
    source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **windows: Any
) -> ShapedArray:
    check_windows("select_and_scatter_add", operand.ndim, **windows)
    expected = reduce_window_shape_tuple(operand.shape, **windows)
    if source.shape != expected:
        raise TypeError(
            f"select_and_scatter_add: the source has shape {source.shape}, the operand has {expected} "
            "windows"
        )
    return ShapedArray(operand.shape, source.dtype)


def _scatter_transpose(
    ct: Any, source: Any, operand: Any, *, padding: tuple[tuple[int, int], ...], **params: Any
) -> list[Any]:
    if not is_undefined_primal(source) or is_undefined_primal(operand):
        raise NotImplementedError("select_and_scatter_add is linear in its first operand alone")
    ones = (1,) * operand.aval.ndim
    gathered = select_and_gather_add_p.bind(
        ct, operand, padding=padding, base_dilation=ones, window_dilation=ones, **params
    )
    return [gathered, None]


def _select_jvp(primitive: Primitive, primals: Any, tangents: Any, **params: Any) -> Any:
    """Linear in the source. The choice of elements has no derivative by the operand."""
    (source, operand), (source_dot, _) = primals, tangents
    out = primitive.bind(source, operand, **params)
    if type(source_dot) is Zero:
        return out, zero_tangent(out)
    return out, primitive.bind(source_dot, operand, **params)


def _select_batch(primitive: Primitive, vals: Any, dims: Any, **params: Any) -> Any:
    size = shapes.batch_size(vals, dims)
    vals = [bdim_at_front(x, d, size) for x, d in zip(vals, dims)]
    return primitive.bind(*vals, **batched_windows(params)), 0


impl_rules[select_and_gather_add_p] = _gather_impl
abstract_eval_rules[select_and_gather_add_p] = _gather_aval
transpose_rules[select_and_gather_add_p] = _gather_transpose
impl_rules[select_and_scatter_add_p] = _scatter_impl
abstract_eval_rules[select_and_scatter_add_p] = _scatter_aval
transpose_rules[select_and_scatter_add_p] = _scatter_transpose
for _primitive in (select_and_gather_add_p, select_and_scatter_add_p):
    jvp_rules[_primitive] = functools.partial(_select_jvp, _primitive)
    batch_rules[_primitive] = functools.partial(_select_batch, _primitive)
