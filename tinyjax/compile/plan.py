"""The plan of a jaxpr: its groups, a kernel for each, and the plans of the jaxprs that its loops run.

A plan depends on the target alone, not on a device: nothing is built yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tinyjax.compile.codegen.program import OtherKernel
from tinyjax.compile.fusion.fuse import fuse
from tinyjax.compile.fusion.groups import Group, HostGroup, KernelGroup, LoopGroup, host_group
from tinyjax.compile.kernel.kernel_ir import Buffer, Kernel
from tinyjax.compile.kernel.naive_loop import LoopKernel
from tinyjax.compile.kernel.rules import rewrites_for_steps
from tinyjax.compile.passes.cse import cse_key
from tinyjax.compile.passes.loops import Loop, bodies_of, control_flow, is_control_flow
from tinyjax.compile.record import give_name, run_pass
from tinyjax.compile.schedules.loop_kernels import loop_kernel
from tinyjax.compile.schedules.lower import lower_group
from tinyjax.compile.target import Target
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, all_jaxprs
from tinyjax.core.pretty_printer import variable_names

# ---- what a plan is ----


@dataclass
class Launch:
    """A launch of one kernel. Its arguments are the arrays that it reads, the arrays that it makes, work
    memory and scratch memory. The launches of a `run` share their work memory."""

    kernel: Kernel | OtherKernel
    numbers: Sequence[int]  # of the groups whose work it does
    kernels: Sequence[Kernel]  # theirs
    inputs: Sequence[Var]
    outputs: Sequence[Var]
    inline: bool = False  # run to its end by the thread that launches it
    # The device's threads run this one instead if its loops take more operations than these.
    by_threads: Launch | None = None
    operations: int = 0
    run: Sequence[int] = ()  # the groups of all launches that share this one's work memory

    def local_size(self, usual: int) -> int:
        """The work-items in a group: as many as the kernel needs, else the device's preferred number."""
        needed = self.kernel.local_size
        return needed if needed > 1 else math.gcd(self.kernel.items, usual)

    @property
    def work(self) -> list[Buffer]:
        return [buffer for buffer in self.kernel.buffers if buffer.role == "work"]

    @property
    def scratch(self) -> list[Buffer]:
        return [buffer for buffer in self.kernel.buffers if buffer.role == "scratch"]


@dataclass
class MemoryPlan:
    """How buffers are reused in a run of one jaxpr.

    `reuses_buffer_of` maps an output to the variable whose memory it gets. `in_place` maps a group to the
    positions (input, output) that are one buffer of its kernel. `freed_after` maps a group to the variables
    that are freed after it because no output reuses their memory. `donated`: arguments whose memory may be
    written to. `live`: the bytes in use while each group runs, and finally after the run."""

    donated: set[Var] = field(default_factory=set)
    reuses_buffer_of: dict[Var, Var] = field(default_factory=dict)
    in_place: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    freed_after: dict[int, list[Var]] = field(default_factory=dict)
    live: list[int] = field(default_factory=list)
    argument_bytes: int = 0
    constant_bytes: int = 0
    output_bytes: int = 0
    alias_bytes: int = 0  # of results in memory of donated arguments

    @property
    def peak_bytes(self) -> int:
        """The most that arguments, constants, results and temporaries take at one time."""
        return max(self.live)

    @property
    def temp_bytes(self) -> int:
        """The peak without the separate memory of arguments, constants and results."""
        lasting = self.argument_bytes + self.constant_bytes + self.output_bytes - self.alias_bytes
        return max(0, self.peak_bytes - lasting)


@dataclass
class Plan:
    """One jaxpr: what runs, in order. Groups without a kernel run on the host, or have nothing to
    compute, or are loops that run the plans in `bodies`."""

    closed: ClosedJaxpr  # as simplified
    groups: list[Group]
    names: dict[Var, str]
    kernels: dict[int, Kernel] = field(default_factory=dict)  # by the number of their group
    bodies: dict[int, dict[str, Plan]] = field(default_factory=dict)  # 'body', 'cond', 'branch 0'
    memory: MemoryPlan = field(default_factory=MemoryPlan)  # see memory_plan.py
    launches: list[Launch] = field(default_factory=list)  # of all kernels: see launches.py

    def __str__(self) -> str:
        return "\n".join(groups_lines(self))

    def made_on_device(self) -> set[Var]:
        """The values that the device computes: their memory can be reused when nothing reads it."""
        return {v for group in self.groups if group.kind != "host" for v in group.outputs}

    def all_plans(self) -> Iterator[Plan]:
        """This plan, and those of the bodies within."""
        yield self
        for bodies in self.bodies.values():
            for body in bodies.values():
                yield from body.all_plans()

    def with_bodies(self, change: Callable[[Plan, int, str], Plan], **changes: Any) -> Plan:
        """The plan with change(body, number, label) instead of each loop body's plan, and other changes."""
        bodies = {
            number: {label: change(body, number, label) for label, body in of.items()}
            for number, of in self.bodies.items()
        }
        return replace(self, bodies=bodies, **changes)

    def all_kernels(self) -> list[Kernel]:
        """The kernels of this plan and of its bodies, without duplicates: one program."""
        kernels = [kernel for plan in self.all_plans() for kernel in plan.kernels.values()]
        return list({kernel.name: kernel for kernel in kernels}.values())


# ---- planning ----


def with_kernels(plan: Plan, change: Callable[[Kernel], Kernel]) -> Plan:
    """The plan with each kernel as `change` makes it, also in its loops' bodies."""
    kernels = {number: change(kernel) for number, kernel in plan.kernels.items()}
    return plan.with_bodies(lambda body, *place: with_kernels(body, change), kernels=kernels)


def all_names(jaxpr: Jaxpr) -> dict[Var, str]:
    """The names in the printed jaxpr, bodies included; a variable that is never read is _."""
    names = variable_names(jaxpr)
    for inner in all_jaxprs(jaxpr):
        for eqn in inner.eqns:
            for v in eqn.outvars:
                names.setdefault(v, "_")
    return names


def make_plan(closed: ClosedJaxpr, target: Target | None) -> Plan:
    """The plan of a simplified jaxpr; without a target, all of it runs on the host."""
    names = all_names(closed.jaxpr)
    if target is None:
        groups: list[Any] = [host_group(e, "there is no OpenCL device") for e in closed.eqns]
        return Plan(closed, groups, names)
    return _Planner(target, {}).plan(closed, names, "k")


class _Planner:
    """Makes a plan and the plans of its bodies; equal groups share one kernel."""

    def __init__(self, target: Target, shared: dict[Hashable, Kernel]):
        self.target, self.shared = target, shared  # kernels by what they compute

    def plan(self, closed: ClosedJaxpr, names: dict[Var, str], prefix: str) -> Plan:
        """`prefix` begins the kernels' names, so that no two of a program are alike."""
        producer = {v: eqn for eqn in closed.eqns for v in eqn.outvars}
        # Each loop's kernel, or why it has none:
        loops: dict[JaxprEqn, LoopKernel | str] = {
            eqn: loop_kernel(eqn, producer, names, self.target)
            for eqn in filter(is_control_flow, closed.eqns)
        }
        inside = {e: (k.inputs, k.before) for e, k in loops.items() if isinstance(k, LoopKernel)}
        of = "" if prefix == "k" else prefix.rstrip("_")

        def fused(closed: ClosedJaxpr) -> Plan:
            return Plan(closed, fuse(closed.jaxpr, self.target, inside, names), names)

        plan = run_pass("fusion", fused, closed, subject=of)
        for number, group in enumerate(plan.groups):
            if isinstance(group, KernelGroup) and group.outputs[0].aval.size > 0:
                plan.kernels[number] = self._kernel(group, names, f"{prefix}{number}_")
            elif isinstance(group, LoopGroup):
                self._plan_loop(plan, number, group, loops[group.eqn], f"{prefix}{number}_")
        return plan

    def _kernel(self, group: KernelGroup, names: dict[Var, str], prefix: str) -> Kernel:
        key = _group_key(group)
        if key not in self.shared:
            # The name lists the primitives, and its prefix keeps it from being a word of OpenCL C.
            inside = "_".join(dict.fromkeys(eqn.primitive.name for eqn in group.eqns))[:56]
            inside = inside.replace("-", "_")
            self.shared[key] = lower_group(group, prefix + inside, names, self.target)
        return self.shared[key]

    def _plan_loop(
        self, plan: Plan, number: int, group: LoopGroup, made: LoopKernel | str, prefix: str
    ) -> None:
        """One kernel if that can be, else a plan for each of the loop's jaxprs."""
        if isinstance(made, LoopKernel):
            name = f"{prefix}{group.eqn.primitive.name}"
            give_name(made.kernel.name, name)
            naive = made.kernel.naive and replace(made.kernel.naive, name=name)
            plan.kernels[number] = replace(made.kernel, name=name, naive=naive)
            return
        group.reason = made
        if group.eqn.primitive in rewrites_for_steps:
            group.eqns = [rewrites_for_steps[group.eqn.primitive](group.eqn)]
            for body in bodies_of(group.eqn).values():  # new variables in them get names
                plan.names = all_names(body.jaxpr) | plan.names
        in_loop = self.target.in_loop or isinstance(control_flow(group.eqn), Loop)
        planner = _Planner(replace(self.target, in_loop=in_loop), self.shared)
        plan.bodies[number] = {
            label: planner.plan(body, plan.names, f"{prefix}{label.replace(' ', '')}_")
            for label, body in bodies_of(group.eqn).items()
        }


def _group_key(group: KernelGroup) -> Hashable:
    """Equal for groups that compute alike, whatever their variables are; by default the group's own."""
    made = [v for eqn in group.eqns for v in eqn.outvars]
    numbers = {v: number for number, v in enumerate([*group.inputs, *made])}

    eqns = tuple([cse_key(eqn, numbers) for eqn in group.eqns])
    if None in eqns:  # a parameter can't be compared
        return id(group)
    inputs = tuple([v.aval for v in group.inputs])
    return inputs, eqns, tuple([numbers[v] for v in group.outputs]), group.form


# ---- printing ----


def groups_lines(plan: Plan) -> Iterator[str]:
    """One line a group: what it computes from what, the equations inside, and why outputs are stored."""
    for number, group in enumerate(plan.groups):
        inside = _remark(plan, number)
        if isinstance(group, HostGroup):
            inside = f"{group.eqn.primitive}: {inside}"
        read = ", ".join(plan.names[v] for v in group.inputs)
        yield f"{number}: {group.kind:7} {_typed(plan, group.outputs)} from {read}  # {inside}"
        for v, reason in zip(group.outputs, getattr(group, "reasons", ())):
            if v not in plan.closed.jaxpr.outvars:
                yield f"   {plan.names[v]} is stored: {reason}"
        yield from _bodies_lines(plan, number, groups_lines)


def schedule_lines(plan: Plan) -> Iterator[str]:
    """One line a step: which kernel, loop or host step makes which arrays from which."""
    for number, group in enumerate(plan.groups):
        made, read = _typed(plan, group.outputs), ", ".join(plan.names[v] for v in group.inputs)
        if number in plan.kernels:
            kernel = plan.kernels[number]
            step = f"launch  {kernel.name}({read}) -> {made}  # work-items: {kernel.items}"
            if isinstance(group, LoopGroup):
                step += f"; {_remark(plan, number)}"
        elif isinstance(group, KernelGroup):
            step = f"nothing to compute -> {made}"
        else:
            called = str(group.eqn.primitive)
            if group.kind == "matmul":  # with its operands' types
                types = (v.aval.str_short(short_dtypes=True) for v in group.eqn.invars)
                called = " x ".join(types) + " "
            step = f"{group.kind:7} {called}({read}) -> {made}  # {_remark(plan, number)}"
        yield f"{number}: {step}"
        yield from _bodies_lines(plan, number, schedule_lines)
    outvars = plan.closed.jaxpr.outvars
    found = (str(v.val) if isinstance(v, Literal) else plan.names[v] for v in outvars)
    yield f"results: {', '.join(found)}"


def step_word(plan: Plan, number: int) -> str:
    """A short name for a step: its kernel's name, or the operation of the host or loop."""
    group = plan.groups[number]
    if number in plan.kernels:
        return plan.kernels[number].name
    if isinstance(group, KernelGroup):
        return "nothing to compute"
    return f"{group.kind} {group.eqn.primitive}"


def _bodies_lines(plan: Plan, number: int, lines_of: Callable) -> Iterator[str]:
    for label, body in plan.bodies.get(number, {}).items():
        arguments = ", ".join(plan.names[v] for v in body.closed.jaxpr.invars)
        yield f"   {label}({arguments}):"
        yield from ("     " + line for line in lines_of(body))


def _remark(plan: Plan, number: int) -> str:
    """The operations of a kernel, why a step runs on the host, or which form of a loop was chosen."""
    group = plan.groups[number]
    if isinstance(group, KernelGroup):
        return " ".join(eqn.primitive.name for eqn in group.eqns)
    if isinstance(group, HostGroup):
        return group.reason
    if group.reason:
        return f"steps, not one kernel: {group.reason}"
    return f"one kernel, {plan.kernels[number].form}"


def _typed(plan: Plan, variables: Sequence[Var]) -> str:
    return ", ".join(f"{plan.names[v]}:{v.aval.str_short(short_dtypes=True)}" for v in variables)
