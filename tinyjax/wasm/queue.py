"""The queue of a device "wasm": memory is NumPy arrays, and a launch is a call.

Beside its work, a jitted function costs a call of JavaScript for each kernel, and for each new array its
address. There are no threads, so a kernel has finished when its launch returns, and nothing waits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.runtime.devices import Device
from tinyjax.runtime.errors import OutOfDeviceMemory
from tinyjax.runtime.memory import Memory
from tinyjax.runtime.numpy_queue import NumpyQueue
from tinyjax.wasm.engines import Run, engine


@dataclass
class Launched:
    """When a launch began and ended, as an OpenCL event says it: in nanoseconds, as its `profile`."""

    start: int
    end: int

    @property
    def profile(self) -> Launched:
        return self

    @property
    def queued(self) -> int:
        return self.start

    submit = queued


class WebAssemblyQueue(NumpyQueue):
    """Runs kernels at once, in this thread."""

    def __init__(self, device: Device):
        super().__init__(device)
        self.engine = engine()

    # ---- memory ----

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Memory:
        try:
            return self.writable(np.empty(shape, dtype))
        except MemoryError as error:
            size = math.prod(shape) * dtype.itemsize
            raise OutOfDeviceMemory(
                f"RESOURCE_EXHAUSTED: no memory for {dtype}{list(shape)}, which takes {size:,} bytes"
            ) from error

    scratch = allocate

    def upload(self, array: np.ndarray) -> Memory:
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array)
        return self.writable(array)

    def writable(self, array: np.ndarray) -> Memory:
        place = self.engine.place(array) if array.size else None
        return Memory(self, place, array, array.shape, array.dtype, None)

    def copy(self, memory: Memory) -> Memory:
        return self.writable(memory.host.copy())

    # ---- rows, that loops walk through ----

    copies_rows = False

    def row(self, memory: Memory, number: int) -> Memory:
        return self.writable(memory.host[number, ...])

    row_place = row

    def store_row(self, memory: Memory, number: int, place: Memory, row: Memory) -> None:
        if row is not place:
            place.host[...] = row.host

    # ---- kernels ----

    def load(self, kernels: Sequence[Kernel]) -> list[Run]:
        """The kernels as functions of a module, in their order."""
        return self.engine.load(kernels)

    def launch(
        self,
        kernel: Run,
        items: int,
        local_size: int,
        memories: Iterable[Memory],
        inline: bool = False,
    ) -> None:
        """Runs a kernel on the buffers of these memories. How many work-items it has is known to it."""
        places = [memory.cl for memory in memories]
        if self.on_launch is None:
            return kernel(places)
        start = time.perf_counter_ns()
        kernel(places)
        self.on_launch(kernel, Launched(start, time.perf_counter_ns()))

    def warm_up(self, *launch: Any) -> None:
        """Nothing to do: an engine finishes a kernel when it loads it."""
