"""The queue of a device without kernels: memory is a NumPy array, and there is nothing to wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax.runtime.devices import Device
from tinyjax.runtime.memory import Memory

if TYPE_CHECKING:
    from tinyjax.compile.kernel.kernel_ir import Kernel


class NumpyQueue:
    """Stands in where there is no OpenCL."""

    driver_error: Any = ()  # nothing to catch
    is_fork = False
    last_event = None
    on_launch: Callable[[Any, Any], None] | None = None
    on_step: Callable[[Any, Any, list], None] | None = None

    def __init__(self, device: Device):
        self.device = device
        self.lock = threading.RLock()

    def upload(self, array: np.ndarray) -> Memory:
        return Memory(self, None, array, array.shape, array.dtype, None)

    def copy(self, memory: Memory) -> Memory:
        return memory  # no step writes to memory that is there

    def read(self, memory: Memory) -> np.ndarray:
        return memory.host

    def load(self, kernels: Sequence[Kernel]) -> list[Any]:
        """The kernels as something to launch: NumPy has none."""
        return []

    def recycle(self, memory: Memory) -> None:
        pass

    def keep(self, things: Any, nbytes: int) -> None:
        pass

    def wait(self, memory: Memory) -> None:
        pass

    def finish(self) -> None:
        pass

    def finish_or_interrupt(self) -> None:
        pass

    def drain(self) -> None:
        pass


def is_listened() -> bool:
    """Whether a profiler is attached."""
    return NumpyQueue.on_step is not None
