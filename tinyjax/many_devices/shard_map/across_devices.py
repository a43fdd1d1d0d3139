"""shard_map over a mesh of several OpenCL devices of this process: each runs the program of its part.

This works as with several processes (processes/), but in one: each device has its part of each mesh axis, its
program, which is the nested vmaps over that part, and its blocks of the operands in its memory. One thread
per device launches these programs; at a collective over an axis that is spread over other devices, it waits
for them and reads their operands (device_threads.py). Results are blocks, and stay on their devices.

Each shard_map of a jitted program runs this way, and so does the code between them, if it can be computed
block by block (block_by_block.py). Otherwise it is compiled for the first device, which gathers its operands:
always correct, but slow.

Source: https://docs.jax.dev/en/latest/notebooks/shard_map.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tinyjax.core.array import ArrayImpl
from tinyjax.core.bind import as_array
from tinyjax.core.inlining import inline_calls
from tinyjax.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    all_jaxprs,
    cached_on_jaxpr,
    literal_value,
    subjaxprs,
    without_dead_code,
)
from tinyjax.many_devices.device_threads import on_all
from tinyjax.many_devices.jit_shardings import put_outputs
from tinyjax.many_devices.mapped import axis_in_parts
from tinyjax.many_devices.places import multi_device_executors
from tinyjax.many_devices.shard_map.block_by_block import as_shard_map, spec_here
from tinyjax.many_devices.shard_map.nested_vmap import Specs, nested_vmaps
from tinyjax.many_devices.sharding.current_mesh import mesh_of
from tinyjax.many_devices.sharding.device_blocks import (
    DeviceBlocks,
    block_of,
    from_blocks,
    parts_of_worker,
    spans_devices,
    workers_of,
)
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.runtime.devices import Device
from tinyjax.runtime.placement import put_results
from tinyjax.transform.jit.primitive import compiled

if TYPE_CHECKING:
    from tinyjax.many_devices.sharding.mesh import Mesh

# ---- one shard_map ----


def shard_map_on_devices(
    args: Sequence[Any], mesh: Mesh, params: dict[str, Any]
) -> list[ArrayImpl]:
    """The results of a shard_map: each device computes its blocks."""
    specs = params["in_specs"], params["out_specs"]
    parts = _parts(params["jaxpr"], mesh, params["newly_manual_axes"], *specs)
    arrays = [as_array(x) for x in args]
    calls = {}
    for worker, program in parts.programs.items():
        blocks = [block_of(x, place, worker) for x, place in zip(arrays, parts.in_places)]
        calls[worker] = compiled(program, worker, "shard_map"), blocks

    def results(worker: Device) -> list[ArrayImpl]:
        executable, blocks = calls[worker]
        return executable(blocks)

    # One thread starts them all if none of them waits (unknown for programs that are still being built).
    if all(getattr(executable, "only_launches", False) for executable, _ in calls.values()):
        outs = zip(*map(results, calls))
    else:
        outs = zip(*on_all(tuple(calls), results))
    return list(map(from_blocks, outs, parts.out_places))


class Parts(NamedTuple):
    """A program for each device, and the shardings of its operands and results."""

    programs: dict[Device, ClosedJaxpr]
    in_places: list[NamedSharding]
    out_places: list[NamedSharding]


@cached_on_jaxpr
def _parts(
    body: ClosedJaxpr, mesh: Mesh, names: frozenset, in_specs: Specs, out_specs: Specs
) -> Parts:
    programs = {}
    for worker in workers_of(mesh):
        own = [part for part in parts_of_worker(mesh, worker) if part.name in names]
        axes = tuple([axis_in_parts(p.name, p.size, p.ranks, p.place) for p in own])
        programs[worker] = nested_vmaps(body, axes, in_specs, out_specs)
    places = ([NamedSharding(mesh, spec) for spec in specs] for specs in (in_specs, out_specs))
    return Parts(programs, *places)


# ---- jitted programs ----


def has_parts(jaxpr: ClosedJaxpr, args: Sequence[ArrayImpl]) -> bool:
    """Whether a program has a shard_map over several OpenCL devices."""
    return any(map(spans_devices, map(mesh_of, _shard_maps(jaxpr))))


@cached_on_jaxpr
def _shard_maps(jaxpr: ClosedJaxpr) -> list[dict[str, Any]]:
    """The parameters of all shard_maps in a program."""
    eqns = [eqn for each in all_jaxprs(jaxpr.jaxpr) for eqn in each.eqns]
    return [eqn.params for eqn in eqns if eqn.primitive.name == "shard_map"]


def run(
    closed: ClosedJaxpr, args: Sequence[ArrayImpl], out_shardings: Sequence[Any]
) -> list[ArrayImpl]:
    """Run a program with such a shard_map, segment by segment."""
    inlined, segments, place = _segments(closed)
    jaxpr = inlined.jaxpr
    env: dict[Var, Any] = dict(zip(jaxpr.invars, args)) | dict(zip(jaxpr.constvars, inlined.consts))

    def value(atom: Any) -> Any:
        return literal_value(atom) if isinstance(atom, Literal) else env[atom]

    for segment in segments:
        operands = [as_array(value(v)) for v in segment.reads]
        if segment.eqn is not None:
            outs = segment.eqn.primitive.bind(*operands, **segment.eqn.params)
            outs = outs if segment.eqn.primitive.multiple_results else [outs]
        else:
            outs = _between(segment.jaxpr, operands, place)
        env.update(zip(segment.makes, outs))
    results = [_as_new(as_array(value(v))) for v in jaxpr.outvars]
    put_outputs(results, out_shardings)
    return results


def _between(
    closed: ClosedJaxpr, operands: list[ArrayImpl], place: NamedSharding
) -> list[ArrayImpl]:
    """Run equations that are outside of all shard_maps."""
    specs = [spec_here(x, place.mesh) for x in operands]
    if None not in specs and any(isinstance(x.buffer, DeviceBlocks) for x in operands):
        if (params := as_shard_map(closed, tuple(specs), place.mesh)) is not None:
            return shard_map_on_devices(operands, place.mesh, params)
    outs = compiled(closed, place.home, "jitted")(operands)
    put_results(place, "jit", {"jaxpr": closed}, operands, outs)
    return outs


def _as_new(x: ArrayImpl) -> ArrayImpl:
    """The same array as another object: an argument returned as a result may be deleted."""
    new = ArrayImpl(x._host, x.aval, x.buffer, x._device)
    new.committed = x.committed
    return new


def _place(closed: ClosedJaxpr) -> NamedSharding:
    """The sharding that replicates an array on all devices of the program's mesh."""
    meshes = map(mesh_of, _shard_maps(closed))
    return next(mesh.replicated for mesh in meshes if spans_devices(mesh))


@dataclass(frozen=True)
class Segment:
    """A part of a program: one equation with a shard_map, or a jaxpr of equations without."""

    eqn: JaxprEqn | None
    jaxpr: ClosedJaxpr | None
    reads: Sequence[Atom]
    makes: Sequence[Var]


@cached_on_jaxpr
def _segments(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Segment], NamedSharding]:
    """The program inlined and without dead code, its segments, and _place."""
    inlined = inline_calls(closed, keep=lambda eqn: eqn.primitive.name == "shard_map")
    inlined = without_dead_code(inlined)
    runs: list[list[JaxprEqn]] = [[]]
    for eqn in inlined.jaxpr.eqns:
        if _has_shard_map(eqn):
            runs += [[eqn], []]
        else:
            runs[-1].append(eqn)
    needed = {v for v in inlined.jaxpr.outvars if isinstance(v, Var)}
    segments = []
    for eqns in reversed(runs):
        if not eqns:
            continue
        if _has_shard_map(eqns[0]):
            (eqn,) = eqns
            segments.append(Segment(eqn, None, eqn.invars, eqn.outvars))
        else:
            segments.append(_segment(eqns, needed))
        needed.update(v for v in segments[-1].reads if isinstance(v, Var))
    return inlined, segments[::-1], _place(closed)


def _segment(eqns: list[JaxprEqn], needed: set[Var]) -> Segment:
    """Equations as a program that returns their values needed later."""
    made = [v for eqn in eqns for v in eqn.outvars]
    makes = [v for v in made if v in needed]
    read = dict.fromkeys(v for eqn in eqns for v in eqn.invars if isinstance(v, Var))
    reads = [v for v in read if v not in made]
    return Segment(None, ClosedJaxpr(Jaxpr([], reads, makes, eqns), []), reads, makes)


def _has_shard_map(eqn: JaxprEqn) -> bool:
    if eqn.primitive.name == "shard_map":
        return True
    inner = [each for jaxpr in subjaxprs(eqn.params) for each in all_jaxprs(jaxpr)]
    return any(each.primitive.name == "shard_map" for jaxpr in inner for each in jaxpr.eqns)


multi_device_executors.append((has_parts, run))
