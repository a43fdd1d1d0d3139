"""The cost of a loop: what fits into one work-item, and into one launch.

After this file you can say why a loop became one kernel or steps of the schedule, and how long one
launch of it can take. All limits stand here. Builds on rules and loops.
"""

from __future__ import annotations

import math

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.rules import (
    ArgReduction,
    Elementwise,
    Reduction,
    axes_sizes,
    lowering_of,
)
from tinyjax.compile.kernel.scalar_ops import DIVISION
from tinyjax.compile.passes.loops import Branches, control_flow, is_control_flow
from tinyjax.core.jaxpr import Jaxpr, JaxprEqn

# Elements that the arrays of one work-item may have: private memory is on a stack, and should stay in
# the cache of a core.
MAX_PRIVATE = 2**16
# Operations in an iteration of one work-item: about what a device does while the iteration's kernels
# are launched one by one, 50 to 100 microseconds.
MAX_ITERATION_WORK = {"cpu": 2**19, "gpu": 2**14}
# Operations in one launch, one or two tenths of a second. A scan with less is launched once; other
# loops begin with so much, and go on with what was found to take LAUNCH_SECONDS (loops.py).
LAUNCH_WORK = 2**27
ITERATION_WORK = 4  # operations that an iteration takes in any case
UNKNOWN_ITERATIONS = 16  # how often a while_loop inside is thought to run


def work(jaxpr: Jaxpr, target: Target, width: int = 1) -> int:
    """Roughly the operations of one run of a jaxpr, for vectors of `width` elements: most take no
    longer than scalars, but divisions and functions may be computed lane by lane."""
    return sum(eqn_work(eqn, target, width) for eqn in jaxpr.eqns)


def eqn_work(eqn: JaxprEqn, target: Target, width: int = 1) -> int:
    """The same of one equation."""
    if is_control_flow(eqn):
        found = control_flow(eqn)
        of_bodies = [work(body.jaxpr, target, width) for body in found.bodies.values()]
        if isinstance(found, Branches):
            return max(of_bodies)
        return (UNKNOWN_ITERATIONS if found.length is None else found.length) * sum(of_bodies)
    lowering = lowering_of(eqn, target)
    size = sum(v.aval.size for v in eqn.outvars)
    if isinstance(lowering, Elementwise):
        return size * max(1, lowering.cost) * (width if lowering.cost >= DIVISION else 1)
    if isinstance(lowering, Reduction):
        return size * math.prod(lowering.sizes(eqn))
    if isinstance(lowering, ArgReduction):
        return size * math.prod(axes_sizes(eqn))
    return size
