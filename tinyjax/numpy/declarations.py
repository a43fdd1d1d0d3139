"""Declares functions that promote their operands and apply one operation: sin, add, equal."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinyjax.core.array import Array
from tinyjax.core.declared_functions import public
from tinyjax.numpy.promotion import promote_args


def of_one(
    name: str, operation: Callable, doc: str, promote: Callable = promote_args
) -> Callable[..., Array]:
    """jnp.`name`(x): `operation` of x after `promote`, which raises errors in that name."""

    @_public(name, doc)
    def elementwise(x: Any, /) -> Array:
        return operation(*promote(name, x))

    return elementwise


def of_two(
    name: str, operation: Callable, doc: str, promote: Callable = promote_args
) -> Callable[..., Array]:
    """jnp.`name`(x, y), as of_one."""

    @_public(name, doc)
    def elementwise(x: Any, y: Any, /) -> Array:
        return operation(*promote(name, x, y))

    return elementwise


def same_as(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    """`function` under another name."""

    @_public(name, f"The same as {function.__name__}")
    @functools.wraps(function)
    def renamed(*args: Any, **kwargs: Any) -> Array:
        return function(*args, **kwargs)

    return renamed


def _public(name: str, doc: str) -> Callable[[Callable], Callable]:
    return public("tinyjax.numpy", name, f"{doc}; as numpy.{name}.")
