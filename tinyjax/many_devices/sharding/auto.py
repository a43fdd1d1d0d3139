"""Auto mode: the shardings of results, from those of the operands.

The table of propagation.py defines the split of each equation's results. The jaxprs of calls and branches are
walked through, and those of loops until the carry has the same split before and after an iteration. These
splits are only labels: the program computes with whole arrays.

Source: https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.inlining import CALLS, called_by
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, Literal, Var, cached_on_jaxpr
from tinyjax.many_devices.sharding.axes import Shape, Spec, Use, replicated
from tinyjax.many_devices.sharding.mesh import Mesh
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.many_devices.sharding.partition_spec import (
    UNCONSTRAINED,
    PartitionSpec,
    entry_of,
    names_at,
)
from tinyjax.many_devices.sharding.propagation import propagate
from tinyjax.many_devices.sharding.sharding import places_asked
from tinyjax.many_devices.sharding.types import spec_of_type

# ---- specs of values ----


def spec_of(place: Any, ndim: int, mesh: Any) -> Spec:
    """The split over the mesh of a value at a place; replicated, if the place is not on this mesh."""
    if not isinstance(place, NamedSharding) or place.mesh.shape_tuple != mesh.shape_tuple:
        return replicated((0,) * ndim)
    return tuple(names_at(place.spec, axis) for axis in range(ndim))


def label_of(mesh: Mesh, spec: Spec) -> NamedSharding:
    """The sharding of a result; entries of trailing whole axes are dropped, unless the mesh is explicit,
    whose types have all entries."""
    entries = [entry_of(names) for names in spec]
    while not mesh.are_all_axes_explicit and entries and entries[-1] is None:
        entries.pop()
    return NamedSharding(mesh, PartitionSpec(*entries))


def _label_results(
    self: NamedSharding,
    name: str,
    params: Mapping[str, Any],
    operands: Sequence[Any],
    results: Sequence[ArrayImpl],
) -> None:
    """Label the results of a primitive with operands sharded over the mesh."""
    values = [x if isinstance(x, ArrayImpl) else None for x in operands]
    shapes = [np.shape(x) for x in operands]
    places = [x._device if x is not None and x.committed else None for x in values]
    avals = [r.aval for r in results]
    labels = shardings_of_results(self.mesh, name, params, shapes, places, avals)
    for result, label in zip(results, labels):
        result._device, result.committed = label, True


def _of_results(
    self: NamedSharding, params: Mapping[str, Any], places: Sequence[Any]
) -> list[NamedSharding]:
    """The shardings of the results of a jit equation, given those of its operands."""
    closed = params["jaxpr"]
    shapes = [a.shape for a in closed.in_avals]
    return shardings_of_results(self.mesh, "jit", params, shapes, places, closed.out_avals)


def shardings_of_results(
    mesh: Mesh,
    name: str,
    params: Mapping[str, Any],
    shapes: list[Shape],
    places: Sequence[Any],
    out_avals: Sequence[ShapedArray],
) -> list[NamedSharding]:
    """The shardings of the results of a primitive, given its operands' places (None: uncommitted)."""
    if mesh.are_all_axes_explicit:
        return _labels_of_types(mesh, params, out_avals)
    specs = [spec_of(place, len(shape), mesh) for place, shape in zip(places, shapes)]
    outs = specs_of_results(name, params, shapes, specs, [a.shape for a in out_avals], mesh)
    return [
        NamedSharding(mesh, a._sharding.spec) if a._sharding else label_of(mesh, spec)
        for a, spec in zip(out_avals, outs)
    ]


def _labels_of_types(
    mesh: Mesh, params: Mapping[str, Any], out_avals: Sequence[ShapedArray]
) -> list[NamedSharding]:
    """The same if all axes of the mesh are explicit: from types, and from jit's out_shardings."""
    specs = [spec_of_type(a) for a in out_avals]
    if asked := params.get("out_shardings"):
        specs = _placed(asked, specs, [a.shape for a in out_avals], mesh)
    return [label_of(mesh, spec) for spec in specs]


# ---- equations and jaxprs ----


def specs_of_results(
    name: str,
    params: Mapping[str, Any],
    shapes: list[Shape],
    specs: list[Spec],
    out_shapes: list[Shape],
    mesh: Any,
) -> list[Spec]:
    """The specs of the results of an equation."""
    if name in places_asked:
        return _placed(places_asked[name](params), specs, out_shapes, mesh)
    if name in CALLS:
        return _specs_of_called(called_by(name, params), specs, params, mesh)
    if name in _OF_BODIES:
        return _OF_BODIES[name](params, specs, mesh)
    return propagate(Use(name, shapes, specs, out_shapes, params, mesh.shape))


def _placed(
    places: Sequence[Any], specs: Sequence[Spec], shapes: Sequence[Shape], mesh: Any
) -> list[Spec]:
    """The specs of values with requested places; unchanged without a request. (A shard_map's results all have
    places, and there may be more of them than operands.)"""
    found = []
    for i, (place, shape) in enumerate(zip(places, shapes)):
        found.append(specs[i] if place is None else _asked(place, specs[i : i + 1], shape, mesh))
    return found


def _asked(place: Any, before: Sequence[Spec], shape: Shape, mesh: Any) -> Spec:
    """The spec of a place; its unconstrained axes keep the previous spec."""
    spec = list(spec_of(place, len(shape), mesh))
    names = {name for entry in spec for name in entry}
    for axis, entry in enumerate(place.spec if isinstance(place, NamedSharding) else ()):
        if entry is UNCONSTRAINED and names.isdisjoint(before[0][axis]):
            spec[axis] = before[0][axis]
    parts = [math.prod(mesh.shape[name] for name in entry) for entry in spec]
    return tuple(e if size % n == 0 else () for e, size, n in zip(spec, shape, parts))


def _specs_of_called(
    closed: ClosedJaxpr, specs: Sequence[Spec], params: Mapping[str, Any], mesh: Any
) -> list[Spec]:
    if given := params.get("in_shardings"):
        specs = _placed(given, specs, [a.shape for a in closed.in_avals], mesh)
    outs = specs_of_jaxpr(closed, tuple(specs), mesh)
    if asked := params.get("out_shardings"):
        outs = _placed(asked, outs, [a.shape for a in closed.out_avals], mesh)
    return outs


@cached_on_jaxpr
def specs_of_jaxpr(closed: ClosedJaxpr, in_specs: tuple[Spec, ...], mesh: Any) -> list[Spec]:
    """The specs of a jaxpr's results, given those of its arguments."""
    jaxpr: Jaxpr = closed.jaxpr
    known: dict[Var, Spec] = dict(zip(jaxpr.invars, in_specs))

    def spec(atom: Any) -> Spec:
        if isinstance(atom, Literal) or atom not in known:
            return replicated(atom.aval.shape)
        return known[atom]

    for eqn in jaxpr.eqns:
        shapes = [v.aval.shape for v in eqn.invars]
        out_shapes = [v.aval.shape for v in eqn.outvars]
        specs = [spec(v) for v in eqn.invars]
        outs = specs_of_results(eqn.primitive.name, eqn.params, shapes, specs, out_shapes, mesh)
        known.update(zip(eqn.outvars, outs))
    return [spec(v) for v in jaxpr.outvars]


# ---- bodies of loops and branches ----


def _both(a: Spec, b: Spec) -> Spec:
    """The common part of two specs."""
    return tuple(x if x == y else () for x, y in zip(a, b))


def _of_cond(params: Mapping[str, Any], specs: list[Spec], mesh: Any) -> list[Spec]:
    first, *others = [specs_of_jaxpr(b, tuple(specs[1:]), mesh) for b in params["branches"]]
    for other in others:
        first = [_both(a, b) for a, b in zip(first, other)]
    return first


def _of_while(params: Mapping[str, Any], specs: list[Spec], mesh: Any) -> list[Spec]:
    before = params["cond_nconsts"] + params["body_nconsts"]
    consts, carry = specs[params["cond_nconsts"] : before], specs[before:]
    return _carried(params["body_jaxpr"], consts, carry, [], mesh)


def _of_scan(params: Mapping[str, Any], specs: list[Spec], mesh: Any) -> list[Spec]:
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    consts, carry = specs[:num_consts], specs[num_consts : num_consts + num_carry]
    xs = [spec[1:] for spec in specs[num_consts + num_carry :]]
    outs = _carried(params["jaxpr"], consts, carry, xs, mesh)
    return [*outs[:num_carry], *[((), *spec) for spec in outs[num_carry:]]]


def _carried(
    body: ClosedJaxpr, consts: list[Spec], carry: list[Spec], xs: list[Spec], mesh: Any
) -> list[Spec]:
    """The specs of a loop's results: the body's, once the carry has the same split before and after it."""
    while True:
        outs = specs_of_jaxpr(body, (*consts, *carry, *xs), mesh)
        agreed = [_both(a, b) for a, b in zip(carry, outs)]
        if agreed == carry:
            return [*carry, *outs[len(carry) :]]
        carry = agreed


_OF_BODIES = {"cond": _of_cond, "while": _of_while, "scan": _of_scan}

NamedSharding.label_results = _label_results  # type: ignore[method-assign,assignment]
NamedSharding.of_results = _of_results  # type: ignore[method-assign,assignment]
