"""Where an equation stands, and which equation of the function it comes from.

After this file you know how a picture can say that these three equations are the derivative of that one.
The line of the user's program that an equation is from is handed on to all that a transformation writes
on its behalf (`context.source_info`). Here such a line also tells the equation's place, which so goes
along. Builds on jaxpr.py and interpreters/tracing.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.interpreters.tracing import make_jaxpr
from tinyjax.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, subjaxprs
from tinyjax.pretty_printer import variable_names
from tinyjax.tree_util.pytrees import tree_leaves, tree_map


def paths(jaxpr: Jaxpr, prefix: str = "") -> dict[JaxprEqn, str]:
    """The place of each equation: "2" is the third, "2-0-1" the second in the first jaxpr inside it."""
    found = {}
    for i, eqn in enumerate(jaxpr.eqns):
        found[eqn] = f"{prefix}{i}"
        for j, inner in enumerate(subjaxprs(eqn.params)):
            found |= paths(inner, f"{prefix}{i}-{j}-")
    return found


class Origin(tuple):
    """A line of the user's program, with the place and the primitive of an equation from there."""

    path: str
    primitive: str


def origin(eqn: JaxprEqn) -> Origin | None:
    """The equation that this one was written for; None if that is not known."""
    return eqn.source_info if isinstance(eqn.source_info, Origin) else None


class Program:
    """A function traced at these arguments, and the names that its printed jaxpr has.

    Each equation tells its place, and each call has a jaxpr of its own: a function that is called twice
    has other values the second time."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...]):
        traced = make_jaxpr(function)(*args)
        self.names = variable_names(traced.jaxpr)
        self.closed = ClosedJaxpr(self._copied(traced.jaxpr, ""), traced.consts)
        self.leaves = tree_leaves(args)

    def _copied(self, jaxpr: Jaxpr, prefix: str) -> Jaxpr:
        new: dict[Any, Var] = {}

        def variables(atoms: Sequence[Any]) -> list[Any]:
            for v in atoms:
                if isinstance(v, Var) and v not in new:
                    new[v] = Var(v.aval)
                    self.names[new[v]] = self.names.get(v, "_")
            return [new.get(v, v) for v in atoms]

        constvars, invars = variables(jaxpr.constvars), variables(jaxpr.invars)
        eqns = []
        for i, eqn in enumerate(jaxpr.eqns):
            place = Origin(eqn.source_info or ("", 0, ""))
            place.path, place.primitive = f"{prefix}{i}", eqn.primitive.name
            params = self._copied_params(eqn.params, place.path)
            operands, results = variables(eqn.invars), variables(eqn.outvars)
            eqns.append(JaxprEqn(eqn.primitive, operands, results, params, place))
        return Jaxpr(constvars, invars, variables(jaxpr.outvars), eqns)

    def _copied_params(self, params: dict[str, Any], path: str) -> dict[str, Any]:
        number = itertools.count()

        def copied(item: Any) -> Any:
            if isinstance(item, ClosedJaxpr):
                return ClosedJaxpr(copied(item.jaxpr), item.consts)
            if isinstance(item, Jaxpr):
                return self._copied(item, f"{path}-{next(number)}-")
            return item

        return {key: tree_map(copied, value) for key, value in params.items()}
