"""Loops and branches in one form: while, scan and fori_loop are a `Loop`, cond and switch are `Branches`.

The parts of a loop get names, so that later stages don't depend on how JAX's primitives order their operands.
`control_flow(eqn)` takes an equation apart, and `.equation()` puts a changed record together again.

    Loop:       for x in xs, or while condition(*condition_consts, *carry):
                    carry, y = body(*consts, *carry, *x)
    Branches:   branches[index](*operands)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tinyjax.core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Var, subjaxprs
from tinyjax.core.lists import split_list

# A function of a jaxpr's role, the jaxpr, and the operands that are its first arguments: it returns another
# jaxpr, and the operands of that one.
ChangeBody = Callable[[str, ClosedJaxpr, Sequence[Atom]], tuple[ClosedJaxpr, Sequence[Atom]]]


@dataclass(frozen=True)
class Loop:
    """A loop of `length` iterations, one for each slice of the `xs`; or, if that is None, as long as
    `condition` gives True. Its results are the last carry and the ys, what the iterations made, stacked."""

    eqn: JaxprEqn  # the equation that it is made from
    body: ClosedJaxpr
    consts: Sequence[Atom]
    carry: Sequence[Atom]  # before the first iteration
    xs: Sequence[Atom] = ()
    length: int | None = None
    reverse: bool = False  # from the last slice to the first
    condition: ClosedJaxpr | None = None
    condition_consts: Sequence[Atom] = field(default=())

    @property
    def last_carry(self) -> list[Var]:
        return self.eqn.outvars[: len(self.carry)]

    @property
    def ys(self) -> list[Var]:
        return self.eqn.outvars[len(self.carry) :]

    @property
    def bodies(self) -> dict[str, ClosedJaxpr]:
        """The jaxprs that an iteration runs."""
        return ({"cond": self.condition} if self.condition else {}) | {"body": self.body}

    @property
    def variables(self) -> list[Var]:
        """The variable that each operand of the equation becomes inside the loop."""
        first = self.condition.jaxpr.invars[: len(self.condition_consts)] if self.condition else []
        return [*first, *self.body.jaxpr.invars]

    def parts(self, values: Sequence[Any]) -> list[list[Any]]:
        """`values`, one an operand, split: for the condition_consts, the consts, the carry and the xs."""
        counts = [len(part) for part in (self.condition_consts, self.consts, self.carry)]
        return split_list(values, *counts)

    def with_bodies(self, change: ChangeBody) -> Loop:
        """The loop with its jaxprs as `change` makes them, of other constants."""
        found = self
        if self.condition:
            condition, consts = change("cond", self.condition, self.condition_consts)
            found = replace(self, condition=condition, condition_consts=consts)
        body, consts = change("body", self.body, self.consts)
        return replace(found, body=body, consts=consts)

    def equation(self) -> JaxprEqn:
        """The record as an equation of the primitive that it is from."""
        params = dict(self.eqn.params)
        if self.condition is None:
            params |= {"jaxpr": self.body, "num_consts": len(self.consts)}
        else:
            params |= {"cond_jaxpr": self.condition, "body_jaxpr": self.body}
            params["cond_nconsts"] = len(self.condition_consts)
            params["body_nconsts"] = len(self.consts)
        invars = [*self.condition_consts, *self.consts, *self.carry, *self.xs]
        return self.eqn.replace(invars=invars, params=params)


@dataclass(frozen=True)
class Branches:
    """Jaxprs of the same operands; the one at `index` runs: an integer, clamped to the range, or a bool."""

    eqn: JaxprEqn
    index: Atom
    operands: Sequence[Atom]
    branches: Sequence[ClosedJaxpr]

    @property
    def bodies(self) -> dict[str, ClosedJaxpr]:
        return {f"branch {number}": branch for number, branch in enumerate(self.branches)}

    def with_bodies(self, change: ChangeBody) -> Branches:
        """The same with each branch as `change` makes it. Its new operands are first, and all branches have
        those of each: the others ignore them."""
        changed = [change(label, body, ()) for label, body in self.bodies.items()]
        operands = [v for _, new in changed for v in new]
        branches, first = [], 0
        for body, new in changed:
            arguments = [Var(v.aval) for v in operands]
            arguments[first : first + len(new)] = body.jaxpr.invars[: len(new)]
            invars = [*arguments, *body.jaxpr.invars[len(new) :]]
            branches.append(body.replace(body.jaxpr.replace(invars=invars)))
            first += len(new)
        return replace(self, branches=tuple(branches), operands=[*operands, *self.operands])

    def equation(self) -> JaxprEqn:
        """The record as an equation again."""
        params = self.eqn.params | {"branches": tuple(self.branches)}
        return self.eqn.replace(invars=[self.index, *self.operands], params=params)


# ---- from the primitives ----


def is_control_flow(eqn: JaxprEqn) -> bool:
    """Whether an equation is a loop or a branch."""
    return eqn.primitive.name in _FORMS


def control_flow(eqn: JaxprEqn) -> Loop | Branches:
    """A loop or a branch in its parts."""
    return _FORMS[eqn.primitive.name](eqn)


def loop_of(eqn: JaxprEqn) -> Loop | None:
    """The equation as a Loop; None if it is not one."""
    found = control_flow(eqn) if is_control_flow(eqn) else None
    return found if isinstance(found, Loop) else None


def bodies_of(eqn: JaxprEqn) -> dict[str, ClosedJaxpr]:
    """The jaxprs that a loop or a branch runs, by their role; none for other equations."""
    return control_flow(eqn).bodies if is_control_flow(eqn) else {}


def every_eqn(eqn: JaxprEqn) -> Iterator[JaxprEqn]:
    """An equation, and those of the jaxprs among its parameters, in the order in which they are printed."""
    yield eqn
    for jaxpr in subjaxprs(eqn.params):
        for inner in jaxpr.eqns:
            yield from every_eqn(inner)


def has_unknown_length(eqn: JaxprEqn) -> bool:
    """Whether an equation is a loop of unknown length, or has one within."""
    loops = filter(None, map(loop_of, every_eqn(eqn)))
    return any(loop.length is None for loop in loops)


def _scan(eqn: JaxprEqn) -> Loop:
    params = eqn.params
    consts, carry, xs = split_list(eqn.invars, params["num_consts"], params["num_carry"])
    return Loop(eqn, params["jaxpr"], consts, carry, xs, params["length"], params["reverse"])


def _while(eqn: JaxprEqn) -> Loop:
    params = eqn.params
    sizes = params["cond_nconsts"], params["body_nconsts"]
    condition_consts, consts, carry = split_list(eqn.invars, *sizes)
    condition = {"condition": params["cond_jaxpr"], "condition_consts": condition_consts}
    return Loop(eqn, params["body_jaxpr"], consts, carry, **condition)


def _cond(eqn: JaxprEqn) -> Branches:
    return Branches(eqn, eqn.invars[0], eqn.invars[1:], eqn.params["branches"])


_FORMS: dict[str, Callable[[JaxprEqn], Any]] = {"scan": _scan, "while": _while, "cond": _cond}
