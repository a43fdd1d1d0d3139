"""out_sharding of functions of many equations: they run in auto mode, and their result is put where it says.

Builds on lax/axis_types, which is imported when the first out_sharding is given.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tinyjax.core.array import Array


def with_place(f: Callable, out_sharding: Any, function: str) -> Callable[..., Any]:
    """`f` in auto mode, with its result put where the `out_sharding` says that the function of this name got;
    or `f`, if that is None. For functions of many equations."""
    if out_sharding is None:
        return f
    from tinyjax.many_devices.axis_types import within_auto_axes

    return within_auto_axes(f, out_sharding, function)


def takes_out_sharding(function: Callable[..., Any]) -> Callable[..., Any]:
    """The public function, with an argument `out_sharding` (a PartitionSpec or a NamedSharding): how the
    result is split over the explicit axes of a mesh. None says nothing."""

    @functools.wraps(function)
    def placed(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        if out_sharding is None:
            return function(*args, **kwargs)
        given = inspect.signature(function).bind(*args, **kwargs)
        arrays = {name: x for name, x in given.arguments.items() if isinstance(x, Array)}

        def on_arrays(*values: Any) -> Any:
            given.arguments.update(zip(arrays, values))
            return function(*given.args, **given.kwargs)

        return with_place(on_arrays, out_sharding, function.__name__)(*arrays.values())

    parameters = inspect.signature(function).parameters.values()
    last = inspect.Parameter("out_sharding", inspect.Parameter.KEYWORD_ONLY, default=None)
    placed.__signature__ = inspect.Signature([*parameters, last])  # type: ignore[attr-defined]
    return placed


def resharded(x: Any, out_sharding: Any) -> Any:
    """`x` where an out_sharding says."""
    from tinyjax.many_devices.constraints import reshard

    return reshard(x, out_sharding)
