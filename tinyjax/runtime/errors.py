"""The errors that a compiled call can raise besides those of its functions: all are RuntimeErrors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class DeviceError(RuntimeError):
    """A device or its driver refused a request."""


class KernelBuildError(DeviceError):
    """The driver's compiler failed on generated code. If the code is wrong, that is a bug of tinyjax."""


class OutOfDeviceMemory(DeviceError):
    """More memory was asked for than the device has, or allows for one array."""


def named_error(error: Exception, doing: str) -> DeviceError:
    """pyopencl's error as one of the above, with the operation that failed."""
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
