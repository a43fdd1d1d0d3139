"""Functions wrapped in transformations of their arguments and results, as jax.extend.linear_util has them.

A transformation is a generator that yields the arguments to call with, is sent the results, and yields what
to give instead. tinyjax itself writes plain functions in place of these.

Source: https://docs.jax.dev/en/latest/autodidax.html and the names of jax.extend.linear_util
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinyjax.core.missing_names import getattr_of


class StoreException(Exception):  # noqa: N818  (JAX's name)
    """An auxiliary result was asked for before the function was called."""


class WrappedFun:
    """A function; `wrap` puts a transformation around it, `call_wrapped` calls it through all of them."""

    def __init__(self, f: Callable, debug_info: Any = None):
        self.f = f
        self.debug_info = debug_info

    def wrap(self, around: Callable) -> WrappedFun:
        """Of around(f, *args), as a function of args."""
        return WrappedFun(functools.partial(around, self.call_wrapped), self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*args, **kwargs)


def wrap_init(f: Callable, params: dict | None = None, *, debug_info: Any = None) -> WrappedFun:
    """A WrappedFun of a function, some of whose keyword arguments are given by `params`."""
    return WrappedFun(functools.partial(f, **params) if params else f, debug_info)


def transformation2(around: Callable, fun: WrappedFun, *params: Any) -> WrappedFun:
    """Makes around(f, *params, *args) a transformation. Can be a decorator of `around` by partial."""
    return fun.wrap(lambda f, *args, **kwargs: around(f, *params, *args, **kwargs))


def transformation(generator: Callable) -> Callable[..., WrappedFun]:
    """Decorator: a generator of (*params, *args) becomes a function of (fun, *params)."""

    def transform(fun: WrappedFun, *params: Any) -> WrappedFun:
        def around(f: Callable, *args: Any, **kwargs: Any) -> Any:
            steps = generator(*params, *args, **kwargs)
            new_args, new_kwargs = next(steps)
            out = steps.send(f(*new_args, **new_kwargs))
            steps.close()
            return out

        return fun.wrap(around)

    return transform


def transformation_with_aux(generator: Callable) -> Callable[..., tuple[WrappedFun, Callable]]:
    """As transformation, of a generator that gives (out, aux) at the end; calling the second result gives
    aux, once the function has been called."""

    def transform(fun: WrappedFun, *params: Any) -> tuple[WrappedFun, Callable]:
        kept: list[Any] = []

        def around(out_and_aux: Callable, *args: Any, **kwargs: Any) -> Any:
            out, aux = out_and_aux(*args, **kwargs)
            kept[:] = [aux]
            return out

        def aux() -> Any:
            if not kept:
                raise StoreException("the function has not been called yet")
            return kept[0]

        return transformation(generator)(fun, *params).wrap(around), aux

    return transform


__getattr__ = getattr_of(__name__)
