"""An argument `out_sharding` for functions of many equations; see lax/placing.py."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tinyjax.core.array import Array
from tinyjax.lax.placing import with_place


def takes_out_sharding(function: Callable[..., Any]) -> Callable[..., Any]:
    """The public function, with an argument `out_sharding` (a PartitionSpec or a NamedSharding), which
    splits the result over devices. None means unspecified."""

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
