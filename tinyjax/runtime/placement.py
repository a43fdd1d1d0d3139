"""Where arrays are: on the default device, or on the one that they were put on.

After this file you can say what "committed" means: an array that was put on a device is computed with
there, and so the results are. The first such array, or the first default device that is configured, makes
`follow_operands` one of core.watchers; until then eager evaluation knows no devices.
A place is a Device, or a sharding over several (tinyjax/sharding); the whole array is computed with at the
first of those, its `home`.
Builds on config, bind and devices.

Source: https://docs.jax.dev/en/latest/faq.html#controlling-data-and-computation-placement-on-devices
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tinyjax.core.array import ArrayImpl
from tinyjax.core.bind import Primitive, watch
from tinyjax.core.config import config, when_set
from tinyjax.runtime.devices import Device, default_device

PLATFORM_NAMES = ("cpu", "gpu", "cuda", "rocm", "tpu")  # of jax_default_device


class Spread(Protocol):
    """What this file knows of a sharding."""

    home: Device
    devices_in_order: tuple[Device, ...]
    replicated: Spread


Place = Device | Spread


def home_of(place: Place) -> Device:
    """The device whose queue computes with what is at a place."""
    return place if isinstance(place, Device) else place.home


def devices_of(place: Place) -> tuple[Device, ...]:
    return (place,) if isinstance(place, Device) else place.devices_in_order


def place_of_results(place: Place) -> Place:
    """Where that is which is computed of something at a place: there, or, if nothing is known of how it is
    spread, all of it on each of the place's devices."""
    return place if isinstance(place, Device) else place.replicated


def commit(x: ArrayImpl, place: Place) -> ArrayImpl:
    """`x`, which nobody else has yet, put at `place`."""
    x._device, x.committed = place, True
    watch(follow_operands)
    return x


def follow_operands(
    primitive: Primitive | None, operands: Sequence[Any], results: Sequence[ArrayImpl]
) -> None:
    """Results are on the device that their operands were put on, or on a default device if one is
    configured just now."""
    place = committed_place(operands, primitive.name if primitive else "array")
    if place is not None or config.jax_default_device is not None:
        at = place_of_results(place) if place else default_device()
        for result in results:
            result._device, result.committed = at, place is not None


def committed_place(values: Sequence[Any], name: str) -> Place | None:
    """Where those values that are arrays were put; None if that is true of none. Of several shardings
    over the same devices, the first.

    `name` is the function's whose arguments they are. Raises ValueError for other devices."""
    committed = [x for x in values if getattr(x, "committed", False)]
    if not committed:
        return None
    place = committed[0]._device
    for x in committed:
        if x._device is not place and devices_of(x._device) != devices_of(place):
            raise _incompatible_devices(values, name, (committed[0], x))
    return place


def _incompatible_devices(
    values: Sequence[Any], name: str, found: tuple[ArrayImpl, ArrayImpl]
) -> ValueError:
    got = " and ".join(
        f"argument args[{i}] of {name} with shape {x.aval.str_short()} and with device ids "
        f"{[d.id for d in devices_of(x._device)]} on platform {home_of(x._device).platform.upper()}"
        for i, x in enumerate(values)
        if any(x is y for y in found)
    )
    return ValueError(
        f"Received incompatible devices for jitted computation. Got {got}. An array that was put on a "
        "device stays there: bring them together with jax.device_put(x, device)"
    )


def _device(self: ArrayImpl) -> Place:
    """Where the array is, or would be put: a Device, or the sharding of an array that is on several."""
    return self._device or default_device()


ArrayImpl.device = property(_device)  # type: ignore[attr-defined]


def _check_default_device(value: Any) -> None:
    if not (value is None or value in PLATFORM_NAMES or hasattr(value, "platform")):
        raise ValueError(
            "jax.default_device must be passed either a Device object (e.g. `jax.devices('cpu')[0]`) or "
            f"a platform name string like 'cpu' or 'gpu', got: {value!r}"
        )
    watch(follow_operands)


when_set("jax_default_device", _check_default_device)
