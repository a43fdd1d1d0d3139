"""The jvp and vmap rules of pallas_call: of the kernel's jaxpr, and one more axis of the grid.

Reverse mode has none, as in JAX: a kernel that writes to its outputs cannot be transposed. Give the function
around a gradient, by jax.custom_vjp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tinyjax.core.bind import no_rule_reasons
from tinyjax.core.dtypes import is_inexact
from tinyjax.core.lists import pick, split_list
from tinyjax.pallas.call import pallas_call_p
from tinyjax.pallas.specs import CostEstimate
from tinyjax.transform.batching import AxisData, axis_batch_rules, bdim_at_front, not_mapped
from tinyjax.transform.jvp import Zero, jvp_rules
from tinyjax.transform.jvp_of_jaxpr import jvp_jaxpr, with_zeros
from tinyjax.transform.linearize import linearize_rules


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    """A kernel that takes and writes tangents, too. Each has the blocks of its primal."""
    jaxpr, mapping = params["jaxpr"], params["grid_mapping"]
    if params["input_output_aliases"]:
        raise NotImplementedError("JVP with aliasing not supported.")
    refs = jaxpr.jaxpr.invars
    nonzero_ins = tuple(type(t) is not Zero for t in tangents)
    others = tuple(is_inexact(v.aval.dtype) for v in refs[len(primals) :])
    new_jaxpr, _ = jvp_jaxpr(jaxpr, (*nonzero_ins, *others))
    nonzero_outs, nonzero_scratch = others[: len(mapping.outputs)], others[len(mapping.outputs) :]
    ins, outs, scratch, ins_dot, outs_dot, scratch_dot = split_list(
        new_jaxpr.jaxpr.invars,
        len(primals),
        len(mapping.outputs),
        len(nonzero_scratch),
        sum(nonzero_ins),
        sum(nonzero_outs),
    )
    invars = [*ins, *ins_dot, *outs, *outs_dot, *scratch, *scratch_dot]
    inputs = [*mapping.inputs, *pick(mapping.inputs, nonzero_ins)]
    outputs = [*mapping.outputs, *pick(mapping.outputs, nonzero_outs)]
    new_mapping = replace(
        mapping,
        block_mappings=(*inputs, *outputs),
        num_inputs=len(inputs),
        scratch_avals=(*mapping.scratch_avals, *pick(mapping.scratch_avals, nonzero_scratch)),
    )
    params |= {
        "jaxpr": new_jaxpr.replace(jaxpr=new_jaxpr.jaxpr.replace(invars=invars)),
        "grid_mapping": new_mapping,
        "out_avals": (*params["out_avals"], *pick(params["out_avals"], nonzero_outs)),
        "cost_estimate": _times(2, params["cost_estimate"]),
    }
    results = pallas_call_p.bind(*primals, *pick(tangents, nonzero_ins), **params)
    out, out_dot = split_list(results, len(mapping.outputs))
    return out, with_zeros(out_dot, nonzero_outs, out)


def _batch(axis: AxisData, vals: Sequence[Any], dims: Sequence[Any], **params: Any) -> Any:
    """One more axis of the grid, the first: each of its programs has its own example."""
    mapping, vals, dims = params["grid_mapping"], list(vals), list(dims)
    for i, _ in params["input_output_aliases"]:  # an output is a batch along axis 0
        vals[i], dims[i] = bdim_at_front(vals[i], dims[i], axis.size), 0
    out_dims = [0] * len(mapping.outputs)
    in_dims = [None if dim is not_mapped else dim for dim in dims]
    names = mapping.grid_names
    params |= {
        "grid_mapping": replace(
            mapping,
            grid=(axis.size, *mapping.grid),
            grid_names=names and (None, *names),
            block_mappings=tuple(
                m.with_grid_axis(axis.size, dim)
                for m, dim in zip(mapping.block_mappings, [*in_dims, *out_dims])
            ),
            vmapped_dims=(0, *[dim + 1 for dim in mapping.vmapped_dims]),
        ),
        "out_avals": tuple(aval.with_axis(0, axis.size) for aval in params["out_avals"]),
        "cost_estimate": _times(axis.size, params["cost_estimate"]),
    }
    return pallas_call_p.bind(*vals, **params), out_dims


def _times(number: int, cost: CostEstimate | None) -> CostEstimate | None:
    if cost is None:
        return None
    return CostEstimate(
        number * cost.flops, number * cost.transcendentals, number * cost.bytes_accessed
    )


def _linearize(primals: Any, nonzeros: Any, **params: Any) -> Any:
    raise ValueError(
        "Linearization failed to produce known values for all output primals: a pallas_call has no reverse "
        "mode, as JAX's has none. Give the function around it a gradient, by jax.custom_vjp"
    )


jvp_rules[pallas_call_p] = _jvp
axis_batch_rules[pallas_call_p] = _batch
linearize_rules[pallas_call_p] = _linearize
no_rule_reasons[pallas_call_p, "transpose"] = "it is linear in no operand"
