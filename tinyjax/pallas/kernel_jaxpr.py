"""A traced kernel: a jaxpr that takes Refs, in which program_id is an equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Var, cached_on_jaxpr, substitute
from tinyjax.pallas.grid_mapping import INT32
from tinyjax.pallas.programs import current_grid, program_id_p


@cached_on_jaxpr
def with_numbers(closed: ClosedJaxpr, axes: int) -> ClosedJaxpr:
    """The kernel as a function of the numbers of its program, along the axes of its grid, and of its Refs."""
    numbers = [Var(INT32) for _ in range(axes)]
    replaced: dict[Var, Atom] = {}
    eqns = []
    for eqn in closed.eqns:
        if eqn.primitive is program_id_p:
            replaced[eqn.outvars[0]] = numbers[eqn.params["axis"]]
        else:
            eqns.append(eqn.replace(invars=substitute(eqn.invars, replaced)))
    jaxpr = closed.jaxpr.replace(invars=[*numbers, *closed.jaxpr.invars], eqns=eqns)
    return closed.replace(jaxpr=jaxpr)


def kernel_of_jaxpr(closed: ClosedJaxpr) -> Callable[..., None]:
    """The kernel as a function of Refs that hold arrays: for interpret.py."""

    def run(*refs: Any) -> None:
        numbers = current_grid("pallas_call").numbers
        assert numbers is not None
        eager_jaxpr_fun(with_numbers(closed, len(numbers)))(*numbers, *refs)

    return run
