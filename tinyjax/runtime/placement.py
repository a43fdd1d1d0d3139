"""Where arrays are: on the default device, or on the one that they were put on.

After this file you can say what "committed" means: an array that was put on a device is computed with
there, and so the results are. The first such array, or the first default device that is configured, makes
`follow_operands` one of core.watchers; until then eager evaluation knows no devices.
Builds on config, bind and devices.

Source: https://docs.jax.dev/en/latest/faq.html#controlling-data-and-computation-placement-on-devices
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.array import ArrayImpl
from tinyjax.core.bind import Primitive, watch
from tinyjax.core.config import config, when_set
from tinyjax.runtime.devices import Device, default_device

PLATFORM_NAMES = ("cpu", "gpu", "cuda", "rocm", "tpu")  # of jax_default_device


def commit(x: ArrayImpl, device: Device) -> ArrayImpl:
    """`x`, which nobody else has yet, put on `device`."""
    x._device, x.committed = device, True
    watch(follow_operands)
    return x


def follow_operands(
    primitive: Primitive | None, operands: Sequence[Any], results: Sequence[ArrayImpl]
) -> None:
    """Results are on the device that their operands were put on, or on a default device if one is
    configured just now."""
    place = committed_device(operands, primitive.name if primitive else "array")
    if place is not None or config.jax_default_device is not None:
        for result in results:
            result._device, result.committed = place or default_device(), place is not None


def committed_device(values: Sequence[Any], name: str) -> Device | None:
    """The device that those values that are arrays were put on; None if that is true of none.

    `name` is the function's whose arguments they are. Raises ValueError for several devices."""
    committed = [x for x in values if getattr(x, "committed", False)]
    if not committed:
        return None
    for x in committed:
        if x._device is not committed[0]._device:
            raise _incompatible_devices(values, name, (committed[0], x))
    return committed[0]._device


def _incompatible_devices(
    values: Sequence[Any], name: str, found: tuple[ArrayImpl, ArrayImpl]
) -> ValueError:
    got = " and ".join(
        f"argument args[{i}] of {name} with shape {x.aval.str_short()} and with device ids "
        f"[{x._device.id}] on platform {x._device.platform.upper()}"
        for i, x in enumerate(values)
        if any(x is y for y in found)
    )
    return ValueError(
        f"Received incompatible devices for jitted computation. Got {got}. An array that was put on a "
        "device stays there: bring them together with jax.device_put(x, device)"
    )


def _device(self: ArrayImpl) -> Device:
    """The device that the array is on, or would be put on."""
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
