"""eval_shape: the types of a function's results, found by tracing it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.core.api_util import check_callable
from tinyjax.core.array import Array
from tinyjax.core.structs import ShapeDtypeStruct
from tinyjax.core.tracing import result_structs, traced
from tinyjax.core.tree_util.pytrees import tree_map


def eval_shape(fun: Callable, *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of `fun(*args, **kwargs)`, found by tracing: nothing is computed.

    Arguments may be arrays or anything with `shape` and `dtype`; returns a tree of ShapeDtypeStruct."""

    def as_struct(x: Any) -> Any:
        if isinstance(x, Array) or hasattr(x, "_aval_of_struct") or not hasattr(x, "dtype"):
            return x
        return ShapeDtypeStruct(x.shape, x.dtype)

    args, kwargs = tree_map(as_struct, (args, kwargs))
    check_callable(fun, "eval_shape")
    return result_structs(traced("eval_shape", fun, (), args, kwargs))
