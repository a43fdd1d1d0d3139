"""Loops and branches as one kernel.

After this file you can say which loops run inside a kernel, by which of two schedules, and why others are
steps of the plan:

- *elementwise*: the body works element by element, so each element runs the loop by itself. A CPU runs it
  for vectors of 16, until the last lane is done; a GPU for scalars.
- *sequential*: the arrays of an iteration are small, so a single work-item keeps them in private memory.
  Launching the kernels of each iteration would take longer than the work.

A kernel that runs can't be stopped. So a loop of unknown or large work is launched again and again for
a bounded number of iterations (see kernel_ir.Iterations), and is interrupted between two launches.
Builds on elementwise_loop and sequential_loop.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinyjax.compile.codegen.codegen import Target
from tinyjax.compile.kernel.check_kernel import check_kernel
from tinyjax.compile.kernel.kernel_ir import statements_of
from tinyjax.compile.kernel.naive_loop import LoopKernel
from tinyjax.compile.kernel.private_arrays import NoKernel
from tinyjax.compile.kernel.scalar_ops import has_kernel_type
from tinyjax.compile.passes.loops import Branches, Loop, bodies_of, control_flow, is_control_flow
from tinyjax.compile.schedules.elementwise_loop import ElementwiseLoop
from tinyjax.compile.schedules.sequential_loop import SequentialLoop
from tinyjax.core.jaxpr import JaxprEqn, Var


def loop_kernel(
    eqn: JaxprEqn, producer: Mapping[Var, JaxprEqn], names: dict[Var, str], target: Target
) -> LoopKernel | str:
    """A while, scan or cond as one kernel, or the reason why it can't be one. `producer` says which
    equations make its operands: cheap ones become part of the kernel."""
    try:
        found = control_flow(eqn)
        _check_size(found)
        with statements_of(eqn):
            if isinstance(found, Loop):
                made = _loop(found, producer, names, target)
            else:
                made = SequentialLoop(found, producer, names, target).made()
    except NoKernel as reason:
        return str(reason)
    check_kernel(made.kernel)
    return made


def _loop(
    loop: Loop, producer: Mapping[Var, JaxprEqn], names: dict[Var, str], target: Target
) -> LoopKernel:
    try:
        return ElementwiseLoop(loop, producer, names, target).made()
    except NoKernel as not_elementwise:
        try:
            return SequentialLoop(loop, producer, names, target).made()
        except NoKernel as not_sequential:
            reasons = f"{not_elementwise} (so not elementwise), and {not_sequential}"
            raise NoKernel(reasons) from None


def _check_size(found: Loop | Branches) -> None:
    eqn = found.eqn
    _check_elements(eqn)
    for v in [*eqn.invars, *eqn.outvars]:
        if not has_kernel_type(v.aval.dtype):
            raise NoKernel(f"kernels do not compute with {v.aval.dtype}")
    if isinstance(found, Loop) and (found.length or 0) >= 2**31:
        raise NoKernel("it has 2**31 iterations or more")


def _check_elements(eqn: JaxprEqn) -> None:
    """Loops and branches need elements to read and to make, those within as well."""
    if any(v.aval.size == 0 for v in [*eqn.invars, *eqn.outvars]):
        raise NoKernel("it has arrays without elements")
    for body in bodies_of(eqn).values():
        for inner in filter(is_control_flow, body.eqns):
            _check_elements(inner)
