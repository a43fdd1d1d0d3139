"""sharding_constraint and reshard: primitives that place values.

Both return their operand, with another label, and reshard with another type. Their tangents and cotangents
are placed like the values. constraints.py has the functions that users call.
"""

from __future__ import annotations

from typing import Any

from tinyjax.core.array import ArrayImpl
from tinyjax.core.bind import Primitive, abstract_eval_rules, as_array, impl_rules, no_rule_reasons
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.core.pretty_printer import printed_params
from tinyjax.lax.placing import batched_place, place_of_cotangent
from tinyjax.many_devices.calls_across import reshard_array
from tinyjax.many_devices.mapped import axes_of
from tinyjax.many_devices.sharding.auto import label_of
from tinyjax.many_devices.sharding.blocks import Block, from_block, own_block, spans_processes
from tinyjax.many_devices.sharding.current_mesh import with_devices
from tinyjax.many_devices.sharding.named_sharding import NamedSharding, whole_spec
from tinyjax.many_devices.sharding.partition_spec import UNCONSTRAINED, names_of
from tinyjax.many_devices.sharding.sharding import check_fits, place_of, places_asked
from tinyjax.runtime.placement import PlacementRequest, committed_place, put_at
from tinyjax.transform.batching import AxisData, axis_batch_rules, batch_rules, not_mapped
from tinyjax.transform.transposition import deflinear2

# Parameters: sharding; unconstrained_dims, the axes that it leaves open; context_mesh, the current mesh, and
# layout, which is None: both as in JAX's jaxprs.
sharding_constraint_p = Primitive(
    "sharding_constraint", impl_binds_primitives=True, is_identity=True
)
# Parameter: dst_sharding.
reshard_p = Primitive("reshard", impl_binds_primitives=True, is_identity=True)


def constrained(x: Any, place: Any) -> Any:
    """`x` at a checked place, by reshard if the place is part of its type. With None, `x` unchanged."""
    if place is None:
        return x
    if place.typed(x.aval)._sharding is not None:
        return reshard_p.bind(x, dst_sharding=place.update(spec=whole_spec(place.spec, x.ndim)))
    return sharding_constraint_p.bind(
        x, sharding=place, layout=None, context_mesh="Mesh()", unconstrained_dims=frozenset()
    )


def at_place(x: ArrayImpl, sharding: Any, name: str) -> ArrayImpl:
    """The same elements with another label; on the current mesh, if the sharding has no devices.

    Raises ValueError for an array committed to other devices: only device_put can move it."""
    sharding = with_devices(sharding)
    check_fits(sharding, x.shape, f"{name} arguments")
    if isinstance(x.buffer, Block):
        return reshard_array(x, sharding)
    if spans_processes(getattr(sharding, "mesh", None)):
        return from_block(own_block(x, sharding), sharding)
    place = place_of(sharding)
    committed_place([x], name, [PlacementRequest("its sharding", place)])
    return put_at(x, place)


def _constraint_impl(x: Any, *, sharding: Any, unconstrained_dims: frozenset, **_: Any) -> Any:
    if unconstrained_dims:
        spec = (() if e is UNCONSTRAINED else names_of(e) for e in sharding.spec)
        sharding = label_of(sharding.mesh, tuple(spec))
    return at_place(as_array(x), sharding, "with_sharding_constraint")


def _constraint_batch(axis: AxisData, vals: Any, dims: Any, **params: Any) -> Any:
    """The batch axis is split by spmd_axis_name, or else by the compiler's choice."""
    (x,), (dim,) = vals, dims
    if dim is not not_mapped:
        params = _with_batch_axis(params, x.ndim - 1, dim, axes_of(axis.spmd_axis_name))
    return sharding_constraint_p.bind(x, **params), dim


def _with_batch_axis(params: dict[str, Any], ndim: int, dim: int, names: tuple) -> dict[str, Any]:
    sharding = params["sharding"]
    if not isinstance(sharding, NamedSharding):
        if names:
            raise ValueError(
                "If you are using spmd_axis_name in a vmap, with_sharding_constraint needs a NamedSharding, "
                f"with the axes that the examples are split over, on the same mesh. Got {sharding!r}"
            )
        return params
    if not set(names).isdisjoint(sharding.spec.names):
        raise ValueError(
            f"vmap spmd_axis_name {names} cannot appear in with_sharding_constraint spec, but got spec "
            f"{sharding.spec}: the batch is split over these axes of the mesh already. Name another axis "
            "in one of the two"
        )
    free = {d + (d >= dim) for d in params["unconstrained_dims"]}
    if names:
        spec = sharding.spec.with_axis(dim, names)
    else:
        spec = whole_spec(sharding.spec, ndim).with_axis(dim, UNCONSTRAINED)
        free.add(dim)
    new = sharding.update(spec=spec)
    return params | {"sharding": new, "unconstrained_dims": frozenset(free)}


def _reshard_batch(vals: Any, dims: Any, *, dst_sharding: Any) -> Any:
    (x,), (dim,) = vals, dims
    new = batched_place(dst_sharding, vals, dims, dim)
    return reshard_p.bind(x, dst_sharding=new), dim


impl_rules[sharding_constraint_p] = _constraint_impl
impl_rules[reshard_p] = lambda x, *, dst_sharding: at_place(as_array(x), dst_sharding, "reshard")
abstract_eval_rules[sharding_constraint_p] = lambda x, **params: x
abstract_eval_rules[reshard_p] = lambda x, *, dst_sharding: dst_sharding.typed(x)
places_asked["sharding_constraint"] = lambda params: [params["sharding"]]
places_asked["reshard"] = lambda params: [params["dst_sharding"]]
axis_batch_rules[sharding_constraint_p] = _constraint_batch
batch_rules[reshard_p] = _reshard_batch


def _reshard_transpose(ct: Any, x: Any, *, dst_sharding: Any) -> list[Any]:
    """The cotangent is placed like the operand."""
    place = place_of_cotangent(x.aval, ct)
    if place is None:
        return [reshard_p.bind(ct, dst_sharding=dst_sharding.replicated)]
    if dst_sharding.has_devices:
        types = dict(zip(place.mesh.axis_names, place.mesh.axis_types))
        place = place.update(mesh=dst_sharding.mesh.update_axis_types(types))
    return [reshard_p.bind(ct, dst_sharding=place)]


deflinear2(
    sharding_constraint_p, lambda ct, x, **params: [sharding_constraint_p.bind(ct, **params)]
)
deflinear2(reshard_p, _reshard_transpose)
for _primitive in (sharding_constraint_p, reshard_p):
    no_rule_reasons[_primitive, "lowering"] = (
        "compile/passes/inline.py leaves it out: a program computes with whole arrays"
    )


def _constraint_params(eqn: JaxprEqn, context: Any) -> list[tuple[str, Any]]:
    free = eqn.params["unconstrained_dims"]
    return sorted((eqn.params | {"unconstrained_dims": f"frozenset({set(free) or '{}'})"}).items())


printed_params["sharding_constraint"] = _constraint_params
printed_params["reshard"] = lambda eqn, context: []
