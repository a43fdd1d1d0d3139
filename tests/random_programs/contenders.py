"""What runs the kernels of a program: they are built, interpreted, or run as WebAssembly, with or without
their schedules.

A kernel that runs as WebAssembly is interpreted, too, if that takes little time: the results must be equal
in all bits.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, partialmethod
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import tinyjax
from random_programs.program import Program
from tinyjax.compile import plan as plans
from tinyjax.compile.fusion.groups import HostGroup, KernelGroup
from tinyjax.compile.kernel import interpret as interpreter
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.passes.loops import loop_of
from tinyjax.compile.plan import Launch, Plan
from tinyjax.fast import launch_fusion
from tinyjax.runtime import queues as runtime
from tinyjax.runtime.queues import SharedMemoryQueue
from tinyjax.runtime.step_program_builder import StepProgramBuilder
from tinyjax.transform.jit.stages import Lowered

#: Elements of the arrays of a program whose kernels may be interpreted; naive nests have no vectors.
MAX_INTERPRETED, MAX_INTERPRETED_NAIVE = 300, 30

SHARED = "shared kernels"

#: What runs a kernel, given its memory.
Run = Callable[[Sequence[np.ndarray]], None]


class Contender(NamedTuple):
    name: str
    engine: Callable[[Sequence[Kernel]], list[Run]] | None  # None: the driver's compiler
    has_schedules: bool = True
    shares: bool = False  # no loop is a separate kernel, and work-items share all kernels

    def lowered(self, lowered: Lowered) -> Lowered:
        """The program as this contender runs it."""
        if self.has_schedules:
            return lowered
        naive = copy.copy(lowered)
        naive.lowered = lowered.lowered.without_schedules()
        return naive


def contenders_of(program: Program, kinds: Collection[str]) -> list[str]:
    """Who runs the program. `kinds` are some of 'interpreted', 'WebAssembly' and 'naive loop nests': beside
    these it is built, unless it is so small that an interpreter does."""
    is_small = program.max_size <= MAX_INTERPRETED
    more = [kind for kind in ("WebAssembly", "naive loop nests", SHARED) if kind in kinds]
    if not is_small or "interpreted" not in kinds:
        return ["built", *more]
    return more if "WebAssembly" in more else ["interpreted", *more]


# ---- engines ----


def interpreted(kernels: Sequence[Kernel]) -> list[Run]:
    return [partial(interpreter.interpret_kernel, kernel) for kernel in kernels]


def as_webassembly(kernels: Sequence[Kernel], max_interpreted: int) -> list[Run]:
    from webassembly import Machine  # in wasmtime, which not all tests need

    machine = Machine(*kernels)
    is_small = [max(b.size for b in kernel.buffers) <= max_interpreted for kernel in kernels]
    return [
        _Compared(machine, kernel) if small else partial(Machine.run, machine, kernel)
        for kernel, small in zip(kernels, is_small)
    ]


@dataclass
class _Compared:
    """A kernel that is interpreted, too, when it runs first. Functions of float64 are the host's, and max may
    take 0.0 for -0.0."""

    machine: Any
    kernel: Kernel
    is_new: bool = True

    def __call__(self, arrays: Sequence[np.ndarray]) -> None:
        if not self.is_new:
            return self.machine.run(self.kernel, arrays)
        self.is_new = False
        found = [array.copy() for array in arrays]
        interpreter.interpret_kernel(self.kernel, arrays)
        self.machine.run(self.kernel, found)
        for buffer, x, y in zip(self.kernel.buffers, found, arrays, strict=True):
            with np.errstate(all="ignore"):
                same = (x == y) | ((x != x) & (y != y))
                if x.dtype == np.float64:
                    same |= np.abs(x - y) <= 1e-13 * np.abs(y)
            if not same.all():
                text = f"{x[~same]} as WebAssembly, {y[~same]} interpreted"
                raise AssertionError(f"{self.kernel.name}: {buffer}: {text}\n{self.kernel}")


CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender("built", None),
        Contender(SHARED, None, shares=True),
        Contender("interpreted", interpreted),
        Contender("WebAssembly", partial(as_webassembly, max_interpreted=MAX_INTERPRETED)),
        Contender(
            "naive loop nests",
            partial(as_webassembly, max_interpreted=MAX_INTERPRETED_NAIVE),
            has_schedules=False,
        ),
    )
}


class EngineQueue(SharedMemoryQueue):
    """Runs kernels as an engine does, each when it is launched."""

    def launch(
        self, kernel: Run, items: int, local_size: int, memories: Any, inline: bool = False
    ) -> None:
        self.finish()  # copies
        kernel([memory.host.reshape(-1) for memory in memories])


@contextmanager
def kernels_run_by(contender: Contender, coverage: Coverage | None = None) -> Iterator[None]:
    """In this context it runs the kernels, which are counted."""
    make = StepProgramBuilder.__init__

    def made(builder: StepProgramBuilder, lowered: Any, queue: Any) -> None:
        make(builder, lowered, queue)
        if coverage is not None:
            coverage.add_kernels(contender.name, lowered.plan)

    with patch.object(StepProgramBuilder, "__init__", made):
        if contender.shares:
            with _all_shared():
                yield
            return
        if contender.engine is None:
            yield
            return
        device = tinyjax.devices()[0]
        queues = {device: EngineQueue(device)}
        built = patch.object(StepProgramBuilder, "_build", partialmethod(_build, contender.engine))
        # They are checked when they are made.
        unchecked = patch.object(interpreter, "check_kernel", lambda kernel: None)
        plain = tinyjax.config.set("tinyjax_fast", False)  # no kernel of several
        with patch.dict(runtime._queues, queues), built, unchecked, plain:
            yield


@contextmanager
def _all_shared() -> Iterator[None]:
    """Loops of several kernels and what they launch are run by several work-items together."""
    no_kernel = patch.object(plans, "loop_kernel", lambda *args: "shared kernels are tested")
    patient = patch.object(launch_fusion, "patience", lambda plan, number, cores: 10**9)
    outside = patch.object(launch_fusion, "is_inline", lambda plan, stretch, cores: False)
    with no_kernel, patient, outside:
        yield


def _build(builder: Any, engine: Any, launches: Sequence[Launch], inline: bool) -> list[Run]:
    return engine([launch.kernels[0] for launch in launches])


# ---- what was covered ----


class Coverage(dict[str, Counter[str]]):
    """How many programs had which dtypes and axes, and how many kernels of each kind a contender ran."""

    def add(self, topic: str, things: Collection[str]) -> None:
        self.setdefault(topic, Counter()).update(things)

    def add_program(self, program: Program) -> None:
        arrays = [v for s in program.main.all_statements() for v in s.targets]
        shapes = [v.shape for v in arrays] + [v.shape[1:] for v in program.values()]
        dtypes = {v.dtype for v in arrays} | {str(v.dtype) for v in program.values()}
        self.add("programs with a dtype", dtypes)
        self.add("programs with an idiom", set(program.idioms))
        self.add("programs with an axis of", {str(n) for shape in shapes for n in shape})

    def add_kernels(self, contender: str, plan: Plan) -> None:
        for each in plan.all_plans():
            self.add(f"steps, {contender}", [_kind(each, n) for n in range(len(each.groups))])


def _kind(plan: Plan, number: int) -> str:
    """What a step of the plan is."""
    group = plan.groups[number]
    if isinstance(group, HostGroup):
        return "matmul of the BLAS" if group.kind == "matmul" else "on the host"
    if isinstance(group, KernelGroup):
        if number not in plan.kernels:
            return "no elements"
        kind = f"reduction ({group.form.kind})" if group.form else "map"
        kind = "in order" if group.in_order is not None else kind
        return "product" if group.product is not None else kind
    what = "loop" if loop_of(group.eqn) else "branch"
    return what if number in plan.kernels else f"{what} of several kernels"
