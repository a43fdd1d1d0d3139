"""What a program's steps cost: arithmetic, special functions and bytes, known before it runs.

The counting is XLA's (see cost_record.py). A step reads its operands once, and values passed between its
equations cost nothing: that is the point of fusion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tinyjax.compile.fusion.cost_record import Cost, bytes_of_all, eqn_cost, of_one_iteration, total
from tinyjax.compile.fusion.groups import Group
from tinyjax.compile.plan import Plan, step_word


def group_cost(plan: Plan, number: int) -> Cost:
    """The cost of a step. Work that two kernels repeat counts in both. A loop or branch that is not a kernel
    counts one iteration of the plans in plan.bodies[number]."""
    group = plan.groups[number]
    if number in plan.bodies:
        bodies = [plan_cost(body) for body in plan.bodies[number].values()]
        return of_one_iteration(group.eqn, bodies)
    return fused_cost(group)


def fused_cost(group: Group) -> Cost:
    """The arithmetic of all equations of a group, and the bytes that it reads and writes."""
    inside = total(map(eqn_cost, group.eqns))
    return replace(inside, bytes=bytes_of_all([*group.inputs, *group.outputs]))


def step_costs(plan: Plan) -> list[Cost]:
    """The cost of each line of the schedule."""
    return [group_cost(plan, number) for number in range(len(plan.groups))]


def plan_cost(plan: Plan) -> Cost:
    """The cost of all steps."""
    return total(step_costs(plan))


def cost_lines(plan: Plan) -> Iterator[str]:
    """A table with a line for each step. Below about ten operations per byte, a step is bound by memory."""
    yield f"{'flops':>12} {'functions':>12} {'bytes':>12} {'per byte':>9}  step"
    for number, cost in enumerate(step_costs(plan)):
        yield _row(cost, f"{number}: {step_word(plan, number)}")
    yield _row(plan_cost(plan), "all")


def _row(cost: Cost, what: str) -> str:
    work = (cost.flops + cost.transcendentals) / cost.bytes if cost.bytes else 0
    numbers = f"{cost.flops:12,.0f} {cost.transcendentals:12,.0f} {cost.bytes:12,.0f}"
    return f"{numbers} {work:9.2f}  {what}"
