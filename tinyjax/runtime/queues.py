"""The queue of each device: with memory shared with the host, with separate memory, and without OpenCL.

A CPU's queue does not copy. There a NumPy array *is* device memory, new results reuse the memory of old ones,
and a kernel can run in the launching thread like a function call.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np

from tinyjax.runtime.devices import Device
from tinyjax.runtime.errors import named_error
from tinyjax.runtime.memory import MIN_BYTES, Memory, Pool, with_buffer_protocol
from tinyjax.runtime.numpy_queue import NumpyQueue
from tinyjax.runtime.queue import Queue


class SharedMemoryQueue(Queue):
    """For a device that works in the host's memory: arrays are wrapped, and nothing is copied.

    An *inline* launch runs on the driver's device without threads: immediately, in the launching thread, once
    all earlier launches are done. Waking the other device's threads and being woken by them takes as long as
    adding 100,000 numbers."""

    # Large results that rotate through more memory than this no longer fit in any cache.
    MAX_PENDING_BYTES = 2**23

    def _new_pool(self) -> Pool:
        flags = self.cl.mem_flags
        self.read_write = flags.READ_WRITE | flags.USE_HOST_PTR
        self.read_only = flags.READ_ONLY | flags.USE_HOST_PTR
        return Pool(lambda host: self.cl.Buffer(self.context, self.read_write, hostbuf=host))

    def open(self) -> None:
        super().open()
        if self.device.inline_device is not None:
            self.inline_queue = self._new_queue(self.device.inline_device)

    def _cl_devices(self) -> list[Any]:
        both = [self.device.cl_device, self.device.inline_device]
        return [d for d in both if d is not None]

    # ---- memory ----

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Memory:
        if math.prod(shape) * dtype.itemsize < MIN_BYTES:
            return self._wrap(np.empty(shape, dtype), self.read_write)
        try:
            with self.lock:
                host, buffer = self.pool.array(shape, dtype)
        except self.driver_error as error:
            raise named_error(error, f"allocating {dtype}{list(shape)}") from error
        return Memory(self, buffer, host, shape, dtype)

    def upload(self, array: np.ndarray) -> Memory:
        if not array.flags.c_contiguous:
            array = np.ascontiguousarray(array)
        memory = self._wrap(array, self.read_only)
        memory.event = None
        memory.is_read_only = True
        return memory

    def recycle(self, memory: Memory) -> None:
        """As Queue.recycle; a host step's result is freed once pending kernels have read it."""
        if memory.is_read_only:
            self.keep((memory.cl, memory.host), 0)
            memory.cl = memory.host = None
        else:
            super().recycle(memory)

    def writable(self, array: np.ndarray) -> Memory:
        return self._wrap(array, self.read_write)

    def _wrap(self, array: np.ndarray, access: int) -> Memory:
        if array.nbytes == 0:
            return Memory(self, None, array, array.shape, array.dtype)
        try:
            buffer = self.cl.Buffer(self.context, access, hostbuf=with_buffer_protocol(array))
        except self.driver_error as error:
            raise named_error(error, f"using {array.dtype}{list(array.shape)} there") from error
        return Memory(self, buffer, array, array.shape, array.dtype)

    def read(self, memory: Memory) -> np.ndarray:
        self.wait(memory)
        return memory.host

    # ---- rows, that loops walk through ----

    copies_rows = False

    def row(self, memory: Memory, number: int) -> Memory:
        return self._wrap(memory.host[number, ...], self.read_only)

    def row_place(self, memory: Memory, number: int) -> Memory:
        return self._wrap(memory.host[number, ...], self.read_write)

    def store_row(self, memory: Memory, number: int, place: Memory, row: Memory) -> None:
        if row is place or not row.nbytes:
            return
        if self._copies_here(row):
            place.host[...] = row.host
        else:
            self._enqueue_copy(place, row, byte_count=row.nbytes)

    def copy(self, memory: Memory) -> Memory:
        if self._copies_here(memory):
            return self._wrap(memory.host.copy(), self.read_write)
        return super().copy(memory)

    def _copies_here(self, memory: Memory) -> bool:
        """Whether a copy is small and would not have to wait: a launch takes ten times as long, and later
        reads and inline launches would wait for it.
        """
        return self.last_event is None and memory.nbytes < MIN_BYTES

    # ---- launches ----

    def run_inline(self, kernel: Any, items: tuple[int], local_size: tuple[int]) -> Any:
        if self.last_event is not None:
            self.finish()
        queue = self.inline_queue
        event = self.cl.enqueue_nd_range_kernel(queue, kernel, items, local_size)
        queue.finish()
        return event

    def drain(self) -> None:
        super().drain()
        if self.device.inline_device is not None and not self.is_fork:
            self.inline_queue.finish()


def shares_host_memory(device: Device) -> bool:
    """Whether kernels can work in NumPy's memory: PoCL's CPU devices use the pointer as it is."""
    name = device.cl_device.platform.name
    return device.platform == "cpu" and name == "Portable Computing Language"


_queues: dict[Device, Any] = {}


def queue_of(device: Device) -> Any:
    """The queue of a device, opened on first use."""
    if device not in _queues:
        with _opening:
            if device not in _queues:
                _queues[device] = _new_queue(device)
    return _queues[device]


_opening = threading.Lock()


def _new_queue(device: Device) -> Any:
    if device.kind is not None:
        return device.kind.new_queue(device)
    if device.cl_device is None:
        return NumpyQueue(device)
    return SharedMemoryQueue(device) if shares_host_memory(device) else Queue(device)


def listen(on_launch: Any, on_step: Any) -> None:
    """Attaches a profiler's hooks to all queues: they get each launch with its times, and run the steps. None
    detaches them. Waits for all launches so far.
    """
    with _opening:
        Queue.on_launch = NumpyQueue.on_launch = on_launch
        Queue.on_step = NumpyQueue.on_step = on_step
        for queue in _queues.values():
            queue.finish()
            if isinstance(queue, Queue):
                with queue.lock:
                    queue.open()
