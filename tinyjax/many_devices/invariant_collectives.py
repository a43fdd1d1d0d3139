"""Collectives on types that track over which mesh axes values vary: `psum_invariant`, and pcast.

The gradient of a loss by weights that all devices share is summed over the devices: `pvary` was applied to
the weights where they were combined with the data, and its transpose is psum; that of psum is pvary. Within
shard_map `psum(x, "i")` is recorded as psum_invariant, whose result is equal along "i".

Source: https://docs.jax.dev/en/latest/notebooks/shard_map.html#how-check-vma-true-enables-rep-rewrite-optimizations-during-ad
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.avals import get_aval
from tinyjax.core.bind import (
    Primitive,
    abstract_eval_rules,
    impl_rules,
    in_order,
    no_rule_reasons,
    prepare_operands,
)
from tinyjax.core.facts import MOVES
from tinyjax.core.primitives import shape_of
from tinyjax.core.tracing import JaxprTrace, staging_rules
from tinyjax.core.tree_util import tree_map
from tinyjax.lax.all_gather import all_gather_p, def_all_gather, gather_to, reduce_scatter_p
from tinyjax.lax.all_to_all_ppermute import all_to_all_p, pbroadcast_p, ppermute_p
from tinyjax.lax.dynamic_slicing import dynamic_index_in_dim, dynamic_slice_in_dim
from tinyjax.lax.parallel import (
    NAME_IS_GONE,
    axis_index,
    axis_index_p,
    names_of,
    not_evaluated,
    pmax_p,
    pmin_p,
    psum_p,
)
from tinyjax.many_devices.across_processes import over_processes
from tinyjax.many_devices.varying import (
    manual_axes,
    needed_vma,
    pvary_p,
    pvary_to,
    varying_alike,
    vma_rules,
)
from tinyjax.transform.batching import AxisData, axis_batch_rules
from tinyjax.transform.transposition import deflinear2


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """`x`, a pytree, with another type within shard_map: to="varying", one that varies over the named axes.

    The values don't change. Raises ValueError for another `to`, or if x varies over one of them."""
    if to in ("reduced", "unreduced"):
        raise NotImplementedError(
            f"pcast to={to!r} is a type that tinyjax does not have: use psum where a sum is meant"
        )
    if to != "varying":
        raise ValueError(
            f"Got unexpected `to` value. Allowed `to` values are: {{'varying'}}, got {to!r}"
        )
    names = frozenset(names_of(axis_name))
    return tree_map(lambda leaf: _to_varying(leaf, names), x)


def _to_varying(x: Any, names: frozenset) -> Any:
    if not manual_axes():
        return x
    varying = names & get_aval(x).vma
    if varying == names:
        raise ValueError("Unsupported pcast from=varying, to='varying'")
    _check_alike("pcast", x, in_order(names) or tuple(names))
    return pvary_to(x, names)


def _check_alike(name: str, x: Any, axes: Sequence[Any]) -> None:
    """Raises ValueError unless `x` varies over all of the axes or over none, and for axes that the mesh
    lacks."""
    vma, manual = get_aval(x).vma, manual_axes()
    states = {"varying" if axis in vma else "invarying" for axis in axes}
    if len(states) > 1 or not manual.issuperset(axes):
        raise ValueError(
            f"jax.lax.{name} can only accept axis_name which corresponds to one of varying, unreduced, "
            f"reduced or invarying state of the input. Got input type: {get_aval(x).str_short()}, axes: "
            f"{tuple(axes)} and input state: {states}. Name axes over which all of it varies, or none of "
            "it: one call for each"
        )


# ---- pvary ----


def _pvary_batch(axis: AxisData, vals: Any, dims: Any, *, axes: Any) -> Any:
    """The values don't change; if the axis is vmap's own, the type isn't needed."""
    (x,), (dim,) = vals, dims
    axes = frozenset(axes) - {axis.name}
    return pvary_to(x, axes), dim


def _pvary_transpose(ct: Any, x: Any, *, axes: Any) -> list[Any]:
    """All devices had the same value, so its cotangent is the sum of theirs."""
    return [psum_p.bind(ct, axes=axes, axis_index_groups=None)]


axis_batch_rules[pvary_p] = _pvary_batch
deflinear2(pvary_p, _pvary_transpose)
no_rule_reasons[pvary_p, "lowering"] = NAME_IS_GONE


# ---- psum_invariant ----

# A psum whose operand's type varies over `axes`, and whose result's type doesn't.
psum_invariant_p = Primitive("psum_invariant", axes="each operand", makes_nan=True)


def _stage_psum(trace: JaxprTrace, args: Any, params: dict) -> Any:
    """Within shard_map a psum is recorded as psum_invariant."""
    (x,), axes = args, params["axes"]
    if not manual_axes().intersection(axes):
        return NotImplemented
    if params["axis_index_groups"] is not None:
        raise NotImplementedError(
            "psum with axis_index_groups has no type within shard_map: give the mesh an axis for the "
            "groups, or use check_vma=False"
        )
    _check_alike("psum", x, axes)
    return psum_invariant_p.bind(pvary_to(x, frozenset(axes)), axes=axes)


def _psum_invariant_batch(axis: AxisData, vals: Any, dims: Any, *, axes: Any) -> Any:
    if axis.name in axes or not manual_axes().intersection(axes):
        return axis_batch_rules[psum_p](axis, vals, dims, axes=axes, axis_index_groups=None)
    return psum_invariant_p.bind(*vals, axes=axes), dims[0]


def _psum_invariant_transpose(ct: Any, x: Any, *, axes: Any) -> list[Any]:
    """The sum is one value for all devices, and so is its cotangent, which each operand gets unchanged: only
    its type changes, to vary like the operand's."""
    return [pvary_to(ct, frozenset(axes))]


staging_rules[psum_p] = _stage_psum
impl_rules[psum_invariant_p] = not_evaluated
abstract_eval_rules[psum_invariant_p] = lambda x, *, axes: x.strip_weak_type()
axis_batch_rules[psum_invariant_p] = _psum_invariant_batch
deflinear2(psum_invariant_p, _psum_invariant_transpose)
no_rule_reasons[psum_invariant_p, "lowering"] = NAME_IS_GONE


# ---- all_gather to="invarying" ----

# An all_gather whose result type is invariant along the axes.
all_gather_invariant_p = Primitive("all_gather_invariant", axes="unclear", **MOVES)


def _gather_invarying(x: Any, *, axis_index_groups: Any, **params: Any) -> Any:
    if manual_axes():
        return all_gather_invariant_p.bind(x, **params)
    return all_gather_p.bind(x, axis_index_groups=axis_index_groups, **params)


def _own_part(ct: Any, **params: Any) -> Any:
    """The cotangent of a result that all devices share is also shared: each device takes its part."""
    place, index = params["all_gather_dimension"], axis_index(params["axis_name"])
    if not params["tiled"]:
        return dynamic_index_in_dim(ct, index, place, keepdims=False)
    size = shape_of(ct)[place] // params["axis_size"]
    return dynamic_slice_in_dim(ct, index * size, size, place)


gather_to["invarying"] = _gather_invarying
def_all_gather(all_gather_invariant_p, _own_part)
axis_batch_rules[all_gather_invariant_p] = over_processes(
    axis_batch_rules[all_gather_invariant_p], binds_each=True
)


# ---- the types of the others ----


def _named(*, axis_name: Any, **_: Any) -> Any:
    return manual_axes().intersection(names_of(axis_name))


def _stage_extreme(primitive: Primitive) -> Any:
    """Record pmax and pmin within shard_map with an operand that varies over all of the axes."""

    def stage(trace: JaxprTrace, args: Any, params: dict) -> Any:
        (x,), axes = args, params["axes"]
        if not manual_axes().intersection(axes):
            return NotImplemented
        _check_alike(primitive.name, x, axes)
        return trace.add_eqn(primitive, [pvary_to(x, frozenset(axes))], params)

    return stage


prepare_operands.append(varying_alike)
for _primitive in (psum_invariant_p, pmax_p, pmin_p):
    vma_rules[_primitive] = lambda vma, *, axes, **_: vma.difference(axes)
_index_aval = abstract_eval_rules[axis_index_p]  # it has no operand with a type
abstract_eval_rules[axis_index_p] = lambda *, axis_name: _index_aval(axis_name=axis_name).update(
    vma=_named(axis_name=axis_name)
)
for _primitive in (pmax_p, pmin_p):
    staging_rules[_primitive] = _stage_extreme(_primitive)
vma_rules[all_gather_invariant_p] = lambda vma, *, axis_name, **_: vma.difference(axis_name)
for _primitive in (
    all_gather_invariant_p,
    all_gather_p,
    reduce_scatter_p,
    all_to_all_p,
    ppermute_p,
    pbroadcast_p,
):
    needed_vma[_primitive] = _named
