"""Contexts and programs, which all logical devices of a driver's device share.

A kernel is built once for all of them.

Source: the OpenCL 1.2 specification; pyopencl, https://documen.tician.de/pyopencl/
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import Any

from tinyjax.runtime.pocl.declarations import SKIP_HEADER, is_pocl_3, with_bodies, with_declarations


@functools.cache
def shared_context(*cl_devices: Any) -> Any:
    """The context of the driver's devices, which all their logical devices share."""
    import pyopencl as cl

    warnings.filterwarnings("ignore", category=cl.CompilerWarning)  # warnings about the build
    return cl.Context(list(cl_devices))


@functools.lru_cache(maxsize=64)
def shared_program(
    context: Any, text: str, binary: bytes | None, cl_device: Any, options: tuple[str, ...]
) -> Any:
    """A built program, shared by all logical devices of a context. The last few are kept."""
    import pyopencl as cl

    def build(options: Sequence[str], *source: Any) -> Any:
        return cl.Program(context, *source).build(list(options), devices=[cl_device])

    if binary is not None:
        return build(options, [cl_device], [binary])
    if not is_pocl_3(cl_device):
        return build(options, text)
    text = with_bodies(text)
    if (declared := with_declarations(text)) is not None:
        return build([*options, SKIP_HEADER], declared)
    return build(options, text)
