"""Products of a matrix and a vector, as sums of elementwise products.

A matrix product is fast because each element is multiplied many times. Here each is multiplied once: the
kernel of a sum reads the matrix in the order of memory, and computes what comes before and after, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.compile.passes.expand import expanded
from tinyjax.compile.passes.patterns import primitive_named
from tinyjax.compile.passes.products import Side, sides_of
from tinyjax.core import primitives
from tinyjax.core.dtypes import kind
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn

MIN_TERMS = 17  # shorter sums are computed where they are read


def vector_products(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same jaxpr without products of real numbers in which an operand has no rows or columns."""
    return expanded(closed, {primitive_named("dot_general"): _as_sum})


def _as_sum(eqn: JaxprEqn) -> Callable[..., list[Any]] | None:
    """A function that computes a product as a sum; None if it has several rows and columns."""
    sides, out = sides_of(eqn), eqn.outvars[0].aval
    vectors = [side.size(side.kept) == 1 for side in sides]
    terms = sides[0].size(sides[0].summed)
    if not any(vectors) or terms < MIN_TERMS or not out.size or kind(out.dtype) not in "iuf":
        return None

    def product(*operands: Any) -> list[Any]:
        is_half = kind(out.dtype) == "f" and out.dtype.itemsize < 4
        dtype = np.dtype("float32") if is_half else out.dtype
        pairs = [(_converted(x, dtype), side) for x, side in zip(operands, sides)]
        (x, matrix), (y, vector) = pairs if vectors[1] else reversed(pairs)
        terms = primitives.mul_p.bind(x, _stretched(y, vector, matrix))
        total = primitives.reduce_sum_p.bind(terms, axes=tuple(sorted(matrix.summed)))
        left = [axis for axis in range(len(matrix.shape)) if axis not in matrix.summed]
        total = _transposed(total, [left.index(axis) for axis in (*matrix.batch, *matrix.kept)])
        return [_reshaped(_converted(total, out.dtype), out.shape)]

    return product


def _stretched(x: Any, side: Side, to: Side) -> Any:
    """The element of a vector that each element of the other side is multiplied with."""
    place = dict(zip([*side.batch, *side.summed], [*to.batch, *to.summed]))
    axes = sorted(place, key=place.__getitem__)
    x = _reshaped(_transposed(x, [*axes, *side.kept]), side.sizes(axes))
    if x.shape == to.shape:
        return x
    places = tuple(place[axis] for axis in axes)
    return primitives.broadcast_in_dim_p.bind(x, shape=to.shape, broadcast_dimensions=places)


def _reshaped(x: Any, shape: Sequence[int]) -> Any:
    return x if x.shape == shape else primitives.reshape_p.bind(x, new_sizes=shape)


def _transposed(x: Any, order: Sequence[int]) -> Any:
    is_same = list(order) == sorted(order)
    return x if is_same else primitives.transpose_p.bind(x, permutation=tuple(order))


def _converted(x: Any, dtype: np.dtype) -> Any:
    if x.dtype == dtype:
        return x
    return primitive_named("convert_element_type").bind(x, new_dtype=dtype, weak_type=False)
