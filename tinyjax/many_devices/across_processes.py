"""Collectives over an axis whose examples are spread over several processes.

If each process has a part of axis "i", `psum(x, "i")` is vmap's sum over the local examples, followed by a
sum over the processes: a primitive (`group_psum`), which is a host step in a compiled program. All other
collectives share one rule: the processes gather all examples, compute what a single process would, and each
keeps its own part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinyjax.compile.kernel.rules import Collective, lowering_rules
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules, no_rule_reasons
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.core.primitives import shape_of
from tinyjax.lax import shape as shapes
from tinyjax.lax.all_gather import all_gather_p, reduce_scatter_p
from tinyjax.lax.all_to_all_ppermute import all_to_all_p, pbroadcast_p, ppermute_p
from tinyjax.lax.parallel import axis_index_p, pmax_p, pmin_p, psum_p
from tinyjax.lax.slicing import slice_in_dim
from tinyjax.many_devices.collectives import bytes_sent, collective
from tinyjax.runtime.devices import Device
from tinyjax.transform.batching import AxisData, axis_batch_rules, batch_rules, moveaxis, not_mapped

# The sum of each of several operands over a group: `ranks`, processes or OpenCL devices. `at` identifies the
# collective in its program, for errors about members at another collective. Collectives of a group have
# effects: they keep their order, which must be the same for all members.
group_psum_p = Primitive("group_psum", multiple_results=True, has_effects=True)
group_all_gather_p = Primitive("group_all_gather", has_effects=True)


def group_psum(xs: Any, ranks: tuple[Any, ...]) -> list[Any]:
    """The sums of the group's arrays."""
    return group_psum_p.bind(*xs, ranks=ranks, at="")


def group_all_gather(x: Any, ranks: tuple[Any, ...]) -> Any:
    """The group's arrays, stacked along a new axis 0."""
    return group_all_gather_p.bind(x, ranks=ranks, at="")


def _psum_impl(*xs: np.ndarray, ranks: tuple[Any, ...], at: str) -> list[np.ndarray]:
    sums = [np.empty(x.shape, x.dtype) for x in xs]
    kinds = [(x.shape, x.dtype) for x in xs]
    collective("group_psum", kinds, ranks, f"group_psum {at}".rstrip())(xs, sums)
    return sums


def _all_gather_impl(x: np.ndarray, *, ranks: tuple[Any, ...], at: str) -> np.ndarray:
    out = np.empty((len(ranks), *x.shape), x.dtype)
    kinds = [(x.shape, x.dtype)]
    collective("group_all_gather", kinds, ranks, f"group_all_gather {at}".rstrip())([x], [out])
    return out


def _meet(eqn: JaxprEqn, target: Any) -> Collective:
    """The collective's line in the schedule, with the bytes that it moves."""
    from tinyjax.many_devices import meet_step  # noqa: F401  (registers how it runs)

    count, kind = len(eqn.params["ranks"]), eqn.primitive.name.removeprefix("group_")
    who = "devices" if isinstance(eqn.params["ranks"][0], Device) else "processes"
    sent = sum(bytes_sent(kind, v.aval.size * v.aval.dtype.itemsize, count) for v in eqn.invars)
    return Collective(f"{count} {who} meet: each sends {sent:,} bytes, all {count * sent:,}")


impl_rules[group_psum_p] = _psum_impl
impl_rules[group_all_gather_p] = _all_gather_impl
abstract_eval_rules[group_psum_p] = lambda *xs, ranks, at: [x.strip_weak_type() for x in xs]
abstract_eval_rules[group_all_gather_p] = lambda x, *, ranks, at: x.update(
    shape=(len(ranks), *x.shape), weak_type=False
)
batch_rules[group_psum_p] = lambda vals, dims, *, ranks, at: (group_psum(vals, ranks), list(dims))
batch_rules[group_all_gather_p] = lambda vals, dims, *, ranks, at: (
    group_all_gather(vals[0], ranks),
    dims[0] + 1,
)
for _primitive in (group_psum_p, group_all_gather_p):
    lowering_rules[_primitive] = _meet
    no_rule_reasons[_primitive, "jvp"] = "programs are differentiated before processes divide them"


# ---- the batching rules of collectives ----


def over_processes(rule: Callable, is_sum: bool = False, binds_each: bool = False) -> Callable:
    """Extends `rule`, which batches a collective of at most one operand, to an axis with parts in several
    processes. `is_sum` is for psum; `binds_each` if the rule binds a collective for each of several names."""

    def shared(axis: AxisData, vals: Any, dims: Any, **params: Any) -> Any:
        names = params.get("axes", params.get("axis_name"))
        names = names if isinstance(names, (tuple, list)) else (names,)
        extra: Any = axis.extra
        ranks = () if extra is None else extra.ranks
        if not ranks or axis.name not in names or (binds_each and len(names) > 1):
            return rule(axis, vals, dims, **params)
        of_all = axis._replace(size=axis.size * len(ranks), extra=None)
        if not vals or dims[0] is not_mapped:  # the same everywhere: each process computes the same
            return _own_part(axis.size, extra.place, *rule(of_all, vals, dims, **params))
        if is_sum and params["axis_index_groups"] is None:
            if axis.size == 1 and len(names) == 1:  # nothing to sum here
                shape = shape_of(vals[0])[: dims[0]] + shape_of(vals[0])[dims[0] + 1 :]
                own = shapes.reshape(vals[0], shape)
                return group_psum([own], ranks)[0], not_mapped
            out, dim = rule(axis._replace(extra=None), vals, dims, **params)
            return group_psum([out], ranks)[0], dim
        of_processes = group_all_gather(moveaxis(vals[0], dims[0], 0), ranks)
        size, *rest = shape_of(of_processes)[1:]
        gathered = shapes.reshape(of_processes, (len(ranks) * size, *rest))
        return _own_part(axis.size, extra.place, *rule(of_all, [gathered], [0], **params))

    return shared


def _own_part(size: int, place: int, out: Any, dim: int | None) -> Any:
    """This process's part of all processes' examples."""
    if dim is not_mapped:
        return out, not_mapped
    return slice_in_dim(out, size * place, size * (place + 1), axis=dim), dim


axis_batch_rules[psum_p] = over_processes(axis_batch_rules[psum_p], is_sum=True)
for _primitive in (pmax_p, pmin_p, axis_index_p, all_to_all_p):
    axis_batch_rules[_primitive] = over_processes(axis_batch_rules[_primitive])
for _primitive in (all_gather_p, reduce_scatter_p, ppermute_p, pbroadcast_p):
    axis_batch_rules[_primitive] = over_processes(axis_batch_rules[_primitive], binds_each=True)
