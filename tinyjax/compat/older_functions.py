"""Functions removed from JAX, written with current ones: updates by index, arrays put on several devices.

Each is a line or two of its replacement. older_spellings returns them with a warning.

Source: https://docs.jax.dev/en/latest/changelog.html
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial as partial
from typing import Any

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.config_blocks import enable_x64
from tinyjax.core.declared_functions import named
from tinyjax.core.tree_util.pytrees import tree_map
from tinyjax.lax.transfer import device_put
from tinyjax.many_devices.distributed.processes import process_count, process_index, process_indices
from tinyjax.many_devices.sharding.mesh import Mesh
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec
from tinyjax.runtime.devices import Device

# ---- updates by index ----

index = jnp.s_  # index[2:4, 0] is the index that x[2:4, 0] has


def _index_function(name: str, method: str, doc: str) -> Callable[..., Any]:
    """`promises`: indices_are_sorted and unique_indices."""

    @named(name, doc)
    def update(x: Any, idx: Any, y: Any, *promises: bool, **options: Any) -> Any:
        options |= dict(zip(("indices_are_sorted", "unique_indices"), promises))
        return getattr(jnp.asarray(x).at[idx], method)(y, **options)

    return update


index_update = _index_function("index_update", "set", "x with x[idx] = y.")
index_add = _index_function("index_add", "add", "x with x[idx] += y.")
index_mul = _index_function("index_mul", "multiply", "x with x[idx] *= y.")
index_min = _index_function("index_min", "min", "x with x[idx] = minimum(x[idx], y).")
index_max = _index_function("index_max", "max", "x with x[idx] = maximum(x[idx], y).")


# ---- several devices ----


def device_put_sharded(shards: Sequence[Any], devices: Sequence[Device]) -> Any:
    """A tree of arrays of the shards along a new axis 0, shard i on device i; as pmap's results.

    Raises ValueError if there are not as many shards as devices."""
    if len(shards) != len(devices):
        raise ValueError(f"device_put_sharded got {len(shards)} shards for {len(devices)} devices")
    return tree_map(lambda *xs: _spread(jnp.stack(xs), devices), *shards)


def _spread(x: Any, devices: Sequence[Device]) -> Any:
    mesh = Mesh(np.array(devices, object), ("devices",))
    return device_put(x, NamedSharding(mesh, PartitionSpec("devices")))


def device_put_replicated(x: Any, devices: Sequence[Device]) -> Any:
    """A tree of arrays with a new axis 0, along which each of the devices has the same."""
    return device_put_sharded([x] * len(devices), devices)


# ---- names that JAX still has ----


def host_count(backend: str | None = None) -> int:
    """process_count, with a UserWarning."""
    return _renamed(process_count, "host_count")


def host_id(backend: str | None = None) -> int:
    """process_index, with a UserWarning."""
    return _renamed(process_index, "host_id")


def host_ids(backend: str | None = None) -> list[int]:
    """process_indices, with a UserWarning."""
    return _renamed(process_indices, "host_ids")


def _renamed(function: Callable, name: str) -> Any:
    warnings.warn(f"jax.{name} has been renamed to jax.{function.__name__}", stacklevel=3)
    return function()


# ---- others ----


def curry(f: Callable) -> Callable:
    """f(x, *args) as curry(f)(x)(*args)."""
    return lambda *args, **kwargs: partial(f, *args, **kwargs)


def tie_in(x: Any, y: Any) -> Any:
    """Returns y. It once delayed y until after x, when operations on constants ran immediately."""
    return y


def disable_x64() -> AbstractContextManager[None]:
    """Within the block, 64-bit types are narrowed to 32 bits."""
    return enable_x64(False)
