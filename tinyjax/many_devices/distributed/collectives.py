"""Collectives between processes, on NumPy arrays: the sum of all, and the arrays of all.

The processes agree on each collective (processes.py) by a message that can carry small arrays: each process
sums all of them in the same order, so that all get the same bits. MPI sums the other arrays: small ones
together, since each message has a cost, and large ones separately, since copying has a cost too. On one
machine large arrays go through shared memory.

Source: https://mpi4py.readthedocs.io/en/stable/tutorial.html
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyjax.core.quiet import run_quietly
from tinyjax.many_devices.distributed.processes import Group, Kinds, Meeting, world
from tinyjax.many_devices.distributed.shared_memory import LARGE
from tinyjax.many_devices.distributed.waiting import wait_for

# Arrays of fewer bytes are sent together: copying this many twice takes about as long as one message.
SMALL = 2**17
SUMMED_BY_MPI = "bBhHiIlLqQfdFD"  # NumPy's characters of dtypes


class Sum:
    """The sums of some arrays over processes, for repeated calls with arrays of these kinds.

    `kinds`: the arrays' shapes and dtypes; `ranks`: the processes; `at`: the position that errors report."""

    def __init__(self, kinds: Kinds, ranks: tuple[int, ...], at: str):
        self.meeting = Meeting(f"{at} of {described(kinds)}", ranks, kinds)
        of_dtype: dict[np.dtype, list[int]] = {}
        for number, (_, dtype) in enumerate(kinds):
            of_dtype.setdefault(dtype, []).append(number)
        self.bundles = list(of_dtype.values())

    def __call__(self, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        """Write the sums of `arrays` to `outs`; an array and its sum may share memory."""
        run_quietly(self._meet, arrays, outs)

    def _meet(self, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        if self.meeting.values:
            with world().lock:
                self.meeting.bring(arrays)
                with self.meeting:
                    for of_all, out in zip(self.meeting.values, outs):
                        _add_up(of_all, out)
            return
        with self.meeting as group:
            for numbers in self.bundles:
                _sum(group, [arrays[n] for n in numbers], [outs[n] for n in numbers])


def _add_up(of_all: np.ndarray, out: np.ndarray) -> None:
    """The sum over axis 0."""
    if out.dtype.char in SUMMED_BY_MPI:
        np.add.reduce(of_all, 0, out.dtype, out=out)
    else:
        out[...] = np.add.reduce(of_all.astype(np.float32), 0)


def _sum(group: Group, arrays: list[np.ndarray], outs: list[np.ndarray]) -> None:
    """Sum arrays of one dtype. Dtypes that MPI can't sum, such as bfloat16, are summed as float32."""
    if arrays[0].dtype.char not in SUMMED_BY_MPI:
        wide = [array.astype(np.float32) for array in arrays]
        _sum(group, wide, wide)
        for out, array in zip(outs, wide):
            out[...] = array
        return
    nbytes = sum(array.nbytes for array in arrays)
    if nbytes >= LARGE and group.shared_memory is not None:
        group.shared_memory.sum(arrays, outs)
        return
    small = [n for n, array in enumerate(arrays) if array.nbytes < SMALL]
    if len(small) > 1:
        buffer = np.concatenate([arrays[n].ravel() for n in small])
        wait_for(group.comm.Iallreduce(group.in_place, buffer, group.sum))
        ends = np.cumsum([arrays[n].size for n in small])[:-1]
        for n, part in zip(small, np.split(buffer, ends)):
            outs[n][...] = part.reshape(outs[n].shape)
    for n, (array, out) in enumerate(zip(arrays, outs)):
        if n not in small or len(small) == 1:
            given = group.in_place if np.may_share_memory(array, out) else array
            wait_for(group.comm.Iallreduce(given, out, group.sum))


class Gather:
    """The processes' arrays, stacked in process order, as bytes of any dtype. It has the arguments of Sum."""

    def __init__(self, kinds: Kinds, ranks: tuple[int, ...], at: str):
        self.meeting = Meeting(f"{at} of {described(kinds)}", ranks, kinds)

    def __call__(self, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        """Write the stack of all processes' arrays for each of `arrays` to one of `outs`."""
        if self.meeting.values:
            with world().lock:
                self.meeting.bring(arrays)
                with self.meeting:
                    for of_all, out in zip(self.meeting.values, outs):
                        out[...] = of_all
            return
        with self.meeting as group:
            for array, out in zip(arrays, outs):
                if array.nbytes >= LARGE and group.shared_memory is not None:
                    group.shared_memory.gather(_bytes(array), _bytes(out).reshape(len(out), -1))
                elif array.nbytes:
                    wait_for(group.comm.Iallgather(_bytes(array), _bytes(out)))


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def described(kinds: Kinds) -> str:
    """Shapes and dtypes as text: float32[8], int32[2,3]."""
    return ", ".join(f"{dtype.name}[{','.join(map(str, shape))}]" for shape, dtype in kinds)
