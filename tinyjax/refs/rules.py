"""The jvp and vmap rules of Refs: a Ref has a tangent, which is a Ref, and a batch of Refs is one Ref.

A Ref from outside has no tangent, so a differentiated value can't be written to it; nor can a batch of values
be written to an unbatched Ref. Reverse mode needs no rules: discharge.py removes Refs from the linear part.

Source: https://docs.jax.dev/en/latest/array_refs.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, no_rule_reasons, set_current_trace
from tinyjax.core.primitives import broadcast_in_dim, shape_of, transpose
from tinyjax.refs.indices import OPERAND, Indexer, Slice, array_axes
from tinyjax.refs.ref import (
    REF_PRIMITIVES,
    addupdate_p,
    always_seen_by,
    empty_ref_p,
    free_ref_p,
    freeze_p,
    get_p,
    new_ref_p,
    swap_p,
)
from tinyjax.transform.batching import (
    AxisData,
    BatchTrace,
    axis_batch_rules,
    bdim_at_front,
    not_mapped,
)
from tinyjax.transform.jvp import JVPTrace, Zero, full, instantiate_zeros, jvp_rules, zero_tangent
from tinyjax.transform.linearize import LinearizeTrace, LinearizeTracer, linearize_rules
from tinyjax.transform.transposition import inverse

# ---- traces that see each operation on a Ref ----


def _always_jvp(trace: JVPTrace, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
    """Apply the rule even if no operand has a tangent: a new Ref may later hold a value with one."""
    primals, tangents = zip(*map(trace.primal_and_tangent, args)) if args else ((), ())
    with set_current_trace(trace.parent):
        out, tangent_out = jvp_rules[primitive](primals, tangents, **params)
    return out if primitive.multiple_results else trace.pair(out, tangent_out)


def _always_batched(
    trace: BatchTrace, primitive: Primitive, args: Sequence[Any], params: dict
) -> Any:
    """Apply the rule even if no operand is a batch; reading a Ref that all examples share is allowed."""
    vals, dims = zip(*map(trace.val_and_dim, args)) if args else ((), ())
    with set_current_trace(trace.parent):
        if primitive in (get_p, freeze_p) and all(dim is not_mapped for dim in dims):
            return primitive.bind(*vals, **params)
        out, dim = axis_batch_rules[primitive](trace.axis, vals, dims, **params)
    return out if primitive.multiple_results else trace.tracer(out, dim)


def _always_linearized(
    trace: LinearizeTrace, primitive: Primitive, args: Sequence[Any], params: dict
) -> Any:
    """A new Ref has a tangent, even if no operand has one. Known values are bound in the parent trace, which
    may be one of those above."""
    if any([type(x) is LinearizeTracer and x._trace is trace for x in args]):
        return trace.process_primitive(primitive, args, params)
    if primitive in linearize_rules:
        tangents = list(map(zero_tangent, args))
        return trace.pair(*trace.by_rule(linearize_rules[primitive], args, tangents, params))
    known = not any(map(trace.is_unknown, args))
    with set_current_trace(trace.parent if known else trace.unknown):
        return primitive.bind(*args, **params)


always_seen_by[JVPTrace] = _always_jvp
always_seen_by[BatchTrace] = _always_batched
always_seen_by[LinearizeTrace] = _always_linearized


# ---- forward mode ----


def _new_ref_linearize(primals: Any, nonzeros: Any, **params: Any) -> Any:
    """A Ref of floats has a tangent, whatever its value."""
    ref = new_ref_p.bind(*primals, **params)

    def linear(tangent: Any) -> Any:
        if not dtypes.is_inexact(ref.dtype):
            return zero_tangent(ref)
        return new_ref_p.bind(instantiate_zeros(tangent), **params)

    return ref, linear


def _empty_ref_linearize(primals: Any, nonzeros: Any, *, ty: Any, **params: Any) -> Any:
    ref = empty_ref_p.bind(ty=ty, **params)

    def linear() -> Any:
        if not dtypes.is_inexact(ty.dtype):
            return zero_tangent(ref)
        return new_ref_p.bind(full(ty, 0), kind=None, **params)

    return ref, linear


def _jvp_by_linearizing(linearize: Callable, primals: Any, tangents: Any, **params: Any) -> Any:
    ref, linear = linearize(primals, (), **params)
    return ref, linear(*tangents)


def _get_jvp(primals: Any, tangents: Any, *, indexer: Indexer) -> Any:
    out = get_p.bind(*primals, indexer=indexer)
    if type(tangents[0]) is Zero:
        return out, zero_tangent(out)
    return out, get_p.bind(tangents[0], *primals[1:], indexer=indexer)


def _swap_jvp(primals: Any, tangents: Any, *, indexer: Indexer) -> Any:
    out = swap_p.bind(*primals, indexer=indexer)
    dots = _written(primals, tangents, "a set/swap")
    return out, swap_p.bind(*dots, indexer=indexer) if dots else zero_tangent(out)


def _addupdate_jvp(primals: Any, tangents: Any, *, indexer: Indexer) -> Any:
    addupdate_p.bind(*primals, indexer=indexer)
    if dots := _written(primals, tangents, "an addupdate"):
        addupdate_p.bind(*dots, indexer=indexer)
    return [], []


def _written(primals: Any, tangents: Any, what: str) -> list[Any]:
    """The operands that write the tangent; none if there is no tangent."""
    ref, (ref_dot, value_dot, *_) = primals[0], tangents
    if type(ref_dot) is not Zero:
        return [ref_dot, instantiate_zeros(value_dot), *primals[2:]]
    if type(value_dot) is not Zero:
        raise Exception(  # noqa: TRY002  (as JAX's)
            f"performing {what} operation with a differentiated value on a non-differentiated array "
            f"reference of type {get_aval(ref)}. Make the Ref within the differentiated function, or write "
            "jax.lax.stop_gradient of the value"
        )
    return []


def _freeze_jvp(primals: Any, tangents: Any) -> Any:
    out = freeze_p.bind(*primals)
    return out, zero_tangent(out) if type(tangents[0]) is Zero else freeze_p.bind(*tangents)


def _free_ref_jvp(primals: Any, tangents: Any) -> Any:
    for ref in (*primals, *[t for t in tangents if type(t) is not Zero]):
        free_ref_p.bind(ref)
    return [], []


for _primitive in REF_PRIMITIVES:
    no_rule_reasons[_primitive, "transpose"] = (
        "reverse mode has no gradient of a Ref that is an argument: differentiate by what it holds, ref[...]"
    )
for _primitive, _rule in ((new_ref_p, _new_ref_linearize), (empty_ref_p, _empty_ref_linearize)):
    linearize_rules[_primitive] = _rule
    jvp_rules[_primitive] = functools.partial(_jvp_by_linearizing, _rule)
jvp_rules[get_p] = _get_jvp
jvp_rules[swap_p] = _swap_jvp
jvp_rules[addupdate_p] = _addupdate_jvp
jvp_rules[freeze_p] = _freeze_jvp
jvp_rules[free_ref_p] = _free_ref_jvp


# ---- vmap ----


def _new_ref_batch(axis: AxisData, vals: Any, dims: Any, **params: Any) -> Any:
    """A Ref made within a vmap has a place for each example, whatever its initial value."""
    return new_ref_p.bind(bdim_at_front(vals[0], dims[0], axis.size), **params), 0


def _empty_ref_batch(axis: AxisData, vals: Any, dims: Any, *, ty: Any, **params: Any) -> Any:
    return empty_ref_p.bind(ty=ty.with_axis(0, axis.size), **params), 0


def _get_batch(axis: AxisData, vals: Any, dims: Any, *, indexer: Indexer) -> Any:
    index = _batched_index(axis, vals, dims, indexer)
    out = get_p.bind(vals[0], *index.operands, indexer=index.indexer)
    return index.batch_in_front(out), 0


def _swap_batch(axis: AxisData, vals: Any, dims: Any, *, indexer: Indexer) -> Any:
    index, value = _batched_write(axis, vals, dims, indexer, "a set/swap")
    out = swap_p.bind(vals[0], value, *index.operands, indexer=index.indexer)
    return index.batch_in_front(out), 0


def _addupdate_batch(axis: AxisData, vals: Any, dims: Any, *, indexer: Indexer) -> Any:
    index, value = _batched_write(axis, vals, dims, indexer, "an addupdate")
    addupdate_p.bind(vals[0], value, *index.operands, indexer=index.indexer)
    return [], []


def _batched_write(axis: AxisData, vals: Any, dims: Any, indexer: Indexer, what: str) -> Any:
    if dims[0] is not_mapped:
        raise Exception(  # noqa: TRY002  (as JAX's)
            f"performing {what} operation with vmapped value on an unbatched array reference of type "
            f"{get_aval(vals[0])}. Make the Ref an argument of the vmapped function, or make it within"
        )
    index = _batched_index(axis, [vals[0], *vals[2:]], [dims[0], *dims[2:]], indexer)
    return index, index.as_written(bdim_at_front(vals[1], dims[1], axis.size))


class _BatchedIndex(NamedTuple):
    """The index into a batch of Refs with separate indices per example; and the permutation that moves the
    result's axes into order: the batch dim, then an example's axes."""

    indexer: Indexer
    operands: list[Any]
    permutation: list[int]

    def batch_in_front(self, out: Any) -> Any:
        return _permuted(out, self.permutation)

    def as_written(self, value: Any) -> Any:
        return _permuted(value, inverse(self.permutation))


def _batched_index(
    axis: AxisData, vals: Sequence[Any], dims: Sequence[int | None], indexer: Indexer
) -> _BatchedIndex:
    """`vals` are the Ref and the operands of the index. If all examples share the index, the batch dim is an
    additional slice; otherwise it is an additional array with the examples' numbers."""
    ref_dim, *index_dims = dims
    if not indexer:
        assert ref_dim is not None
        return _BatchedIndex((), [], _in_front(ref_dim, len(shape_of(vals[0]))))
    examples = [_example_aval(x, dim) for x, dim in zip(vals[1:], index_dims)]
    shape, place = array_axes(indexer, examples)
    if not shape and all(dim is not_mapped for dim in index_dims):
        assert ref_dim is not None
        before = sum(isinstance(entry, Slice) for entry in indexer[:ref_dim])
        batched = (*indexer[:ref_dim], Slice(0, axis.size), *indexer[ref_dim:])
        count = sum(isinstance(entry, Slice) for entry in batched)
        return _BatchedIndex(batched, list(vals[1:]), _in_front(before, count))
    if any(isinstance(entry, Slice) and entry.start == OPERAND for entry in indexer):
        raise NotImplementedError(
            "vmap of ref[jax.ds(i, n)] where another index, or i, is an array"
        )
    rank = len(shape)
    operands = [
        x if dim is not_mapped else _with_rank(bdim_at_front(x, dim, axis.size), rank)
        for x, dim in zip(vals[1:], index_dims)
    ]
    if ref_dim is not not_mapped:
        numbers = np.arange(axis.size, dtype=np.int32).reshape((axis.size, *(1,) * rank))
        operands.insert(sum(entry == OPERAND for entry in indexer[:ref_dim]), numbers)
        indexer = (*indexer[:ref_dim], OPERAND, *indexer[ref_dim:])
    _, at = array_axes(indexer, [get_aval(x) for x in operands])
    own = list(range(at + 1, at + 1 + rank))
    count = sum(isinstance(entry, Slice) for entry in indexer)
    slices = [i for i in range(count + 1 + rank) if i != at and i not in own]
    return _BatchedIndex(indexer, operands, [at, *slices[:place], *own, *slices[place:]])


def _example_aval(x: Any, dim: int | None) -> ShapedArray:
    return get_aval(x) if dim is not_mapped else get_aval(x).without_axis(dim)


def _in_front(axis: int, ndim: int) -> list[int]:
    return [axis, *[i for i in range(ndim) if i != axis]]


def _with_rank(x: Any, rank: int) -> Any:
    """A batch of arrays, with axes of size 1 after the batch dim, so that each example has `rank` axes."""
    shape = shape_of(x)
    new = (shape[0], *(1,) * (rank - len(shape) + 1), *shape[1:])
    return (
        x
        if new == shape
        else broadcast_in_dim(x, new, (0, *range(len(new) - len(shape) + 1, len(new))))
    )


def _permuted(x: Any, permutation: Sequence[int]) -> Any:
    return x if list(permutation) == sorted(permutation) else transpose(x, permutation)


def _free_ref_batch(axis: AxisData, vals: Any, dims: Any) -> Any:
    free_ref_p.bind(*vals)
    return [], []


axis_batch_rules[new_ref_p] = _new_ref_batch
axis_batch_rules[empty_ref_p] = _empty_ref_batch
axis_batch_rules[get_p] = _get_batch
axis_batch_rules[swap_p] = _swap_batch
axis_batch_rules[addupdate_p] = _addupdate_batch
axis_batch_rules[freeze_p] = lambda axis, vals, dims: (freeze_p.bind(*vals), dims[0])
axis_batch_rules[free_ref_p] = _free_ref_batch
