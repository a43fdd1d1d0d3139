"""The cost model: the arithmetic, bytes and work of an equation.

Primitives declare their arithmetic (core/facts.py). Fusion reads the operations of one element, loop
schedules read the `work` of an iteration, and `as_text("cost")` and the choice of threads read arithmetic and
bytes. The costs of a group, a body or a program are sums.

`flops`, `transcendentals` and `bytes` are XLA's, so that numbers can be compared with JAX's:

- `flops`: one for each operation on an element, integers and booleans included; two (a product and a
  sum) for each term of a matrix product; a reduction of n elements to m has n - m.
- `transcendentals`: functions that take several operations (exp, sin, sqrt, pow, ...), one for each element.
- `bytes`: of all operands and results.
- Equations that only move or create elements (transpose, broadcast, slice, iota) have no arithmetic.
- A loop counts one iteration, and a cond its most expensive branch.

`work` counts a kernel's simple operations, in all iterations.

Source: XLA's HloCostAnalysis, as jax.stages.Compiled.cost_analysis shows it:
https://docs.jax.dev/en/latest/aot.html#debug-information-and-analyses-when-available
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace

from tinyjax.compile.kernel import rules
from tinyjax.compile.passes.loops import bodies_of, is_control_flow, loop_of
from tinyjax.compile.target import CPU, Target
from tinyjax.core.array import ShapedArray
from tinyjax.core.inlining import called_jaxpr, is_call
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn

OPERATIONS_TO_COMPARE = 4  # operations of an index map for each of several elements, to choose one
UNKNOWN_ITERATIONS = 16  # assumed iterations of a loop of unknown length


@dataclass(frozen=True)
class Cost:
    """The operations, and the bytes read and written for them."""

    flops: float = 0.0
    transcendentals: float = 0.0
    bytes: float = 0.0
    work: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*map(operator.add, vars(self).values(), vars(other).values()))

    def as_dict(self) -> dict[str, float]:
        """The counts of XLA, by JAX's names; zeros are left out, as in JAX."""
        names = "flops", "transcendentals", "bytes accessed"
        return {name: value for name, value in zip(names, astuple(self)) if value}


def total(costs: Iterable[Cost]) -> Cost:
    return sum(costs, Cost())


def bytes_of(aval: ShapedArray) -> int:
    return aval.size * aval.dtype.itemsize


def bytes_of_all(atoms: Iterable[Atom]) -> int:
    return sum([bytes_of(v.aval) for v in atoms])


# ---- one element ----


def operations(lowering: rules.Lowering) -> int:
    """Simple operations for an element of the result, without the operations for its operands."""
    if isinstance(lowering, rules.Elementwise):
        return lowering.cost
    if isinstance(lowering, rules.IndexMap):
        return 0 if lowering.reads == 1 else OPERATIONS_TO_COMPARE
    return 1


def reduction_size(eqn: JaxprEqn, lowering: rules.Lowering) -> int:
    """How many elements make one element of the result: the size of the reduction domain for a reduction, the
    number of reads for an IndexMap; else one."""
    if isinstance(lowering, rules.IndexMap):
        return lowering.reads
    return math.prod(lowering.sizes(eqn)) if isinstance(lowering, rules.Reduction) else 1


# ---- equations ----


def jaxpr_cost(jaxpr: Jaxpr, target: Target = CPU) -> Cost:
    """The cost of running the equations one by one, each reading and writing memory."""
    return total(eqn_cost(eqn, target) for eqn in jaxpr.eqns)


def eqn_cost(eqn: JaxprEqn, target: Target = CPU) -> Cost:
    """The cost of one equation; `bytes` are those of its operands and results."""
    if is_call(eqn):
        return jaxpr_cost(called_jaxpr(eqn).jaxpr, target)
    if is_control_flow(eqn):
        bodies = bodies_of(eqn).values()
        one = of_one_iteration(eqn, [jaxpr_cost(body.jaxpr, target) for body in bodies])
        loop = loop_of(eqn)
        times = 1 if loop is None else UNKNOWN_ITERATIONS if loop.length is None else loop.length
        return replace(one, work=times * one.work)
    lowering = rules.lowering_of(eqn, target)
    each = max(1, operations(lowering)) * reduction_size(eqn, lowering)
    work = each * sum(v.aval.size for v in eqn.outvars)
    if isinstance(lowering, rules.InOrder):
        work = lowering.work(eqn)
    flops, functions = _arithmetic(eqn, lowering)
    return Cost(flops, functions, bytes_of_all([*eqn.invars, *eqn.outvars]), work)


def of_one_iteration(eqn: JaxprEqn, bodies: list[Cost]) -> Cost:
    """The cost of running a loop's bodies once, or the most expensive branch."""
    if loop_of(eqn):
        return total(bodies)
    return Cost(*map(max, zip(*map(astuple, bodies))))


def _arithmetic(eqn: JaxprEqn, lowering: rules.Lowering) -> tuple[float, float]:
    """(operations, special functions) of an equation: as its primitive declares, or as it is lowered."""
    cost, size = eqn.primitive.facts.cost, eqn.outvars[0].aval.size if eqn.outvars else 0
    if callable(cost):
        return cost(eqn), 0
    if cost is None and isinstance(lowering, (rules.IndexMap, rules.Reduction)):
        cost = reduction_size(eqn, lowering) - 1
    elif cost is None:
        cost = int(isinstance(lowering, rules.Elementwise))
    simple, functions = cost if isinstance(cost, tuple) else (cost, 0)
    return simple * size, functions * size
