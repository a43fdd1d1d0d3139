"""The shard_map primitive: one equation with the program of one device as a parameter.

in_specs define the split of the operands; the types within, such as f32[2]{V:x}, the mesh axes over which the
parts differ; and out_specs how parts are joined into arrays. To run or compile it, nested vmaps replace it.

Source: https://docs.jax.dev/en/latest/notebooks/shard_map.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.bind import (
    Primitive,
    abstract_eval_rules,
    as_array,
    extend_axis_env,
    impl_rules,
    no_rule_reasons,
)
from tinyjax.core.inlining import CALLS, eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, cached_on_jaxpr
from tinyjax.core.pretty_printer import printed_params
from tinyjax.many_devices import invariant_collectives as _collectives  # noqa: F401  (fills rule tables)
from tinyjax.many_devices.calls_across import call_across_processes
from tinyjax.many_devices.shard_map.across_devices import shard_map_on_devices
from tinyjax.many_devices.shard_map.nested_vmap import (
    MeshAxes,
    Specs,
    nested_vmaps,
    part_shape,
    whole_shape,
)
from tinyjax.many_devices.sharding.blocks import spans_processes
from tinyjax.many_devices.sharding.current_mesh import mesh_of
from tinyjax.many_devices.sharding.device_blocks import spans_devices
from tinyjax.many_devices.sharding.mesh import AbstractMesh, AxisType
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec, names_at, names_of
from tinyjax.many_devices.sharding.sharding import places_asked
from tinyjax.many_devices.varying import ManualAxis
from tinyjax.runtime.placement import PlacementRequest, committed_place, put_at
from tinyjax.transform.batching import AxisData

# Parameters: jaxpr, the program of one device; mesh; in_specs and out_specs, one per operand or result;
# newly_manual_axes, the mesh axes that it maps over (others are whole); check_vma, whether types track what
# varies along them.
shard_map_p = Primitive("shard_map", multiple_results=True, impl_binds_primitives=True)


def mapped_axes(params: dict[str, Any]) -> MeshAxes:
    """The mesh axes that an equation maps over, with their sizes."""
    names = params["newly_manual_axes"]
    return tuple([axis for axis in params["mesh"].shape_tuple if axis[0] in names])


def manual_env(params: dict[str, Any]) -> extend_axis_env:
    """`with manual_env(params):` traces programs of one device within the block."""
    axes = mapped_axes(params)
    return extend_axis_env(
        tuple([ManualAxis(*axis) for axis in axes]) if params["check_vma"] else axes
    )


def part_aval(aval: ShapedArray, spec: PartitionSpec, params: dict[str, Any]) -> ShapedArray:
    """The type of one device's part of an array, which varies over the axes that the spec names."""
    vma = aval.vma.union(spec.names) if params["check_vma"] else aval.vma
    shape = part_shape(aval.shape, spec, mapped_axes(params))
    return aval.update(shape=shape, vma=vma, sharding=_left_of_type(aval, params))


def mesh_within(params: dict[str, Any]) -> AbstractMesh:
    """The mesh within the program of one device: mapped axes are Manual."""
    manual = dict.fromkeys(params["newly_manual_axes"], AxisType.Manual)
    return params["mesh"].abstract_mesh.update_axis_types(manual)


def _left_of_type(aval: ShapedArray, params: dict[str, Any]) -> NamedSharding | None:
    """The type's split over axes that are not mapped over, which are still Explicit."""
    if aval._sharding is None:
        return None
    mesh = mesh_within(params)
    kept = [[n for n in names_of(e) if n in mesh.explicit_axes] for e in aval._sharding.spec]
    return NamedSharding(mesh, PartitionSpec(*kept)) if any(kept) else None


def whole_aval(aval: ShapedArray, spec: PartitionSpec, params: dict[str, Any]) -> ShapedArray:
    """The type of the array that such parts form."""
    axes, mesh = mapped_axes(params), params["mesh"]
    vma = aval.vma - params["newly_manual_axes"]
    made = aval.update(shape=whole_shape(aval.shape, spec, axes), vma=vma)
    if not mesh.explicit_axes:
        return made
    return NamedSharding(mesh.abstract_mesh, _whole_spec(aval, spec)).typed(made)


def _whole_spec(aval: ShapedArray, spec: PartitionSpec) -> PartitionSpec:
    """The split of an array formed by parts of this type: the spec's and the type's."""
    inner = PartitionSpec() if aval._sharding is None else aval._sharding.spec
    rank = max(len(spec), len(inner))
    return PartitionSpec(*[[*names_at(spec, i), *names_at(inner, i)] for i in range(rank)])


def _places_of_results(mesh: Any, params: Mapping[str, Any]) -> list[NamedSharding]:
    avals, specs = params["jaxpr"].out_avals, params["out_specs"]
    return [NamedSharding(mesh, _whole_spec(aval, spec)) for aval, spec in zip(avals, specs)]


def unrolled(params: dict[str, Any]) -> ClosedJaxpr:
    """The program of whole arrays that an equation represents."""
    specs = params["in_specs"], params["out_specs"]
    axes = tuple([AxisData(name, size, of_devices=True) for name, size in mapped_axes(params)])
    return nested_vmaps(params["jaxpr"], axes, *specs)


def _shard_map_avals(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, out_specs: Specs, **params: Any
) -> list[ShapedArray]:
    return [whole_aval(aval, spec, params) for aval, spec in zip(jaxpr.out_avals, out_specs)]


def _printed(eqn: JaxprEqn, context: Any) -> list[tuple[str, Any]]:
    """The parameters by name, with the mapped axes in the mesh's order, as a set is unordered."""
    params = eqn.params | {
        "newly_manual_axes": _InOrder(name for name, _ in mapped_axes(eqn.params))
    }
    return sorted(params.items())


class _InOrder(tuple):
    def __repr__(self) -> str:
        return f"frozenset({{{', '.join(map(repr, self))}}})"


printed_params["shard_map"] = _printed


def _shard_map_impl(*args: Any, **params: Any) -> list[ArrayImpl]:
    """Evaluate equation by equation; the results are on the mesh by their specs. If several processes share
    it, run a program of one equation."""
    mesh = mesh_of(params)
    committed_place(args, "shard_map", [PlacementRequest("its mesh", mesh.replicated)])
    if spans_processes(mesh):
        arrays = [as_array(x) for x in args]
        avals, key = tuple([x.aval for x in arrays]), tuple(sorted(params.items()))
        closed = _of_one_equation(params["jaxpr"], avals, key)
        call = call_across_processes(closed, arrays, {"name": "shard_map"})
        assert call is not None
        return call(arrays)
    if spans_devices(mesh):
        return shard_map_on_devices(args, mesh, params)
    places = _places_of_results(mesh, params)
    outs = map(as_array, eager_jaxpr_fun(unrolled(params))(*map(_without_type, args)))
    return [put_at(x, at) for x, at in zip(outs, places)]


@cached_on_jaxpr
def _of_one_equation(
    body: ClosedJaxpr, avals: tuple[ShapedArray, ...], params: tuple[tuple[str, Any], ...]
) -> ClosedJaxpr:
    invars = list(map(Var, avals))
    outvars = list(map(Var, _shard_map_avals(*avals, **dict(params))))
    eqn = JaxprEqn(shard_map_p, invars, outvars, dict(params))
    return ClosedJaxpr(Jaxpr([], invars, outvars, [eqn]))


def _without_type(x: Any) -> Any:
    """An array without mesh type, as nested vmaps need it."""
    x = as_array(x)
    if x.aval._sharding is None:
        return x
    return ArrayImpl(x._host, x.aval.update(sharding=None), x.buffer)


impl_rules[shard_map_p] = _shard_map_impl
abstract_eval_rules[shard_map_p] = _shard_map_avals
no_rule_reasons[shard_map_p, "lowering"] = "nested vmaps take its place before anything is compiled"
CALLS["shard_map"] = unrolled
places_asked["shard_map"] = lambda params: _places_of_results(params["mesh"], params)
