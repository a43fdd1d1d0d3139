"""out_sharding of functions of many equations: they run in auto mode, and their result is put where it says.

Builds on lax/axis_types, which is imported when the first out_sharding is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def with_place(f: Callable, out_sharding: Any, function: str) -> Callable[..., Any]:
    """`f` in auto mode, with its result put where the `out_sharding` says that the function of this name got;
    or `f`, if that is None. For functions of many equations."""
    if out_sharding is None:
        return f
    from tinyjax.lax.axis_types import within_auto_axes

    return within_auto_axes(f, out_sharding, function)


def resharded(x: Any, out_sharding: Any) -> Any:
    """`x` where an out_sharding says."""
    from tinyjax.lax.constraints import reshard

    return reshard(x, out_sharding)
