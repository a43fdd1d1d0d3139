"""A device at work: its memory, programs and launches.

A `Queue` runs launches in order and asynchronously; `read` waits. Threads may share it: its lock is held
during a launch call, and never while waiting for its end.

Source: the OpenCL 1.2 specification; pyopencl, https://documen.tician.de/pyopencl/
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tinyjax.runtime.build_errors import build_error
from tinyjax.runtime.devices import Device
from tinyjax.runtime.errors import DeviceError, named_error, named_errors
from tinyjax.runtime.memory import LAUNCHED, Memory, with_buffer_protocol
from tinyjax.runtime.programs import shared_context, shared_program

# How long an interruptible wait polls, and then how long it sleeps at most.
BUSY_SECONDS, LONGEST_SLEEP = 2e-4, 0.01


class Queue:
    """Runs kernels on one OpenCL device, in order; memory is the device's own.

    Profiler hooks: `on_launch(kernel, event)`, if set, is called for each launch, and
    `on_step(step_program, step, slots)` runs each step."""

    # Calls that may be pending, and bytes that they may allocate, before the next one waits for half of
    # them: a few keep the device busy.
    MAX_PENDING = 8
    MAX_PENDING_BYTES = 2**30
    # Arrays of one shape and dtype, and bytes altogether, that are kept for reuse.
    MAX_FREE = 2
    MAX_FREE_BYTES = 2**28

    on_launch: Callable[[Any, Any], None] | None = None
    on_step: Callable[[Any, Any, list], None] | None = None

    def __init__(self, device: Device):
        import pyopencl as cl

        self.cl = cl
        self.driver_error = cl.Error
        self.device = device
        self.is_fork = device.process != os.getpid()
        self.check_process()
        self.lock = threading.RLock()
        with named_errors(f"opening {device.device_kind}"):
            self.context = shared_context(*self._cl_devices())
            self.open()
            self.pool = self._new_pool()
        if hasattr(os, "fork"):  # Windows has none
            os.register_at_fork(before=self.finish, after_in_child=self._note_fork)
        # Pending calls, with the objects that must live until they are done (OpenCL keeps no arguments
        # alive), and the bytes that they make.
        self.pending: deque[tuple[Any, Any, int]] = deque()
        self.pending_bytes = 0
        self.last_event: Any = (
            None  # of the last launch or copy; None when all are known to be done
        )
        self.free: dict[Any, list[Memory]] = defaultdict(list)  # scratch memory to use again
        self.free_bytes = 0

    def _cl_devices(self) -> list[Any]:
        """The devices that share memory and programs."""
        return [self.device.cl_device]

    def open(self) -> None:
        """Makes the driver's queue, with profiling if `on_launch` is set."""
        self.queue = self._new_queue(self.device.cl_device)

    def _new_queue(self, cl_device: Any) -> Any:
        takes_times = self.cl.command_queue_properties.PROFILING_ENABLE
        properties: Any = takes_times if self.on_launch is not None else 0
        return self.cl.CommandQueue(self.context, cl_device, properties=properties)

    # ---- memory ----

    def _new_pool(self) -> Any:
        """The allocator. On a GPU, an allocation by the driver takes ten times as long as a launch, so
        pyopencl's pool keeps freed memory. The queue runs in order, so pending reads of freed memory come
        before new writes.
        """
        from pyopencl.tools import ImmediateAllocator, MemoryPool

        return MemoryPool(ImmediateAllocator(self.queue))

    def allocate(self, shape: tuple[int, ...], dtype: np.dtype) -> Memory:
        """Memory for an array, not initialised."""
        count = math.prod(shape)
        if count == 0:
            return self.upload(np.empty(shape, dtype))
        with named_errors(f"allocating {dtype}{list(shape)}"):
            buffer = self._with_room(lambda: self.pool.allocate(count * dtype.itemsize))
        return Memory(self, buffer, None, shape, dtype)

    def upload(self, array: np.ndarray) -> Memory:
        """Memory with the elements of `array`, which must not change afterwards."""
        array = np.ascontiguousarray(array).reshape(array.shape)
        if array.nbytes == 0:
            return Memory(self, None, array, array.shape, array.dtype)
        flags = self.cl.mem_flags.READ_WRITE | self.cl.mem_flags.COPY_HOST_PTR
        with named_errors(f"copying {array.dtype}{list(array.shape)} to the device"):
            host = with_buffer_protocol(array)
            buffer = self._with_room(lambda: self.cl.Buffer(self.context, flags, hostbuf=host))
        return Memory(self, buffer, None, array.shape, array.dtype)

    def _with_room(self, make: Callable[[], Any]) -> Any:
        """The result of `make`, which allocates. If that fails, tries again after all calls are done and the
        pool is empty.
        """
        try:
            with self.lock:
                return make()
        except self.cl.MemoryError:
            self.finish()
        with self.lock:
            self.pool.free_held()
            return make()

    def writable(self, array: np.ndarray) -> Memory:
        """Memory with the elements of `array`, which kernels may change."""
        return self.upload(array)

    def read(self, memory: Memory) -> np.ndarray:
        """The elements, once they are computed."""
        if memory.host is not None:
            return memory.host
        self.check_process()
        host = np.empty(memory.shape, memory.dtype)
        with named_errors("copying a result from the device"):
            to = with_buffer_protocol(host)
            self.cl.enqueue_copy(self.queue, to, memory.cl, is_blocking=True)
        return host

    def scratch(self, shape: tuple[int, ...], dtype: np.dtype) -> Memory:
        """Memory for the time of one call; give it back by `recycle`.

        The queue runs in order, so memory can be given out again before its last reader has run: for a kernel
        to write to. To write to it on the host, `finish` first."""
        with self.lock:
            free = self.free.get((shape, dtype))
            if free:
                memory = free.pop()
                self.free_bytes -= memory.nbytes
                return memory
        return self.allocate(shape, dtype)

    def recycle(self, memory: Memory) -> None:
        """Takes back memory that steps made and no later step reads."""
        like = memory.shape, memory.dtype
        with self.lock:
            if len(self.free[like]) == self.MAX_FREE:
                return
            nbytes = memory.nbytes
            if self.free_bytes + nbytes > self.MAX_FREE_BYTES:
                self.free.clear()
                self.free_bytes = 0
            self.free[like].append(memory)
            self.free_bytes += nbytes

    # ---- rows of the arrays that loops scan ----

    copies_rows = True  # a row is scratch memory, not a part of the array's memory

    def row(self, memory: Memory, number: int) -> Memory:
        """memory[number], to be read."""
        row = self.row_place(memory, number)
        if row.nbytes:
            self._enqueue_copy(row, memory, src_offset=number * row.nbytes, byte_count=row.nbytes)
        return row

    def row_place(self, memory: Memory, number: int) -> Memory:
        """Memory for the new memory[number]; `store_row` then stores it there."""
        return self.scratch(memory.shape[1:], memory.dtype)

    def store_row(self, memory: Memory, number: int, place: Memory, row: Memory) -> None:
        """memory[number] = row; the row is in `place` if it could be made there."""
        if row.nbytes:
            self._enqueue_copy(memory, row, dst_offset=number * row.nbytes, byte_count=row.nbytes)

    def copy(self, memory: Memory) -> Memory:
        """A copy of the elements in separate memory."""
        copy = self.scratch(memory.shape, memory.dtype)
        if memory.nbytes:
            self._enqueue_copy(copy, memory, byte_count=memory.nbytes)
        return copy

    def _enqueue_copy(self, to: Memory, source: Memory, **options: Any) -> None:
        with self.lock:
            self.last_event = self.cl.enqueue_copy(self.queue, to.cl, source.cl, **options)
        self.keep((to, source), 0)

    # ---- programs ----

    def build(
        self, text: str, names: Sequence[str], inline: bool = False, binary: bytes | None = None
    ) -> list[Any]:
        """The kernels `names` of an OpenCL C program, built once: a build is slow without cached machine
        code. They must be launched with the same `inline`.

        Raises KernelBuildError with the first of the driver's errors."""
        if not names:
            return []
        self.check_process()
        device, options = self.build_target(inline)
        try:
            program = shared_program(self.context, text, binary, device, tuple(options))
            return [self.cl.Kernel(program, name) for name in names]
        except self.cl.Error as error:
            raise build_error(device, text, str(error)) from None  # its text is the whole log

    def build_target(self, inline: bool) -> tuple[Any, list[str]]:
        """The OpenCL device that programs are built for, and the options."""
        device = self._cl_devices()[inline]
        # A number below the smallest normal float would take a hundred times as long: it is 0, as in XLA.
        options = ["-cl-denorms-are-zero", "-w"]  # PoCL prints warnings to stderr, bypassing Python
        rounding = self.cl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
        if device.single_fp_config & rounding:
            options.append("-cl-fp32-correctly-rounded-divide-sqrt")
        return device, options

    def launch(
        self,
        kernel: Any,
        items: int,
        local_size: int,
        memories: Iterable[Memory],
        inline: bool = False,
    ) -> None:
        """Starts `items` work-items of `kernel`, in groups of `local_size`, on the buffers of these memories.
        No other thread may launch between setting the first argument and enqueueing.
        """
        with self.lock:  # a kernel's arguments are its state
            for number, memory in enumerate(memories):
                kernel.set_arg(number, memory.cl)
            self._enqueue(kernel, items, local_size, inline)

    def _enqueue(self, kernel: Any, items: int, local_size: int, inline: bool) -> None:
        if inline:
            event = self.run_inline(kernel, (items,), (local_size,))
        else:
            event = self.cl.enqueue_nd_range_kernel(self.queue, kernel, (items,), (local_size,))
            self.last_event = event
        if self.on_launch is not None:
            self.on_launch(kernel, event)

    def run_inline(self, kernel: Any, items: tuple[int], local_size: tuple[int]) -> Any:
        """Runs a kernel in this thread, and returns its completed event, on devices that support it."""
        raise NotImplementedError

    def warm_up(
        self,
        kernel: Any,
        items: int,
        local_size: int,
        buffers: Sequence[tuple[int, int]],
        inline: bool = False,
    ) -> None:
        """Runs a kernel once, beside what the queue runs: PoCL finishes compiling a kernel when it is first
        launched. `buffers`: how many bytes each argument has, and the int8 that fills them."""
        with named_errors("finishing a kernel"):
            queue = self.cl.CommandQueue(self.context, self._cl_devices()[inline])
            memory = [self._filled(queue, *buffer) for buffer in buffers]
            # A separate kernel object: this runs in another thread than the launches, and arguments are
            # state.
            again = self.cl.Kernel(kernel.program, kernel.function_name)
            again.set_args(*memory)
            self.cl.enqueue_nd_range_kernel(queue, again, (items,), (local_size,))
            queue.finish()

    def _filled(self, queue: Any, nbytes: int, byte: int) -> Any:
        if nbytes == 0:
            return None
        buffer = self.cl.Buffer(self.context, self.cl.mem_flags.READ_WRITE, nbytes)
        self.cl.enqueue_fill_buffer(queue, buffer, np.array([byte], np.int8), 0, nbytes)
        return buffer

    # ---- waiting ----

    def keep(self, things: Any, nbytes: int) -> None:
        """Keeps `things`, with `nbytes` of new memory, alive until all launches so far are done; waits for
        earlier calls if too much is pending.
        """
        if self.last_event is None:
            return
        with self.lock:
            if self.last_event is None:
                return
            self.pending.append((self.last_event, things, nbytes))
            self.pending_bytes += nbytes
            self.queue.flush()
            earliest = self._too_early()
            if earliest is not None:
                self._forget_done()
                earliest = self._too_early()
        while earliest is not None:
            self._wait_for(earliest)
            with self.lock:
                earliest = self._too_early()

    def _too_early(self) -> Any:
        """The event to wait for, if too much is pending: the middle call's, not the first one's, so that the
        next calls don't have to wait. Sleeping and waking takes longer than a launch.
        """
        too_many = len(self.pending) > self.MAX_PENDING
        too_large = self.pending_bytes > self.MAX_PENDING_BYTES and len(self.pending) > 1
        return self.pending[(len(self.pending) - 1) // 2][0] if too_many or too_large else None

    def _forget_done(self) -> None:
        """Releases the objects of completed calls. The caller must hold the lock."""
        while self.pending and self.pending[0][0].command_execution_status == 0:  # COMPLETE
            self.pending_bytes -= self.pending.popleft()[2]
        if not self.pending and self.last_event is not None:
            if self.last_event.command_execution_status == 0:
                self.last_event = None

    def _wait_for(self, event: Any) -> None:
        """Waits for a launch, and all before it."""
        if self.is_fork:
            return  # launches from before the fork have completed
        try:
            event.wait()
            with self.lock:
                self._forget_done()
        except self.driver_error as error:
            raise named_error(error, "running kernels") from error

    def wait(self, memory: Memory) -> None:
        """Waits until the elements of `memory` are computed; without a known event, for all launches."""
        if memory.event is LAUNCHED:
            self.finish()
        elif memory.event is not None:
            self._wait_for(memory.event)
            memory.event = None

    def finish(self) -> None:
        """Waits for all launches so far."""
        event = self.last_event
        if event is not None:
            self._wait_for(event)

    def finish_or_interrupt(self) -> None:
        """Like finish, but lets signal handlers run: at first it polls, then it sleeps for a tenth of the
        time so far between polls.
        """
        event, began = self.last_event, time.monotonic()
        if event is None:
            return
        with self.lock:
            self.queue.flush()
        while event.command_execution_status > 0:  # COMPLETE is 0, and errors are less
            elapsed = time.monotonic() - began
            time.sleep(0 if elapsed < BUSY_SECONDS else min(elapsed / 10, LONGEST_SLEEP))
        self._wait_for(event)

    def drain(self) -> None:
        """Waits until the driver is idle. This includes a launch whose event was lost to an exception, such
        as Ctrl-C's.
        """
        if not self.is_fork:
            self.queue.finish()

    def _note_fork(self) -> None:
        self.is_fork = True

    def check_process(self) -> None:
        """Raises DeviceError in a fork of the process that found the device: the driver's threads don't exist
        there, so waiting for them, or for a lock that one of them held, would never end.
        """
        if self.is_fork:
            raise DeviceError(
                f"INTERNAL: {self.device.device_kind} was found by process {self.device.process}, from which "
                "this one was forked: a fork can read results, but run no compiled functions. Start "
                "processes by multiprocessing.get_context('spawn')"
            )
