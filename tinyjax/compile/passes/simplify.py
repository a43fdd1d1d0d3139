"""The first stage: one flat jaxpr without calls, repetitions, dead equations and needless work.

After this file you can say which equations the compiler starts from, and check it: the result is a
jaxpr like any other, so it can be printed, drawn and run; it gives the bits that the first one gives.
Equations keep the line of Python that they are from. The bodies of loops and branches are made flat
too; their constants become operands. Builds on jaxpr, rewrite_rules and products.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tinyjax.compile.passes.products import without_transpositions
from tinyjax.compile.passes.rewrite_rules import rewrite
from tinyjax.core.avals import to_numpy
from tinyjax.core.bind import impl_rules
from tinyjax.core.dtypes import kind
from tinyjax.core.inlining import called_jaxpr, check_equations, inline_calls
from tinyjax.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Var,
    cached_on_jaxpr,
    has_effects,
    without_dead_code,
)
from tinyjax.core.primitives import broadcast_in_dim_p

# primitive name -> the parameters that hold the jaxprs it runs once, many times or not at all
BODIES = {"while": ("cond_jaxpr", "body_jaxpr"), "scan": ("jaxpr",), "cond": ("branches",)}


@cached_on_jaxpr
def simplify(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same function as one flat jaxpr, each computation once; all invars are kept.

    Rematerialised code (jax.checkpoint) repeats on purpose what the forward pass computed, so that
    nothing must be kept in memory meanwhile. It is put in its place, itself simplified, only after
    this is done: none of its equations is merged with one outside of it.

    Raises JaxRuntimeError if the program is too large."""
    check_equations(closed.jaxpr)
    flat = inline_calls(closed, keep=is_rematerialised)
    inlined = inline_calls(simplify_inside(reduce_work(flat)))
    return without_dead_code(ClosedJaxpr(without_transpositions(inlined.jaxpr), inlined.consts))


def is_rematerialised(eqn: JaxprEqn) -> bool:
    """Whether this is a backward pass that computes again what a compiler should not merge."""
    if eqn.primitive.name != "remat2" or not eqn.params["differentiated"]:
        return False
    prevent_cse = eqn.params["prevent_cse"]  # a bool, or one an operand
    return any(prevent_cse) if isinstance(prevent_cse, tuple) else prevent_cse


# ---- jaxprs within equations ----


def simplify_inside(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same with rematerialised code, and bodies of loops and branches, simplified where they stand."""
    constants = dict(zip(closed.jaxpr.constvars, closed.consts))
    eqns = []
    for eqn in closed.jaxpr.eqns:
        if is_rematerialised(eqn):
            eqn = eqn.replace(params=eqn.params | {"jaxpr": simplify(called_jaxpr(eqn))})
        elif eqn.primitive.name in BODIES:
            eqn = simplify_bodies(eqn, constants)
        eqns.append(eqn)
    jaxpr = closed.jaxpr.replace(constvars=list(constants), eqns=eqns)
    return ClosedJaxpr(jaxpr, list(constants.values()))


def simplify_bodies(eqn: JaxprEqn, constants: dict[Var, Any]) -> JaxprEqn:
    """A loop or branch with its jaxprs simplified. What is constant in them is added to `constants`,
    and to the operands."""
    params, invars = dict(eqn.params), list(eqn.invars)

    def hoisted(body: ClosedJaxpr, before: Sequence[Any] = (), after: Sequence[Any] = ()) -> Any:
        """The body with its constants as leading arguments, between those for other branches'."""
        jaxpr = body.jaxpr
        leading = [*before, *jaxpr.constvars, *after]
        return ClosedJaxpr(jaxpr.replace(constvars=[], invars=[*leading, *jaxpr.invars]))

    def operands(body: ClosedJaxpr) -> list[Var]:
        new = [Var(v.aval) for v in body.jaxpr.constvars]
        constants.update(zip(new, body.consts))
        return new

    if eqn.primitive.name == "scan":
        body = simplify(params["jaxpr"])
        new = operands(body)
        params |= {"jaxpr": hoisted(body), "num_consts": params["num_consts"] + len(new)}
        return eqn.replace(invars=new + invars, params=params)
    if eqn.primitive.name == "while":
        for name, at in (("body", params["cond_nconsts"]), ("cond", 0)):
            body = simplify(params[f"{name}_jaxpr"])
            invars[at:at] = new = operands(body)
            params[f"{name}_jaxpr"] = hoisted(body)
            params[f"{name}_nconsts"] += len(new)
        return eqn.replace(invars=invars, params=params)
    branches = [simplify(branch) for branch in params["branches"]]
    news = [operands(branch) for branch in branches]
    unused = [[Var(v.aval) for v in new] for new in news]
    params["branches"] = tuple(
        hoisted(branch, sum(unused[:i], []), sum(unused[i + 1 :], []))
        for i, branch in enumerate(branches)
    )
    return eqn.replace(invars=[invars[0], *sum(news, []), *invars[1:]], params=params)


# ---- less to compute ----


def reduce_work(closed: ClosedJaxpr) -> ClosedJaxpr:
    """One walk through the equations: each is rewritten by the rules of rewrite_rules.py, computed right now
    if it is made of constants, and dropped if an equation before computes the same (`_meaning`). What
    reads a result that is gone reads what took its place. An equation with effects stays as it is.

    What is computed right now becomes a Literal if it is a number, and a constant if it is an array."""
    consts = dict(zip(closed.jaxpr.constvars, closed.consts))
    producer: dict[Var, JaxprEqn] = {}
    first_results: dict[Hashable, list[Var]] = {}
    replaced: dict[Var, Atom] = {}
    eqns: list[JaxprEqn] = []

    def current(atom: Atom) -> Atom:
        return replaced.get(atom, atom) if isinstance(atom, Var) else atom

    for eqn in closed.jaxpr.eqns:
        eqn = eqn.replace(invars=[current(v) for v in eqn.invars])
        if has_effects(eqn):
            eqns.append(eqn)
            continue
        simpler = rewrite(eqn, producer)
        if not isinstance(simpler, JaxprEqn):
            replaced[eqn.outvars[0]] = simpler
            continue
        eqn = simpler
        folded = fold(eqn, consts)
        if folded is not None:
            (out,) = eqn.outvars
            if folded.shape:
                consts[out] = folded
            else:
                replaced[out] = Literal(folded[()], out.aval)
            continue
        key = _meaning(eqn)
        if key is not None and key in first_results:
            replaced.update(zip(eqn.outvars, first_results[key]))
            continue
        if key is not None:
            first_results[key] = eqn.outvars
        producer.update((v, eqn) for v in eqn.outvars)
        eqns.append(eqn)
    outvars = [current(v) for v in closed.jaxpr.outvars]
    jaxpr = closed.jaxpr.replace(constvars=list(consts), eqns=eqns, outvars=outvars)
    return ClosedJaxpr(jaxpr, list(consts.values()))


MAX_FOLDED = 1024  # elements of operands and result


def fold(eqn: JaxprEqn, consts: Mapping[Var, Any]) -> np.ndarray | None:
    """The result of an equation of few constants, as eager evaluation gives it; None for others."""
    primitive = eqn.primitive
    if primitive.multiple_results or primitive.takes_arrays or primitive not in impl_rules:
        return None
    if not eqn.invars or not all(isinstance(v, Literal) or v in consts for v in eqn.invars):
        return None
    avals = [v.aval for v in [*eqn.invars, *eqn.outvars]]
    if sum(aval.size for aval in avals) > MAX_FOLDED or primitive is broadcast_in_dim_p:
        return None
    if any(kind(aval.dtype) not in "biuf" for aval in avals):
        return None
    values = [v.val if isinstance(v, Literal) else consts[v] for v in eqn.invars]
    args = [to_numpy(value, v.aval) for value, v in zip(values, eqn.invars)]
    with np.errstate(all="ignore"):
        result = impl_rules[primitive](*args, **eqn.params)
    out = eqn.outvars[
        0
    ].aval  # of all its elements, where rewrite_rules put numbers in place of broadcasts
    return np.array(np.broadcast_to(result, out.shape), out.dtype)


def _meaning(eqn: JaxprEqn) -> Hashable | None:
    """Equal for equations that compute the same; None if a parameter can't be compared."""
    key = (
        eqn.primitive,
        tuple(_identity(v) for v in eqn.invars),
        tuple(sorted(eqn.params.items(), key=lambda item: item[0])),
        tuple(v.aval for v in eqn.outvars),
    )
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _identity(atom: Atom) -> Hashable:
    # repr tells 0.0 from -0.0, and 1 from 1.0 and True
    return atom if isinstance(atom, Var) else atom.meaning
