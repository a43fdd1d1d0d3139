"""Where a result is put: what the `out_sharding=` of a function means.

The argument says it itself, as it is an object of the feature that spreads arrays over devices: it gives
the primitive that makes the result a parameter, and the result's type follows that. In the rules of
primitives such a parameter is called a place; None says nothing.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval


def place_params(primitive: str, out_sharding: Any, function: str = "") -> dict[str, Any]:
    """The parameter of a primitive for the `out_sharding` that a function got; none where that is None.

    Raises TypeError for what is none, ValueError for one that can't be had here."""
    if out_sharding is None:
        return {}
    function = function or primitive
    return _checked(out_sharding, function).result_params(primitive, function)


def with_place(f: Callable, out_sharding: Any, function: str) -> Callable[..., Any]:
    """`f`, a function of many equations, with its result placed by the `out_sharding` that the function of
    this name was given; or `f`, if that is None."""
    return f if out_sharding is None else _checked(out_sharding, function).within(f, function)


def put_result(x: Any, out_sharding: Any) -> Any:
    """`x`, placed by an `out_sharding`; unchanged if its type has that sharding already."""
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
    """The place of a batch of results, of which each is at `place`: the batch dim is as the operands'."""
    return None if place is None else place.batched(vals, dims, out_dim)


def place_of_cotangent(aval: ShapedArray, *cts: Any) -> Any:
    """The place of an operand's cotangent: that of the operand. None if no type has a place."""
    for known in (aval, *map(get_aval, cts)):
        if known.extra is not None:
            return known.extra.place_of_cotangent(aval, cts)
    return None
