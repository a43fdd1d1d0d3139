"""`device.client`: the properties that all devices of a platform share, and their number."""

from __future__ import annotations

import functools

from tinyjax.runtime.devices import Device, devices, local_devices


class Client:
    """The devices of a platform, as `Device.client` gives them."""

    def __init__(self, platform: str):
        self.platform = platform

    def process_index(self) -> int:
        return self.local_devices()[0].process_index

    host_id = process_index

    @property
    def platform_version(self) -> str:
        """The driver's name and version; without a driver, the name of the library that computes, such as
        "NumPy".
        """
        cl_device = self.local_devices()[0].cl_device
        if cl_device is None:
            return self.local_devices()[0].device_kind
        return f"{cl_device.platform.name} {cl_device.driver_version}"

    def devices(self) -> list[Device]:
        return devices(self.platform)

    def device_count(self) -> int:
        return len(devices(self.platform))

    def local_devices(self) -> list[Device]:
        return local_devices(backend=self.platform)

    def local_device_count(self) -> int:
        return len(self.local_devices())


client_of = functools.cache(Client)

Device.client = property(lambda device: client_of(device.platform))  # type: ignore[attr-defined]


def device_count(backend: str | None = None) -> int:
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    return len(local_devices(backend=backend))
