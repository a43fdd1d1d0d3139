"""Split types in the rules of broadcast_in_dim, reshape and reduce_sum.

The cotangent of an array gets the array's own type: transposes pass it in the parameter that otherwise is the
user's `out_sharding`. The rules of core and of the transformations handle types without splits; these come
before them.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinyjax.core import primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.lax.placing import batched_place, place_of_cotangent, placed
from tinyjax.many_devices.placing import PLACES
from tinyjax.transform.batching import batch_rules, moveaxis
from tinyjax.transform.transposition import transpose_rules

# ---- the rules of three primitives ----


def _without_place(primitive: Primitive, rules: dict[Primitive, Callable]) -> Callable[..., Any]:
    """The existing rule, which ignores places."""
    rule, parameter = rules[primitive], PLACES[primitive.name]

    def without_place(*args: Any, **params: Any) -> Any:
        params.pop(parameter, None)
        return rule(*args, **params)

    return without_place


def _placed_aval(primitive: Primitive) -> Callable[..., ShapedArray]:
    rule, parameter = abstract_eval_rules[primitive], PLACES[primitive.name]

    def aval(*avals: ShapedArray, **params: Any) -> ShapedArray:
        if parameter not in params:
            return rule(*avals, **params)
        sharding = params.pop(parameter)
        return placed(rule(*avals, **params), sharding)

    return aval


def _with_place(
    primitive: Primitive, batch: Callable[..., Any], transpose: Callable[..., Any]
) -> None:
    """Register the rules; `batch` and `transpose` take the place as first argument, and are used if there is
    one."""
    parameter = PLACES[primitive.name]
    plain_batch, plain_transpose = batch_rules[primitive], transpose_rules[primitive]

    @functools.wraps(plain_batch)
    def batched(vals: Any, dims: Any, **params: Any) -> Any:
        sharding = params.pop(parameter, None)
        rule = plain_batch if sharding is None else batch
        place = () if sharding is None else (sharding,)
        return rule(*place, vals, dims, **params)

    @functools.wraps(plain_transpose)
    def transposed(ct: Any, x: Any, **params: Any) -> Any:
        params.pop(parameter, None)
        place = place_of_cotangent(x.aval, ct)
        return (
            plain_transpose(ct, x, **params) if place is None else transpose(place, ct, x, **params)
        )

    abstract_eval_rules[primitive] = _placed_aval(primitive)
    impl_rules[primitive] = _without_place(primitive, impl_rules)
    batch_rules[primitive], transpose_rules[primitive] = batched, transposed


def _batch_in_front(bind: Callable[..., Any]) -> Callable[..., Any]:
    """A batch rule with the batch dim in front, before and after."""

    def batched(sharding: Any, vals: Any, dims: Any, **params: Any) -> Any:
        place = batched_place(sharding, vals, dims, 0)
        return bind(moveaxis(vals[0], dims[0], 0), sharding=place, **params), 0

    return batched


def _broadcast(x: Any, *, shape: Any, broadcast_dimensions: Any, sharding: Any) -> Any:
    dimensions = (0, *[d + 1 for d in broadcast_dimensions])
    shape = (primitives.shape_of(x)[0], *shape)
    return primitives.broadcast_in_dim(x, shape, dimensions, sharding=sharding)


def _reshape(x: Any, *, new_sizes: Any, sharding: Any) -> Any:
    return primitives.reshape(x, (primitives.shape_of(x)[0], *new_sizes), sharding=sharding)


def _sum_batch(sharding: Any, vals: Any, dims: Any, *, axes: Any) -> Any:
    (x,), (dim,) = vals, dims
    out_dim = dim - sum(axis + (axis >= dim) < dim for axis in axes)
    place = batched_place(sharding, vals, dims, out_dim)
    axes = [axis + (axis >= dim) for axis in axes]
    return primitives.reduce_sum(x, axes, out_sharding=place), out_dim


def _broadcast_transpose(
    place: Any, ct: Any, x: Any, *, shape: Any, broadcast_dimensions: Any
) -> list[Any]:
    """The sum over the copies: along axes that x lacked, or had with size 1."""
    unit_dims = [i for i, size in enumerate(x.aval.shape) if size == 1]
    kept = [d for i, d in enumerate(broadcast_dimensions) if i not in unit_dims]
    for axis in reversed(unit_dims):
        place = place.without_axis(axis)
    axes = [axis for axis in range(len(shape)) if axis not in kept]
    return [primitives.expand_dims(primitives.reduce_sum(ct, axes, out_sharding=place), unit_dims)]


def _sum_transpose(place: Any, ct: Any, x: Any, *, axes: Any) -> list[Any]:
    kept = [i for i in range(x.aval.ndim) if i not in axes]
    return [primitives.broadcast_in_dim(ct, x.aval.shape, kept, sharding=place)]


_with_place(primitives.broadcast_in_dim_p, _batch_in_front(_broadcast), _broadcast_transpose)
_with_place(
    primitives.reshape_p,
    _batch_in_front(_reshape),
    lambda place, ct, x, **_: [primitives.reshape(ct, x.aval.shape, sharding=place)],
)
_with_place(primitives.reduce_sum_p, _sum_batch, _sum_transpose)
