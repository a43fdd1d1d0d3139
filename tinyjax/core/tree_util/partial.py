"""Functions with bound arguments as containers: a function returned by `jit` or `vjp` can hold arrays."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from tinyjax.core.tree_util.pytrees import register_pytree_node


@dataclasses.dataclass(frozen=True)
class _Callable:
    """Hides that `fun` is a partial: functools.partial would merge its arguments with our own."""

    fun: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fun(*args, **kwargs)


class Partial(functools.partial):
    """functools.partial as a node: the bound arguments are children, the function is aux data."""

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        func = _Callable(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, func, *args, **kwargs)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
