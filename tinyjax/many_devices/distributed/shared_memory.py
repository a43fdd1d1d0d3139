"""Sums and stacks of the arrays of processes on one machine, in shared memory.

Each process copies its arrays into shared memory and sums a part of all arrays; then it copies the others'
parts. (Two processes each sum everything.) All processes wait for each other twice, however many there are;
with messages they would wait for each one's turn, which is long if there are more processes than cores. MPI
provides the memory, and the way to wait.

Source: the MPI standard, 4.1, 12.2.3 (windows of shared memory)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax.many_devices.distributed.waiting import wait_for

LARGE = 2**16  # bytes: fewer are as fast in a message
PIECE = 2**22  # bytes per process in the memory at a time


def shared_memory(mpi: Any, comm: Any) -> SharedMemory | None:
    """The shared memory of `comm`'s processes, which all must call this together; None if they are on several
    machines, or if there is little shared memory, as in some containers."""
    on_machine = comm.Split_type(mpi.COMM_TYPE_SHARED)
    is_one_machine = on_machine.size == comm.size
    on_machine.Free()
    try:
        system = os.statvfs("/dev/shm")
        free = system.f_bavail * system.f_frsize
    except (AttributeError, OSError):  # not Linux: the amount is unknown
        free = 2**26
    # The least amount that a process found: later ones may see less.
    fair = comm.allreduce(free // (4 * comm.size) if is_one_machine else 0, mpi.MIN)
    return SharedMemory(mpi, comm, min(PIECE, fair // 64 * 64)) if fair >= LARGE else None


class SharedMemory:
    """Two places of `piece` bytes for each process, used in turn: a process that writes to one knows that all
    have since used the other one, and so have read this one."""

    def __init__(self, mpi: Any, comm: Any, piece: int):
        self.comm, self.rank, self.piece = comm, comm.rank, piece
        self.window = mpi.Win.Allocate_shared(2 * piece, 1, comm=comm)
        self.window.Lock_all()
        of_all = [self.window.Shared_query(rank)[0] for rank in range(comm.size)]
        self.turns = [
            [np.frombuffer(memory, np.uint8, piece, start) for memory in of_all]
            for start in (0, piece)
        ]

    def sum(self, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        """Write the sums of arrays of one dtype to `outs`; an array and its sum may share memory."""
        given = [array.reshape(-1) for array in arrays]
        to = [out.reshape(-1) for out in outs]
        dtype, count = given[0].dtype, self.comm.size
        most = self.piece // dtype.itemsize
        for parts in _turns([array.size for array in given], most):
            places = self._next_places(dtype)
            own, size = places[self.rank], parts[-1].place.stop
            for part in parts:
                own[part.place] = given[part.array][part.elements]
            self._wait()
            if count == 2:  # halving the work and waiting again would take longer
                for part in parts:
                    first_one, other = [place[part.place] for place in places]
                    np.add(first_one, other, out=to[part.array][part.elements])
                continue
            ends = [size * rank // count for rank in range(count + 1)]
            share = slice(ends[self.rank], ends[self.rank + 1])
            for place in places:
                if place is not own:
                    own[share] += place[share]
            self._wait()
            for part in parts:
                for rank, place in enumerate(places):
                    first = max(ends[rank], part.place.start)
                    last = min(ends[rank + 1], part.place.stop)
                    if first < last:
                        start = part.elements.start - part.place.start
                        to[part.array][first + start : last + start] = place[first:last]

    def gather(self, array: np.ndarray, out: np.ndarray) -> None:
        """Write the processes' arrays to the rows of `out`; all are flat."""
        for (part,) in _turns([array.size], self.piece // array.itemsize):
            places = self._next_places(array.dtype)
            places[self.rank][part.place] = array[part.elements]
            self._wait()
            for row, place in zip(out, places):
                row[part.elements] = place[part.place]

    def _next_places(self, dtype: np.dtype) -> list[np.ndarray]:
        """Each process's next place."""
        self.turns.reverse()
        return [place.view(dtype) for place in self.turns[0]]

    def _wait(self) -> None:
        """Wait for all processes. Their earlier writes are visible afterwards."""
        self.window.Sync()
        wait_for(self.comm.Ibarrier())
        self.window.Sync()


class Part(NamedTuple):
    """Some elements of an array, given by number, and their place."""

    array: int
    elements: slice
    place: slice


def _turns(sizes: Sequence[int], most: int) -> Iterator[list[Part]]:
    """Split arrays of these sizes over buffers of `most` elements, one array after the other."""
    parts: list[Part] = []
    room = most
    for number, size in enumerate(sizes):
        start = 0
        while start < size:
            count = min(room, size - start)
            place = slice(most - room, most - room + count)
            parts.append(Part(number, slice(start, start + count), place))
            start, room = start + count, room - count
            if room == 0:
                yield parts
                parts, room = [], most
    if parts:
        yield parts
