"""Map each equation of a transformed program to the equation of the function that it is from.

A jaxpr keeps a source line with each equation, and evaluating a jaxpr passes these lines on to the equations
written meanwhile. So the equations of f get *marks*, source lines that also hold a number; f's jaxpr is then
evaluated in place of f under the same transformations, and each equation of the result has the mark of its
origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tinyjax.core.api_util import FlatFun, wraps
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, SourceLine, eval_jaxpr, subjaxprs
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten


class Mark(SourceLine):
    """A source line that also holds an equation's number."""

    eqn: int

    def __new__(cls, line: SourceLine | None, eqn: int) -> Mark:
        mark = super().__new__(cls, line or ("", 0, ""))
        mark.eqn = eqn
        return mark


def printed_eqns(jaxpr: Jaxpr) -> Iterator[tuple[int, JaxprEqn]]:
    """The equations in printed order, with their depth: each is followed by those of its jaxprs.

    A jaxpr that occurs twice in the program is printed once, and appears here once."""
    seen: set[int] = set()

    def walk(jaxpr: Jaxpr, depth: int) -> Iterator[tuple[int, JaxprEqn]]:
        for eqn in jaxpr.eqns:
            yield depth, eqn
            for inner in subjaxprs(eqn.params):
                if id(inner) not in seen:
                    seen.add(id(inner))
                    yield from walk(inner, depth + 1)

    return walk(jaxpr, 0)


def marked(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program with each equation marked with its number in `printed_eqns`."""
    numbers = {id(eqn): number for number, (_, eqn) in enumerate(printed_eqns(closed.jaxpr))}
    copies: dict[int, Any] = {}  # shared objects stay shared

    def copy(value: Any) -> Any:
        if type(value) in (tuple, list):
            return type(value)(map(copy, value))
        if not isinstance(value, Jaxpr | ClosedJaxpr):
            return value
        if id(value) not in copies:
            copies[id(value)] = (
                ClosedJaxpr(copy(value.jaxpr), value.consts)
                if isinstance(value, ClosedJaxpr)
                else value.replace(eqns=[copy_eqn(eqn) for eqn in value.eqns])
            )
        return copies[id(value)]

    def copy_eqn(eqn: JaxprEqn) -> JaxprEqn:
        params = {name: copy(value) for name, value in eqn.params.items()}
        return eqn.replace(params=params, source_info=Mark(eqn.source_info, numbers[id(eqn)]))

    return copy(closed)


def mark_of(eqn: JaxprEqn) -> int | None:
    """The number of this equation's origin, if it has one."""
    return eqn.source_info.eqn if isinstance(eqn.source_info, Mark) else None


# ---- a function among transformations ----


class Seen:
    """A function that records the types of its first arguments, as transformations pass them."""

    def __init__(self, fun: Callable[..., Any]):
        wraps(fun)(self)
        self.fun = fun
        self.avals: list[ShapedArray] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.avals is None:
            leaves, self.tree = tree_flatten((args, kwargs))
            self.avals = [get_aval(leaf) for leaf in leaves]
        return self.fun(*args, **kwargs)

    def traced(self) -> tuple[ClosedJaxpr, Callable[..., Any]]:
        """The function's own jaxpr, and a function that evaluates it with each equation marked."""
        flat = FlatFun(self.fun, self.tree)
        closed = trace_to_jaxpr(flat, self.avals or [])
        program = marked(closed)

        def run(*args: Any, **kwargs: Any) -> Any:
            outs = eval_jaxpr(program.jaxpr, program.consts, *tree_flatten((args, kwargs))[0])
            return tree_unflatten(flat.out_tree, outs)

        return closed, wraps(self.fun)(run)


def origins(transformed: ClosedJaxpr, from_marks: ClosedJaxpr) -> list[int | None]:
    """For each equation of `transformed`, the number of its origin, if known.

    `from_marks` is the same program made from marked equations; if it differs (an impure function, for
    example), no origin is known."""
    ours, theirs = ([eqn for _, eqn in printed_eqns(j.jaxpr)] for j in (transformed, from_marks))
    if [eqn.primitive for eqn in ours] != [eqn.primitive for eqn in theirs]:
        return [None] * len(ours)
    return [mark_of(eqn) for eqn in theirs]
