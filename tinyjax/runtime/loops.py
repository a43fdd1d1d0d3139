"""Loops and branches in the schedule: steps that run step programs, once, many times or not at all.

A loop that is too large for one kernel costs a few launches for each iteration. Its carry is never copied:
one iteration's results are the next one's arguments, and the memory of the iteration before is reused for the
one after. A scan launches all of its iterations without waiting; a while loop must read its condition in
each. A loop that is one kernel is here too if it may run long, so that it can be interrupted.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinyjax.compile.passes.loops import Loop
from tinyjax.runtime.memory import Memory
from tinyjax.runtime.step_program import KernelStep, Output, Step, StepProgram

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

    def make_writable(self, arguments: Sequence[int], first: int) -> None:
        """Copies values that an iteration overwrites, unless each has separate memory that
        iterations made; the values are the iteration's arguments from the `first` on.
        """
        for argument in arguments:
            number = argument - first
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
class LoopStep(Step):
    """Runs the body once for each row of the xs, writing a row of the ys; or for as long as the condition
    gives True.
    """

    loop: Loop
    bodies: dict[str, StepProgram]
    operands: list[int]
    outputs: list[Output]

    def run(self, queue: Any, slots: list[Memory]) -> None:
        condition_consts, consts, initial, xs = self.loop.parts([slots[n] for n in self.operands])
        ys = [output.memory(queue, slots) for output in self.outputs[len(initial) :]]
        carry = _Carry(queue, initial)
        for t in self._iterations(queue, condition_consts, carry):
            self._iteration(queue, t, consts, carry, xs, ys)
        for output, memory in zip(self.outputs, carry.give()):
            slots[output.slot] = memory

    def _iterations(self, queue: Any, consts: list[Memory], carry: _Carry) -> Iterator[int]:
        """The rows of the xs in order, or 0 as often as the condition holds."""
        if (length := self.loop.length) is not None:
            yield from range(length)[:: -1 if self.loop.reverse else 1]
            return
        while self._goes_on(queue, [*consts, *carry.values]):
            yield 0

    def _goes_on(self, queue: Any, args: list[Memory]) -> bool:
        condition = self.bodies["cond"]
        results = condition.run(args)
        goes_on = bool(results[0].read().any())  # of a batch: until all are done
        for memory in _made(condition, results):
            queue.recycle(memory)
        return goes_on

    def _iteration(
        self,
        queue: Any,
        t: int,
        consts: list[Memory],
        carry: _Carry,
        xs: list[Memory],
        ys: list[Memory],
    ) -> None:
        body, count = self.bodies["body"], len(carry.values)
        x_rows = [queue.row(x, t) for x in xs]
        y_rows = [queue.row_place(y, t) for y in ys]
        carry.make_writable(body.overwrites, len(consts))
        places = [(n, row) for n, row in enumerate(y_rows, count) if body.can_place[n]]
        results = body.run([*consts, *carry.values, *x_rows], places)
        for y, place, row in zip(ys, y_rows, results[count:]):
            queue.store_row(y, t, place, row)
        made = _made(body, results)
        made = made.union(x_rows, y_rows) if queue.copies_rows else made.difference(y_rows)
        carry.advance(results[:count], made)


@dataclass
class BranchStep(Step):
    """Reads the index, the first operand, and runs the branch of that number."""

    branches: list[StepProgram]
    operands: list[int]
    outputs: list[Output]

    def run(self, queue: Any, slots: list[Memory]) -> None:
        index, *operands = [slots[slot] for slot in self.operands]
        branch = self.branches[min(max(int(index.read()), 0), len(self.branches) - 1)]
        carry = _Carry(queue, ())
        values = branch.run(operands)
        carry.advance(values, _made(branch, values))
        for output, memory in zip(self.outputs, carry.give()):
            slots[output.slot] = memory


# ---- loops in one kernel ----

MAX_REST = 63  # calls


@dataclass
class StoppableStep(Step):
    """Launches a kernel that may run long, and waits for its end. An interrupt stops it early.

    With `operations`, an inline launch comes first. If its loops take more than these, it ends, and the
    device's threads run the kernel from its start. They then run it at once in the next call, or in twice as
    many calls and one more than after the time before."""

    step: KernelStep
    stop: int  # the slot of the flag
    operations: int
    make_by_threads: Callable[[], KernelStep]
    # the flag is for one call at a time
    lock: threading.Lock = field(default_factory=threading.Lock)
    rest: int = 0  # calls without an inline launch
    next_rest: int = 0

    def run(self, queue: Any, slots: list[Memory]) -> None:
        with self.lock:
            flag = slots[self.stop].host
            if self.operations and self.ends_inline(flag, lambda: self.step.run(queue, slots)):
                return
            try:
                self.by_threads.run(queue, slots)
                queue.finish_or_interrupt()
            except BaseException:
                if flag is not None:  # else on a device whose memory the host can't access
                    flag[0] = -1
                queue.drain()
                raise
            finally:
                if flag is not None:
                    flag[0] = 0

    @functools.cached_property
    def by_threads(self) -> KernelStep:
        return self.make_by_threads()

    def ends_inline(self, flag: np.ndarray, launch: Callable[[], Any]) -> bool:
        """Whether an inline launch comes to the end of all loops. The caller must hold the lock."""
        if self.rest:
            self.rest -= 1
            return False
        flag[0] = self.operations
        try:
            launch()
            has_ended = flag[0] > 0
        finally:
            flag[0] = 0
        self.next_rest = 0 if has_ended else min(2 * self.next_rest + 1, MAX_REST)
        self.rest = self.next_rest
        return has_ended
