"""What a device or its driver refuses, as errors of Python.

After this file you know the errors that a compiled call can raise beside those of its functions: all are
RuntimeErrors, and say what was being done. Builds on nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class DeviceError(RuntimeError):
    """A device or its driver refused what it was asked for."""


class KernelBuildError(DeviceError):
    """The driver's compiler rejected generated code: a fault of the compiler, please report it."""


class OutOfDeviceMemory(DeviceError):
    """More memory was asked for than the device has, or allows for one array."""


def named_error(error: Exception, doing: str) -> DeviceError:
    """pyopencl's error as one of the above, with what was being done."""
    import pyopencl as cl

    if isinstance(error, cl.MemoryError):
        return OutOfDeviceMemory(f"RESOURCE_EXHAUSTED: out of memory while {doing}: {error}")
    return DeviceError(f"INTERNAL: OpenCL failed while {doing}: {error}")


@contextmanager
def named_errors(doing: str) -> Iterator[None]:
    """Errors of pyopencl within the block become DeviceErrors."""
    import pyopencl as cl

    try:
        yield
    except cl.Error as error:
        raise named_error(error, doing) from error
