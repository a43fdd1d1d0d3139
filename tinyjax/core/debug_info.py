"""Which function a jaxpr is traced from, and the names of its arguments: for errors and pictures.

A transformation makes a `DebugInfo` where tracing begins. It costs a tuple: names and places are looked up
when an error needs them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from types import CodeType
from typing import Any, NamedTuple

from tinyjax.core.api_util import UNNAMED, fun_name


def unwrapped(fun: Any) -> Any:
    """The function that partials and wrappers call; the given one if they call each other in a cycle."""
    seen: set[int] = set()
    while isinstance(fun, functools.partial) or callable(getattr(fun, "__wrapped__", None)):
        if id(fun) in seen:
            break
        seen.add(id(fun))
        fun = fun.func if isinstance(fun, functools.partial) else fun.__wrapped__
    return fun


def code_of(fun: Callable) -> CodeType | None:
    """The code object of the function or `__call__` that `fun` calls; None if it is not written in
    Python."""
    inner = unwrapped(fun)
    return getattr(inner, "__code__", getattr(type(inner).__call__, "__code__", None))


def name_of(fun: Callable) -> str:
    """The function's name in messages. A callable object has the name of its class."""
    name = fun_name(fun)
    return type(unwrapped(fun)).__name__ if name == UNNAMED else name


def name_and_place(fun: Callable) -> str:
    """The function's name and place: "f at train.py:3"."""
    code = code_of(fun)
    return name_of(fun) + (f" at {code.co_filename}:{code.co_firstlineno}" if code else "")


class DebugInfo(NamedTuple):
    """The function that a jaxpr is traced from, its static positions, and the trees of its (args, kwargs) and
    of its result, once that is known.

    Used by errors about tracers. `traced_for` is the transformation, such as "jax.jit"; `roles` describes
    the positional arguments, such as the carry; `static_option` is the option that makes arguments static;
    `types` has the type of each leaf at the call."""

    fun: Callable
    static: Collection[int]
    in_tree: Any
    out_tree: Any = None
    traced_for: str = ""
    roles: tuple[str, ...] = ()
    static_option: str = ""
    types: tuple[type, ...] = ()

    @property
    def arg_names(self) -> list[str]:
        """The name of each input, such as params['w'] or x; core/argument_names.py finds them."""
        return [f"number {i}" for i in range(self.in_tree.num_leaves)]

    @property
    def is_helper(self) -> bool:
        """Whether tinyjax made the function, such as the body of a loop around the user's."""
        module, code = getattr(self.fun, "__module__", None) or "", code_of(self.fun)
        return code is None or module.startswith("tinyjax.") and "<locals>" in code.co_qualname

    @property
    def function(self) -> str:
        """The function's name and place: "f at train.py:3"."""
        return "a function of tinyjax" if self.is_helper else name_and_place(self.fun)
