"""The launches of a plan: which kernels the device runs, on which arrays.

Here each kernel is launched by itself, on the device's threads; with tinyjax/fast, small ones run in the
calling thread, and several as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tinyjax.compile.plan import Launch, Plan
from tinyjax.core.shortcuts import with_shortcut

if TYPE_CHECKING:
    from tinyjax.runtime.devices import Device


def launch_of(plan: Plan, number: int) -> Launch:
    """A group's kernel by itself."""
    group, kernel = plan.groups[number], plan.kernels[number]
    written_over = [i for i, _ in plan.memory.in_place.get(number, ())]
    inputs = [v for i, v in enumerate(group.inputs) if i not in written_over]
    return Launch(kernel, [number], [kernel], inputs, group.outputs)


@with_shortcut
def launches_of(plan: Plan, device: Device) -> list[Launch]:
    """The launches of a plan's kernels, in order."""
    return [launch_of(plan, number) for number in plan.kernels]


def with_launches(plan: Plan, device: Device) -> Plan:
    """The plan with its launches, also in the bodies of loops that are not part of a launch themselves."""
    launches = launches_of(plan, device)
    launched = {number for launch in launches for number in launch.numbers}

    def of_body(body: Plan, number: int, label: str) -> Plan:
        return body if number in launched else with_launches(body, device)

    return plan.with_bodies(of_body, launches=launches)


def launches_lines(plan: Plan) -> Iterator[str]:
    """A line for each launch of several kernels, or of an open-ended loop in the calling thread."""
    for of in plan.all_plans():
        for launch in of.launches:
            if len(launch.kernels) > 1 or launch.by_threads:
                names = ", ".join(kernel.name for kernel in launch.kernels)
                by = "the calling thread" if launch.inline else "the device's threads"
                if launch.by_threads:
                    most = f"{launch.operations:,} operations"
                    by += f", or by the device's threads once its loops take more than {most}"
                yield f"in one launch, run by {by}: {names}"
