"""Placing a result by a function's `out_sharding=`.

The argument is an object of the feature that splits arrays. It returns a parameter for the primitive that
makes the result, and the result's type follows from that. In the rules of primitives such a parameter is
called a place; None means unspecified.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval


def place_params(primitive: str, out_sharding: Any, function: str = "") -> dict[str, Any]:
    """The primitive's parameter for a function's `out_sharding`; no parameter if that is None.

    Raises TypeError if it is no sharding, ValueError for a sharding that is not possible here."""
    if out_sharding is None:
        return {}
    function = function or primitive
    return _checked(out_sharding, function).result_params(primitive, function)


def with_place(f: Callable, out_sharding: Any, function: str) -> Callable[..., Any]:
    """`f`, a function of many equations, with its result placed by the `out_sharding` that the function of
    this name was given; or `f`, if that is None."""
    return f if out_sharding is None else _checked(out_sharding, function).within(f, function)


def put_result(x: Any, out_sharding: Any) -> Any:
    """`x` placed by an `out_sharding`; unchanged if its type already has that sharding."""
    return _checked(out_sharding, "reshard").put_result(x)


def _checked(place: Any, function: str) -> Any:
    if not hasattr(place, "result_params"):
        raise TypeError(
            f"`out_sharding` argument of {function} only supports instances of `NamedSharding` or "
            f"`PartitionSpec`. Got {place} of type {type(place)}"
        )
    return place


# ---- in the rules of primitives ----


def placed(aval: ShapedArray, place: Any) -> ShapedArray:
    """The aval of a result at a place."""
    return aval if place is None else place.typed(aval)


def batched_place(place: Any, vals: Sequence[Any], dims: Sequence[Any], out_dim: int) -> Any:
    """The place of a batch of results that are each at `place`; the batch dim is placed like the
    operands'."""
    return None if place is None else place.batched(vals, dims, out_dim)


def place_of_cotangent(aval: ShapedArray, *cts: Any) -> Any:
    """The place of an operand's cotangent, which is the operand's. None if no type has a place."""
    for known in (aval, *map(get_aval, cts)):
        if known.extra is not None:
            return known.extra.place_of_cotangent(aval, cts)
    return None
