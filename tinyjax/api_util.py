"""What the front doors (grad, vmap, jit, ...) share: arguments in and out as flat lists.

After this file you know how `f(params, x=data)` becomes a function of a flat list of arrays.
Builds on tree_util.pytrees.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.tree_util.pytrees import tree_flatten, tree_unflatten


def fun_name(fun: Callable) -> str:
    """The name of a function in printed jaxprs and messages; that of what a partial wraps."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(fun, "__name__", type(fun).__name__)


def check_callable(fun: Any, transformation: str) -> None:
    """Raises TypeError unless `fun` can be called and is no generator function."""
    if not callable(fun):
        raise TypeError(
            f"Expected a callable value, got {fun!r} as the function to {transformation}"
        )


class FlatFun:
    """`fun` as a function of leaves that gives leaves; `out_tree` is known after a call."""

    def __init__(self, fun: Callable, in_tree: Any):
        self.fun = fun
        self.in_tree = in_tree
        self.out_tree: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        out, self.out_tree = tree_flatten(self.fun(*args, **kwargs))
        return out


def split_aux(out: Any) -> tuple[Any, Any]:
    """The (result, aux) pair that a function under has_aux=True must give."""
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError(
            "expected function with aux output to return a two-element tuple (has_aux=True), but got "
            f"{type(out).__name__}: {out!r}"
        )
    return out[0], out[1]


def as_argnums(argnums: int | Sequence[int], what: str) -> tuple[int, ...]:
    """`argnums` as a tuple. Raises TypeError if it is not an int or a sequence of ints."""
    if isinstance(argnums, int) and not isinstance(argnums, bool):
        return (argnums,)
    if isinstance(argnums, (tuple, list)) and all(isinstance(i, int) for i in argnums):
        return tuple(argnums)
    raise TypeError(f"{what} must be an int or a tuple of ints, got {argnums!r}")


def wrap_argnums(argnums: Sequence[int], num_args: int, what: str) -> tuple[int, ...]:
    """Negative argnums counted from the end. Raises ValueError for one that names no argument."""
    for i in argnums:
        if not -num_args <= i < num_args:
            raise ValueError(
                f"{what} {tuple(argnums)} names argument {i}, but the function was called with "
                f"{num_args} positional arguments"
            )
    return tuple(i % num_args for i in argnums)
