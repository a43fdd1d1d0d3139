"""Trace a function for drawing: its jaxpr with a copy for each call, and each equation marked.

A function that is called twice is drawn twice, as its values differ. The marks of provenance.py map each
equation of a transformed program to an equation of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var
from tinyjax.core.pretty_printer import variable_names
from tinyjax.core.tracing import make_jaxpr
from tinyjax.core.tree_util.pytrees import tree_leaves, tree_map
from tinyjax.studio.viz.provenance import Mark, printed_eqns


class Program:
    """The jaxpr of a function at these arguments; `names` and `numbers` are those of its text."""

    def __init__(self, function: Callable[..., Any], args: Sequence[Any]):
        traced = make_jaxpr(function)(*args)
        self.debug_info = traced.debug_info
        self.leaves = tree_leaves(tuple(args))
        self.eqns = [eqn for _, eqn in printed_eqns(traced.jaxpr)]
        self.names = variable_names(traced.jaxpr)
        self.numbers = {eqn: number for number, eqn in enumerate(self.eqns)}
        self.closed: ClosedJaxpr = self._copy(traced)

    def _copy(self, item: Any) -> Any:
        """A copy of a jaxpr with new variables; anything else unchanged."""
        if isinstance(item, ClosedJaxpr):
            return ClosedJaxpr(self._copy(item.jaxpr), item.consts)
        if not isinstance(item, Jaxpr):
            return item
        new: dict[Any, Var] = {}

        def copies(atoms: Sequence[Any]) -> list[Any]:
            for v in atoms:
                if isinstance(v, Var) and v not in new:
                    new[v] = Var(v.aval)
                    self.names[new[v]] = self.names.get(v, "_")
            return [new.get(v, v) for v in atoms]

        constvars, invars = copies(item.constvars), copies(item.invars)
        eqns = []
        for eqn in item.eqns:
            params = {key: tree_map(self._copy, value) for key, value in eqn.params.items()}
            mark = Mark(eqn.source_info, self.numbers[eqn])
            eqns.append(
                JaxprEqn(eqn.primitive, copies(eqn.invars), copies(eqn.outvars), params, mark)
            )
            self.numbers[eqns[-1]] = mark.eqn
        return Jaxpr(constvars, invars, copies(item.outvars), eqns)
