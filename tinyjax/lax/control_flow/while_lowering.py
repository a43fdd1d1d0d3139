"""vmapped loops in a compiled schedule: the predicate's shape moves into the body.

In a batch of loops, all examples run until the last is done, and a select keeps the carry of finished
ones.
"""

from __future__ import annotations

from typing import Any

from tinyjax.compile.kernel.rules import rewrites_for_steps
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.core.jaxpr import JaxprEqn, jaxpr_as_fun
from tinyjax.core.lists import split_list
from tinyjax.core.primitives import broadcast_in_dim
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.lax.control_flow.while_loop import while_p
from tinyjax.lax.selection import select


def _with_select(eqn: JaxprEqn) -> JaxprEqn:
    """The loop with a body that keeps the carry of examples whose predicate is False."""
    params = dict(eqn.params)
    cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
    if not params["cond_jaxpr"].out_avals[0].shape:
        return eqn
    cond_fun, body_fun = jaxpr_as_fun(params["cond_jaxpr"]), jaxpr_as_fun(params["body_jaxpr"])

    def body(*args: Any) -> list[Any]:
        cond_consts, body_consts, carry = split_list(args, cond_nconsts, body_nconsts)
        (pred,) = cond_fun(*cond_consts, *carry)
        after = body_fun(*body_consts, *carry)
        leading = tuple(range(pred.ndim))
        return [
            select(broadcast_in_dim(pred, x.shape, leading), x, y) for x, y in zip(after, carry)
        ]

    params["body_jaxpr"] = simplify(trace_to_jaxpr(body, [v.aval for v in eqn.invars]))
    params["body_nconsts"] += cond_nconsts
    return eqn.replace(invars=eqn.invars[:cond_nconsts] + eqn.invars, params=params)


rewrites_for_steps[while_p] = _with_select
