"""Large products in the schedule: NumPy's matmul, from device memory into device memory.

A `matmul` line of a schedule costs one wait for its operands, and BLAS. On a device that works in the host's
memory its arrays are NumPy arrays; transposed operands are views, and the result goes directly to its
destination.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.compile.kernel.rules import sum_dtype
from tinyjax.compile.passes.products import Side, sides_of
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.runtime.queues import Memory
from tinyjax.runtime.step_program import Output, Step


@dataclass
class MatmulStep(Step):
    """Waits for the device, and multiplies."""

    eqn: JaxprEqn
    inputs: list[int]
    outputs: list[Output]

    def __post_init__(self) -> None:
        self.sides = sides_of(self.eqn)
        self.dtype = sum_dtype(self.outputs[0].dtype)

    def run(self, queue: Any, slots: list[Memory]) -> None:
        (output,) = self.outputs
        out = output.memory(queue, slots).host
        queue.finish()
        left, right = (
            self._matrices(slots[slot].host, side, is_left)
            for slot, side, is_left in zip(self.inputs, self.sides, (True, False))
        )
        place = out.reshape(*left.shape[:-1], right.shape[-1])
        with np.errstate(all="ignore"):
            if place.dtype == self.dtype:
                np.matmul(left, right, out=place)
            else:
                place[...] = np.matmul(left, right)

    def _matrices(self, array: np.ndarray, side: Side, is_left: bool) -> np.ndarray:
        """(batch, rows, summed) or (batch, summed, columns), without the batch if there is none; a view,
        unless axes that are not adjacent in memory must be joined or the dtype changes.
        """
        kinds = (
            [side.batch, side.kept, side.summed]
            if is_left
            else [side.batch, side.summed, side.kept]
        )
        sizes = [side.size(axes) for axes in kinds]
        matrices = array.transpose([axis for axes in kinds for axis in axes])
        matrices = matrices.reshape(sizes if side.batch else sizes[1:])
        return matrices.astype(self.dtype, copy=False)
