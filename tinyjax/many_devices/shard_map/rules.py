"""The jvp, vmap, linearize, partial-eval, transpose and dce rules of shard_map: each transforms one device's
program.

Residuals are values of each device; between the forward and the backward pass they are whole arrays, split
over the axes that they vary over. The rules follow those of jit, and give each new operand and result a spec.
Without check_vma, types don't track what varies, so every value may: the cotangent of a result that was one
value for many devices is divided between them, and that of such an operand is summed over them.

Source: https://docs.jax.dev/en/latest/notebooks/shard_map.html
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core import primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import set_current_trace
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    JaxprEqn,
    Var,
    all_jaxprs,
    dce_closed_jaxpr,
    dce_rules,
    has_effects,
    jaxpr_as_fun,
)
from tinyjax.core.lists import drop, merge_lists, pick, split_list
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.many_devices.mapped import MappedAxis, axes_of
from tinyjax.many_devices.shard_map.primitive import (
    manual_env,
    mapped_axes,
    shard_map_p,
    whole_aval,
)
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec, names_of
from tinyjax.many_devices.varying import pvary_p
from tinyjax.transform.batching import AxisData, axis_batch_rules, not_mapped
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.jvp import Zero, jvp_rules
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr, primals_and_tangents, with_zeros
from tinyjax.transform.linearize import LinearizeTrace, linearize_rules, partial_eval_rules
from tinyjax.transform.partial_eval import Parts, linearize_jaxpr, partial_eval_jaxpr, with_outputs
from tinyjax.transform.remat.policies import EqnSplit, policy_rules, split_by_policy
from tinyjax.transform.transposition import is_undefined_primal, transpose_rules
from tinyjax.transform.transposition_of_jaxpr import operand_cotangents, transpose_jaxpr

Params = dict[str, Any]


def _params_of(params: Params, jaxpr: ClosedJaxpr, in_specs: Any, out_specs: Any) -> Params:
    """The parameters of another shard_map over the same axes of the mesh."""
    return params | {"jaxpr": jaxpr, "in_specs": tuple(in_specs), "out_specs": tuple(out_specs)}


def _jvp(primals: Any, tangents: Any, **params: Any) -> Any:
    """A tangent is split like its primal."""
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    with manual_env(params):
        jaxpr, nonzero_outs = jvp_jaxpr(params["jaxpr"], nonzeros)
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    ins = (*in_specs, *pick(in_specs, nonzeros))
    outs = (*out_specs, *pick(out_specs, nonzero_outs))
    operands = [*primals, *pick(tangents, nonzeros)]
    results = shard_map_p.bind(*operands, **_params_of(params, jaxpr, ins, outs))
    return primals_and_tangents(results, nonzero_outs)


def _batch(axis: AxisData, vals: Any, dims: Any, **params: Any) -> Any:
    """Each device has a part of every example, and no spec names the batch dim; or a part of some examples,
    if the specs name the axes of spmd_axis_name."""
    with manual_env(params):
        jaxpr, out_dims = batch_jaxpr(params["jaxpr"], _within(axis, params), dims)
    ins = _with_batch_dims(params["in_specs"], dims, axis)
    outs = _with_batch_dims(params["out_specs"], out_dims, axis)
    return shard_map_p.bind(*vals, **_params_of(params, jaxpr, ins, outs)), out_dims


def _with_batch_dims(specs: Any, dims: Any, axis: AxisData) -> list[PartitionSpec]:
    names = axes_of(axis.spmd_axis_name) or None
    return [s if d is not_mapped else s.with_axis(d, names) for s, d in zip(specs, dims)]


def _within(axis: AxisData, params: Params) -> AxisData:
    """The axis of one device: some of the examples, if spmd_axis_name splits them over the mesh."""
    names = axes_of(axis.spmd_axis_name)
    if not names:
        return axis
    sizes = dict(mapped_axes(params))
    if not set(names) <= set(sizes):
        raise ValueError(
            f"vmap spmd_axis_name {names} must name axes that the shard_map within maps over, which are "
            f"{tuple(sizes)}"
        )
    for what in ("in_specs", "out_specs"):
        if any([not set(names).isdisjoint(spec.names) for spec in params[what]]):
            raise ValueError(
                f"vmap spmd_axis_name cannot appear in shard_map {what}: the batch is split over {names} "
                f"already, and {what} are {params[what]}. Name another axis of the mesh in one of the two"
            )
    if used := _names_used(params["jaxpr"]) & {*names, axis.name}:
        raise ValueError(
            f"The function of a shard_map names {used}, and vmap spmd_axis_name {names} splits the batch "
            "over the mesh: a collective would mix examples. Map it without spmd_axis_name"
        )
    parts = math.prod([sizes[name] for name in names])
    if axis.size % parts:
        raise ValueError(
            f"vmap spmd_axis_name {names} splits the batch into {parts} parts, and its size is "
            f"{axis.size}: a multiple of {parts} is needed"
        )
    outside: Any = axis.extra or MappedAxis()
    within = outside._replace(varying=outside.varying.union(names))
    return axis._replace(size=axis.size // parts, spmd_axis_name=None, extra=within)


def _names_used(body: ClosedJaxpr) -> set[Any]:
    """The names of the axes that equations of the body use, such as collectives."""
    eqns = [eqn for jaxpr in all_jaxprs(body.jaxpr) for eqn in jaxpr.eqns]
    said = [names_of(eqn.params.get(key)) for eqn in eqns for key in ("axes", "axis_name")]
    return {name for names in said for name in names if not isinstance(name, int)}


# ---- two shard_maps: one now, one later ----


def _linearize(
    primals: Any, nonzeros: Any, **params: Any
) -> tuple[list[Any], Callable[..., list[Any]]]:
    """One shard_map for the results and residuals, and a linear one."""
    with manual_env(params):
        parts = linearize_jaxpr(params["jaxpr"], tuple(nonzeros))
    outs, residuals, later = _run_now(parts, primals, nonzeros, (), params)

    def linear(*tangents: Any) -> list[Any]:
        found = _bind_later([*residuals, *pick(tangents, nonzeros)], later)
        return with_zeros(found, parts.later_outs, outs)

    return outs, linear


def _partial_eval(trace: LinearizeTrace, args: Sequence[Any], params: Params) -> list[Any]:
    """One shard_map for the known part, now, and one for the unknown part, later."""
    unknown_ins = tuple([trace.is_unknown(x) for x in args])
    with manual_env(params):
        parts = partial_eval_jaxpr(params["jaxpr"], unknown_ins)
    known_args = drop(args, unknown_ins)
    with set_current_trace(trace.parent):
        outs, residuals, later = _run_now(parts, known_args, unknown_ins, unknown_ins, params)
    with set_current_trace(trace.unknown):
        found = _bind_later([*residuals, *pick(args, unknown_ins)], later)
    return merge_lists(parts.later_outs, outs, found)


def _run_now(
    parts: Parts, inputs: Sequence[Any], later_ins: Any, unknown_ins: Any, params: Params
) -> tuple[list[Any], list[Any], Params]:
    """The known results and the residuals, and the parameters of the later shard_map, whose operands are the
    residuals and the inputs `later_ins`. A residual that is an operand is passed on directly; the others are
    results of the known part."""
    is_operand = [kind == "in" for kind, _ in parts.residuals]
    with manual_env(params):
        known = with_outputs(parts.known, [*parts.known_outs, *drop(parts.residuals, is_operand)])
        residual_avals = parts.later.in_avals[: len(is_operand)]
        specs = [_residual_spec(aval, params) for aval in residual_avals]
        rows = [
            bool(spec) and not (taken or aval.shape)
            for taken, aval, spec in zip(is_operand, residual_avals, specs)
        ]
        made_rows = drop(rows, is_operand)
        known = _with_rows(known, outs=[False] * len(parts.known_outs) + made_rows)
        later = _with_rows(parts.later, ins=rows)
    specs = drop(specs, is_operand)
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    known_specs = drop(in_specs, unknown_ins) if any(unknown_ins) else in_specs
    known_out_specs = drop(out_specs, parts.later_outs) if any(unknown_ins) else out_specs
    now = _params_of(params, known, known_specs, (*known_out_specs, *specs))
    computed = shard_map_p.bind(*inputs, **now)
    outs, made = split_list(computed, len(parts.known_outs))
    operands = [i for kind, i in parts.residuals if kind == "in"]
    residuals = merge_lists(is_operand, made, [inputs[i] for i in operands])
    residual_specs = merge_lists(is_operand, specs, [known_specs[i] for i in operands])
    later_specs = (*residual_specs, *pick(in_specs, later_ins))
    later_params = _params_of(params, later, later_specs, pick(out_specs, parts.later_outs))
    return outs, residuals, later_params


def _bind_later(inputs: Sequence[Any], params: Params) -> list[Any]:
    """Bind the shard_map of the later part, if it has results or effects."""
    jaxpr = params["jaxpr"]
    if not jaxpr.out_avals and not any(map(has_effects, jaxpr.eqns)):
        return []
    return shard_map_p.bind(*inputs, **params)


def _split(policy: Any, unknown: Any, available: Any, eqn: JaxprEqn) -> EqnSplit:
    """The split for jax.checkpoint: its policy selects the values of each device that are saved."""
    params, in_specs, out_specs = eqn.params, eqn.params["in_specs"], eqn.params["out_specs"]
    with manual_env(params):
        split = split_by_policy(params["jaxpr"], tuple(unknown), tuple(available), policy)
        number = split.num_residuals
        avals = split.staged.in_avals[:number]
        specs = [_residual_spec(aval, params) for aval in avals]
        rows = [bool(spec) and not aval.shape for aval, spec in zip(avals, specs)]
        known_outs = split.unknown_outs.count(False)
        known = _with_rows(split.known, outs=[False] * known_outs + rows)
        staged = _with_rows(split.staged, ins=rows)
    shaped = [a.update(shape=(1,)) if row else a for a, row in zip(avals, rows)]
    residuals = [Var(whole_aval(a, spec, params)) for a, spec in zip(shaped, specs)]
    known_out_specs = (*drop(out_specs, split.unknown_outs), *specs)
    staged_specs = (*specs, *pick(in_specs, available))
    known_eqn = eqn.replace(
        invars=drop(eqn.invars, unknown),
        outvars=drop(eqn.outvars, split.unknown_outs) + residuals,
        params=_params_of(params, known, drop(in_specs, unknown), known_out_specs),
    )
    staged_eqn = eqn.replace(
        invars=residuals + pick(eqn.invars, available),
        outvars=pick(eqn.outvars, split.available_outs),
        params=_params_of(params, staged, staged_specs, pick(out_specs, split.available_outs)),
    )
    return EqnSplit([known_eqn], [staged_eqn], split.unknown_outs, split.available_outs, residuals)


def _residual_spec(aval: ShapedArray, params: Params) -> PartitionSpec:
    """Split axis 0 over all mesh axes that it varies over, or may."""
    names = [name for name, _ in mapped_axes(params)]
    if params["check_vma"]:
        names = [name for name in names if name in aval.vma]
    return PartitionSpec(tuple(names)) if names else PartitionSpec()


def _with_rows(
    closed: ClosedJaxpr, ins: Sequence[bool] = (), outs: Sequence[bool] = ()
) -> ClosedJaxpr:
    """The jaxpr with arrays of one element instead of some scalars, which can't be split."""
    if not any(ins) and not any(outs):
        return closed
    ins = (*ins, *(False,) * (len(closed.in_avals) - len(ins)))

    def of_rows(*args: Any) -> list[Any]:
        xs = [primitives.reshape(x, ()) if row else x for x, row in zip(args, ins)]
        results = jaxpr_as_fun(closed)(*xs)
        rows = outs or (False,) * len(results)
        return [
            primitives.broadcast_in_dim(x, (1,), ()) if row else x for x, row in zip(results, rows)
        ]

    avals = zip(closed.in_avals, ins)
    return trace_to_jaxpr(of_rows, [a.update(shape=(1,)) if row else a for a, row in avals])


# ---- transposition ----


def _transpose(cts: Any, *args: Any, **params: Any) -> list[Any]:
    """A cotangent is split like its primal."""
    linear = tuple(is_undefined_primal(x) for x in args)
    zero_cts = tuple(type(ct) is Zero for ct in cts)
    in_specs, out_specs = params["in_specs"], drop(params["out_specs"], zero_cts)
    with manual_env(params):
        jaxpr, nonzero = transpose_jaxpr(params["jaxpr"], linear, zero_cts)
        ct_specs = pick(pick(in_specs, linear), nonzero)
        if not params["check_vma"]:
            jaxpr = _with_sums(jaxpr, ct_specs, params)
    given = [ct for ct in cts if type(ct) is not Zero]
    jaxpr = _last_arguments_first(jaxpr, len(given))
    if not params["check_vma"]:
        given = [_shared_out(ct, spec, params) for ct, spec in zip(given, out_specs)]
    transposed = _params_of(params, jaxpr, (*out_specs, *drop(in_specs, linear)), ct_specs)
    outs = shard_map_p.bind(*given, *drop(args, linear), **transposed)
    return operand_cotangents(args, outs, nonzero)


def _last_arguments_first(closed: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """The jaxpr with its last arguments, the cotangents, before the others, as in JAX."""
    fixed, cts = split_list(closed.jaxpr.invars, len(closed.jaxpr.invars) - count)
    return closed.replace(jaxpr=closed.jaxpr.replace(invars=cts + fixed))


def _left_out(spec: PartitionSpec, params: Params) -> dict[Any, int]:
    """The mapped axes that a spec does not name, with their sizes."""
    return {name: size for name, size in mapped_axes(params) if name not in spec.names}


def _shared_out(ct: Any, spec: PartitionSpec, params: Params) -> Any:
    """The devices' shares of the cotangent of a value that was shared by all of them."""
    size = math.prod(_left_out(spec, params).values())
    return ct / size if size > 1 else ct


def _with_sums(closed: ClosedJaxpr, specs: Sequence[PartitionSpec], params: Params) -> ClosedJaxpr:
    """The jaxpr with its results summed over the mapped axes that their specs don't name."""

    def total(x: Any, spec: PartitionSpec) -> Any:
        names = tuple(_left_out(spec, params))
        return transpose_rules[pvary_p](x, None, axes=names)[0] if names else x

    def summed(*args: Any) -> list[Any]:
        return list(map(total, jaxpr_as_fun(closed)(*args), specs))

    return trace_to_jaxpr(summed, closed.in_avals)


def _dce(eqn: JaxprEqn, used_outputs: list[bool]) -> JaxprEqn:
    jaxpr, used_inputs = dce_closed_jaxpr(eqn.params["jaxpr"], tuple(used_outputs))
    in_specs = pick(eqn.params["in_specs"], used_inputs)
    out_specs = pick(eqn.params["out_specs"], used_outputs)
    params = _params_of(eqn.params, jaxpr, in_specs, out_specs)
    return eqn.reduced(used_inputs, used_outputs, params)


jvp_rules[shard_map_p] = _jvp
axis_batch_rules[shard_map_p] = _batch
linearize_rules[shard_map_p] = _linearize
partial_eval_rules[shard_map_p] = _partial_eval
policy_rules[shard_map_p] = _split
transpose_rules[shard_map_p] = _transpose
dce_rules[shard_map_p] = _dce
