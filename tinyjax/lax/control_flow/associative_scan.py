"""A loop that runs in parallel: `associative_scan`, in as many levels as the length can be halved.

Combine neighbours, scan the result, which is half as long, and fill in the other half.

Source: G. Blelloch, "Prefix sums and their applications" (1990)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.core.primitives import add, shape_of
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.lax import shape as shapes
from tinyjax.lax import slicing
from tinyjax.lax.bitwise import bitwise_or
from tinyjax.lax.joining import concatenate


def associative_scan(fn: Callable, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """The running combination of the elements along `axis` by an associative `fn`.

    `elems` is a pytree of arrays with one size along `axis`; `fn(a, b)` combines two such trees
    element by element. With `reverse`, the scan runs from the end. The result has the shapes of
    `elems`. Raises TypeError if `fn` can't be called, ValueError where sizes differ."""
    if not callable(fn):
        raise TypeError(f"lax.associative_scan: fn argument should be callable, got {fn!r}")
    leaves, tree = tree_flatten(elems)
    axis = shapes.canonicalize_axis(axis, len(shape_of(leaves[0])))
    if len({shape_of(x)[axis] for x in leaves}) > 1:
        raise ValueError(
            f"Array inputs to associative_scan must have the same size along axis {axis}. "
            f"(saw: {[shape_of(x) for x in leaves]})"
        )

    def combine(a: list[Any], b: list[Any]) -> list[Any]:
        return tree_flatten(fn(tree_unflatten(tree, a), tree_unflatten(tree, b)))[0]

    if reverse:
        leaves = [shapes.rev(x, [axis]) for x in leaves]
    outs = _scan(combine, leaves, axis)
    if reverse:
        outs = [shapes.rev(x, [axis]) for x in outs]
    return tree_unflatten(tree, outs)


def _scan(combine: Callable, elems: list[Any], axis: int) -> list[Any]:
    """The scan of pairs gives the results at odd places. An even place combines the result before it with
    its element."""
    size = shape_of(elems[0])[axis]
    if size < 2:
        return elems

    def part(xs: list[Any], start: int, limit: int | None, stride: int = 1) -> list[Any]:
        return [slicing.slice_in_dim(x, start, limit, stride, axis) for x in xs]

    odd = _scan(combine, combine(part(elems, 0, -1, 2), part(elems, 1, None, 2)), axis)
    before = part(odd, 0, -1) if size % 2 == 0 else odd
    later = combine(before, part(elems, 2, None, 2))
    even = [concatenate([*part([x], 0, 1), rest], axis) for x, rest in zip(elems, later)]
    return [_interleave(a, b, axis) for a, b in zip(even, odd)]


def _interleave(even: Any, odd: Any, axis: int) -> Any:
    """Alternates the elements of both: pads each with zeros at the other's places, and adds them."""
    ndim = len(shape_of(even))
    same_size = int(shape_of(even)[axis] == shape_of(odd)[axis])
    zero = np.zeros((), even.dtype)
    even_config, odd_config = [(0, 0, 0)] * ndim, [(0, 0, 0)] * ndim
    even_config[axis] = (0, same_size, 1)
    odd_config[axis] = (1, 1 - same_size, 1)
    join = bitwise_or if even.dtype == np.bool_ else add
    return join(slicing.pad(even, zero, even_config), slicing.pad(odd, zero, odd_config))
