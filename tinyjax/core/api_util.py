"""Helpers of the front doors (grad, vmap, jit, ...): arguments and results as flat lists.

`f(params, x=data)` becomes a function of a flat list of arrays.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, cast

from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten

F = TypeVar("F")


UNNAMED = "<unnamed function>"  # as JAX prints a callable object


def fun_name(fun: Callable) -> str:
    """The name of a function in printed jaxprs and messages. A partial has the name of its function."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return _text_attribute(fun, "__name__", UNNAMED)


def wraps(fun: Callable) -> Callable[[F], F]:
    """functools.wraps for any callable: without a name, or with one that is not a string, it gets the
    name of `fun_name`."""

    def decorate(wrapper: F) -> F:
        name, named = fun_name(fun), cast(Any, wrapper)
        attributes = getattr(fun, "__dict__", {})
        named.__dict__.update(attributes if isinstance(attributes, dict | MappingProxyType) else {})
        named.__name__ = name
        named.__qualname__ = _text_attribute(fun, "__qualname__", name)
        named.__module__ = _text_attribute(fun, "__module__", "<unknown module>")
        named.__doc__ = _text_attribute(fun, "__doc__", None)
        named.__wrapped__ = fun
        return wrapper

    return decorate


def _text_attribute(x: Any, name: str, default: Any) -> Any:
    value = getattr(x, name, None)
    return value if isinstance(value, str) else default


def check_callable(fun: Any, transformation: str) -> None:
    """Raises TypeError unless `fun` can be called and is no generator function."""
    if not callable(fun):
        raise TypeError(
            f"Expected a callable value, got {fun!r} as the function to {transformation}"
        )
    code = getattr(fun, "__code__", None)
    if code is not None and code.co_flags & inspect.CO_GENERATOR:
        raise TypeError(
            f"Expected a function to {transformation}, got a generator function: {fun}. "
            "Return the values, in a list, instead of yielding them"
        )


class FlatFun:
    """`fun` as a function of leaves that gives leaves; `out_tree` is known after a call."""

    def __init__(self, fun: Callable, in_tree: Any, debug_info: Any = None):
        self.fun = fun
        self.in_tree = in_tree
        self.out_tree: Any = None
        self.debug_info = debug_info

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = tree_unflatten(self.in_tree, leaves)
        out, self.out_tree = tree_flatten(self.fun(*args, **kwargs))
        return out


class FlatArgsFun(FlatFun):
    """A FlatFun of a function of positional arguments alone: `in_tree` is the tree of their tuple."""

    def __call__(self, *leaves: Any) -> list[Any]:
        out, self.out_tree = tree_flatten(self.fun(*tree_unflatten(self.in_tree, leaves)))
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


def function_of(
    fun: Callable, argnums: Any, args: tuple, kwargs: dict, error: type[Exception]
) -> tuple[tuple, Callable]:
    """The arguments that `argnums` name, and `fun` as a function of them alone.

    Raises `error` for one that the caller did not pass (JAX's grad and jacfwd differ in its class)."""
    numbers = as_argnums(argnums, "argnums")
    if numbers and not -len(args) <= min(numbers) <= max(numbers) < len(args):
        raise error(
            f"differentiating with respect to argnums={argnums} requires at least {max(numbers) + 1} "
            "positional arguments to be passed by the caller, but got only "
            f"{len(args)} positional arguments."
        )

    def partial_fun(*dynamic: Any) -> Any:
        full_args = list(args)
        for i, x in zip(numbers, dynamic):
            full_args[i] = x
        return fun(*full_args, **kwargs)

    return tuple(map(args.__getitem__, numbers)), partial_fun
