"""What a program costs: arithmetic, special functions and bytes, counted before it runs.

After this file you can read `compiled.as_text("cost")`, and say of each step whether it waits for
arithmetic or for memory. The counting is XLA's, so that numbers can be compared with JAX's:

- `flops`: one for each operation on an element, integers and booleans included; two (a product and a
  sum) for each term of a matrix product; a reduction of n elements to m has n - m.
- `transcendentals`: functions that are no single operation (exp, sin, sqrt, pow, ...), one an element.
- `bytes accessed`: of all operands and results. A step reads its operands once, and what its equations
  hand to each other costs nothing: fusion is for that.
- What moves elements or makes them up (transpose, broadcast, slice, iota) has no arithmetic.
- A loop counts one iteration, and a branch that one which costs most.

Builds on plan and memory_plan.

Source: XLA's HloCostAnalysis, as jax.stages.Compiled.cost_analysis shows it:
https://docs.jax.dev/en/latest/aot.html#debug-information-and-analyses-when-available
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass

from tinyjax.compile.codegen.codegen import CPU
from tinyjax.compile.kernel.rules import (
    ArgReduction,
    Elementwise,
    Reduction,
    axes_sizes,
    lowering_of,
)
from tinyjax.compile.memory_plan import MemoryPlan, bytes_of
from tinyjax.compile.passes.loops import bodies_of, is_control_flow, loop_of
from tinyjax.compile.plan import Plan, step_word
from tinyjax.core.inlining import CALLS
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn

FUNCTIONS = frozenset(
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh digamma erf erf_inv erfc exp exp2 expm1 "
    "lgamma log log1p logistic polygamma pow rsqrt sin sinh sqrt tan tanh".split()
)
FREE = frozenset("copy device_put name optimization_barrier stop_gradient".split())


@dataclass(frozen=True)
class Cost:
    """What is done, and how many bytes are read and written for it."""

    flops: float = 0.0
    transcendentals: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(a + b for a, b in zip(astuple(self), astuple(other))))

    def as_dict(self) -> dict[str, float]:
        """By JAX's names; what is 0 is left out, as there."""
        names = ("flops", "transcendentals", "bytes accessed")
        return {name: value for name, value in zip(names, astuple(self)) if value}


def total(costs: Iterable[Cost]) -> Cost:
    return sum(costs, Cost())


# ---- equations ----


def jaxpr_cost(jaxpr: Jaxpr) -> Cost:
    """The cost of running the equations one by one, each reading and writing memory."""
    return total(eqn_cost(eqn) for eqn in jaxpr.eqns)


def eqn_cost(eqn: JaxprEqn) -> Cost:
    """The cost of one equation; `bytes` are those of its operands and results."""
    name = eqn.primitive.name
    if name in CALLS:
        called = eqn.params[CALLS[name]]
        return jaxpr_cost(called.jaxpr if isinstance(called, ClosedJaxpr) else called)
    if is_control_flow(eqn):
        return _one_round(eqn, [jaxpr_cost(body.jaxpr) for body in bodies_of(eqn).values()])
    flops, functions = _arithmetic(eqn)
    return Cost(flops, functions, sum(bytes_of(v.aval) for v in [*eqn.invars, *eqn.outvars]))


def _one_round(eqn: JaxprEqn, bodies: list[Cost]) -> Cost:
    if loop_of(eqn):
        return total(bodies)
    return Cost(*map(max, zip(*map(astuple, bodies))))


def _arithmetic(eqn: JaxprEqn) -> tuple[float, float]:
    """(operations, special functions) of an equation."""
    name, size = eqn.primitive.name, eqn.outvars[0].aval.size if eqn.outvars else 0
    operands = sum(v.aval.size for v in eqn.invars)
    if name == "dot_general":
        (contracted, _), _ = eqn.params["dimension_numbers"]
        return 2 * size * math.prod(eqn.invars[0].aval.shape[axis] for axis in contracted), 0
    if name == "sort":
        length = eqn.outvars[0].aval.shape[eqn.params["dimension"]]
        return size * math.ceil(math.log2(max(length, 1))), 0
    if name == "integer_pow":
        return size * _multiplications(eqn.params["y"]), 0
    if name == "logistic":  # 1 / (1 + exp(-x))
        return 3 * size, size
    if name in FUNCTIONS:
        return 0, size
    lowering = lowering_of(eqn, CPU)
    if isinstance(lowering, Reduction):
        return size * (math.prod(lowering.sizes(eqn)) - 1), 0
    if isinstance(lowering, ArgReduction):
        return size * (math.prod(axes_sizes(eqn)) - 1), 0
    if name.startswith("cum"):
        return operands, 0
    return (size if isinstance(lowering, Elementwise) and name not in FREE else 0), 0


def _multiplications(power: int) -> int:
    """How many multiplications make x to a whole power, by squaring; and a division if it is negative."""
    bits = f"{abs(power):b}"
    return max(len(bits) + bits.count("1") - 2, 0) + (power < 0)


# ---- steps ----


def group_cost(plan: Plan, number: int) -> Cost:
    """The cost of a step: the arithmetic of all equations inside, and the bytes of what it reads and
    makes. What two kernels compute for themselves is counted in both. A loop or branch that is no
    kernel counts one iteration of the plans in plan.bodies[number]."""
    group = plan.groups[number]
    if number in plan.bodies:
        bodies = [plan_cost(body) for body in plan.bodies[number].values()]
        return _one_round(group.eqn, bodies)  # type: ignore[union-attr]
    inside = total(map(eqn_cost, group.eqns))
    memory = sum(bytes_of(v.aval) for v in [*group.inputs, *group.outputs])
    return Cost(inside.flops, inside.transcendentals, memory)


def step_costs(plan: Plan) -> list[Cost]:
    """The cost of each line of the schedule."""
    return [group_cost(plan, number) for number in range(len(plan.groups))]


def plan_cost(plan: Plan) -> Cost:
    """The cost of all steps."""
    return total(step_costs(plan))


def cost_lines(plan: Plan) -> Iterator[str]:
    """A table with a line for each step. In the last column, the operations that there are for a byte:
    below about ten, a step waits for memory."""
    yield f"{'flops':>12} {'functions':>12} {'bytes':>12} {'per byte':>9}  step"
    for number, cost in enumerate(step_costs(plan)):
        yield _row(cost, f"{number}: {step_word(plan, number)}")
    yield _row(plan_cost(plan), "all")


def _row(cost: Cost, what: str) -> str:
    work = (cost.flops + cost.transcendentals) / cost.bytes if cost.bytes else 0
    numbers = f"{cost.flops:12,.0f} {cost.transcendentals:12,.0f} {cost.bytes:12,.0f}"
    return f"{numbers} {work:9.2f}  {what}"


# ---- memory ----


@dataclass(frozen=True)
class CompiledMemoryStats:
    """How much memory a call takes, by JAX's names.

    Arguments, constants and results are in memory of their own; `alias` is what results and donated
    arguments share, `temp` what else is needed at the peak, and the generated code OpenCL C."""

    generated_code_size_in_bytes: int
    argument_size_in_bytes: int
    output_size_in_bytes: int
    alias_size_in_bytes: int
    temp_size_in_bytes: int
    peak_memory_in_bytes: int


def memory_stats(memory: MemoryPlan, code: str) -> CompiledMemoryStats:
    return CompiledMemoryStats(
        len(code.encode()),
        memory.argument_bytes,
        memory.output_bytes,
        memory.alias_bytes,
        memory.temp_bytes,
        memory.peak_bytes,
    )
