"""Sorting several small arrays by the first: for each element, count the elements that go before it.

That number is its place. A row of n elements takes n * n comparisons, but no branches: so a loop that sorts
in each of its examples can be in vectors.

An argmax is two reductions: the maximum, and the least of the places where it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel.rules import least
from tinyjax.compile.kernel.scalar_ops import KERNEL_DTYPES
from tinyjax.compile.passes.expand import expansions
from tinyjax.core.bind import no_rule_reasons
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn
from tinyjax.lax.sorting import sort_p

FEW = 16  # most elements of a row, all compared with each other


def _expansion(eqn: JaxprEqn, _: Jaxpr) -> Callable[..., list[Any]] | None:
    avals, axis = [v.aval for v in eqn.invars], eqn.params["dimension"]
    if len(avals) == 1 or eqn.params["num_keys"] > 1:
        return None
    if not avals[0].size or avals[0].shape[axis] > FEW:
        return None
    if any(aval.dtype not in KERNEL_DTYPES for aval in avals):
        return None
    return lambda *operands: _sorted(operands, axis)


def _sorted(operands: tuple[Any, ...], axis: int) -> list[Any]:
    """The operands in the order of the first; equal elements stay in order. NaN is last."""
    shape = operands[0].shape
    n = shape[axis]
    pairs = (*shape[:axis], n, n, *shape[axis + 1 :])  # of the elements i and j along the two axes
    first, second = (_axes_without(len(shape), skipped) for skipped in (axis + 1, axis))
    i, j = (lax.broadcasted_iota(np.int32, pairs, axis + which) for which in (0, 1))
    keys = [lax.broadcast_in_dim(operands[0], pairs, axes) for axes in (first, second)]
    is_tie = lax.bitwise_not(lax.bitwise_or(_less(*keys), _less(*keys[::-1])))
    goes_before = lax.bitwise_or(_less(*keys), lax.bitwise_and(is_tie, lax.lt(i, j)))
    place = lax.reduce_sum(lax.convert_element_type(goes_before, np.int32), (axis,))
    is_there = lax.eq(lax.broadcast_in_dim(place, pairs, first), j)
    return [_chosen(is_there, x, first, axis) for x in operands]


def _axes_without(ndim: int, skipped: int) -> tuple[int, ...]:
    """The operand's axes among the axes of pairs: all but one of the two."""
    return tuple(a for a in range(ndim + 1) if a != skipped)


def _less(x: Any, y: Any) -> Any:
    if kind(x.dtype) != "f":
        return lax.lt(x, y)
    is_last = lax.bitwise_and(lax.ne(y, y), lax.eq(x, x))
    return lax.bitwise_or(lax.lt(x, y), is_last)


def _chosen(is_there: Any, x: Any, axes: tuple[int, ...], axis: int) -> Any:
    """The selected element of each column of pairs: the maximum, with `least` at all other elements."""
    nothing = lax.full(is_there.shape, least(x.dtype), x.dtype)
    whole = lax.broadcast_in_dim(x, is_there.shape, axes)
    return lax.reduce_max(lax.select(is_there, whole, nothing), (axis,))


# ---- the first of the greatest ----


def _place_of(
    extreme: Callable[..., Any], eqn: JaxprEqn, _: Jaxpr
) -> Callable[..., list[Any]] | None:
    """The least of the places along an axis that have the extreme, or NaN."""
    (x,), (out,), (axis,) = eqn.invars, eqn.outvars, eqn.params["axes"]
    shape, dtype = x.aval.shape, out.aval.dtype
    if x.aval.dtype not in KERNEL_DTYPES:
        return None
    others = [other for other in range(len(shape)) if other != axis]

    def place(x: Any) -> list[Any]:
        best = lax.broadcast_in_dim(extreme(x, (axis,)), shape, others)
        is_best = lax.eq(x, best)
        if kind(x.dtype) == "f":
            is_best = lax.bitwise_or(is_best, lax.ne(x, x))
        places = lax.broadcasted_iota(dtype, shape, axis)
        none = lax.full(shape, np.iinfo(dtype).max, dtype)
        return [lax.reduce_min(lax.select(is_best, places, none), (axis,))]

    return place


expansions[sort_p] = _expansion
expansions[lax.argmax_p] = functools.partial(_place_of, lax.reduce_max)
expansions[lax.argmin_p] = functools.partial(_place_of, lax.reduce_min)
for _primitive in (lax.argmax_p, lax.argmin_p):
    no_rule_reasons[_primitive, "lowering"] = "lax/lowering/sorting.py makes two reductions of it"
