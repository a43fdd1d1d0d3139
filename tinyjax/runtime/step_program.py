"""The steps of a call, and a step program: those of one jaxpr, with the memory that they work on.

A step program gives every variable of its jaxpr a *slot*, a place in a list, and each call has a list of its
own. The whole program is a step program, and so is every body of a loop. loops.py has the steps that run
other step programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.compile.plan import Plan
from tinyjax.core import bind
from tinyjax.core.array import ArrayImpl
from tinyjax.core.avals import to_numpy
from tinyjax.core.jaxpr import Atom, JaxprEqn, Var
from tinyjax.core.runtime_errors import callback_error
from tinyjax.runtime.memory import Memory

# ---- steps ----


@dataclass(frozen=True)
class Output:
    """An output of a step; a result of the program gets separate memory, since the user may keep it.
    With `reuses_buffer_of`, it gets the memory of that slot, which is no longer read."""

    slot: int
    shape: tuple[int, ...]
    dtype: np.dtype
    is_result: bool
    reuses_buffer_of: int | None = None

    def memory(self, queue: Any, slots: list[Memory]) -> Memory:
        """The memory to write to: the slot's, if it has some already, else new memory."""
        if slots[self.slot] is None and self.reuses_buffer_of is not None:
            slots[self.slot] = slots[self.reuses_buffer_of].viewed(self.shape, self.dtype)
        elif slots[self.slot] is None:
            allocate = queue.allocate if self.is_result else queue.scratch
            slots[self.slot] = allocate(self.shape, self.dtype)
        return slots[self.slot]


class Step:
    """What `run(queue, slots)` does in a call. Nothing reads the slots `last_uses` after it, and no output
    reuses their memory."""

    last_uses: Sequence[int] = ()


@dataclass
class KernelStep(Step):
    """Launches a kernel on the memory of its arguments: inputs, outputs, and work memory, which the step
    program holds for it.
    """

    kernel: Any
    items: int
    local_size: int
    inline: bool  # run by the thread that launches it: see queues.py
    arguments: list[int]  # slots, in the order of the kernel's buffers
    outputs: list[Output]

    def run(self, queue: Any, slots: list[Memory]) -> None:
        """Gives each output its memory, and launches the kernel on the memory of its arguments."""
        for output in self.outputs:
            output.memory(queue, slots)
        memories = map(slots.__getitem__, self.arguments)
        queue.launch(self.kernel, self.items, self.local_size, memories, self.inline)


@dataclass
class HostStep(Step):
    """Runs a primitive's impl rule on the host; waits for the device if it reads results of it."""

    eqn: JaxprEqn
    inputs: list[int]
    outputs: list[int]

    def run(self, queue: Any, slots: list[Memory]) -> None:
        """Computes the results, as arrays that share no memory with the operands, and uploads them. With
        `impl_binds_primitives`, `_call_with_arrays` calls the impl rule, and its results are copied.
        """
        args = [slots[slot].read() for slot in self.inputs]
        if self.eqn.primitive.impl_binds_primitives:
            values = [np.array(x) for x in self._call_with_arrays(args)]
        else:
            with np.errstate(all="ignore"):
                out = self._impl(*args, **self.eqn.params)
            values = [np.asarray(x) for x in (out if self._is_many else [out])]
        for slot, value in zip(self.outputs, values):
            # The operands' memory will be used again: a result that is a view of it is copied.
            if any(np.may_share_memory(value, arg) for arg in args):
                value = value.copy()
            slots[slot] = queue.upload(value)

    def _call_with_arrays(self, args: Sequence[np.ndarray]) -> Sequence[Any]:
        """Calls the user's code with copies of the operands, which it may keep; `run` copies its results."""
        arrays = [ArrayImpl(x.copy(), v.aval) for x, v in zip(args, self.eqn.invars)]
        primitive = self.eqn.primitive
        try:
            out = self._impl(*arrays, **self.eqn.params)
        except Exception as error:
            if primitive.has_effects:  # an error that a callback raised
                raise callback_error(primitive.name, error) from error
            raise
        return out if self._is_many else [out]

    @property
    def _impl(self) -> Callable[..., Any]:
        primitive = self.eqn.primitive
        return bind.impl_rules.get(primitive) or bind.missing_rule(primitive, "impl")

    @property
    def _is_many(self) -> bool:
        return self.eqn.primitive.multiple_results


# ---- step programs ----


class StepProgram:
    """A plan whose kernels are built: `run` gives the memory of its results for that of its arguments.

    For each result, `is_fresh` says whether every run allocates its memory, so that it can be reused, and
    `can_place` whether it can be made in memory that the caller provides."""

    def __init__(self, plan: Plan, queue: Any, nbytes: int, name: str = "jitted"):
        jaxpr = plan.closed.jaxpr
        self.plan = plan
        self.name = name  # of the jitted function
        self.queue = queue
        self.nbytes = nbytes  # what a run makes
        self.steps: list[Any] = []
        self.numbers: list[Sequence[int]] = []  # of each step, the groups whose work it does
        variables = [*jaxpr.constvars, *jaxpr.invars, *[v for e in jaxpr.eqns for v in e.outvars]]
        self._slot = {v: slot for slot, v in enumerate(variables)}
        self.template: list[Any] = [None] * len(variables)
        self.first_arg = len(jaxpr.constvars)
        for v, value in zip(jaxpr.constvars, plan.closed.consts):
            host = np.array(to_numpy(value, v.aval))  # a copy: NumPy arrays can be changed
            self.template[self._slot[v]] = queue.upload(host)
        self.results = [self.slot(v) for v in jaxpr.outvars]
        overwritten = plan.memory.donated.intersection(plan.memory.reuses_buffer_of.values())
        # The arguments in whose memory results are made
        self.overwrites = [i for i, v in enumerate(jaxpr.invars) if v in overwritten]
        by_kernel = {v for n in plan.kernels for v in plan.groups[n].outputs}
        made = {v for v in plan.made_on_device() if v.aval.size}
        self.is_fresh = [v in made for v in jaxpr.outvars]
        self.can_place = [
            v in made & by_kernel and v not in jaxpr.outvars[:i]
            for i, v in enumerate(jaxpr.outvars)
        ]

    def add(self, step: Any, numbers: Sequence[int], last_uses: Sequence[int]) -> None:
        """Adds a step, which does the work of the groups `numbers`."""
        step.last_uses = last_uses
        self.steps.append(step)
        self.numbers.append(numbers)

    def add_empty(self, outputs: Sequence[Output]) -> None:
        """Arrays without elements are the same in every run."""
        for output in outputs:
            empty = np.empty(output.shape, output.dtype)
            self.template[output.slot] = self.queue.upload(empty)

    def slot(self, atom: Atom) -> int:
        """The slot of a variable, or a new one that holds a literal."""
        if isinstance(atom, Var):
            return self._slot[atom]
        return self.hold(self.queue.upload(np.asarray(atom.val, atom.aval.dtype)))

    def hold(self, memory: Memory | None) -> int:
        """A new slot with this memory in every run, or empty until a step fills it."""
        self.template.append(memory)
        return len(self.template) - 1

    def run(
        self, args: Sequence[Memory], places: Sequence[tuple[int, Memory]] = ()
    ) -> list[Memory]:
        """Starts the steps in order, and does not wait; gives the memory of the results. `places`: (number of
        a result, memory for it).

        Each run has its own list of slots: the template, with the arguments from `first_arg` on. After a
        step, the slots that it frees are recycled. If something was launched (the queue has a `last_event`),
        the queue keeps step program and slots until it is done. If it has an `on_step`, that runs them."""
        queue, slots = self.queue, list(self.template)
        slots[self.first_arg : self.first_arg + len(args)] = args
        for number, memory in places:
            slots[self.results[number]] = memory
        on_step = queue.on_step
        for step in self.steps:
            if on_step is None:
                step.run(queue, slots)
            else:
                on_step(self, step, slots)
            for slot in step.last_uses:
                queue.recycle(slots[slot])
        if queue.last_event is not None:
            queue.keep((self, slots), self.nbytes)  # self has the kernels
        return [slots[slot] for slot in self.results]
