"""From a jaxpr to a plan of kernels: the stages in order, and what each of them made.

After this file you can stop the compiler at any stage, and print what is there. `lower_jaxpr` opens no
device: all that it makes is text and plans. Builds on the stages of this folder, from passes to plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tinyjax.compile.codegen.codegen import CPU, GPU, Target
from tinyjax.compile.codegen.program import program_text
from tinyjax.compile.cost import cost_lines, step_costs
from tinyjax.compile.explain import explain_lines, mapping
from tinyjax.compile.launches import launches_lines, with_launches
from tinyjax.compile.memory_plan import (
    MemoryPlan,
    memory_lines,
    plan_memory,
    usable_donations,
    with_memory,
)
from tinyjax.compile.passes.pipeline import run_passes
from tinyjax.compile.plan import Plan, groups_lines, make_plan, schedule_lines
from tinyjax.core.compile_log import compiling_logger, log_level, logged_time
from tinyjax.core.jaxpr import ClosedJaxpr

if TYPE_CHECKING:
    from tinyjax.runtime.devices import Device

# ---- stages ----


@dataclass
class LoweredProgram:
    """A jaxpr on its way to a device: what each stage made of it."""

    name: str
    closed: ClosedJaxpr
    device: Device
    target: Target | None  # None: all of it runs on the host
    plan: Plan
    memory: MemoryPlan
    donated: tuple[bool, ...]  # which arguments can't be used after a call

    def as_text(self, stage: str | None = None) -> str:
        """One of STAGES as text; by default the OpenCL C and the schedule.

        Raises ValueError for another stage."""
        if stage is None:
            return (self.as_text("opencl") + "\n" + self.as_text("schedule")).lstrip()
        return _stage(stage).text(self)

    def result(self, stage: str) -> Any:
        """What a stage made, itself: see STAGES.

        Raises ValueError for another stage."""
        return _stage(stage).result(self)


@dataclass(frozen=True)
class Stage:
    """What it made of a program, itself and as text."""

    result: Callable[[LoweredProgram], Any]
    text: Callable[[LoweredProgram], str]


STAGES = {
    "jaxpr": Stage(lambda it: it.closed, lambda it: str(it.closed)),
    "simplified": Stage(lambda it: it.plan.closed, lambda it: str(it.plan.closed)),
    "groups": Stage(lambda it: it.plan.groups, lambda it: "\n".join(groups_lines(it.plan))),
    "kernel": Stage(
        lambda it: it.plan.all_kernels(), lambda it: "\n".join(map(str, it.plan.all_kernels()))
    ),
    "opencl": Stage(
        lambda it: program_text(it.plan.all_kernels()),
        lambda it: program_text(it.plan.all_kernels()),
    ),
    "explain": Stage(
        lambda it: mapping(it.plan), lambda it: "\n".join(explain_lines(it.plan)).lstrip("\n")
    ),
    "memory": Stage(lambda it: it.memory, lambda it: "\n".join(memory_lines(it.plan, it.memory))),
    "cost": Stage(lambda it: step_costs(it.plan), lambda it: "\n".join(cost_lines(it.plan))),
    "schedule": Stage(lambda it: it.plan, lambda it: schedule_text(it)),
}


def _stage(name: str) -> Stage:
    if name not in STAGES:
        raise ValueError(f"unknown dialect: {name!r}; there are {', '.join(map(repr, STAGES))}")
    return STAGES[name]


# ---- lowering ----


def lower_jaxpr(
    closed: ClosedJaxpr, device: Device, name: str = "jitted", donated: Sequence[bool] = ()
) -> LoweredProgram:
    """Takes a jaxpr through all stages for `device`. `donated` says which arguments' memory is free for
    results; warns of those that are of no use for it."""
    types = ", ".join(aval.str_short() for aval in closed.in_avals)
    compiling_logger.log(log_level(), "Compiling jit(%s) for arguments (%s)", name, types)
    donated = usable_donations(closed, donated) if any(donated) else ()
    device.warn_without_opencl()
    target = None if device.cl_device is None else target_of(device)
    with logged_time(f"lowering jit({name}) to OpenCL C"):
        simplified = run_passes(closed)
        plan = make_plan(simplified, target)
        memory = plan_memory(plan, donated)
        plan = with_launches(with_memory(plan, memory), memory, device)
    return LoweredProgram(name, closed, device, target, plan, memory, tuple(donated))


def target_of(device: Device) -> Target:
    return CPU if device.platform == "cpu" else GPU


def schedule_text(lowered: LoweredProgram) -> str:
    """The steps of a call, with those of loops' bodies indented."""
    head = f"schedule of {lowered.name} on {lowered.device!r} ({lowered.device.device_kind})"
    lines = [*schedule_lines(lowered.plan), *launches_lines(lowered.plan)]
    return "\n".join([head, *("  " + line for line in lines)])
