"""Inlining: the equations of a called jaxpr in place of the call.

A jitted function within the body of an eager loop runs equation by equation, without compiling; within a
jaxpr that is compiled, its equations take its place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.bind import EvalTrace, Primitive, context, is_staging
from tinyjax.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    cached_on_jaxpr,
    jaxpr_as_fun,
    subjaxprs,
    without_dead_code,
)
from tinyjax.core.runtime_errors import JaxRuntimeError

# primitive name -> the parameter that holds the jaxpr it calls, or a function from its parameters to the
# jaxpr
CALLS: dict[str, str | Callable[[dict[str, Any]], ClosedJaxpr]] = {
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "linear_call": "callee",
    "custom_vmap_call": "call",
    "remat2": "jaxpr",
}
# custom primitive -> a function from its equation to the jaxpr that the equation stands for
custom_inline_rules: dict[Primitive, Callable[[JaxprEqn], ClosedJaxpr]] = {}


def inline_calls(
    closed: ClosedJaxpr, keep: Callable[[JaxprEqn], bool] = lambda eqn: False
) -> ClosedJaxpr:
    """Replaces calls by the equations of the called jaxprs, except calls that `keep` selects; their
    constants become constants of the result.

    Calls are those of `is_call`, nested ones too; each gets fresh variables. Identity primitives are
    removed: readers of their results read their operands. The caller's variables stay, and `closed`
    is not changed."""
    jaxpr, inlining = closed.jaxpr, _Inlining(keep)
    outvars = inlining.add_jaxpr(jaxpr, closed.consts, jaxpr.invars, lambda v: v)  # our own stay
    constants, eqns = inlining.constants, inlining.eqns
    return ClosedJaxpr(
        Jaxpr(list(constants), jaxpr.invars, outvars, eqns), list(constants.values())
    )


class _Inlining:
    """The equations and constants of a jaxpr without calls, as far as it is written."""

    def __init__(self, keep: Callable[[JaxprEqn], bool]):
        self.keep = keep
        self.eqns: list[JaxprEqn] = []
        self.constants: dict[Var, Any] = {}

    def add_jaxpr(
        self, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Atom], new: Callable[[Var], Var]
    ) -> list[Atom]:
        """Adds the equations of `jaxpr` applied to `args`, with `new` variables for those that they bind, and
        gives the atoms of its results."""
        renamed: dict[Var, Atom] = dict(zip(jaxpr.invars, args))
        for var, value in zip(jaxpr.constvars, consts):
            constant = renamed[var] = new(var)
            self.constants[constant] = value
        for eqn in jaxpr.eqns:
            results = self.add_eqn(eqn, [_rename(v, renamed) for v in eqn.invars], new)
            renamed.update(zip(eqn.outvars, results))
        return [_rename(v, renamed) for v in jaxpr.outvars]

    def add_eqn(
        self, eqn: JaxprEqn, invars: list[Atom], new: Callable[[Var], Var]
    ) -> Sequence[Atom]:
        """Adds an equation applied to the atoms `invars`, and returns the atoms of its results.

        For an identity it adds nothing: the results are the operands. For a call that is not kept, it
        adds the called jaxpr's equations, with a fresh variable for each that they bind. For any other
        equation it adds the equation, with a `new` variable for each result."""
        if eqn.primitive.facts.is_identity:
            return invars
        if is_call(eqn) and not self.keep(eqn):
            called = called_jaxpr(eqn)
            return self.add_jaxpr(called.jaxpr, called.consts, invars, lambda v: Var(v.aval))
        outvars = [new(v) for v in eqn.outvars]
        self.eqns.append(eqn.replace(invars=invars, outvars=outvars))
        return outvars


def _rename(atom: Atom, renamed: dict[Var, Atom]) -> Atom:
    return atom if isinstance(atom, Literal) else renamed[atom]


def is_call(eqn: JaxprEqn) -> bool:
    return eqn.primitive.name in CALLS or eqn.primitive in custom_inline_rules


def called_jaxpr(eqn: JaxprEqn) -> ClosedJaxpr:
    if eqn.primitive in custom_inline_rules:
        return custom_inline_rules[eqn.primitive](eqn)
    return called_by(eqn.primitive.name, eqn.params)


def called_by(name: str, params: Any) -> ClosedJaxpr:
    """The jaxpr that an equation of a primitive of this name calls."""
    where = CALLS[name]
    called = params[where] if isinstance(where, str) else where(params)
    return called if isinstance(called, ClosedJaxpr) else ClosedJaxpr(called, ())


# A function that calls another twice, which calls a third one twice, and so on, is short and traced
# quickly, but each level doubles the program to compile, without bound on time and memory.
MAX_EQUATIONS = 100_000


def check_equations(jaxpr: Jaxpr) -> None:
    """Raises JaxRuntimeError if there are more than MAX_EQUATIONS. A nested jaxpr is counted at each of
    its uses."""
    counts: dict[Jaxpr, int] = {}

    def count(jaxpr: Jaxpr) -> int:
        if jaxpr not in counts:
            counts[jaxpr] = len(jaxpr.eqns)
            for eqn in jaxpr.eqns:
                if eqn.params:
                    counts[jaxpr] += sum(map(count, subjaxprs(eqn.params))) - is_call(eqn)
        return counts[jaxpr]

    if count(jaxpr) > MAX_EQUATIONS:
        raise JaxRuntimeError(
            f"RESOURCE_EXHAUSTED: the program has {count(jaxpr):,} equations with those of all calls and "
            f"branches, and compiles with at most {MAX_EQUATIONS:,}. "
            "Write what is repeated as lax.fori_loop, lax.scan or lax.map, jit smaller functions, or "
            "run it uncompiled: `with jax.disable_jit():`"
        )


# ---- bodies, eagerly ----


def eager_jaxpr_fun(body: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The body of a loop, branch or rule as a function, for the trace that is current now. Where
    operations run eagerly, jits in it (all of jax.numpy's functions are jits in a jaxpr) are run
    equation by equation, so that nothing is compiled."""
    if is_staging():
        return jaxpr_as_fun(body)
    return jaxpr_as_fun(_without_calls(body, isinstance(context.trace, EvalTrace)))


@cached_on_jaxpr
def _without_calls(body: ClosedJaxpr, is_evaluated: bool) -> ClosedJaxpr:
    """The body with jits inlined. Other calls, such as custom_jvp's, are inlined too if the body is
    evaluated: no transformation needs their rules then."""
    check_equations(body.jaxpr)
    keep = (lambda eqn: False) if is_evaluated else (lambda eqn: eqn.primitive.name != "jit")
    return without_dead_code(inline_calls(body, keep))
