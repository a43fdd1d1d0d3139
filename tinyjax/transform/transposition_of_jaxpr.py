"""Transposition of a whole jaxpr, for primitives that have a jaxpr as a parameter.

The backward pass is traced, so that the transpose of a jit, loop or branch is again a jit, loop or
branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import ClosedJaxpr, cached_on_jaxpr
from tinyjax.core.lists import drop, pick
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.transform.jvp import Zero, instantiate_zeros
from tinyjax.transform.transposition import ValAccum, backward_pass, is_undefined_primal


@cached_on_jaxpr
def transpose_jaxpr(
    closed_jaxpr: ClosedJaxpr,
    linear: tuple[bool, ...],
    zero_cts: tuple[bool, ...],
    instantiate: bool | tuple[bool, ...] = False,
    in_avals: tuple[ShapedArray, ...] | None = None,
) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The backward pass as a jaxpr: from non-linear arguments and non-zero cotangents to the linear
    arguments' cotangents. Also returns which of these are not Zero: the jaxpr computes only them, and
    those that `instantiate` selects: all, or some (an entry a linear argument). Its arguments have the
    types `in_avals`: those of the jaxpr's own arguments and results, where none are given."""
    jaxpr = closed_jaxpr.jaxpr
    if in_avals is None:
        in_avals = (*drop(closed_jaxpr.in_avals, linear), *drop(closed_jaxpr.out_avals, zero_cts))
    nonzero: list[bool] = []

    def backward(*flat: Any) -> list[Any]:
        values = iter(flat)
        args = [
            ValAccum(v.aval) if is_linear else next(values)
            for v, is_linear in zip(jaxpr.invars, linear)
        ]
        cts = [Zero(v.aval) if z else next(values) for v, z in zip(jaxpr.outvars, zero_cts)]
        backward_pass(jaxpr, closed_jaxpr.consts, args, cts)
        found = [accum.freeze() for accum in pick(args, linear)]
        forced = (instantiate,) * len(found) if isinstance(instantiate, bool) else instantiate
        found = [instantiate_zeros(ct) if f else ct for ct, f in zip(found, forced)]
        nonzero.extend(type(ct) is not Zero for ct in found)
        return [ct for ct in found if type(ct) is not Zero]

    return trace_to_jaxpr(backward, in_avals), tuple(nonzero)


def operand_cotangents(
    operands: Sequence[Any], outs: Sequence[Any], nonzero: Sequence[bool]
) -> list[Any]:
    """The outputs of transpose_jaxpr's jaxpr as a transpose rule's result: an entry for each operand,
    None for operands that are not linear."""
    found, flags = iter(outs), iter(nonzero)
    return [
        (next(found) if next(flags) else Zero(x.aval)) if is_undefined_primal(x) else None
        for x in operands
    ]
