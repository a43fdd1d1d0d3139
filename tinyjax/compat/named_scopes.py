"""Names for parts of a program: `named_scope` and `named_call`.

In JAX they label compiled programs and profiles; neither JAX nor tinyjax prints them in jaxprs. tinyjax names
kernels by their primitives, so the names are checked and otherwise ignored.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tinyjax.core.api_util import check_callable, fun_name, wraps


class named_scope(contextlib.ContextDecorator):  # noqa: N801  (used as a function)
    """`with named_scope("loss"):` or `@named_scope("loss")`. Raises TypeError unless the name is a string."""

    def __init__(self, name: str):
        if not isinstance(name, str):
            raise TypeError(
                f"named_scope name argument must be a string, got {name!r} of type {type(name)}"
            )
        self.name = name

    def __enter__(self) -> named_scope:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


def named_call(fun: Callable, *, name: str | None = None) -> Callable[..., Any]:
    """`fun` in a named_scope of this name; by default, the function's name."""
    check_callable(fun, "name")

    @wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(name if name is not None else fun_name(fun)):
            return fun(*args, **kwargs)

    return named
