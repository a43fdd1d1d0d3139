"""`jax.experimental.shard_map`, where shard_map was before it was `jax.shard_map`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.core.missing_names import getattr_of
from tinyjax.many_devices.shard_map.api import shard_map as _shard_map


def shard_map(
    f: Callable, mesh: Any, in_specs: Any, out_specs: Any, check_rep: bool = True
) -> Callable[..., Any]:
    """jax.shard_map by its older arguments: check_rep is check_vma."""
    return _shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep)


__getattr__ = getattr_of(__name__)
