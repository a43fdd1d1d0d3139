"""Where arrays are: on the default device, or on the device on which they were put.

An array that was put on a device is *committed*: computations with it run there, and their results stay
there. The first such array, or the first default device that is configured, makes `follow_operands` one of
core.watchers; until then eager evaluation ignores devices. A place is a Device or a Spread over several;
computations on the full array run on the first of these, its `home`.

Source: https://docs.jax.dev/en/latest/faq.html#controlling-data-and-computation-placement-on-devices
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.bind import Primitive, watch
from tinyjax.core.config import config, when_set
from tinyjax.core.missing_names import feature
from tinyjax.runtime.devices import Device, default_device, device_kinds

PLATFORM_NAMES = ("cpu", "gpu", "cuda", "rocm", "tpu", *device_kinds)  # of jax_default_device


class Spread(Protocol):
    """A place over several devices."""

    @property
    def home(self) -> Device: ...

    @property
    def devices_in_order(self) -> tuple[Device, ...]: ...

    @property
    def replicated(self) -> Spread: ...

    def of_results(self, params: dict[str, Any], places: Sequence[Any]) -> list[Any]:
        """The places of the results of a jit equation, given those of its operands."""

    def typed(self, aval: ShapedArray) -> ShapedArray:
        """The type of an array at this place."""

    def label_results(
        self, name: str, params: dict[str, Any], operands: Sequence[Any], results: Sequence[Any]
    ) -> None:
        """Labels the results of a primitive that has some operands at this place."""


DeviceOrSpread = Device | Spread


class PlacementRequest(NamedTuple):
    """A place that an argument, an equation or out_shardings requests; `who` names the requester."""

    who: str
    place: DeviceOrSpread


# A feature's module for places over several devices, once it is imported: until then every place is a
# Device.
places: Any = None


def needed_places() -> Any:
    """`places`, for operations that require it. Raises ImportError if its folder was deleted."""
    return places or feature("many_devices.places")


def compile_device(place: DeviceOrSpread) -> Device:
    """The device whose queue computes with arrays at a place."""
    return place if isinstance(place, Device) else place.home


def devices_of(place: DeviceOrSpread) -> tuple[Device, ...]:
    return (place,) if isinstance(place, Device) else place.devices_in_order


def commit(x: ArrayImpl, place: DeviceOrSpread) -> ArrayImpl:
    """Commits `x`, which has no other references yet, to `place`."""
    x._device, x.committed = place, True
    if not isinstance(place, Device):
        x.aval = place.typed(x.aval)
    elif x.aval.extra is not None:
        x.aval = x.aval.update(extra=None)
    watch(follow_operands)
    return x


def put_at(x: ArrayImpl, place: DeviceOrSpread) -> ArrayImpl:
    """The elements of `x` as another array, at `place`. Both share memory, so no computation may overwrite
    it.
    """
    if x.buffer is not None:
        x.buffer.has_one_owner = False  # type: ignore[attr-defined]
    return commit(ArrayImpl(x._host, x.aval, x.buffer), place)


def put_results(
    place: DeviceOrSpread,
    name: str,
    params: dict[str, Any],
    operands: Sequence[Any],
    results: Sequence[Any],
) -> None:
    """Labels results with the place that computed them; one over several devices labels each part."""
    if not isinstance(place, Device):
        place.label_results(name, params, operands, results)
        return
    for result in results:
        result._device, result.committed = place, True


def follow_operands(
    primitive: Primitive | None,
    params: dict[str, Any],
    operands: Sequence[Any],
    results: Sequence[ArrayImpl],
) -> None:
    """Places results where their operands were put, or at another requested place, or on the default device
    configured now.
    """
    name = primitive.name if primitive else "array"
    requests = () if places is None else places.requests_of_operation(name, params)
    place = committed_place(operands, name, requests)
    if place is not None:
        put_results(place, name, params, operands, results)
    elif config.jax_default_device is not None:
        for result in results:
            result._device = default_device()


def committed_place(
    values: Sequence[Any], name: str, requests: Sequence[PlacementRequest] = ()
) -> DeviceOrSpread | None:
    """The place where the arrays among the values were put, or else the first requested place; None if there
    is neither. Of several places over the same devices, the first.

    `name` is the function's whose arguments the values are. Raises ValueError for other devices."""
    committed = [x for x in values if getattr(x, "committed", False)]
    if not committed and not requests:
        return None
    place = committed[0]._device if committed else requests[0].place
    for other in (*[x._device for x in committed], *[each.place for each in requests]):
        if other is not place and devices_of(other) != devices_of(place):
            raise _incompatible_devices(values, name, requests)
    return place


def _incompatible_devices(
    values: Sequence[Any], name: str, requests: Sequence[PlacementRequest]
) -> ValueError:
    """The error that names the first request, and the first one with other devices."""
    arguments = [
        PlacementRequest(
            f"argument args[{i}] of {name} with shape {x.aval.str_short()} and", x._device
        )
        for i, x in enumerate(values)
        if getattr(x, "committed", False)
    ]
    requesters = [*arguments, *requests]
    first = requesters[0]
    other = next(o for o in requesters if devices_of(o.place) != devices_of(first.place))
    got = " and ".join(
        f"{who} with device ids {[d.id for d in devices_of(place)]} on platform "
        f"{compile_device(place).platform.upper()}"
        for who, place in (first, other)
    )
    return ValueError(
        f"Received incompatible devices for jitted computation. Got {got}. An array that was put on "
        "devices stays there, and a program runs on the same ones: bring them together with "
        "jax.device_put(x, place)"
    )


def _device(self: ArrayImpl) -> DeviceOrSpread:
    """Where the array is, or would be put: a Device, or the place of an array that is on several."""
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
