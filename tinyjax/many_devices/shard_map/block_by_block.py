"""Run the code between shard_maps on blocks, such as an optimizer's step.

This works for equations whose operands are whole everywhere: each device computes the same. And for
elementwise ones whose operands are split alike: each device computes its part. A run of such equations
becomes the body of a shard_map. If an equation needs other devices' elements, operands are gathered
(across_devices.py).
"""

from __future__ import annotations

from typing import Any

from tinyjax.compile.kernel.rules import Elementwise, lowering_rules
from tinyjax.core.array import ArrayImpl
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    JaxprEqn,
    Var,
    cached_on_jaxpr,
    has_effects,
    jaxpr_as_fun,
)
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.many_devices.shard_map.nested_vmap import Specs, part_shape
from tinyjax.many_devices.sharding.device_blocks import DeviceBlocks
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec

WHOLE = PartitionSpec()


def spec_here(x: ArrayImpl, mesh: Any) -> PartitionSpec | None:
    """The spec of an array on a mesh: replicated if it has no place yet; None if it is on another mesh."""
    memory: Any = x.buffer
    if not isinstance(memory, DeviceBlocks):
        return WHOLE
    if memory.sharding.mesh != mesh:
        return None
    entries = list(memory.sharding.spec)
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries)


@cached_on_jaxpr
def as_shard_map(closed: ClosedJaxpr, in_specs: Specs, mesh: Any) -> dict[str, Any] | None:
    """The parameters of an equivalent shard_map; None if devices would need others' blocks."""
    specs: dict[Var, PartitionSpec] = dict(zip(closed.jaxpr.invars, in_specs))
    for eqn in closed.jaxpr.eqns:
        spec = _spec_of_results(eqn, specs)
        if spec is None:
            return None
        specs.update((v, spec) for v in eqn.outvars)
    axes = mesh.shape_tuple
    avals = [
        a.update(shape=part_shape(a.shape, s, axes)) for a, s in zip(closed.in_avals, in_specs)
    ]
    return {
        "jaxpr": trace_to_jaxpr(jaxpr_as_fun(closed), avals),
        "in_specs": in_specs,
        "out_specs": tuple([specs[v] for v in closed.jaxpr.outvars if isinstance(v, Var)]),
        "newly_manual_axes": frozenset(mesh.axis_names),
    }


def _spec_of_results(eqn: JaxprEqn, specs: dict[Var, PartitionSpec]) -> PartitionSpec | None:
    """The specs of the results, if each device can compute its part of them from its own blocks."""
    if has_effects(eqn):
        return None
    cut = [v for v in eqn.invars if isinstance(v, Var) and specs[v] != WHOLE]
    if not cut:
        return WHOLE
    spec, shape = specs[cut[0]], cut[0].aval.shape
    if not isinstance(lowering_rules.get(eqn.primitive), Elementwise):
        return None
    others_are_numbers = all(v in cut or not v.aval.shape for v in eqn.invars)
    are_alike = all(
        v.aval.shape == shape and specs.get(v, spec) == spec for v in (*cut, *eqn.outvars)
    )
    return spec if others_are_numbers and are_alike else None
