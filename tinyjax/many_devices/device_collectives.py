"""Collectives between the OpenCL devices of one process, on NumPy arrays in their shared memory.

Small arrays are copied to a shared buffer, and each device sums them itself. For a large one each device sums
a part, and then copies the others' parts, which reads and writes each element only as often as necessary. A
device with separate memory first copies its arrays to the host, and the results back
(runtime/step_program.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tinyjax.many_devices.device_threads import meet, own_place
from tinyjax.many_devices.distributed.collectives import Kinds, described
from tinyjax.runtime.devices import Device

SMALL = 2**15  # bytes that take about as long to copy as another synchronization


class DeviceSum:
    """The sums of some arrays over devices, for repeated calls with arrays of these kinds.

    `kinds`: the arrays' shapes and dtypes; `devices`: the members; `at`: the position that errors report."""

    def __init__(self, kinds: Kinds, devices: tuple[Device, ...], at: str):
        self.devices, self.at = devices, f"{at} of {described(kinds)}"
        sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in kinds]
        self.is_small = [size < SMALL for size in sizes]

    def __call__(self, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        """Write the sums of `arrays` to `outs`; an array and its sum may share memory."""
        mine = [
            array.copy() if small else (_flat(array), out.reshape(-1))
            for array, out, small in zip(arrays, outs, self.is_small)
        ]
        of_all = list(zip(*meet(self.devices, self.at, mine)))
        for given, out, small in zip(of_all, outs, self.is_small):
            if small:
                _add(given, out)
        if all(self.is_small):
            return
        large = [pairs for pairs, small in zip(of_all, self.is_small) if not small]
        own = own_place(self.devices)
        for pairs in large:
            part = self._part(pairs[own][1].size, own)
            _add([array[part] for array, _ in pairs], pairs[own][1][part])
        meet(self.devices, self.at, None)
        for pairs in large:
            for other, (_, theirs) in enumerate(pairs):
                if other != own:
                    part = self._part(theirs.size, other)
                    pairs[own][1][part] = theirs[part]
        meet(self.devices, self.at, None)  # no memory is reused before all devices have read it

    def _part(self, size: int, place: int) -> slice:
        """The range of `size` elements that the device at `place` sums."""
        count = len(self.devices)
        return slice(size * place // count, size * (place + 1) // count)


def _flat(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1)


def _add(arrays: Sequence[np.ndarray], out: np.ndarray) -> None:
    """Write the sum to `out`, which may be one of the summands. 16-bit floats are summed as float32."""
    first, *between, last = arrays
    if out.dtype.kind not in "biu" and out.dtype.itemsize == 2:
        out[...] = sum([array.astype(np.float32) for array in arrays])
        return
    for array in between:
        first = first + array
    np.add(first, last, out=out)


class DeviceGather:
    """The devices' arrays, stacked in device order. It has the arguments of DeviceSum."""

    def __init__(self, kinds: Kinds, devices: tuple[Device, ...], at: str):
        self.devices, self.at = devices, f"{at} of {described(kinds)}"

    def __call__(self, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> None:
        """Write the stack of all devices' arrays for each of `arrays` to one of `outs`."""
        for given, out in zip(zip(*meet(self.devices, self.at, list(arrays))), outs):
            for place, array in enumerate(given):
                out[place] = array
        meet(self.devices, self.at, None)
