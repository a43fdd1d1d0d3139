"""A pytree of arrays as one vector, and back: `ravel_pytree`, for optimisers that take a vector.

Must be imported explicitly, as in JAX.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax import lax
from tinyjax.core import dtypes, type_promotion
from tinyjax.core.avals import get_aval
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_flatten, tree_unflatten


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All elements of the leaves as one vector, and the function that makes the tree of such a vector.

    The vector has the dtype that the leaves promote to, float32 for a tree without leaves. If the leaves
    differ in dtype, the function takes only the vector's dtype and gives each leaf its own; otherwise it
    takes any dtype, which all leaves then have. It raises TypeError for another dtype or no array,
    ValueError for another length."""
    leaves, tree = tree_flatten(pytree)
    avals = [get_aval(x) for x in leaves]
    shapes = tuple([aval.shape for aval in avals])
    leaf_dtypes = tuple([aval.dtype for aval in avals])
    if not leaves:
        return lax.full((0,), 0, np.float32), Unravel(tree, (), (), None)
    common = type_promotion.result_type(*leaf_dtypes)
    if all(dtype == common for dtype in leaf_dtypes):
        parts = [lax.reshape(x, (math.prod(shape),)) for x, shape in zip(leaves, shapes)]
        return lax.concatenate(parts, 0), Unravel(tree, shapes, leaf_dtypes, None)
    parts = [
        lax.reshape(lax.convert_element_type(x, common), (math.prod(shape),))
        for x, shape in zip(leaves, shapes)
    ]
    return lax.concatenate(parts, 0), Unravel(tree, shapes, leaf_dtypes, common)


@dataclass(frozen=True)
class Unravel:
    """The function from the vector to the tree. Two with equal trees, shapes and dtypes compare equal, so
    it can be a static argument of jit."""

    tree: PyTreeDef
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype, ...]
    common: np.dtype | None  # the vector's dtype; None: any, which is that of all leaves

    def __call__(self, flat: Any) -> Any:
        if not self.shapes:
            return tree_unflatten(self.tree, [])
        dtype = get_aval(flat).dtype
        if self.common is not None and dtype != self.common:
            raise TypeError(
                f"unravel function given array of dtype {dtype}, but expected dtype {self.common}, that "
                "of the vector that ravel_pytree gave"
            )
        parts = lax.split(flat, [math.prod(shape) for shape in self.shapes])
        leaves = [lax.reshape(part, shape) for part, shape in zip(parts, self.shapes)]
        if self.common is not None:
            leaves = [_converted(x, own) for x, own in zip(leaves, self.dtypes)]
        return tree_unflatten(self.tree, leaves)


def _converted(x: Any, dtype: np.dtype) -> Any:
    """The part in the leaf's dtype; for a real leaf in a complex vector, the real part."""
    if dtypes.kind(get_aval(x).dtype) == "c" and dtypes.kind(dtype) != "c":
        x = lax.real(x)
    return lax.convert_element_type(x, dtype)
