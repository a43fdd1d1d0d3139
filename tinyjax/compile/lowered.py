"""From a jaxpr to a plan of kernels: the stages in order, and the result of each.

`lower_jaxpr` opens no device: it makes only text and plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tinyjax.compile.codegen.program import program_text
from tinyjax.compile.cost import cost_lines, step_costs
from tinyjax.compile.explain import explain_lines, mapping
from tinyjax.compile.kernel.kernel_ir import Kernel
from tinyjax.compile.launches import launches_lines, with_launches
from tinyjax.compile.memory_plan import memory_lines, usable_donations, with_memory
from tinyjax.compile.passes.pipeline import run_passes
from tinyjax.compile.plan import Plan, groups_lines, make_plan, schedule_lines, with_kernels
from tinyjax.compile.record import PassRecord, recording
from tinyjax.compile.schedules.directive import Directive
from tinyjax.compile.schedules.schedule import directive_lines, scheduled
from tinyjax.compile.target import CPU, GPU, Target
from tinyjax.core.compile_log import compiling_logger, log_level, logged_time
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.core.missing_names import feature

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
    planned: Plan  # each kernel with separate memory
    donated: tuple[bool, ...]  # which arguments can't be used after a call
    rescheduled: tuple[str, ...] = ()  # kernels with a schedule that the user chose
    plan: Plan = field(init=False)  # the final plan: some kernels work in place

    def __post_init__(self) -> None:
        self.plan = with_launches(with_memory(self.planned, self.donated), self.device)

    def as_text(self, stage: str | None = None) -> str:
        """A stage (one of STAGES), or a pass's result (by the title of its record), as text; by default the
        OpenCL C and the schedule. "schedule of k0" is the schedule of the one kernel whose name begins with
        k0.

        Raises ValueError, with the list of stages, for another name."""
        if stage is None:
            return (self.as_text("opencl") + "\n" + self.as_text("schedule")).lstrip()
        if stage.startswith("schedule of "):
            kernel = self.kernel(stage.removeprefix("schedule of "))
            return "\n".join(directive_lines(kernel))
        lines = STAGES[stage].lines if stage in STAGES else None
        if lines is not None:
            return "\n".join(lines(self)).lstrip("\n")
        made = self.result(stage)
        return "\n".join(map(str, made)) if isinstance(made, list) else str(made)

    def result(self, stage: str) -> Any:
        """The result of a stage or a pass, as an object; of "schedule of k0", the list of its directives.

        Raises ValueError for another name."""
        if stage.startswith("schedule of "):
            steps = self.kernel(stage.removeprefix("schedule of ")).schedule
            return [step for step in steps if isinstance(step, Directive)]
        return STAGES[stage].result(self) if stage in STAGES else self._after(stage)

    @cached_property
    def passes(self) -> list[PassRecord]:
        """What each pass did, from the traced jaxpr on: found by lowering once more."""
        with recording() as records:
            closed = ClosedJaxpr(self.closed.jaxpr, self.closed.consts)  # nothing is cached on it
            planned = make_plan(run_passes(closed), self.target)
            for kernel in map(self.kernel, self.rescheduled):
                assert kernel.naive is not None
                records[:] = [r for r in records if r.subject != kernel.naive.name]
                scheduled(kernel.naive, [x for x in kernel.schedule if isinstance(x, Directive)])
            replace(self, closed=closed, planned=planned)
        return records

    def _after(self, title: str) -> Any:
        """The result of a pass; of its last run, if it ran several times."""
        made = {record.title: record.after for record in self.passes}
        if title not in made:
            import difflib

            close = difflib.get_close_matches(title, [*STAGES, *made], n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(
                f"unknown dialect: {title!r}; there are the stages {', '.join(map(repr, STAGES))}, "
                "'schedule of k0', and the passes by their titles, such as 'cse': `.passes` lists "
                f"them.{hint}"
            )
        return made[title]

    def kernel(self, name: str) -> Kernel:
        """The kernel of that name, or the one whose name begins with `name` and _. Raises ValueError."""
        kernels = {kernel.name: kernel for kernel in self.planned.all_kernels()}
        found = [x for x in kernels if x == name or x.startswith(f"{name}_")]
        if len(found) != 1:
            many = "several kernels' names begin" if found else "no kernel's name begins"
            more = f" and {len(kernels) - 3} more" if len(kernels) > 3 else ""
            listed = ", ".join(list(kernels)[:3]) or "none"
            raise ValueError(f"{many} with {name!r}; there are {listed}{more}")
        return kernels[found[0]]

    def with_schedule(self, name: str, directives: Sequence[Directive]) -> LoweredProgram:
        """The program with another schedule for one kernel, instead of the compiler's.

        Raises ValueError for a directive that can't be applied, and for a kernel that has no naive nest;
        TypeError for what is no list of directives."""
        if not all(isinstance(each, Directive) for each in directives):
            raise TypeError(
                f"a schedule is a list of directives, such as [Vectorize('i1', 8)], not {directives!r}"
            )
        old = self.kernel(name)
        if old.naive is None:
            raise ValueError(f"{old.name} was written as it is: there is no naive nest to schedule")
        new = scheduled(old.naive, directives)
        planned = with_kernels(self.planned, lambda x: new if x is old else x)
        rescheduled = dict.fromkeys([*self.rescheduled, old.name])
        return replace(self, planned=planned, rescheduled=tuple(rescheduled))

    def without_schedules(self) -> LoweredProgram:
        """The program with naive loop nests for kernels; a kernel without one stays."""
        planned = with_kernels(self.planned, lambda kernel: kernel.naive or kernel)
        return replace(self, planned=planned, rescheduled=())

    def loop_nests(self) -> list[Kernel]:
        """The naive nests of all kernels; a kernel without one stands for itself."""
        return [kernel.naive or kernel for kernel in self.planned.all_kernels()]


@dataclass(frozen=True)
class Stage:
    """A stage: how to get its result from a program, as an object and as lines of text."""

    result: Callable[[LoweredProgram], Any]
    lines: Callable[[LoweredProgram], Iterable[str]] | None = None  # None: the result's own text


# The stages of `as_text` and `compiler_ir` by name. A feature's stage is imported when first needed.
STAGES = {
    "jaxpr": Stage(lambda it: it.closed),
    "simplified": Stage(lambda it: it.plan.closed),
    "groups": Stage(lambda it: it.plan.groups, lambda it: groups_lines(it.plan)),
    "loop nests": Stage(LoweredProgram.loop_nests),
    "kernel": Stage(lambda it: it.plan.all_kernels()),
    "opencl": Stage(lambda it: program_text(it.plan.all_kernels())),
    "webassembly": Stage(lambda it: feature("wasm.webassembly").webassembly(it.plan.all_kernels())),
    "explain": Stage(lambda it: mapping(it.plan), lambda it: explain_lines(it.plan)),
    "memory": Stage(lambda it: it.plan.memory, lambda it: memory_lines(it.plan)),
    "cost": Stage(lambda it: step_costs(it.plan), lambda it: cost_lines(it.plan)),
    "schedule": Stage(lambda it: it.plan, lambda it: program_schedule_lines(it)),
}


# ---- lowering ----


def lower_jaxpr(
    closed: ClosedJaxpr, device: Device, name: str = "jitted", donated: Sequence[bool] = (),
    target: Target | None = None,
) -> LoweredProgram:  # fmt: skip
    """Takes a jaxpr through all stages for `device`. `donated` marks arguments whose memory results may
    reuse; warns of those that can't be reused. With another `target` it can only be printed."""
    if compiling_logger.isEnabledFor(level := log_level()):
        types = ", ".join(aval.str_short() for aval in closed.in_avals)
        compiling_logger.log(level, "Compiling jit(%s) for arguments (%s)", name, types)
    donated = usable_donations(closed, donated) if any(donated) else ()
    device.warn_without_opencl()
    target = target or (target_of(device) if device.runs_kernels else None)
    with logged_time(f"lowering jit({name}) to OpenCL C"):
        planned = make_plan(run_passes(closed), target)
        return LoweredProgram(name, closed, device, target, planned, tuple(donated))


def target_of(device: Device) -> Target:
    """The target of the device. A GPU's groups are squares, and no larger than it allows."""
    if device.kind is not None:
        return device.kind.target()
    target = CPU if device.platform == "cpu" else GPU
    if target is CPU and device.register_floats == CPU.width:
        target = replace(target, rows=12)  # processors with such registers have 32 of them
    while target.group > device.max_group_size:
        target = replace(target, group=target.group // 4, local_size=target.local_size // 4)
    return target


def program_schedule_lines(lowered: LoweredProgram) -> Iterator[str]:
    """The steps of a call; the steps of loop bodies are indented."""
    yield f"schedule of {lowered.name} on {lowered.device!r} ({lowered.device.device_kind})"
    yield from ("  " + line for line in schedule_lines(lowered.plan))
    yield from ("  " + line for line in launches_lines(lowered.plan))
