"""The device "wasm": its detection, its kernels' target and its queue.

It is the kind "wasm" of `device_kinds` in runtime/devices.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tinyjax.compile.target import CPU
from tinyjax.core.config import config
from tinyjax.runtime.devices import IN_BROWSER, Device


def find_devices() -> list[Device]:
    """One in a browser, unless it is too old for vectors, or JAX_PLATFORMS names others; elsewhere if that
    names "wasm", and wasmtime is installed."""
    asked_for = config.jax_platforms or ("wasm" if IN_BROWSER else "")
    if "wasm" not in asked_for.split(","):
        return []
    from tinyjax.wasm.engines import is_here

    return [Device("wasm", 0, "WebAssembly")] if is_here() else []


def target() -> Any:
    """What kernels are like. In a browser there is one thread, and vectors of 128 bits. Its kernels are a
    CPU's nevertheless: four such vectors at a time hide the time that each takes (exp of 2**20 elements took
    1.2 ms; with one vector at a time 2.0, with two 1.7), and work-items that follow each other cost
    nothing."""
    return replace(CPU, name="wasm")


def new_queue(device: Device) -> Any:
    from tinyjax.wasm.queue import WebAssemblyQueue

    return WebAssemblyQueue(device)
