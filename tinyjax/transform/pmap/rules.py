"""The jvp, vmap, partial-eval, transpose and dce rules of `pmap`: each transforms one device's program.

After this file you can say why the gradient of a data-parallel loss sums over the devices: what all
devices share is an operand without an axis, and its cotangent is the sum of theirs. The rules follow
those of jit, and say of each operand besides whether it has a slice for each device.
Builds on the primitive.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core import primitives
from tinyjax.core.bind import extend_axis_env
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, dce_closed_jaxpr, dce_rules, has_effects
from tinyjax.core.lists import drop, merge_lists, pick
from tinyjax.transform.batching import AxisData, axis_batch_rules, broadcast, moveaxis, not_mapped
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.jvp import Zero, jvp_rules
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr, primals_and_tangents
from tinyjax.transform.partial_eval import (
    PartialEvalTrace,
    partial_eval_jaxpr,
    partial_eval_rules,
    values_of,
)
from tinyjax.transform.pmap.primitive import pmap_p
from tinyjax.transform.transposition import (
    is_undefined_primal,
    operand_cotangents,
    transpose_jaxpr,
    transpose_rules,
)

Axes = tuple[int | None, ...]


def _axis_of(params: dict[str, Any]) -> extend_axis_env:
    """`with _axis_of(params):` within the block, the jaxpr's axis has its name."""
    return extend_axis_env(((params["axis_name"], params["axis_size"]),))


def _pmap_jvp(
    primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, in_axes: Axes, **params: Any
) -> Any:
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    with _axis_of(params):
        new_jaxpr, nonzero_outs = jvp_jaxpr(jaxpr, nonzeros)
    axes = (*in_axes, *pick(in_axes, nonzeros))
    operands = [*primals, *pick(tangents, nonzeros)]
    outs = pmap_p.bind(*operands, jaxpr=new_jaxpr, in_axes=axes, **params)
    return primals_and_tangents(outs, nonzero_outs)


def _pmap_batch(
    axis: AxisData, vals: Any, dims: Any, *, jaxpr: ClosedJaxpr, in_axes: Axes, **params: Any
) -> Any:
    """The devices' axis stays axis 0: where an operand has one, the batch dim comes behind it."""
    mapped = [d is not not_mapped and a is not None for d, a in zip(dims, in_axes)]
    vals = [moveaxis(x, d, 1) if m else x for x, d, m in zip(vals, dims, mapped)]
    inner_dims = tuple([0 if m else d for d, m in zip(dims, mapped)])
    with _axis_of(params):
        at_front = (False,) * len(jaxpr.out_avals)
        new_jaxpr, out_dims = batch_jaxpr(jaxpr, axis, inner_dims, at_front)
    outs = pmap_p.bind(*vals, jaxpr=new_jaxpr, in_axes=in_axes, **params)
    return outs, [not_mapped if d is not_mapped else 1 for d in out_dims]


def _pmap_partial_eval(trace: PartialEvalTrace, args: Sequence[Any], params: dict) -> list[Any]:
    """One pmap for the known part, now, and one for the unknown part, later; each device keeps its own
    residuals."""
    in_axes, size = params["in_axes"], params["axis_size"]
    unknown_ins = tuple(trace.is_unknown(x) for x in args)
    with _axis_of(params):
        known, unknown, unknown_outs, out_sources, residual_sources = partial_eval_jaxpr(
            params["jaxpr"], unknown_ins
        )
    known_args, known_axes = drop(args, unknown_ins), drop(in_axes, unknown_ins)
    computed = trace.parent.process_primitive(
        pmap_p, known_args, params | {"jaxpr": known, "in_axes": tuple(known_axes)}
    )
    values = {"in": known_args, "out": computed}
    axes = {"in": known_axes, "out": [0] * len(computed)}

    def axes_of(sources: Sequence[Any]) -> list[int | None]:
        return [None if kind == "const" else axes[kind][i] for kind, i in sources]

    # A result that is an operand or a constant may have no axis of the devices yet.
    known_outs = [
        broadcast(x, size, 0) if a is None else x
        for x, a in zip(values_of(out_sources, values), axes_of(out_sources))
    ]
    inputs = values_of(residual_sources, values) + pick(args, unknown_ins)
    later_axes = (*axes_of(residual_sources), *pick(in_axes, unknown_ins))
    later = (
        trace.unknown.process_primitive(
            pmap_p, inputs, params | {"jaxpr": unknown, "in_axes": later_axes}
        )
        if any(unknown_outs) or any(map(has_effects, unknown.eqns))
        else []
    )
    return merge_lists(unknown_outs, known_outs, later)


def _pmap_transpose(
    cts: Any, *args: Any, jaxpr: ClosedJaxpr, in_axes: Axes, **params: Any
) -> list[Any]:
    linear = tuple(is_undefined_primal(x) for x in args)
    zero_cts = tuple(type(ct) is Zero for ct in cts)
    with _axis_of(params):
        new_jaxpr, nonzero = transpose_jaxpr(jaxpr, linear, zero_cts)
    given = [ct for ct in cts if type(ct) is not Zero]
    axes = (*drop(in_axes, linear), *[0] * len(given))
    outs = pmap_p.bind(*drop(args, linear), *given, jaxpr=new_jaxpr, in_axes=axes, **params)
    out_axes = pick(pick(in_axes, linear), nonzero)
    outs = [primitives.reduce_sum(x, (0,)) if a is None else x for x, a in zip(outs, out_axes)]
    return operand_cotangents(args, outs, nonzero)


def _pmap_dce(eqn: JaxprEqn, used_outputs: list[bool]) -> JaxprEqn:
    jaxpr, used_inputs = dce_closed_jaxpr(eqn.params["jaxpr"], tuple(used_outputs))
    in_axes = tuple(pick(eqn.params["in_axes"], used_inputs))
    return eqn.replace(
        invars=pick(eqn.invars, used_inputs),
        outvars=pick(eqn.outvars, used_outputs),
        params=eqn.params | {"jaxpr": jaxpr, "in_axes": in_axes},
    )


jvp_rules[pmap_p] = _pmap_jvp
axis_batch_rules[pmap_p] = _pmap_batch
partial_eval_rules[pmap_p] = _pmap_partial_eval
transpose_rules[pmap_p] = _pmap_transpose
dce_rules[pmap_p] = _pmap_dce
