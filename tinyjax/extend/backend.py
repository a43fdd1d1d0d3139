"""Backends, as jax.extend.backend gives them: what the devices of a platform have in common."""

from __future__ import annotations

from tinyjax.core.missing_names import getattr_of
from tinyjax.runtime.client import Client, client_of
from tinyjax.runtime.client import device_count as device_count
from tinyjax.runtime.devices import Device, default_backend, default_device, devices, platforms
from tinyjax.runtime.devices import local_devices as local_devices
from tinyjax.transform.jit.api import clear_caches as clear_backends  # noqa: F401


def get_backend(platform: str | None = None) -> Client:
    """The backend of a platform: `get_backend().platform` is "cpu" or "gpu".

    Raises RuntimeError if there is no such platform."""
    return client_of(devices(platform)[0].platform if platform else default_backend())


def backends() -> dict[str, Client]:
    """All backends, the default one first."""
    return {name: client_of(name) for name in platforms()}


def get_default_device() -> Device:
    """Where computations run unless told otherwise."""
    return default_device()


__getattr__ = getattr_of(__name__)
