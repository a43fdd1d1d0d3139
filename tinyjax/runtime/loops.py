"""Loops and branches in the schedule: steps that run step programs, once, many times or not at all.

A loop that is too large for one kernel costs a few launches for each iteration. Its carry is never copied:
one iteration's results are the next one's arguments, and the memory of the iteration before is reused for the
one after. A scan launches all of its iterations without waiting; a while loop must read its condition in
each. A loop that is one kernel is here too if it may run long, so that it can be interrupted.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tinyjax.compile.passes.loops import Branches, Loop
from tinyjax.runtime.memory import Memory
from tinyjax.runtime.step_program import KernelStep, Output, StepProgram

# ---- who owns memory ----


class _Carry:
    """The values passed from iteration to iteration. `own` is the memory that iterations made and nothing
    else refers to. The user's arrays, constants and rows of other arrays are never overwritten or given away.

    Memory is identified by its buffer: a reused buffer has a new Memory object."""

    def __init__(self, queue: Any, initial: Sequence[Memory]):
        self.queue = queue
        self.values = list(initial)
        self.own: dict[Any, Memory] = {}

    def advance(self, values: Sequence[Memory], made: set[Memory]) -> None:
        """Makes `values` the carry; the other memory that the iteration made is recycled."""
        self.own |= {memory.cl: memory for memory in made}
        for buffer in self.own.keys() - {memory.cl for memory in values}:
            self.queue.recycle(self.own.pop(buffer))
        self.values = list(values)

    def make_writable(self, numbers: Sequence[int]) -> None:
        """Copies values that an iteration overwrites, unless each has separate memory that
        iterations made.
        """
        for number in numbers:
            memory = self.values[number]
            if memory.cl not in self.own or self.values.count(memory) > 1:
                self.values[number] = copy = self.queue.copy(memory)
                self.own[copy.cl] = copy

    def give(self) -> list[Memory]:
        """The values, in memory that only the caller refers to."""
        given = []
        for memory in self.values:
            is_own = self.own.pop(memory.cl, None)  # if it occurs twice, the second is a copy
            given.append(memory if is_own else self.queue.copy(memory))
        return given


def _made(step_program: StepProgram, results: Sequence[Memory]) -> set[Memory]:
    """The memory that a run of the step program allocated."""
    return {memory for memory, fresh in zip(results, step_program.is_fresh) if fresh}


# ---- loops and branches of step programs ----


@dataclass
class ScanStep:
    """Runs `body` once for each row of the xs, writing a row of the ys."""

    body: StepProgram
    length: int
    reverse: bool
    consts: list[int]
    carry: list[int]
    xs: list[int]
    carry_outputs: list[int]
    ys: list[Output]
    last_uses: list[int]

    def run(self, queue: Any, slots: list[Memory]) -> None:
        consts = [slots[slot] for slot in self.consts]
        xs = [slots[slot] for slot in self.xs]
        ys = [output.memory(queue, slots) for output in self.ys]
        carry = _Carry(queue, [slots[slot] for slot in self.carry])
        for t in reversed(range(self.length)) if self.reverse else range(self.length):
            self._iteration(queue, t, consts, carry, xs, ys)
        for slot, memory in zip(self.carry_outputs, carry.give()):
            slots[slot] = memory

    def _iteration(
        self,
        queue: Any,
        t: int,
        consts: list[Memory],
        carry: _Carry,
        xs: list[Memory],
        ys: list[Memory],
    ) -> None:
        x_rows = [queue.row(x, t) for x in xs]
        y_rows = [queue.row_place(y, t) for y in ys]
        carry.make_writable([number - len(consts) for number in self.body.overwrites])
        numbered = enumerate(y_rows, len(self.carry))
        places = [(number, row) for number, row in numbered if self.body.can_place[number]]
        results = self.body.run([*consts, *carry.values, *x_rows], places)
        for y, place, row in zip(ys, y_rows, results[len(self.carry) :]):
            queue.store_row(y, t, place, row)
        made = _made(self.body, results)
        made = made.union(x_rows, y_rows) if queue.copies_rows else made.difference(y_rows)
        carry.advance(results[: len(self.carry)], made)


@dataclass
class WhileStep:
    """Runs `body` for as long as `cond` gives True."""

    cond: StepProgram
    body: StepProgram
    cond_consts: list[int]
    body_consts: list[int]
    carry: list[int]
    outputs: list[int]
    last_uses: list[int]

    def run(self, queue: Any, slots: list[Memory]) -> None:
        cond_consts = [slots[slot] for slot in self.cond_consts]
        body_consts = [slots[slot] for slot in self.body_consts]
        carry = _Carry(queue, [slots[slot] for slot in self.carry])
        overwritten = [number - len(body_consts) for number in self.body.overwrites]
        while self._goes_on(queue, [*cond_consts, *carry.values]):
            carry.make_writable(overwritten)
            values = self.body.run([*body_consts, *carry.values])
            carry.advance(values, _made(self.body, values))
        for slot, memory in zip(self.outputs, carry.give()):
            slots[slot] = memory

    def _goes_on(self, queue: Any, args: list[Memory]) -> bool:
        results = self.cond.run(args)
        goes_on = bool(results[0].read().any())  # of a batch: until all are done
        for memory in _made(self.cond, results):
            queue.recycle(memory)
        return goes_on


@dataclass
class CondStep:
    """Reads the index, and runs the branch of that number."""

    branches: list[StepProgram]
    index: int
    operands: list[int]
    outputs: list[int]
    last_uses: list[int]

    def run(self, queue: Any, slots: list[Memory]) -> None:
        index = int(slots[self.index].read())
        branch = self.branches[min(max(index, 0), len(self.branches) - 1)]
        carry = _Carry(queue, ())
        values = branch.run([slots[slot] for slot in self.operands])
        carry.advance(values, _made(branch, values))
        for slot, memory in zip(self.outputs, carry.give()):
            slots[slot] = memory


def loop_step(
    loop: Loop | Branches,
    bodies: dict[str, StepProgram],
    operands: list[int],
    outputs: list[Output],
    last_uses: list[int],
) -> Any:
    """The step of a loop or a branch, given the step programs of its bodies."""
    slots = [output.slot for output in outputs]
    if isinstance(loop, Branches):
        return CondStep(list(bodies.values()), operands[0], operands[1:], slots, last_uses)
    condition_consts, consts, carry, xs = loop.parts(operands)
    if loop.length is None:
        cond, body = bodies["cond"], bodies["body"]
        return WhileStep(cond, body, condition_consts, consts, carry, slots, last_uses)
    last_carry, ys = slots[: len(carry)], outputs[len(carry) :]
    return ScanStep(
        bodies["body"], loop.length, loop.reverse, consts, carry, xs, last_carry, ys, last_uses
    )


# ---- loops in one kernel ----


@dataclass
class StoppableStep:
    """Launches a kernel that may run long, and waits for its end. An interrupt stops it early."""

    step: KernelStep
    stop: int  # the slot of the flag
    # the flag is for one call at a time
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def last_uses(self) -> list[int]:
        return self.step.last_uses

    def run(self, queue: Any, slots: list[Memory]) -> None:
        with self.lock:
            flag = slots[self.stop].host
            try:
                self.step.run(queue, slots)
                queue.finish_or_interrupt()
            except BaseException:
                if flag is not None:  # else on a device whose memory the host can't access
                    flag[0] = 1
                queue.drain()
                raise
            finally:
                if flag is not None:
                    flag[0] = 0
