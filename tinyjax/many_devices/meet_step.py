"""Collectives of a group in the schedule: from device memory into device memory, by MPI or by NumPy.

A `meet` line of a schedule costs one wait for its operands, and the messages. On a device that uses the
host's memory its arrays are NumPy arrays, which MPI reads and writes in place; an operand without other uses
becomes the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.many_devices.collectives import collective
from tinyjax.runtime.memory import Memory
from tinyjax.runtime.step_program import Output, Step
from tinyjax.runtime.step_program_builder import host_steps


@dataclass
class CollectiveStep(Step):
    """Waits for the device, then runs the collective with the other processes or devices; `name` is the
    jitted function's."""

    eqn: JaxprEqn
    inputs: list[int]
    outputs: list[Output]
    name: str

    def __post_init__(self) -> None:
        primitive = self.eqn.primitive.name
        kinds = [(v.aval.shape, v.aval.dtype) for v in self.eqn.invars]
        at = f"jit({self.name}): {primitive} {self.eqn.params['at']}".rstrip()
        self.collective = collective(primitive, kinds, self.eqn.params["ranks"], at)

    def run(self, queue: Any, slots: list[Memory]) -> None:
        outs = [output.memory(queue, slots).host for output in self.outputs]
        if queue.last_event is not None:
            queue.finish()
        self.collective([slots[slot].host for slot in self.inputs], outs)


host_steps["meet"] = lambda builder, eqn, operands, outputs: CollectiveStep(
    eqn, operands, outputs, builder.name
)
