"""From a jaxpr to something that runs: all stages, the build, and the call.

`compile_lowered` builds the kernels of a plan and of all its loops' bodies, and makes their steps; calling
the Executable walks through those. Calls are asynchronous: only reading a result waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.compile.fusion.cost_record import bytes_of
from tinyjax.compile.kernel.kernel_ir import KernelError
from tinyjax.compile.lowered import LoweredProgram, lower_jaxpr
from tinyjax.compile.passes.lower_prng_keys import UINT32, is_key
from tinyjax.core.array import ArrayImpl
from tinyjax.core.compile_log import logged_time
from tinyjax.core.dtypes import key_dtype
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.runtime.devices import Device
from tinyjax.runtime.errors import OutOfDeviceMemory, named_error
from tinyjax.runtime.memory import LAUNCHED, Memory
from tinyjax.runtime.queues import queue_of
from tinyjax.runtime.step_program import KernelStep
from tinyjax.runtime.step_program_builder import StepProgramBuilder

# ---- compiling ----


def compile_jaxpr(
    closed: ClosedJaxpr, device: Device, name: str = "jitted", donated: Sequence[bool] = ()
) -> Executable:
    """The executable of a jaxpr on `device`.

    Raises OutOfDeviceMemory if its arrays can't fit, KernelBuildError if the driver fails."""
    return compile_lowered(lower_jaxpr(closed, device, name, donated))


def compile_lowered(lowered: LoweredProgram) -> Executable:
    """Builds the kernels, or loads them from the compilation cache."""
    began = time.perf_counter()
    with logged_time(f"building jit({lowered.name})"):
        executable = Executable(lowered)
    if executable.builder.new_entries:
        executable.warm_up()  # so that entries are complete
        executable.builder.write_entries(began)
    return executable


# ---- the executable ----


class Executable:
    """A compiled jaxpr: `executable(args)` gives the results for a list of arrays of its avals."""

    def __init__(self, lowered: LoweredProgram):
        self.lowered = lowered
        self.device = lowered.device
        self.queue = queue_of(self.device)
        check_memory(lowered)
        self.builder = StepProgramBuilder(lowered, self.queue)
        self.step_program = self.builder.build(lowered.plan, of_program=True)
        # Whether a call never waits for a device or for another process.
        self.only_launches = all(type(step) is KernelStep for step in self.step_program.steps)
        self.donated = [i for i, is_donated in enumerate(lowered.donated) if is_donated]
        self.out_avals = lowered.closed.out_avals
        in_avals = lowered.closed.in_avals
        self.key_args = [i for i, aval in enumerate(in_avals) if is_key(aval)]
        self.key_results = [i for i, aval in enumerate(self.out_avals) if is_key(aval)]
        planned = lowered.plan.closed.jaxpr
        if key_dtype in [v.aval.dtype for v in (*planned.invars, *planned.outvars)]:
            raise KernelError(
                "random keys are pairs of words in memory: the pass lower_prng_keys makes them so, and "
                "can't be left out"
            )
        # The results that a call makes, and those of them that share memory with no other result.
        slots, are_fresh = self.step_program.results, self.step_program.is_fresh
        self.fresh = [i for i, is_fresh in enumerate(are_fresh) if is_fresh]
        owned = {i for i in self.fresh if slots.count(slots[i]) == 1}.difference(self.key_results)
        self.is_owned = [i in owned for i in range(len(slots))]

    def warm_up(self, until: Callable[[], bool] = lambda: False) -> None:
        """Makes the driver finish compiling the kernels now instead of at their first launch; stops when
        `until()`.
        """
        for (name, inline), built in self.builder.built.items():
            if until():
                return
            self.builder.warm_up(self.builder.kernels[inline][name], built)

    def as_text(self, stage: str | None = None) -> str:
        """As Lowered.as_text."""
        return self.lowered.as_text(stage)

    def __call__(self, args: Sequence[ArrayImpl]) -> list[ArrayImpl]:
        """Starts the computation and returns its results; reading them waits."""
        queue = self.queue
        if queue.is_fork:
            queue.check_process()
        try:
            memories = [memory_of(arg, queue) for arg in args]
            for number in self.donated:
                memories[number] = donated_memory(number, args, memories)
            for number in self.key_args:
                memories[number] = word_memory(memories[number])
            try:
                results = self.step_program.run(memories)
            except BaseException:
                queue.drain()  # kernels may still use the memory that is given up here
                raise
            finally:
                for number in self.donated:  # also after a failed call: it may be overwritten
                    args[number].delete()
        except queue.driver_error as error:
            raise named_error(error, f"running {self.lowered.name}") from error
        for number in self.fresh:
            results[number].event = queue.last_event
        for number in self.key_results:
            results[number] = key_memory(results[number])
        arrays = []
        for aval, memory, is_owned in zip(self.out_avals, results, self.is_owned):
            memory.has_one_owner = is_owned
            arrays.append(ArrayImpl(None, aval, memory, self.device))
        return arrays


def memory_of(array: ArrayImpl, queue: Any) -> Memory:
    """The array's memory on the queue's device; it is moved there once, and stays. An array spread over
    several devices stays there: its copy is moved here. Raises RuntimeError if it was deleted.
    """
    memory: Any = array.buffer
    if memory is None and array.is_deleted():
        raise RuntimeError(
            f"Array has been deleted with shape={array.aval.str_short()}. It was deleted or donated: its "
            "memory may hold something else by now. Donate only what is not used again"
        )
    if memory is not None and memory.queue is None:
        return queue.upload(array._value)
    if memory is None or memory.queue is not queue:
        memory = array.buffer = queue.upload(array._value)
    return memory


def donated_memory(number: int, args: Sequence[ArrayImpl], memories: list[Memory]) -> Memory:
    """Writable memory with the contents of argument `number`: the argument's own memory, unless that is
    shared or has been read.

    Raises RuntimeError if the same array is another argument too."""
    array, memory = args[number], memories[number]
    check_donated(number, args)
    if memory.has_one_owner and array.is_unread:
        memory.event = LAUNCHED
        return memory
    return memory.queue.copy(memory) if memory.nbytes else memory


def check_donated(number: int, args: Sequence[ArrayImpl]) -> None:
    """Raises RuntimeError if argument `number`, which is donated, is another argument too."""
    array = args[number]
    if any(other is array for at, other in enumerate(args) if at != number):
        raise RuntimeError(
            f"Array has been deleted with shape={array.aval.str_short()}: argument {number} is donated, and "
            "the same array is another argument as well. Give a copy, such as jnp.copy(a)"
        )


# ---- keys at the border ----


def word_memory(keys: Memory) -> Memory:
    """The same memory as words."""
    host = None if keys.host is None else keys.host["fry"]
    return Memory(keys.queue, keys.cl, host, (*keys.shape, 2), UINT32, keys.event)


def key_memory(words: Memory) -> Memory:
    """The same memory as keys."""
    shape, host = words.shape[:-1], words.host
    if host is not None:  # contiguous already, unless NumPy computed it
        host = np.ascontiguousarray(host).view(key_dtype).reshape(shape)
    return Memory(words.queue, words.cl, host, shape, key_dtype, words.event)


# ---- memory ----


def check_memory(lowered: LoweredProgram) -> None:
    """Raises OutOfDeviceMemory, before allocating anything, for arrays that can't fit."""
    device, kind = lowered.device.cl_device, lowered.device.device_kind
    if device is None:
        return
    total, most = lowered.plan.memory.peak_bytes, device.max_mem_alloc_size
    for plan in lowered.plan.all_plans():
        for v in [*plan.closed.jaxpr.invars, *[v for g in plan.groups for v in g.outputs]]:
            size = bytes_of(v.aval)
            if size > most:
                raise OutOfDeviceMemory(
                    f"RESOURCE_EXHAUSTED: an array {v.aval.str_short(short_dtypes=True)} takes "
                    f"{_gib(size)}, {kind} allows {_gib(most)} for one array"
                )
    if total > device.global_mem_size:
        raise OutOfDeviceMemory(
            f"RESOURCE_EXHAUSTED: the arrays of {lowered.name} take {_gib(total)}, {kind} has "
            f"{_gib(device.global_mem_size)}"
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.3g} GiB"
