"""`jax.scipy.interpolate`: values between those on a grid whose lines may be unevenly spaced.

Find the cell of the grid that a point is in, and how far it is along each side; the result is the weighted
sum over the cell's corners.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core import dtypes
from tinyjax.core.array import Array
from tinyjax.core.missing_names import getattr_of
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.util import check_arraylike

METHODS = ("linear", "nearest")


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"method {method!r} is not defined; use one of {', '.join(METHODS)}")


class RegularGridInterpolator:
    """`interpolator(xi)` is the function whose `values` on a grid are given; as SciPy's class.

    `points` are the grid's lines, one ascending array of floats for each axis; the first axes of
    `values` are of their sizes. `method` is "linear" or "nearest". Outside of the grid is
    `fill_value`; if that is None, the outermost cells are extended.
    Raises ValueError for another method, too many axes and a `fill_value` that does not fit values'
    dtype, TypeError for lists, NotImplementedError for `bounds_error`, which traced values cannot obey."""

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: Any = np.nan,
    ) -> None:
        _check_method(method)
        if bounds_error:
            raise NotImplementedError(
                "bounds_error takes no effect where values are traced: leave it False, and look for "
                "fill_value in the result"
            )
        check_arraylike("RegularGridInterpolator", *points)
        check_arraylike("RegularGridInterpolator", values)
        if len(points) > np.ndim(values):
            raise ValueError(
                f"there are {len(points)} point arrays, but values has {np.ndim(values)} dimensions"
            )
        (values,) = promote_dtypes_inexact(jnp.asarray(values))
        if fill_value is not None:
            check_arraylike("RegularGridInterpolator", fill_value)
            fill_value = jnp.asarray(fill_value)
            if dtypes.kind(fill_value.dtype) == "c" and dtypes.kind(values.dtype) != "c":
                raise ValueError(
                    "fill_value must be either None or of a dtype compatible with values; it is "
                    f"{fill_value.dtype}, and values are {values.dtype}"
                )
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        self.grid, self.values = tuple([jnp.asarray(p) for p in points]), values

    def __call__(self, xi: Any, method: str | None = None) -> Array:
        """The values at the points `xi`, an array (..., number of axes) or a tuple of an array for each
        axis. Raises ValueError if they have another number of axes, TypeError for lists."""
        method = self.method if method is None else method
        _check_method(method)
        axes = len(self.grid)
        xi = _as_points(xi, axes)
        if xi.shape[-1] != axes:
            raise ValueError(
                f"the requested sample points xi have dimension {xi.shape[-1]}, but this "
                f"RegularGridInterpolator has dimension {axes}"
            )
        columns = list(xi.reshape(-1, axes).T)
        cells = [_cell(line, x) for line, x in zip(self.grid, columns)]
        found = self._linear(cells) if method == "linear" else self._nearest(cells)
        if self.fill_value is not None:
            outside = [(x < line[0]) | (x > line[-1]) for line, x in zip(self.grid, columns)]
            anywhere = functools.reduce(operator.or_, outside)
            found = jnp.where(_like(anywhere, found), self.fill_value, found)
        return found.reshape(xi.shape[:-1] + self.values.shape[axes:])

    def _linear(self, cells: list[tuple[Any, Any]]) -> Any:
        """The sum over a cell's corners: each weighs as much as the part of the cell opposite to it."""
        sides = [((index, 1 - along), (index + 1, along)) for index, along in cells]
        total = jnp.asarray(0.0)
        for corner in itertools.product(*sides):
            indices, weights = zip(*corner)
            values = self.values[indices]
            total = total + values * _like(functools.reduce(operator.mul, weights), values)
        return total

    def _nearest(self, cells: list[tuple[Any, Any]]) -> Any:
        return self.values[tuple([jnp.where(s <= 0.5, i, i + 1) for i, s in cells])]


def _as_points(xi: Any, axes: int) -> Any:
    """xi as one array (..., axes)."""
    if isinstance(xi, tuple) and len(xi) > 1:
        return jnp.stack(jnp.broadcast_arrays(*xi), axis=-1)
    xi = xi[0] if isinstance(xi, tuple) else xi
    check_arraylike("RegularGridInterpolator", xi)
    xi = jnp.asarray(xi)
    return xi.reshape(-1, axes) if xi.ndim == 1 else xi


def _cell(line: Any, x: Any) -> tuple[Any, Any]:
    """The index of the interval of `line` that x is in, or is nearest to, and how far along it x is."""
    index = jnp.clip(jnp.searchsorted(line, x) - 1, 0, line.size - 2)
    return index, (x - line[index]) / (line[index + 1] - line[index])


def _like(per_point: Any, values: Any) -> Any:
    """With axes of size 1 for those axes of `values` that are no axes of the grid."""
    return per_point.reshape(per_point.shape + (1,) * (values.ndim - 1))


__getattr__ = getattr_of(__name__)
