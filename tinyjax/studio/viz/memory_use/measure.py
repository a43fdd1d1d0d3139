"""Measure the bytes in memory at each step of a call: those of the arrays in its slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.lax.transfer import block_until_ready
from tinyjax.runtime.memory import Memory
from tinyjax.runtime.numpy_queue import is_listened
from tinyjax.runtime.queues import listen
from tinyjax.runtime.step_program import StepProgram


def measured_bytes(run: Callable[[], Any], steps: int) -> list[int | None]:
    """For each step of a plan, the bytes of arrays and constants while it runs in a call of `run`.

    Loop bodies are not counted, and of steps that run as one only the last is known."""
    if is_listened():  # a profile is being recorded
        return [None] * (steps + 1)
    meter = _Meter(steps)
    listen(None, meter.on_step)
    try:
        block_until_ready(run())
    finally:
        listen(None, None)
    return meter.found


class _Meter:
    """Adds up the arrays in the slots of the program with `steps` steps, without those of programs run within
    a step."""

    def __init__(self, steps: int):
        self.steps = steps
        self.found: list[int | None] = [None] * (steps + 1)
        self.gone: set[int] = set()  # slots with freed memory
        self.depth = 0

    def on_step(self, program: StepProgram, step: Any, slots: list[Memory | None]) -> None:
        """Run a step, and count the bytes."""
        self.depth += 1
        try:
            step.run(program.queue, slots)
        finally:
            self.depth -= 1
        if self.depth == 0 and len(program.plan.groups) == self.steps:
            numbered = zip(program.steps, program.numbers)
            number = next(numbers[-1] for known, numbers in numbered if known is step)
            self.found[number] = _bytes_in(program, slots, self.gone)
            freed = {_address(memory) for slot in step.last_uses if (memory := slots[slot])}
            self.gone |= {
                n for n, memory in enumerate(slots) if memory and _address(memory) in freed
            }
            self.found[self.steps] = _bytes_in(program, slots, self.gone)


def _bytes_in(program: StepProgram, slots: list[Memory | None], gone: set[int]) -> int:
    """The bytes of the arrays of variables, counting each memory once."""
    jaxpr = program.plan.closed.jaxpr
    made = [v for eqn in jaxpr.eqns for v in eqn.outvars]
    variables = {program.slot(v) for v in (*jaxpr.constvars, *jaxpr.invars, *made)} - gone
    blocks = {_address(memory): memory.nbytes for slot in variables if (memory := slots[slot])}
    return sum(blocks.values())


def _address(memory: Memory) -> int:
    return id(memory.cl) if memory.host is None else memory.host.ctypes.data
