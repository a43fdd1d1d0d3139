"""The lowering rules of dot_general: which products are kernels, and which go to NumPy's BLAS.

A product without a sum is elementwise, and fuses with its readers. A product with a vector is a sum of
elementwise products. A small one is a sum in its reader's kernel. A larger one has its own kernel
(product_schedule.py), which also computes what follows, doesn't synchronize, and shares the work with cores
as they become free: BLAS gives each thread its share at the start, and waits for one that another process
slows down. BLAS gets large ones of few rows, as it copies the right operand in less time, and large ones of a
matrix and its transpose, of which it computes a half.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax import lax
from tinyjax.compile.kernel import rules
from tinyjax.compile.kernel.indices import index
from tinyjax.compile.kernel.writer import Number
from tinyjax.compile.passes.expand import late_expansions
from tinyjax.compile.passes.products import Side, multiplications, sides_of
from tinyjax.core import dtypes
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn
from tinyjax.lax.dot_product import dot_general_p

if TYPE_CHECKING:
    from tinyjax.compile.target import Target

# Multiplications. With fewer, a sum for each element takes less time than another launch;
SMALL = 2**11
LARGE = 2**26  # with more, synchronizing and copies of operands cost little
FEW_ROWS = 240  # with fewer, BLAS saves more than that
FEW = 16  # elements of a result that a product kernel has no use for
# On a GPU, work-items share each sum of LONG terms or more, if there are FEW_LONG such sums at most.
LONG, FEW_LONG = 2**9, 2**10
MIN_TERMS = 8  # of a product with a vector: shorter sums are computed where they are read


def _dot_general(eqn: JaxprEqn, target: Target) -> rules.Lowering:
    left, right = sides_of(eqn)
    out, depth = eqn.outvars[0].aval, left.size(left.summed)
    if depth == 1:
        return rules.IndexMap(_only_term)
    total = multiplications(eqn)
    if total <= SMALL or (target.name == "gpu" and target.group == 1):
        return REDUCTION
    if target.name == "cpu" and is_large(eqn):
        if left.size(left.kept) < FEW_ROWS:
            return rules.Blas("large products of few rows go to NumPy's BLAS")
        if eqn.invars[0] is eqn.invars[1] and left.summed == right.summed:
            return rules.Blas("NumPy's BLAS computes half of a symmetric product")
    columns = right.size(right.kept)
    few = FEW_LONG if target.group > 1 and depth >= LONG else FEW
    return PRODUCT if has_product(out.dtype) and columns > 1 and out.size > few else REDUCTION


def is_large(eqn: JaxprEqn) -> bool:
    """Whether a dot_general of floats takes much longer than the copy of an operand."""
    left, _ = sides_of(eqn)
    is_float = dtypes.kind(eqn.outvars[0].aval.dtype) == "f"
    return is_float and multiplications(eqn) > LARGE * max(1, left.size(left.batch))


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

# ---- products with a vector ----

# A matrix product is fast because each element is multiplied many times. Here each is multiplied once: the
# kernel of a sum reads the matrix in the order of memory, and computes what comes before and after, too.


def _vector_product(eqn: JaxprEqn, _: Jaxpr) -> Callable[..., list[Any]] | None:
    """A function that computes a product as a sum; None if it has several rows and columns."""
    sides, out = sides_of(eqn), eqn.outvars[0].aval
    vectors = [side.size(side.kept) == 1 for side in sides]
    terms = sides[0].size(sides[0].summed)
    if not any(vectors) or terms < MIN_TERMS or not out.size or dtypes.kind(out.dtype) not in "iuf":
        return None

    def product(*operands: Any) -> list[Any]:
        dtype = rules.sum_dtype(out.dtype)
        pairs = [(lax.convert_element_type(x, dtype), side) for x, side in zip(operands, sides)]
        (x, matrix), (y, vector) = pairs if vectors[1] else reversed(pairs)
        total = lax.reduce_sum(lax.mul(x, _stretched(y, vector, matrix)), sorted(matrix.summed))
        left = [axis for axis in range(len(matrix.shape)) if axis not in matrix.summed]
        total = lax.transpose(total, [left.index(axis) for axis in (*matrix.batch, *matrix.kept)])
        total = lax.convert_element_type(total, out.dtype)
        return [lax.reshape(total, out.shape) if out.shape else total]

    return product


def _stretched(x: Any, side: Side, to: Side) -> Any:
    """The element of a vector that each element of the other side is multiplied with."""
    place = dict(zip([*side.batch, *side.summed], [*to.batch, *to.summed]))
    axes = sorted(place, key=place.__getitem__)
    x = lax.reshape(lax.transpose(x, [*axes, *side.kept]), side.sizes(axes))
    places = [place[axis] for axis in axes]
    return x if x.shape == to.shape else lax.broadcast_in_dim(x, to.shape, places)


late_expansions[dot_general_p] = _vector_product
