"""Splitting a jaxpr by a policy: one part runs now, the other is recomputed later.

Each equation whose operands are known runs now; if the policy does not save its results, the later part has a
copy of it.

Source: https://docs.jax.dev/en/latest/notebooks/autodiff_remat.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tinyjax.core.bind import Primitive
from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var, cached_on_jaxpr, has_effects
from tinyjax.core.lists import drop, pick
from tinyjax.transform.jit.primitive import jit_p
from tinyjax.transform.jit.rules import with_inputs


class Answer:
    """A policy's result. It may also return True, which means Saveable, or False, which means Recompute."""


class RecomputeType(Answer):
    pass


class SaveableType(Answer):
    pass


@dataclass(frozen=True)
class Offloadable(Answer):
    """Kept, in another kind of memory until it is needed. A device of tinyjax has one kind, so this is the
    same as Saveable here."""

    src: Any
    dst: Any


Recompute, Saveable = RecomputeType(), SaveableType()

# (primitive, *operands' avals, **params) -> whether the results may be kept for the backward pass
Policy = Callable[..., bool | Answer]


def nothing_saveable(*_: Any, **__: Any) -> bool:
    """Recomputes everything: the default policy of jax.checkpoint."""
    return False


# ---- a jaxpr in two, as a policy says ----


class Split(NamedTuple):
    """`known` maps the known inputs to the known results and the residuals.

    `staged` maps the residuals and the available inputs to the results that are available there. It
    computes the unknown values, and recomputes the known values that are not saved."""

    known: ClosedJaxpr
    staged: ClosedJaxpr
    unknown_outs: tuple[bool, ...]
    available_outs: tuple[bool, ...]
    num_residuals: int


class EqnSplit(NamedTuple):
    """The Split of one equation; `residuals` are variables that `known` binds and `staged` uses."""

    known: list[JaxprEqn]
    staged: list[JaxprEqn]
    unknown_outs: Sequence[bool]
    available_outs: Sequence[bool]
    residuals: Sequence[Atom]


# primitive -> (policy, which operands are unknown, and which available, eqn) -> EqnSplit; for those
# with jaxprs as parameters, so that the policy decides about each equation inside
policy_rules: dict[Primitive, Callable[..., EqnSplit]] = {}


@cached_on_jaxpr
def split_by_policy(
    closed_jaxpr: ClosedJaxpr,
    unknown_ins: tuple[bool, ...],
    available_ins: tuple[bool, ...],
    policy: Policy,
    unknown_results: tuple[bool, ...] = (),
    all_available: bool = False,
) -> Split:
    """Splits a jaxpr; `available_ins` are the inputs that the staged part is given too.

    `unknown_results` (a bool for each result) marks results that the staged part computes even where they
    are known; with `all_available`, the staged part gives all results."""
    jaxpr = closed_jaxpr.jaxpr
    unknown = set(pick(jaxpr.invars, unknown_ins))
    available = {*jaxpr.constvars, *pick(jaxpr.invars, available_ins)}
    residuals: dict[Any, None] = {}  # in the order of their first use
    known_eqns: list[JaxprEqn] = []
    staged_eqns: list[JaxprEqn] = []

    def is_available(atom: Atom) -> bool:
        return not isinstance(atom, Var) or atom in available

    for eqn in jaxpr.eqns:
        unknown_operands = [isinstance(v, Var) and v in unknown for v in eqn.invars]
        rule = policy_rules.get(eqn.primitive, _split_eqn)
        parts = rule(policy, unknown_operands, [is_available(v) for v in eqn.invars], eqn)
        known_eqns += parts.known
        staged_eqns += parts.staged
        residuals.update(dict.fromkeys(parts.residuals))
        unknown.update(pick(eqn.outvars, parts.unknown_outs))
        available.update(pick(eqn.outvars, parts.available_outs))

    if all_available:
        residuals.update(dict.fromkeys(v for v in jaxpr.outvars if not is_available(v)))
    forced = unknown_results or (False,) * len(jaxpr.outvars)
    unknown_outs = tuple(f or v in unknown for v, f in zip(jaxpr.outvars, forced))
    available_outs = tuple(all_available or is_available(v) for v in jaxpr.outvars)
    known_results = [*drop(jaxpr.outvars, unknown_outs), *residuals]
    known = Jaxpr(jaxpr.constvars, drop(jaxpr.invars, unknown_ins), known_results, known_eqns)
    inputs = [*residuals, *pick(jaxpr.invars, available_ins)]
    staged = Jaxpr(jaxpr.constvars, inputs, pick(jaxpr.outvars, available_outs), staged_eqns)
    consts = closed_jaxpr.consts
    closed = ClosedJaxpr(known, consts), ClosedJaxpr(staged, consts)
    return Split(*closed, unknown_outs, available_outs, len(residuals))


def _split_eqn(
    policy: Policy, unknown: Sequence[bool], available: Sequence[bool], eqn: JaxprEqn
) -> EqnSplit:
    """The default rule."""
    if any(unknown):
        return only_staged(eqn, available)
    no, yes = ([flag] * len(eqn.outvars) for flag in (False, True))
    if has_effects(eqn) or is_saved(policy, eqn):  # an effect must not happen twice
        return EqnSplit([eqn], [], no, no, [])
    return EqnSplit([eqn], [eqn], no, yes, drop(eqn.invars, available))


def only_staged(eqn: JaxprEqn, available: Sequence[bool]) -> EqnSplit:
    """An equation for the staged part; operands that are not available there become residuals."""
    every = [True] * len(eqn.outvars)
    return EqnSplit([], [eqn], every, every, drop(eqn.invars, available))


def is_saved(policy: Policy, eqn: JaxprEqn) -> bool:
    answer = policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
    if isinstance(answer, Answer):
        return answer is not Recompute
    if not isinstance(answer, bool):
        raise TypeError(
            "Value returned by a remat policy should be a bool (whether the results of a primitive may be "
            "saved), or ad_checkpoint.Recompute, Saveable or Offloadable(src, dst), but for "
            f"'{eqn.primitive}' it is {answer!r} of type {type(answer)}"
        )
    return answer


# ---- calls ----


def call_split(
    with_jaxpr: Callable[[JaxprEqn, ClosedJaxpr, bool], dict[str, Any]],
    policy: Policy,
    unknown: Sequence[bool],
    available: Sequence[bool],
    eqn: JaxprEqn,
) -> EqnSplit:
    """The rule of a primitive that calls its parameter `jaxpr`: one call in each part.

    `with_jaxpr(eqn, jaxpr, is_staged)` gives the parameters of the call of another jaxpr."""
    split = split_by_policy(eqn.params["jaxpr"], tuple(unknown), tuple(available), policy)
    body, num_known = split.known.jaxpr, split.unknown_outs.count(False)
    known_ins, known_outs = drop(eqn.invars, unknown), drop(eqn.outvars, split.unknown_outs)
    # A residual that is already an operand or a result of the call needs no new variable.
    inside = body.outvars[num_known:]
    outside: dict[Atom, Atom] = dict(zip(body.outvars[:num_known], known_outs))
    outside.update(zip(body.invars, known_ins))
    new = [v for v in inside if v not in outside]
    outside.update((v, Var(v.aval)) for v in new)
    known = split.known.replace(body.replace(outvars=body.outvars[:num_known] + new))
    residuals = [outside[v] for v in inside]
    known_eqn = eqn.replace(
        invars=known_ins,
        outvars=known_outs + [outside[v] for v in new],
        params=with_jaxpr(eqn, known, False),
    )
    staged_eqn = eqn.replace(
        invars=residuals + pick(eqn.invars, available),
        outvars=pick(eqn.outvars, split.available_outs),
        params=with_jaxpr(eqn, split.staged, True),
    )
    variables = [v for v in residuals if isinstance(v, Var)]
    return EqnSplit([known_eqn], [staged_eqn], split.unknown_outs, split.available_outs, variables)


def _jit_params(eqn: JaxprEqn, jaxpr: ClosedJaxpr, is_staged: bool) -> dict[str, Any]:
    return with_inputs(eqn.params, jaxpr)


policy_rules[jit_p] = functools.partial(call_split, _jit_params)
