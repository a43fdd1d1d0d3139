"""Helpers for functions made from a table: their name, their docstring, and arguments by their signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def named(name: str, doc: str | None) -> Callable[[Callable], Callable]:
    """A decorator for generated functions: their name in jaxprs and messages, and their help() text."""

    def name_it(fun: Callable) -> Callable:
        fun.__name__ = fun.__qualname__ = name
        fun.__doc__ = doc
        return fun

    return name_it


def public(module: str, name: str, doc: str) -> Callable[[Callable], Callable]:
    """A decorator: the function is `module.name` for help(), pickle, messages and tracebacks."""

    def publish(fun: Any) -> Callable:
        fun.__module__ = module
        fun.__code__ = fun.__code__.replace(co_name=name, co_qualname=name)
        return named(name, doc)(fun)

    return publish


def all_arguments(
    name: str, signature: inspect.Signature, args: tuple, kwargs: dict
) -> inspect.BoundArguments:
    """The arguments of a call, with defaults for those left out. Raises TypeError, which names the
    function."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{name}() {error}") from None
    bound.apply_defaults()
    return bound
