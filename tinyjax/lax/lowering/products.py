"""The lowering rule of dot_general: which products are kernels, and which go to NumPy's BLAS.

A product without a sum is elementwise, and fuses with its readers. A small one is a sum in its reader's
kernel. A medium one has its own kernel (product_schedule.py), which also computes what follows, and
doesn't synchronize. A large one uses BLAS, whose kernels are written for each processor: that saves more
than the synchronization costs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax.compile.kernel import rules
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.writer import Number
from tinyjax.compile.passes.products import multiplications, sides_of
from tinyjax.core import dtypes
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.lax.dot_product import dot_general_p

if TYPE_CHECKING:
    from tinyjax.compile.target import Target

# Multiplications. With fewer, a sum for each element takes less time than another launch;
SMALL = 2**11
LARGE = 2**26  # with more, synchronizing costs little compared to what BLAS saves
FEW = 16  # elements of a result that a product kernel has no use for
# On a GPU, work-items share each sum of LONG terms or more, if there are FEW_LONG such sums at most.
LONG, FEW_LONG = 2**9, 2**10


def _dot_general(eqn: JaxprEqn, target: Target) -> rules.Lowering:
    left, right = sides_of(eqn)
    out, depth = eqn.outvars[0].aval, left.size(left.summed)
    if depth == 1:
        return rules.IndexMap(_only_term)
    total = multiplications(eqn)
    if total <= SMALL or (target.name == "gpu" and target.group == 1):
        return REDUCTION
    is_large = dtypes.kind(out.dtype) == "f" and total > LARGE * max(1, left.size(left.batch))
    if target.name == "cpu" and is_large:
        return rules.Blas("large products go to NumPy's BLAS")
    columns = right.size(right.kept)
    few = FEW_LONG if target.group > 1 and depth >= LONG else FEW
    return PRODUCT if has_product(out.dtype) and columns > 1 and out.size > few else REDUCTION


def has_product(dtype: np.dtype) -> bool:
    """Whether product kernels compute results of that dtype."""
    return dtype != np.bool_


def _summed_sizes(eqn: JaxprEqn) -> tuple[int, ...]:
    left, _ = sides_of(eqn)
    return left.sizes(left.summed)


def product_of(factors: Callable[..., Sequence[Number]]) -> Callable[..., Number]:
    """The term of a sum whose factors the given function returns."""

    def term(ctx: Any, place: rules.Position, *operands: Any, **params: Any) -> Number:
        dtype = rules.sum_dtype(ctx.avals_out[0].dtype)
        found = factors(ctx, place, *operands, **params)
        return operator.mul(*(x.astype(dtype) for x in found))

    return term


def _only_term(ctx: Any, *operands: Any, **params: Any) -> Number:
    (summed, _), _ = params["dimension_numbers"]
    place = rules.Position((1,) * len(summed), [index(0)] * len(summed))
    return _term(ctx, place, *operands, **params).astype(ctx.avals_out[0].dtype)


def _factors(
    ctx: Any, place: rules.Position, lhs: Any, rhs: Any, *, dimension_numbers: Any, **_: Any
) -> list[Number]:
    """The result's axes are the batch axes, then lhs's remaining axes, then rhs's."""
    summed, batch = dimension_numbers
    batch_coords = ctx.position.coords[: len(batch[0])]
    kept = iter(ctx.position.coords[len(batch[0]) :])
    dtype = rules.sum_dtype(ctx.avals_out[0].dtype)
    factors = []
    for operand, summed_axes, batch_axes in zip((lhs, rhs), summed, batch):
        given = dict(zip(summed_axes, place.coords)) | dict(zip(batch_axes, batch_coords))
        axes = range(operand.aval.ndim)
        element = operand.at([given[axis] if axis in given else next(kept) for axis in axes])
        factors.append(element.astype(dtype))
    return factors


_term = product_of(_factors)
REDUCTION = rules.Reduction("add", rules.zero_of, _summed_sizes, _term)
PRODUCT = rules.Product("add", rules.zero_of, _summed_sizes, _term, factors=_factors)
rules.lowering_rules[dot_general_p] = _dot_general
