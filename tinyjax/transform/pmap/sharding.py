"""PmapSharding: slice by slice along axis 0, on a device each. Builds on sharding."""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.runtime.devices import Device
from tinyjax.sharding.sharding import Index, Sharding


class PmapSharding(Sharding):
    """Slice by slice along axis 0, on a device each: where pmap leaves its results.

    JAX 0.10 says the same by a NamedSharding over a mesh of one axis."""

    is_fully_replicated = False

    def __init__(self, devices: tuple[Device, ...]):
        self._devices = devices

    @property
    def devices_in_order(self) -> tuple[Device, ...]:
        return self._devices

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of one device's part, which keeps the axis."""
        return (1, *global_shape[1:])

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Device, Index]:
        rest = (slice(None),) * (len(global_shape) - 1)
        return {device: (slice(i, i + 1), *rest) for i, device in enumerate(self.devices_in_order)}

    def _places(self, ndim: int) -> tuple:
        return self.devices_in_order, "slices"

    def __eq__(self, other: object) -> bool:
        return type(other) is PmapSharding and self.devices_in_order == other.devices_in_order

    def __hash__(self) -> int:
        return hash((PmapSharding, self.devices_in_order))

    def __repr__(self) -> str:
        return f"PmapSharding(devices={list(self.devices_in_order)})"
