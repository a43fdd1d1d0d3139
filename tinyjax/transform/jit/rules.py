"""The jvp, vmap, partial-eval, transpose and dce rules of `jit`: each transforms the jaxpr.

grad of a jitted function compiles one jit for what is known now, which gives the residuals too, and one, of
the transposed rest, for the backward pass. The rules of all primitives with a jaxpr as a parameter follow
this pattern.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.jit.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, dce_closed_jaxpr, dce_rules, has_effects
from tinyjax.core.lists import drop, merge_lists, pick
from tinyjax.transform.batching import AxisData, axis_batch_rules
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.jit.primitive import jit_p
from tinyjax.transform.jvp import Zero, jvp_rules
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr, primals_and_tangents
from tinyjax.transform.partial_eval import (
    PartialEvalTrace,
    partial_eval_jaxpr,
    partial_eval_rules,
    values_of,
)
from tinyjax.transform.transposition import (
    is_undefined_primal,
    operand_cotangents,
    transpose_jaxpr,
    transpose_rules,
)


def with_inputs(params: dict[str, Any], jaxpr: ClosedJaxpr) -> dict[str, Any]:
    """The parameters for a transformed jaxpr, whose arguments are not donated, nor said to be anywhere."""
    kept = {name: params[name] for name in ("name", "keep_unused", "inline", "device")}
    return kept | {"jaxpr": jaxpr, "donated_invars": (False,) * len(jaxpr.in_avals)}


def _jit_jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    """The pair (results, their tangents), both computed by one jit, of the jvp of the jaxpr.

    It takes the primals, and the tangents that are not Zero. jvp_jaxpr says which results have tangents
    that are not Zero; they come after the primal results."""
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    new_jaxpr, nonzero_outs = jvp_jaxpr(jaxpr, nonzeros)
    nonzero_tangents = [t for t in tangents if type(t) is not Zero]
    outs = jit_p.bind(*primals, *nonzero_tangents, **with_inputs(params, new_jaxpr))
    return primals_and_tangents(outs, nonzero_outs)


def _jit_batch(axis: AxisData, vals: Any, dims: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    """The results of the batch, by one jit of the batched jaxpr, and the batch dim of each."""
    new_jaxpr, out_dims = batch_jaxpr(jaxpr, axis, dims)
    return jit_p.bind(*vals, **with_inputs(params, new_jaxpr)), out_dims


def _jit_partial_eval(trace: PartialEvalTrace, args: Sequence[Any], params: dict) -> list[Any]:
    """One jit for the known part, now, and one for the unknown part, later."""
    unknown_ins = tuple(trace.is_unknown(x) for x in args)
    known, unknown, unknown_outs, out_sources, residual_sources = partial_eval_jaxpr(
        params["jaxpr"], unknown_ins
    )
    known_args = drop(args, unknown_ins)
    computed = trace.parent.process_primitive(jit_p, known_args, with_inputs(params, known))
    values = {"in": known_args, "out": computed}
    inputs = values_of(residual_sources, values) + pick(args, unknown_ins)
    later = (
        trace.unknown.process_primitive(jit_p, inputs, with_inputs(params, unknown))
        if any(unknown_outs) or any(map(has_effects, unknown.eqns))
        else []
    )
    return merge_lists(unknown_outs, values_of(out_sources, values), later)


def _jit_transpose(cts: Any, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    linear = tuple(is_undefined_primal(x) for x in args)
    zero_cts = tuple(type(ct) is Zero for ct in cts)
    new_jaxpr, nonzero = transpose_jaxpr(jaxpr, linear, zero_cts)
    inputs = [x for x in args if not is_undefined_primal(x)]
    inputs += [ct for ct in cts if type(ct) is not Zero]
    outs = jit_p.bind(*inputs, **with_inputs(params, new_jaxpr))
    return operand_cotangents(args, outs, nonzero)


def _jit_dce(eqn: JaxprEqn, used_outputs: list[bool]) -> JaxprEqn:
    jaxpr, used_inputs = dce_closed_jaxpr(eqn.params["jaxpr"], tuple(used_outputs))
    return eqn.replace(
        invars=pick(eqn.invars, used_inputs),
        outvars=pick(eqn.outvars, used_outputs),
        params=with_inputs(eqn.params, jaxpr),
    )


jvp_rules[jit_p] = _jit_jvp
axis_batch_rules[jit_p] = _jit_batch
partial_eval_rules[jit_p] = _jit_partial_eval
transpose_rules[jit_p] = _jit_transpose
dce_rules[jit_p] = _jit_dce
