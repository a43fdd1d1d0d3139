"""Loops and branches within jax.checkpoint: the policy decides about the equations of their bodies.

A scan keeps, stacked, the values that the policy saves in each iteration; a cond keeps those saved in any
branch; a while_loop keeps nothing, as the number of iterations is unknown.

Source: https://docs.jax.dev/en/latest/notebooks/autodiff_remat.html
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Var
from tinyjax.core.lists import drop, split_list
from tinyjax.lax.control_flow.bodies import fixed_point
from tinyjax.lax.control_flow.cond import cond_p
from tinyjax.lax.control_flow.cond_rules import (
    common_residuals,
    with_residual_inputs,
    with_residual_outputs,
)
from tinyjax.lax.control_flow.scan import scan_p
from tinyjax.lax.control_flow.while_loop import while_p
from tinyjax.transform.remat.policies import (
    EqnSplit,
    Policy,
    Split,
    nothing_saveable,
    only_staged,
    policy_rules,
    split_by_policy,
)

Flags = Sequence[bool]

# Each staged equation has all operands and results of the equation. Dead code elimination removes the
# parts that the backward pass does not need.


def _split_body(
    jaxpr: ClosedJaxpr, unknown: Flags, policy: Policy, unknown_results: Flags
) -> Split:
    every = (True,) * len(jaxpr.in_avals)
    return split_by_policy(jaxpr, tuple(unknown), every, policy, tuple(unknown_results), True)


# ---- scan ----


def _scan_split(policy: Policy, unknown: Flags, available: Flags, eqn: JaxprEqn) -> EqnSplit:
    jaxpr, num_consts, num_carry = (eqn.params[k] for k in ("jaxpr", "num_consts", "num_carry"))
    consts_uk, init_uk, xs_uk = split_list(unknown, num_consts, num_carry)
    no_ys = (False,) * (len(eqn.outvars) - num_carry)

    def split_at(carry_uk: Flags) -> Split:
        return _split_body(jaxpr, (*consts_uk, *carry_uk, *xs_uk), policy, (*carry_uk, *no_ys))

    carry_uk = fixed_point(lambda uk: split_at(uk).unknown_outs[: len(uk)], tuple(init_uk))
    split = split_at(carry_uk)
    number = split.num_residuals
    stacked = [
        Var(aval.with_axis(0, eqn.params["length"])) for aval in split.staged.in_avals[:number]
    ]
    sizes = {"num_consts": consts_uk.count(False), "num_carry": carry_uk.count(False)}
    known = eqn.replace(
        invars=drop(eqn.invars, (*consts_uk, *carry_uk, *xs_uk)),
        outvars=drop(eqn.outvars, split.unknown_outs) + stacked,
        params=eqn.params | sizes | {"jaxpr": split.known},
    )
    # Residuals differ from iteration to iteration, like xs, so they come after xs.
    residual_vars, operand_vars = split_list(split.staged.jaxpr.invars, number)
    body = split.staged.jaxpr.replace(invars=operand_vars + residual_vars)
    staged = eqn.replace(
        invars=eqn.invars + stacked, params=eqn.params | {"jaxpr": split.staged.replace(body)}
    )
    residuals = drop(eqn.invars, available) + stacked
    return EqnSplit([known], [staged], split.unknown_outs, split.available_outs, residuals)


# ---- while ----


def _while_split(policy: Policy, unknown: Flags, available: Flags, eqn: JaxprEqn) -> EqnSplit:
    """Runs the known part of the carry now, and the whole loop again later."""
    cond_jaxpr, body_jaxpr = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
    num_cond, num_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    cond_uk, body_uk, init_uk = split_list(unknown, num_cond, num_body)

    def split_at(carry_uk: Flags) -> Split:
        return _split_body(body_jaxpr, (*body_uk, *carry_uk), nothing_saveable, carry_uk)

    carry_uk = fixed_point(lambda uk: split_at(uk).unknown_outs, tuple(init_uk))
    pred = _split_body(cond_jaxpr, (*cond_uk, *carry_uk), nothing_saveable, (False,))
    if pred.unknown_outs[0]:
        return only_staged(eqn, available)
    known = eqn.replace(
        invars=drop(eqn.invars, (*cond_uk, *body_uk, *carry_uk)),
        outvars=drop(eqn.outvars, carry_uk),
        params={
            "cond_jaxpr": pred.known,
            "cond_nconsts": cond_uk.count(False),
            "body_jaxpr": split_at(carry_uk).known,
            "body_nconsts": body_uk.count(False),
        },
    )
    every = [True] * len(eqn.outvars)
    return EqnSplit([known], [eqn], carry_uk, every, drop(eqn.invars, available))


# ---- cond ----


def _cond_split(policy: Policy, unknown: Flags, available: Flags, eqn: JaxprEqn) -> EqnSplit:
    """Splits each branch in two; all branches return, and take, the residuals of any of them."""
    branches: tuple[ClosedJaxpr, ...] = eqn.params["branches"]
    index, *operands = eqn.invars
    if unknown[0]:
        return only_staged(eqn, available)

    def split_at(unknown_outs: Flags) -> list[Split]:
        return [_split_body(branch, unknown[1:], policy, unknown_outs) for branch in branches]

    in_one = split_at((False,) * len(eqn.outvars))
    unknown_outs = [any(flags) for flags in zip(*[split.unknown_outs for split in in_one])]
    splits, num_known = split_at(unknown_outs), unknown_outs.count(False)
    avals: list[ShapedArray]
    avals, places = common_residuals([s.staged.in_avals[: s.num_residuals] for s in splits])
    residuals = [Var(aval) for aval in avals]
    known_branches, staged_branches = [], []
    for split, place in zip(splits, places):
        sources = [("out", i) for i in range(len(split.known.out_avals))]
        outs, own = sources[:num_known], sources[num_known:]
        known_branches.append(with_residual_outputs(split.known, outs, own, place, avals))
        staged_branches.append(with_residual_inputs(split.staged, place, avals))
    known = eqn.replace(
        invars=drop(eqn.invars, unknown),
        outvars=drop(eqn.outvars, unknown_outs) + residuals,
        params={"branches": tuple(known_branches)},
    )
    staged = eqn.replace(
        invars=[index, *residuals, *operands], params={"branches": tuple(staged_branches)}
    )
    every = [True] * len(eqn.outvars)
    kept = drop(eqn.invars, available) + residuals
    return EqnSplit([known], [staged], unknown_outs, every, kept)


policy_rules[scan_p] = _scan_split
policy_rules[while_p] = _while_split
policy_rules[cond_p] = _cond_split
