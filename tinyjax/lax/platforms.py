"""platform_dependent: another function for each kind of device.

The function is chosen where the caller is traced, for the device on which it will run by default. (JAX
traces all of them, and chooses when the program is compiled.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.runtime.devices import default_backend


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """`per_platform[p](*args)` for the platform p, "cpu" or "gpu", of the default device; `default(*args)`
    if `per_platform` has no such entry. Raises NotImplementedError if there is no default, either."""
    platform = default_backend()
    chosen = per_platform.get(platform, default)
    if chosen is None:
        raise NotImplementedError(
            f"platform_dependent has no function for the platform {platform}, only for "
            f"{', '.join(per_platform) or 'none'}: give it {platform}=..., or default=..."
        )
    return chosen(*args)
