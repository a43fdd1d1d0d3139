"""`jax.scipy.ndimage`: the values of an array between its elements.

A pixel at (0.5, 1.25) is a weighted sum of the elements around it, whose weights are products of one weight
an axis.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.transform.jit.api import jitted

# ---- what an index outside of the array stands for ----


def _mirror(index: Any, size: int) -> Any:
    """d c b | a b c d | c b a: the end is not repeated."""
    last = size - 1
    if not last:
        return jnp.zeros_like(index)
    return abs((index + last) % (2 * last) - last)


def _reflect(index: Any, size: int) -> Any:
    """b a | a b c d | d c: the mirror image of half steps, in which the edges are elements."""
    return jnp.floor_divide(_mirror(2 * index + 1, 2 * size + 1) - 1, 2)


# mode: (index, size) -> an index inside; in "constant" all of them may stay outside.
INSIDE: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirror,
    "reflect": _reflect,
}

# ---- the elements around a coordinate ----


def _nearest_node(coordinate: Any) -> list[tuple[Any, Any]]:
    index = lax.round(coordinate) if dtypes.kind(coordinate.dtype) == "f" else coordinate
    return [(index.astype("int32"), coordinate.dtype.type(1))]


def _linear_nodes(coordinate: Any) -> list[tuple[Any, Any]]:
    lower = jnp.floor(coordinate)
    upper_weight = coordinate - lower
    lower_weight = 1 - upper_weight
    index = lower.astype("int32")
    return [(index, lower_weight), (index + 1, upper_weight)]


NODES = (_nearest_node, _linear_nodes)  # by order


def map_coordinates(
    input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0
) -> Array:
    """The values of `input` at `coordinates`, one array for each axis of it; as SciPy's.

    All coordinates broadcast to the shape of the result, whose dtype is that of `input` (integers are
    rounded). Order 0 takes the nearest element, order 1 interpolates linearly. `mode` defines the values
    outside: "constant" (cval), "nearest", "wrap", "mirror" or "reflect".
    Raises NotImplementedError for other orders and modes, ValueError for another number of coordinates
    than `input` has axes, or if `cval` is an array: it is a constant of the jaxpr, as in JAX."""
    if isinstance(cval, (Array, list)):
        raise ValueError(f"cval must be a number that is not traced, got {cval}")
    return _map_coordinates(input, coordinates, order, mode, cval)


@jitted(static_argnames=("order", "mode", "cval"))
def _map_coordinates(input: Any, coordinates: Any, order: int, mode: str, cval: Any) -> Array:
    array = jnp.asarray(input)
    coordinates = [jnp.asarray(c) for c in coordinates]
    if len(coordinates) != array.ndim:
        raise ValueError(
            "coordinates must be a sequence of length input.ndim, one array for each axis, but "
            f"{len(coordinates)} != {array.ndim}"
        )
    if not coordinates:
        raise TypeError("map_coordinates needs an input of one axis or more, got a scalar")
    if mode not in INSIDE:
        raise NotImplementedError(
            f"map_coordinates does not support mode {mode!r}; use one of {', '.join(INSIDE)}"
        )
    if order not in (0, 1):
        raise NotImplementedError(
            f"map_coordinates requires order<=1 (0: nearest, 1: linear), got {order}"
        )

    constant = array.dtype.type(cval)
    around = []  # for each axis: (index, whether it is inside, weight) of each node
    for coordinate, size in zip(coordinates, array.shape):
        nodes = []
        for index, weight in NODES[order](coordinate):
            index = INSIDE[mode](index, size)
            nodes.append((index, mode != "constant" or (0 <= index) & (index < size), weight))
        around.append(nodes)

    parts = []
    for corner in itertools.product(*around):
        indices, inside, weights = zip(*corner)
        all_inside = functools.reduce(operator.and_, inside)
        value = array.at[indices].get(mode="promise_in_bounds")
        if mode == "constant":
            value = jnp.where(all_inside, value, constant)
        parts.append(functools.reduce(operator.mul, weights) * value)
    total = functools.reduce(operator.add, parts)
    if dtypes.kind(array.dtype) in "iu":
        total = lax.round(total) if dtypes.kind(total.dtype) == "f" else total
    return total.astype(array.dtype)


__getattr__ = getattr_of(__name__)
