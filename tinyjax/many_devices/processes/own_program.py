"""The program of one process, made from a jitted program whose arrays are spread over several processes.

A process runs a program on its own blocks, made once and compiled as any other. A shard_map becomes its
nested vmaps. Operations that treat an axis uniformly work on blocks, split as the table of
sharding/propagation.py defines; a sum over a split axis is the sum of the processes' sums. For any other
operation the processes gather all of its operands, which is always correct. Bodies of loops and branches are
such programs too, with carries that have the same split before and after an iteration.

Source: https://docs.jax.dev/en/latest/multi_process.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import context, restore_source_info
from tinyjax.core.inlining import CALLS, called_by
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, Var, cached_on_jaxpr, literal_value
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.many_devices.across_processes import group_psum
from tinyjax.many_devices.mapped import axis_in_parts
from tinyjax.many_devices.processes.moving_blocks import (
    alike,
    is_in_blocks,
    moved,
    over_processes,
    own_size,
    place_of_spec,
    spec_of,
)
from tinyjax.many_devices.shard_map.nested_vmap import nested_vmaps
from tinyjax.many_devices.sharding.axes import Use
from tinyjax.many_devices.sharding.blocks import local_parts, spans_processes
from tinyjax.many_devices.sharding.blockwise import on_blocks
from tinyjax.many_devices.sharding.current_mesh import get_mesh, mesh_of
from tinyjax.many_devices.sharding.named_sharding import NamedSharding

# on a mesh of several processes; None: each process has the whole value
ShardingOrWhole = NamedSharding | None


class Part(NamedTuple):
    """A process's part of a value."""

    x: Any
    place: ShardingOrWhole

    def at(self, place: ShardingOrWhole) -> Any:
        """The process's part under another sharding."""
        return moved(self.x, self.place, place)


class OwnProgram(NamedTuple):
    """A program of a process's blocks, and the shardings of its results."""

    jaxpr: ClosedJaxpr
    places: tuple[ShardingOrWhole, ...]


@cached_on_jaxpr
def own_program(
    closed: ClosedJaxpr,
    places: tuple[ShardingOrWhole, ...],
    wanted: tuple[ShardingOrWhole | str, ...] = (),
) -> OwnProgram:
    """This process's program, for arguments with the shardings `places`, and results with the shardings
    `wanted` unless that is ANY."""
    found: list[ShardingOrWhole] = []

    def of_blocks(*blocks: Any) -> list[Any]:
        outs = _run(closed, [Part(x, place) for x, place in zip(blocks, places)])
        goals: Any = wanted or (ANY,) * len(outs)
        found[:] = [out.place if goal is ANY else goal for out, goal in zip(outs, goals)]
        return [out.at(place) for out, place in zip(outs, found)]

    avals = [own_aval(aval, place) for aval, place in zip(closed.in_avals, places)]
    return OwnProgram(trace_to_jaxpr(of_blocks, avals), tuple(found))


ANY = "wherever it is"


def own_aval(aval: ShapedArray, place: ShardingOrWhole) -> ShapedArray:
    """The type of a process's block, which isn't marked as a block."""
    shape = aval.shape
    if place is not None:
        splits = spec_of(place, len(shape))
        shape = tuple(own_size(size, names, place) for size, names in zip(shape, splits))
    return aval.update(shape=shape, sharding=None)


# ---- equations ----


def _run(closed: ClosedJaxpr, args: Sequence[Part]) -> list[Part]:
    jaxpr = closed.jaxpr
    consts = [
        Part(x.buffer.own, x._device) if is_in_blocks(x) else Part(x, None) for x in closed.consts
    ]
    env: dict[Var, Part] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args]))

    def part(atom: Any) -> Part:
        return Part(literal_value(atom), None) if isinstance(atom, Literal) else env[atom]

    with restore_source_info():
        for eqn in jaxpr.eqns:
            context.source_info = eqn.source_info
            operands = list(map(part, eqn.invars))
            results = _rule_of(eqn)(eqn, operands)
            env.update(zip(eqn.outvars, map(_as_typed, results, eqn.outvars)))
    return list(map(part, jaxpr.outvars))


def _rule_of(eqn: JaxprEqn) -> Callable[[JaxprEqn, list[Part]], list[Part]]:
    name = eqn.primitive.name
    if name == "shard_map":
        return _shard_map if spans_processes(mesh_of(eqn.params)) else _of_all
    if name in _RULES:
        return _RULES[name]
    return _call if name in CALLS else _operation


def _as_typed(part: Part, v: Var) -> Part:
    """A result split as its type specifies for explicit axes; other types specify nothing."""
    said = v.aval._sharding
    if said is None or part.place is None:
        return part
    place = place_of_spec(part.place, spec_of(said, v.aval.ndim))
    return Part(part.at(place), place)


def _shard_map(eqn: JaxprEqn, operands: list[Part]) -> list[Part]:
    params = eqn.params
    mesh, names = mesh_of(params), params["newly_manual_axes"]
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    parts = [part for part in local_parts(mesh) if part.name in names]
    axes = tuple([axis_in_parts(part.name, part.size, part.ranks, part.place) for part in parts])
    program = nested_vmaps(params["jaxpr"], axes, in_specs, out_specs)
    blocks = [part.at(NamedSharding(mesh, spec)) for part, spec in zip(operands, in_specs)]
    outs = _run(program, [Part(x, None) for x in blocks])
    return [Part(out.x, NamedSharding(mesh, spec)) for out, spec in zip(outs, out_specs)]


def _call(eqn: JaxprEqn, operands: list[Part]) -> list[Part]:
    said = eqn.params.get("in_shardings") or (None,) * len(operands)
    operands = [_put(part, place) for part, place in zip(operands, said)]
    outs = _run(called_by(eqn.primitive.name, eqn.params), operands)
    asked = eqn.params.get("out_shardings") or (None,) * len(outs)
    return [_put(part, place) for part, place in zip(outs, asked)]


def _put(part: Part, place: Any) -> Part:
    """A value placed by the program: changed only if the place is a mesh of several processes."""
    if not isinstance(place, NamedSharding):
        return part
    mesh = place.mesh if place.has_devices else part.place.mesh if part.place else get_mesh()
    if not spans_processes(mesh):
        return part
    place = place.update(mesh=mesh)
    return Part(part.at(place), place)


def _placing(parameter: str) -> Callable[[JaxprEqn, list[Part]], list[Part]]:
    def rule(eqn: JaxprEqn, operands: list[Part]) -> list[Part]:
        said = eqn.params[parameter]
        said = said if isinstance(said, tuple) else (said,) * len(operands)
        return [_put(part, place) for part, place in zip(operands, said)]

    return rule


def _of_all(eqn: JaxprEqn, operands: list[Part]) -> list[Part]:
    """An operation on whole operands in each process."""
    mesh_place = next((part.place for part in operands if part.place is not None), None)
    place = None if mesh_place is None else mesh_place.replicated
    outs = _bound(eqn, [part.at(None) for part in operands])
    return [Part(out, place) for out in outs]


def _bound(eqn: JaxprEqn, xs: list[Any], **changes: Any) -> list[Any]:
    silent = {name: None for name in ("out_sharding", "sharding") if name in eqn.params}
    out = eqn.primitive.bind(*xs, **eqn.params | silent | changes)
    return list(out) if eqn.primitive.multiple_results else [out]


# ---- operations on blocks ----


def _operation(eqn: JaxprEqn, operands: list[Part]) -> list[Part]:
    first = next((p.place for p in operands if p.place is not None and p.place.spec.names), None)
    if first is None or any(p.place is not None and p.place.mesh != first.mesh for p in operands):
        return _of_all(eqn, operands)  # nothing is split, or the operands are on two meshes
    name, shapes = eqn.primitive.name, [v.aval.shape for v in eqn.invars]
    specs = [tuple(spec_of(p.place, len(shape))) for p, shape in zip(operands, shapes)]
    out_shapes = [v.aval.shape for v in eqn.outvars]
    plan = on_blocks(eqn, Use(name, shapes, specs, out_shapes, eqn.params, first.mesh.shape))
    if plan is None:
        return _of_all(eqn, operands)
    xs = [p.at(place_of_spec(first, n)) for p, n in zip(operands, plan.needed)]
    place = place_of_spec(first, plan.spec)
    changes = {}
    if name == "broadcast_in_dim":
        changes["shape"] = own_aval(eqn.outvars[0].aval, place).shape
    outs = _bound(eqn, xs, **changes)
    for part in over_processes(plan.summed, first):
        outs = group_psum(outs, part.ranks)
    return [Part(out, place) for out in outs]


# ---- loops and branches ----


def _agreed(one: ShardingOrWhole, other: ShardingOrWhole) -> ShardingOrWhole:
    """The common sharding of a value from two places."""
    if one is None or other is None:
        return None
    return one if alike(one, other) else one.replicated


def _loop_places(
    body: ClosedJaxpr,
    fixed: list[ShardingOrWhole],
    carry: list[ShardingOrWhole],
    xs: list[ShardingOrWhole],
) -> Any:
    """The shardings of carries, equal before and after an iteration, and of the body's other results."""
    while True:
        outs = own_program(body, (*fixed, *carry, *xs)).places
        agreed = [_agreed(a, b) for a, b in zip(carry, outs)]
        if agreed == carry:
            return carry, list(outs[len(carry) :])
        carry = agreed


def _scan(eqn: JaxprEqn, operands: list[Part]) -> list[Part]:
    params, body = eqn.params, eqn.params["jaxpr"]
    first, last = params["num_consts"], params["num_consts"] + params["num_carry"]
    fixed = [p.place for p in operands[:first]]
    xs = [_along_loop(p.place, v.aval.ndim) for p, v in zip(operands[last:], eqn.invars[last:])]
    slices = [None if x is None else place_of_spec(x, spec_of(x, 1)[1:]) for x in xs]
    carry, ys = _loop_places(body, fixed, [p.place for p in operands[first:last]], slices)
    own = own_program(body, (*fixed, *carry, *slices), (*carry, *ys))
    blocks = [p.at(place) for p, place in zip(operands, (*fixed, *carry, *xs))]
    outs = eqn.primitive.bind(*blocks, **params | {"jaxpr": own.jaxpr})
    stacks = [None if y is None else place_of_spec(y, [(), *spec_of(y, 0)]) for y in ys]
    return [Part(out, place) for out, place in zip(outs, (*carry, *stacks))]


def _along_loop(place: ShardingOrWhole, ndim: int) -> ShardingOrWhole:
    """The place of an array of slices, if each process has a part of every slice."""
    return None if place is None else place_of_spec(place, [(), *spec_of(place, ndim)[1:]])


def _while(eqn: JaxprEqn, operands: list[Part]) -> list[Part]:
    params = eqn.params
    first, last = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    of_cond, of_body, carry = [
        [p.place for p in some]
        for some in (operands[:first], operands[first:last], operands[last:])
    ]
    carry, _ = _loop_places(params["body_jaxpr"], of_body, carry, [])
    changed = {
        "cond_jaxpr": own_program(params["cond_jaxpr"], (*of_cond, *carry), (None,)).jaxpr,
        "body_jaxpr": own_program(params["body_jaxpr"], (*of_body, *carry), tuple(carry)).jaxpr,
    }
    blocks = [p.at(place) for p, place in zip(operands, (*of_cond, *of_body, *carry))]
    outs = eqn.primitive.bind(*blocks, **params | changed)
    return [Part(out, place) for out, place in zip(outs, carry)]


def _cond(eqn: JaxprEqn, operands: list[Part]) -> list[Part]:
    index, *inputs = operands
    places = tuple([p.place for p in inputs])
    found = [own_program(branch, places).places for branch in eqn.params["branches"]]
    outs = list(found[0])
    for other in found[1:]:
        outs = list(map(_agreed, outs, other))
    own = tuple([own_program(b, places, tuple(outs)).jaxpr for b in eqn.params["branches"]])
    results = eqn.primitive.bind(index.at(None), *[p.x for p in inputs], branches=own)
    return [Part(out, place) for out, place in zip(results, outs)]


_RULES: dict[str, Callable[[JaxprEqn, list[Part]], list[Part]]] = {
    "cond": _cond,
    "device_put": _placing("devices"),
    "reshard": _placing("dst_sharding"),
    "scan": _scan,
    "sharding_constraint": _placing("sharding"),
    "while": _while,
}
