"""Memory that holds an array, and a pool of it: a freed result's memory is reused, already paged in.

The system hands out new memory as pages that do not exist yet: the first write to each page makes the system
create and clear it, which takes longer than computing a simple stream. So memory is kept, and reused when its
array and all NumPy views of it are gone. Only Python can tell when: each array is *lent* its memory, and a
weak reference reports its end.

Source: https://docs.python.org/3/library/weakref.html; NumPy's `ndarray.base`
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# ---- memory ----

LAUNCHED = object()  # the event of memory that an earlier launch writes


class Memory:
    """The elements of one array on a device: `cl` is the OpenCL buffer (None if there are no elements),
    `host` the NumPy array that shares its memory (None on devices with their own). `event` must complete
    before they are read; None if nothing is pending.
    """

    __slots__ = ("queue", "cl", "host", "shape", "dtype", "event", "has_one_owner", "is_read_only")

    def __init__(
        self, queue: Any, cl: Any, host: Any, shape: Any, dtype: np.dtype, event: Any = LAUNCHED
    ):
        self.queue = queue
        self.cl = cl
        self.host = host
        self.shape = shape
        self.dtype = dtype
        self.event = event
        self.has_one_owner = False  # whether a program made it for a single array
        self.is_read_only = False  # for kernels: a NumPy array that the host made

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
        self.queue.wait(self)

    def is_ready(self) -> bool:
        """Whether the elements are computed: reading them would not wait."""
        event = self.queue.last_event if self.event is LAUNCHED else self.event
        return event is None or event.command_execution_status == 0  # COMPLETE


def with_buffer_protocol(array: np.ndarray) -> np.ndarray:
    """The same elements for drivers to read: NumPy exports no buffers of dtypes added by ml_dtypes."""
    if array.dtype.isbuiltin == 2:  # a dtype of ml_dtypes
        return array.view(f"u{array.dtype.itemsize}")
    return array


# ---- the pool ----

# Arrays of fewer bytes are not pooled: malloc reuses memory for them by itself.
MIN_BYTES = 2**15
# Bytes that are kept for later.
MAX_FREE_BYTES = 2**29
ALIGNMENT = 64  # of the widest vectors


def aligned_zeros(count: int, dtype: np.dtype) -> np.ndarray:
    """New memory for `count` elements, all zero, aligned to ALIGNMENT."""
    array = aligned_bytes(count * dtype.itemsize).view(dtype)
    array[:] = 0
    return array


@dataclass(eq=False)
class HostBlock:
    """Memory of the host, and the driver's handle for it."""

    bytes: memoryview
    handle: Any


class _Lease(weakref.ref):
    """A weak reference to the array that a block is lent to."""

    __slots__ = ("block",)
    block: HostBlock


def aligned_bytes(size: int) -> np.ndarray:
    """New memory, not initialised, that begins at a multiple of ALIGNMENT."""
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


class Pool:
    """Lends memory to NumPy arrays. `register` makes the handle of new memory, such as an OpenCL buffer.

    Arrays may end in any thread at any moment, also while the pool is in use. Their end is only noted (in
    `ended`, a deque, which is thread-safe), and their blocks return at the next `array`. Only one thread at a
    time may use the other methods."""

    def __init__(self, register: Callable[[np.ndarray], Any]):
        self.register = register
        self.free: dict[int, list[HostBlock]] = {}  # by size
        self.free_bytes = 0
        self.lent: dict[int, _Lease] = {}  # by the block's id; keeps the weak references alive
        self.ended: deque[_Lease] = deque()

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> tuple[np.ndarray, Any]:
        """An array, not initialised, and the handle of its memory."""
        self.collect()
        count = math.prod(shape)
        size = -(-count * dtype.itemsize // ALIGNMENT) * ALIGNMENT
        block = self._take(size)
        # The base of this array is a memoryview, no array: NumPy makes *this* the base of all views of it,
        # however many views lie between, and so it lives as long as the last of them.
        owner = np.frombuffer(block.bytes, dtype, count)
        lease = _Lease(owner, self.ended.append)
        lease.block = block
        self.lent[id(block)] = lease
        return owner.reshape(shape), block.handle

    def _take(self, size: int) -> HostBlock:
        blocks = self.free.get(size)
        if blocks:
            self.free_bytes -= size
            return blocks.pop()
        host = aligned_bytes(size)
        return HostBlock(host.data, self.register(host))

    def collect(self) -> None:
        """Takes back the blocks lent to arrays that are gone."""
        while self.ended:
            block = self.ended.popleft().block
            del self.lent[id(block)]
            size = len(block.bytes)
            if self.free_bytes + size > MAX_FREE_BYTES:  # sizes of long ago, perhaps
                self.clear()
            if size <= MAX_FREE_BYTES:
                self.free.setdefault(size, []).append(block)
                self.free_bytes += size

    def clear(self) -> None:
        """Returns free memory to the system."""
        self.free.clear()
        self.free_bytes = 0
