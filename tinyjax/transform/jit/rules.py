"""The jvp, vmap, linearize, partial-eval, transpose and dce rules of `jit`: each transforms the jaxpr.

Grad of a jitted function compiles two jits: one of its results, which gives the residuals too, and one, of
the transposed linear jaxpr, for the backward pass. The rules of all primitives that have a jaxpr as a
parameter follow this pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.avals import get_aval
from tinyjax.core.bind import set_current_trace
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, dce_closed_jaxpr, dce_rules, has_effects
from tinyjax.core.lists import drop, merge_lists, pick, split_list
from tinyjax.transform.batching import AxisData, axis_batch_rules
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.jit.primitive import jit_p
from tinyjax.transform.jvp import Zero, jvp_rules
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr, primals_and_tangents, with_zeros
from tinyjax.transform.linearize import LinearizeTrace, linearize_rules, partial_eval_rules
from tinyjax.transform.partial_eval import linearize_jaxpr, partial_eval_jaxpr
from tinyjax.transform.transposition import is_undefined_primal, transpose_rules
from tinyjax.transform.transposition_of_jaxpr import operand_cotangents, transpose_jaxpr


def with_inputs(params: dict[str, Any], jaxpr: ClosedJaxpr) -> dict[str, Any]:
    """The parameters for a transformed jaxpr, whose arguments are not donated, nor said to be anywhere."""
    kept = {name: params[name] for name in ("name", "keep_unused", "inline", "device")}
    return kept | {"jaxpr": jaxpr, "donated_invars": (False,) * len(jaxpr.in_avals)}


def _jit_jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    """The pair (results, their tangents), both computed by one jit, of the jvp of the jaxpr.

    It takes the primals, and the tangents that are not Zero. jvp_jaxpr returns which results have nonzero
    tangents; they come after the primal results."""
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    new_jaxpr, nonzero_outs = jvp_jaxpr(jaxpr, nonzeros)
    nonzero_tangents = [t for t in tangents if type(t) is not Zero]
    outs = jit_p.bind(*primals, *nonzero_tangents, **with_inputs(params, new_jaxpr))
    return primals_and_tangents(outs, nonzero_outs)


def _jit_batch(axis: AxisData, vals: Any, dims: Any, *, jaxpr: ClosedJaxpr, **params: Any) -> Any:
    """The results of the batch, by one jit of the batched jaxpr, and the batch dim of each."""
    new_jaxpr, out_dims = batch_jaxpr(jaxpr, axis, dims)
    return jit_p.bind(*vals, **with_inputs(params, new_jaxpr)), out_dims


def _jit_linearize(
    primals: Any, nonzeros: Any, *, jaxpr: ClosedJaxpr, **params: Any
) -> tuple[list[Any], Callable[..., list[Any]]]:
    """The results, by one jit that also gives the residuals; and the linear function, a jit of the linear
    jaxpr."""
    parts = linearize_jaxpr(jaxpr, tuple(nonzeros))
    computed = jit_p.bind(*primals, **with_inputs(params, parts.known))
    outs, residuals = parts.values(primals, computed)

    def linear(*tangents: Any) -> list[Any]:
        inputs = residuals + pick(tangents, nonzeros)
        return with_zeros(_bind_later(inputs, parts.later, params), parts.later_outs, outs)

    return outs, linear


def _jit_partial_eval(trace: LinearizeTrace, args: Sequence[Any], params: dict) -> list[Any]:
    """One jit of the known part, now, and one of the unknown part, later; its residuals are the last
    operands."""
    unknown_ins = tuple([trace.is_unknown(x) for x in args])
    parts = partial_eval_jaxpr(params["jaxpr"], unknown_ins)
    known_args = drop(args, unknown_ins)
    with set_current_trace(trace.parent):
        computed = jit_p.bind(*known_args, **with_inputs(params, parts.known))
    known_outs, residuals = parts.values(known_args, computed)
    inputs, jaxpr = pick(args, unknown_ins) + residuals, parts.later.jaxpr
    binders, operands = split_list(jaxpr.invars, len(residuals))
    unknown = parts.later.replace(jaxpr.replace(invars=operands + binders))
    with set_current_trace(trace.unknown):
        later = _bind_later(inputs, unknown, params)
    return merge_lists(parts.later_outs, known_outs, later)


def _bind_later(inputs: Sequence[Any], jaxpr: ClosedJaxpr, params: dict) -> list[Any]:
    """Binds the jit of the later part, if that has results or effects."""
    if not jaxpr.out_avals and not any(map(has_effects, jaxpr.eqns)):
        return []
    return jit_p.bind(*inputs, **with_inputs(params, jaxpr))


def _jit_transpose(cts: Any, *args: Any, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    linear = tuple(is_undefined_primal(x) for x in args)
    zero_cts = tuple(type(ct) is Zero for ct in cts)
    inputs = [x for x in args if not is_undefined_primal(x)]
    inputs += [ct for ct in cts if type(ct) is not Zero]
    in_avals = tuple(map(get_aval, inputs))
    new_jaxpr, nonzero = transpose_jaxpr(jaxpr, linear, zero_cts, False, in_avals)
    outs = jit_p.bind(*inputs, **with_inputs(params, new_jaxpr))
    return operand_cotangents(args, outs, nonzero)


def _jit_dce(eqn: JaxprEqn, used_outputs: list[bool]) -> JaxprEqn:
    jaxpr, used_inputs = dce_closed_jaxpr(eqn.params["jaxpr"], tuple(used_outputs))
    return eqn.reduced(used_inputs, used_outputs, with_inputs(eqn.params, jaxpr))


jvp_rules[jit_p] = _jit_jvp
axis_batch_rules[jit_p] = _jit_batch
linearize_rules[jit_p] = _jit_linearize
partial_eval_rules[jit_p] = _jit_partial_eval
transpose_rules[jit_p] = _jit_transpose
dce_rules[jit_p] = _jit_dce
