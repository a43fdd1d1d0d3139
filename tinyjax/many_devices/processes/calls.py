"""Calls of jitted programs whose arrays are spread over several processes.

A call passes this process's blocks of its arguments to this process's program (own_program.py), which is
compiled once for each sharding of the arguments, and makes arrays from the resulting blocks. Everything else,
such as the order of the collectives, is in that program.

Source: https://docs.jax.dev/en/latest/multi_process.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.array import ArrayImpl
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, cached_on_jaxpr, subjaxprs
from tinyjax.many_devices.jit_shardings import requests_within
from tinyjax.many_devices.processes.meetings import fingerprint, with_meetings
from tinyjax.many_devices.processes.moving_blocks import is_in_blocks, split_over_processes
from tinyjax.many_devices.processes.own_program import ANY, ShardingOrWhole, own_program
from tinyjax.many_devices.sharding.blocks import Block, spans_processes
from tinyjax.many_devices.sharding.current_mesh import mesh_of
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.runtime.devices import default_device
from tinyjax.runtime.placement import committed_place
from tinyjax.transform.jit.primitive import compiled


class Call:
    """A call of a jitted program with arguments sharded by `places`."""

    def __init__(
        self,
        closed: ClosedJaxpr,
        places: tuple[ShardingOrWhole, ...],
        wanted: tuple[Any, ...],
        name: str,
        donated: tuple[bool, ...],
    ):
        own = own_program(closed, places, wanted)
        program = with_meetings(own.jaxpr, fingerprint(closed.jaxpr))
        self.run = compiled(program, default_device(), name, donated)
        self.donated = [i for i, is_donated in enumerate(donated) if is_donated]
        mesh_place = next(place for place in (*places, *own.places) if place is not None)
        found = [place or mesh_place.replicated for place in own.places]
        # Each result's place, whether it is in blocks, and its type.
        self.results = [
            (place, split_over_processes(place), place.typed(aval.update(sharding=None)))
            for place, aval in zip(found, closed.out_avals)
        ]

    def __call__(self, arrays: Sequence[ArrayImpl]) -> list[ArrayImpl]:
        """The results for these arguments."""
        own = [x.buffer.own if type(x.buffer) is Block else x for x in arrays]
        outs = self.run(own)
        for number in self.donated:
            arrays[number].delete()
        results = []
        for out, (place, is_split, aval) in zip(outs, self.results):
            if is_split:
                result = ArrayImpl(None, aval, Block(out), place)
            else:
                result = ArrayImpl(out._host, aval, out.buffer, place)
            result.committed = True
            results.append(result)
        return results


def find_call(
    closed: ClosedJaxpr, arrays: Sequence[ArrayImpl], params: dict[str, Any]
) -> Call | None:
    """The Call for these arguments if it involves several processes; else None.

    Raises ValueError for arguments committed to devices outside of the mesh."""
    places = tuple([_place(x) for x in arrays])
    wanted = tuple([_wanted(place) for place in params.get("out_shardings", ())])
    if not any(places) and all(w is ANY for w in wanted) and not has_spanning_mesh(closed):
        return None
    committed_place(arrays, params["name"])
    return _call(closed, places, wanted, params["name"], params.get("donated_invars", ()))


@cached_on_jaxpr
def _call(closed: ClosedJaxpr, *how: Any) -> Call:
    return Call(closed, *how)


def _place(x: ArrayImpl) -> ShardingOrWhole:
    place: Any = x._device if x.committed else None
    return place if isinstance(place, NamedSharding) and spans_processes(place.mesh) else None


def _wanted(place: Any) -> Any:
    return place if isinstance(place, NamedSharding) and spans_processes(place.mesh) else ANY


@cached_on_jaxpr
def has_spanning_mesh(closed: ClosedJaxpr) -> bool:
    """Whether a program has a mesh of several processes."""
    return (
        any(spans_processes(getattr(place, "mesh", None)) for _, place in requests_within(closed))
        or any(map(is_in_blocks, closed.consts))
        or any(map(_has_shard_map, closed.eqns))
    )


def _has_shard_map(eqn: JaxprEqn) -> bool:
    if eqn.primitive.name == "shard_map":
        return spans_processes(mesh_of(eqn.params))
    return any(_has_shard_map(e) for inner in subjaxprs(eqn.params) for e in inner.eqns)
