"""What processes compute together, on NumPy arrays: the sum of all, and the arrays of all.

After this file you can say what a collective costs. Two messages: the processes agree on what they do
(processes.py), which takes as long as a sum of eight numbers, and then MPI does it, in the array's own
memory. Several small arrays travel as one, since each message has a price of its own, and large ones by
themselves, since to copy them has one too. Builds on processes.

Source: https://mpi4py.readthedocs.io/en/stable/tutorial.html
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tinyjax.runtime.distributed.processes import Group, Meeting

# Arrays of fewer bytes travel together: to copy so many twice takes about as long as one message.
SMALL = 2**17
SUMMED_BY_MPI = "bBhHiIlLqQfdFD"  # NumPy's characters of dtypes

Kinds = Sequence[tuple[tuple[int, ...], np.dtype]]


class Sum:
    """The sums of some arrays over processes: called again and again with arrays of these kinds.

    `kinds`: the arrays' shapes and dtypes; `ranks`: the processes; `at`: what others are told who are
    elsewhere."""

    def __init__(self, kinds: Kinds, ranks: tuple[int, ...], at: str):
        self.meeting = Meeting(f"{at} of {described(kinds)}", ranks)
        small: dict[np.dtype, list[int]] = {}
        for number, (shape, dtype) in enumerate(kinds):
            if math.prod(shape) * dtype.itemsize < SMALL:
                small.setdefault(dtype, []).append(number)
        self.together = [numbers for numbers in small.values() if len(numbers) > 1]
        packed = {number for numbers in self.together for number in numbers}
        self.alone = [number for number in range(len(kinds)) if number not in packed]

    def __call__(self, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        """Writes the sums of `arrays` to `outs`, which may be the same memory, one by one."""
        with self.meeting as group:
            for number in self.alone:
                out = outs[number]
                if out is not arrays[number]:
                    out[...] = arrays[number]
                _sum(group, out)
            for numbers in self.together:
                buffer = np.concatenate([arrays[number].ravel() for number in numbers])
                _sum(group, buffer)
                start = 0
                for number in numbers:
                    out = outs[number]
                    out[...] = buffer[start : start + out.size].reshape(out.shape)
                    start += out.size


def _sum(group: Group, array: np.ndarray) -> None:
    """Sums one array in place. What MPI has no sum of, such as bfloat16, is summed as float32."""
    if array.dtype.char in SUMMED_BY_MPI:
        group.comm.Allreduce(group.in_place, array, group.sum)
        return
    wide = array.astype(np.float32)
    group.comm.Allreduce(group.in_place, wide, group.sum)
    array[...] = wide


class Gather:
    """The arrays of the processes, stacked in their order: bytes, whatever the dtype. Made as a Sum is."""

    def __init__(self, kinds: Kinds, ranks: tuple[int, ...], at: str):
        self.meeting = Meeting(f"{at} of {described(kinds)}", ranks)

    def __call__(self, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        """Writes each array of `arrays`, of all processes, to one of `outs`."""
        with self.meeting as group:
            for array, out in zip(arrays, outs):
                if array.nbytes:
                    group.comm.Allgather(_bytes(array), _bytes(out))


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def described(kinds: Kinds) -> str:
    """Shapes and dtypes in words: float32[8], int32[2,3]."""
    return ", ".join(f"{dtype.name}[{','.join(map(str, shape))}]" for shape, dtype in kinds)
