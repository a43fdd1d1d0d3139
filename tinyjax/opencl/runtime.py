"""The device at work: memory, programs, launches, and driver errors as Python errors.

After this file you can follow a value into a device's memory and back, and say when a call waits. A
`Queue` runs what it is given in order, beside Python; `Memory.read()` waits for it. Two kinds of
queue have the same methods: on a device that shares the host's memory (PoCL on a CPU) a NumPy array
*is* device memory, elsewhere it is copied. Builds on devices and codegen.

Source: the OpenCL 1.2 specification; pyopencl, https://documen.tician.de/pyopencl/
"""

from __future__ import annotations

import functools
import math
import os
import threading
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tinyjax.devices import Device
from tinyjax.dtypes import bfloat16

# ---- errors ----


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


# ---- memory ----


class Memory:
    """The elements of one array on a device: `cl` is the OpenCL buffer (None if there are no
    elements), `host` the NumPy array that shares its memory (None on devices with their own)."""

    __slots__ = ("queue", "cl", "host", "shape", "dtype", "has_one_owner")

    def __init__(self, queue: Any, cl: Any, host: Any, shape: Any, dtype: np.dtype):
        self.queue = queue
        self.cl = cl
        self.host = host
        self.shape = shape
        self.dtype = dtype
        self.has_one_owner = False  # whether a program made it, and gave it to one array alone

    def viewed(self, shape: tuple[int, ...], dtype: np.dtype) -> Memory:
        """The same bytes as another array."""
        if (shape, dtype) == (self.shape, self.dtype):
            return self
        host = None if self.host is None else self.host.reshape(-1).view(dtype).reshape(shape)
        return Memory(self.queue, self.cl, host, shape, dtype)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def read(self) -> np.ndarray:
        """Waits for the device, then gives the elements as a NumPy array."""
        return self.queue.read(self)

    def wait(self) -> None:
        """Waits for the device."""
        self.queue.finish()


def _bytes_of(array: np.ndarray) -> np.ndarray:
    """`array` as something that has the buffer protocol: bfloat16 has not."""
    return array.view(np.uint16) if array.dtype == bfloat16 else array


# ---- queues ----


class Queue:
    """Runs kernels on one OpenCL device, in order; memory is the device's own."""

    # Calls that may be under way, and bytes that they may hold on to, before the next one waits. Few keep
    # the device busy, and work in memory that is still in a cache.
    MAX_PENDING = 8
    MAX_PENDING_BYTES = 2**28
    # Arrays of one shape and dtype, and bytes altogether, that are kept for reuse.
    MAX_FREE = 2
    MAX_FREE_BYTES = 2**28

    def __init__(self, device: Device):
        import pyopencl as cl

        self.cl = cl
        self.driver_error = cl.Error
        self.device = device
        self.lock = threading.RLock()
        with named_errors(f"opening {device.device_kind}"):
            self.context = cl.Context([device.cl_device])
            self.queue = cl.CommandQueue(self.context)
        self.process = os.getpid()
        os.register_at_fork(before=self.finish)
        # Calls under way, with what must live until they are done (OpenCL keeps no arguments alive),
        # and its size.
        self.pending: deque[tuple[Any, Any, int]] = deque()
        self.pending_bytes = 0
        self.last_event: Any = None  # of the last launch or copy
        self.free: dict[Any, list[Memory]] = defaultdict(list)  # scratch memory to use again
        self.free_bytes = 0

    # ---- memory ----

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Memory:
        """Memory for an array, not initialised."""
        count = math.prod(shape)
        if count == 0:
            return self.upload(np.empty(shape, dtype))
        with named_errors(f"allocating {dtype}{list(shape)}"):
            buffer = self.cl.Buffer(
                self.context, self.cl.mem_flags.READ_WRITE, count * dtype.itemsize
            )
        return Memory(self, buffer, None, shape, dtype)

    def upload(self, array: np.ndarray) -> Memory:
        """Memory with the elements of `array`, which must not change afterwards."""
        array = np.ascontiguousarray(array).reshape(array.shape)
        if array.nbytes == 0:
            return Memory(self, None, array, array.shape, array.dtype)
        flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
        with named_errors(f"copying {array.dtype}{list(array.shape)} to the device"):
            buffer = self.cl.Buffer(self.context, flags, hostbuf=_bytes_of(array))
        return Memory(self, buffer, None, array.shape, array.dtype)

    def writable(self, array: np.ndarray) -> Memory:
        """Memory with the elements of `array`, which kernels may change."""
        return self.upload(array)

    def read(self, memory: Memory) -> np.ndarray:
        """The elements, when all that was launched is done."""
        if memory.host is not None:
            return memory.host
        self.check_process()
        host = np.empty(memory.shape, memory.dtype)
        with named_errors("copying a result from the device"):
            self.cl.enqueue_copy(self.queue, _bytes_of(host), memory.cl, is_blocking=True)
        return host

    def scratch(self, shape: tuple[int, ...], dtype: np.dtype) -> Memory:
        """Memory for the time of one call; give it back by `recycle`.

        The queue runs in order, so memory can be given out again before its last reader has run."""
        free = self.free.get((shape, dtype))
        if not free:
            return self.allocate(shape, dtype)
        memory = free.pop()
        self.free_bytes -= memory.nbytes
        return memory

    def recycle(self, memory: Memory) -> None:
        if self.free_bytes + memory.nbytes > self.MAX_FREE_BYTES:
            self.free.clear()
            self.free_bytes = 0
        free = self.free[memory.shape, memory.dtype]
        if len(free) < self.MAX_FREE:
            free.append(memory)
            self.free_bytes += memory.nbytes

    # ---- rows, that loops walk through ----

    copies_rows = True  # a row is scratch memory, not a part of the array's memory

    def row(self, memory: Memory, number: int) -> Memory:
        """memory[number], to be read."""
        row = self.row_place(memory, number)
        if row.nbytes:
            self._enqueue_copy(row, memory, src_offset=number * row.nbytes, byte_count=row.nbytes)
        return row

    def row_place(self, memory: Memory, number: int) -> Memory:
        """Memory to write memory[number] to; `store_row` then puts it there."""
        return self.scratch(memory.shape[1:], memory.dtype)

    def store_row(self, memory: Memory, number: int, place: Memory, row: Memory) -> None:
        """memory[number] = row, which stands in `place` if it could be made there."""
        if row.nbytes:
            self._enqueue_copy(memory, row, dst_offset=number * row.nbytes, byte_count=row.nbytes)

    def copy(self, memory: Memory) -> Memory:
        """The same elements in memory of their own."""
        copy = self.scratch(memory.shape, memory.dtype)
        if memory.nbytes:
            self._enqueue_copy(copy, memory, byte_count=memory.nbytes)
        return copy

    def _enqueue_copy(self, to: Memory, source: Memory, **options: Any) -> None:
        self.last_event = self.cl.enqueue_copy(self.queue, to.cl, source.cl, **options)
        self.keep((to, source), 0)

    # ---- programs ----

    def build(self, text: str, names: Sequence[str]) -> list[Any]:
        """The kernels `names` of an OpenCL C program, made once: making one is slow.

        Raises KernelBuildError with the program and the driver's log."""
        if not names:
            return []
        self.check_process()
        options = ["-w"]  # PoCL prints its remarks to stderr, past Python
        rounding = self.cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
        if self.device.cl_device.single_fp_config & rounding:
            options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        try:
            program = self.cl.Program(self.context, text).build(options)
            return [self.cl.Kernel(program, name) for name in names]
        except self.cl.Error as error:
            lines = "\n".join(f"{n:4} {line}" for n, line in enumerate(text.splitlines(), 1))
            raise KernelBuildError(
                f"INTERNAL: {self.device.device_kind} can't build a kernel.\n{error}\n{lines}"
            ) from error

    def launch(self, kernel: Any, items: int, local_size: int, memories: Sequence[Memory]) -> None:
        """Starts `items` work-items of `kernel`."""
        self.check_process()
        kernel.set_args(*[memory.cl for memory in memories])
        self.last_event = self.cl.enqueue_nd_range_kernel(
            self.queue, kernel, (items,), (local_size,)
        )

    def warm_up(
        self, kernel: Any, items: int, local_size: int, buffers: Sequence[tuple[int, np.dtype]]
    ) -> None:
        """Runs a kernel once, on zeros and beside what the queue runs: PoCL finishes compiling a kernel
        when it is first launched. `buffers`: size and dtype of each argument."""
        zeros = [np.zeros(size, dtype) for size, dtype in buffers]
        flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
        with named_errors("finishing a kernel"):
            memory = [
                self.cl.Buffer(self.context, flags, hostbuf=_bytes_of(x)) if x.size else None
                for x in zeros
            ]
            # Of its own, as this runs in another thread than the launches, and arguments are state.
            again = self.cl.Kernel(kernel.program, kernel.function_name)
            again.set_args(*memory)
            queue = self.cl.CommandQueue(self.context)
            self.cl.enqueue_nd_range_kernel(queue, again, (items,), (local_size,))
            queue.finish()

    # ---- waiting ----

    def keep(self, things: Any, nbytes: int) -> None:
        """Holds on to `things`, of that size, until all that was launched is done; waits for earlier
        calls if there is too much to hold on to."""
        pending, event = self.pending, self.last_event
        if event is None:
            return
        while pending:
            earliest, _, its_bytes = pending[0]
            if earliest.command_execution_status != 0:  # COMPLETE
                too_large = self.pending_bytes + nbytes > self.MAX_PENDING_BYTES
                if len(pending) < self.MAX_PENDING and not too_large:
                    break
                earliest.wait()
            pending.popleft()
            self.pending_bytes -= its_bytes
        pending.append((event, things, nbytes))
        self.pending_bytes += nbytes
        self.queue.flush()

    def finish(self) -> None:
        """Waits until all that was launched is done."""
        if os.getpid() != self.process:
            return  # what was launched before the fork was waited for then
        try:
            with self.lock:
                self.queue.finish()
                self.pending.clear()
                self.pending_bytes = 0
                self.last_event = None
        except self.driver_error as error:
            raise named_error(error, "running kernels") from error

    def check_process(self) -> None:
        """Raises DeviceError in a fork of the process that opened the device: the driver's threads
        are missing there, and waiting for them would never end."""
        if os.getpid() != self.process:
            raise DeviceError(
                f"INTERNAL: {self.device.device_kind} was opened by process {self.process}, from which "
                "this one was forked: a fork can read results, but run no compiled functions. Start "
                "processes by multiprocessing.get_context('spawn')"
            )


class SharedMemoryQueue(Queue):
    """For a device that works in the host's memory: arrays are wrapped, and nothing is copied."""

    def __init__(self, device: Device):
        super().__init__(device)
        flags = self.cl.mem_flags
        self.read_write = flags.READ_WRITE | flags.USE_HOST_PTR
        self.read_only = flags.READ_ONLY | flags.USE_HOST_PTR

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Memory:
        return self._wrap(np.empty(shape, dtype), self.read_write)

    def upload(self, array: np.ndarray) -> Memory:
        array = np.ascontiguousarray(array).reshape(array.shape)
        return self._wrap(array, self.read_only)

    def writable(self, array: np.ndarray) -> Memory:
        return self._wrap(array, self.read_write)

    copies_rows = False

    def row(self, memory: Memory, number: int) -> Memory:
        return self._wrap(memory.host[number, ...], self.read_only)

    def row_place(self, memory: Memory, number: int) -> Memory:
        return self._wrap(memory.host[number, ...], self.read_write)

    def store_row(self, memory: Memory, number: int, place: Memory, row: Memory) -> None:
        if row is not place and row.nbytes:
            self._enqueue_copy(place, row, byte_count=row.nbytes)

    def _wrap(self, array: np.ndarray, access: int) -> Memory:
        if array.nbytes == 0:
            return Memory(self, None, array, array.shape, array.dtype)
        try:
            buffer = self.cl.Buffer(self.context, access, hostbuf=_bytes_of(array))
        except self.driver_error as error:
            raise named_error(error, f"using {array.dtype}{list(array.shape)} there") from error
        return Memory(self, buffer, array, array.shape, array.dtype)

    def read(self, memory: Memory) -> np.ndarray:
        self.finish()
        return memory.host


class NumpyQueue:
    """Stands in where there is no OpenCL: memory is a NumPy array, and there is nothing to wait for."""

    driver_error = ()  # nothing to catch

    def __init__(self, device: Device):
        self.device = device
        self.lock = threading.RLock()

    def upload(self, array: np.ndarray) -> Memory:
        return Memory(self, None, array, array.shape, array.dtype)

    def read(self, memory: Memory) -> np.ndarray:
        return memory.host

    def build(self, text: str, names: Sequence[str]) -> list[Any]:
        return []

    def recycle(self, memory: Memory) -> None:
        pass

    def keep(self, things: Any, nbytes: int) -> None:
        pass

    def finish(self) -> None:
        pass


def shares_host_memory(device: Device) -> bool:
    """Whether kernels can work in NumPy's memory: PoCL's CPU devices use the pointer as it is."""
    name = device.cl_device.platform.name
    return device.platform == "cpu" and name == "Portable Computing Language"


@functools.cache
def queue_of(device: Device) -> Any:
    """The queue of a device, opened when first asked for."""
    if device.cl_device is None:
        return NumpyQueue(device)
    return SharedMemoryQueue(device) if shares_host_memory(device) else Queue(device)
