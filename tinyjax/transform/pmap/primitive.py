"""A call of a function that pmap maps, to a trace: one equation of `pmap_p`, and how it runs on its devices.

After this file you can say what each device computes, and when the devices wait for each other. The jaxpr
of `pmap_p` is the program of one device. To run it, that jaxpr is cut at its collectives (psum and the
like). Each piece without one is compiled, and started on all devices, each with its own values, before
anybody waits. At a collective the values of all devices are brought together, and there the batching rule
says what every device gets: a collective over devices is one over a batch. A loop with a collective in it
is such a piece as a whole. (In JAX 0.10 a call is a jit of a shard_map, and prints as these.)
Builds on batching and jit.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.bind import (
    Primitive,
    abstract_eval_rules,
    as_array,
    extend_axis_env,
    impl_rules,
    no_rule_reasons,
)
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    cached_on_jaxpr,
    subjaxprs,
)
from tinyjax.runtime.devices import Device
from tinyjax.runtime.placement import commit
from tinyjax.transform.batching import AxisData
from tinyjax.transform.batching_of_jaxpr import batch_jaxpr
from tinyjax.transform.jit.primitive import compiled
from tinyjax.transform.pmap.sharding import PmapSharding

# ---- the primitive ----

# Parameters: name, jaxpr (of one device), in_axes (an operand each: 0, or None: all devices get all of
# it), axis_name, axis_size and devices (one a slice). All results have an axis 0 for the devices.
pmap_p = Primitive("pmap", multiple_results=True, takes_arrays=True)


def _pmap_avals(*avals: ShapedArray, jaxpr: ClosedJaxpr, axis_size: int, **params: Any) -> list:
    return [a.update(shape=(axis_size, *a.shape)) for a in jaxpr.out_avals]


def _pmap_impl(
    *args: Any,
    jaxpr: ClosedJaxpr,
    in_axes: Sequence[int | None],
    axis_name: Hashable,
    devices: tuple[Device, ...],
    name: str,
    axis_size: int,
) -> list[ArrayImpl]:
    """Runs the pieces of the jaxpr in order, each on all devices."""
    axis = AxisData(axis_name, axis_size, of_devices=True)
    lanes: dict[Var, list[ArrayImpl]] = {}
    for var, x, dim in zip(jaxpr.jaxpr.invars, args, in_axes):
        lanes[var] = spread(as_array(x), dim, devices)
    for var, const in zip(jaxpr.jaxpr.constvars, jaxpr.consts):
        lanes[var] = spread(as_array(const), None, devices)
    for piece in pieces(jaxpr, axis):
        operands = [lanes[v] for v in piece.invars]
        if piece.is_collective:
            outs = _together(piece, operands, axis, devices, name)
        else:
            each = [
                compiled(piece.jaxpr, device, name)([xs[i] for xs in operands])
                for i, device in enumerate(devices)
            ]
            outs = [list(xs) for xs in zip(*each)]
        lanes.update(zip(piece.outvars, outs))
    return [
        gathered(spread(_literal(v), None, devices) if isinstance(v, Literal) else lanes[v])
        for v in jaxpr.jaxpr.outvars
    ]


def _literal(literal: Literal) -> ArrayImpl:
    return ArrayImpl(np.asarray(literal.val, literal.aval.dtype), literal.aval)


def _together(
    piece: Piece,
    operands: Sequence[list[ArrayImpl]],
    axis: AxisData,
    devices: tuple[Device, ...],
    name: str,
) -> list[list[ArrayImpl]]:
    """A collective: the first device computes, from the values of all, what each one gets."""
    dims, at_front = (0,) * len(operands), (True,) * len(piece.outvars)
    with extend_axis_env(axis.env):
        batched, _ = batch_jaxpr(piece.jaxpr, axis, dims, at_front)
    stacks = [gathered(xs) for xs in operands]
    outs = compiled(batched, devices[0], name)(stacks)
    return [spread(out, 0, devices) for out in outs]


impl_rules[pmap_p] = _pmap_impl
abstract_eval_rules[pmap_p] = _pmap_avals
no_rule_reasons[pmap_p, "lowering"] = "a compiled program runs on one device: pmap starts others"


# ---- a jaxpr in pieces ----


@dataclass
class Piece:
    """Equations that follow each other, and the values that they take and give."""

    is_collective: bool
    jaxpr: ClosedJaxpr
    invars: list[Var]
    outvars: list[Var]


@cached_on_jaxpr
def pieces(closed: ClosedJaxpr, axis: AxisData) -> list[Piece]:
    """The equations in runs of those that speak of the axis and those that do not."""
    runs: list[tuple[bool, list[JaxprEqn]]] = []
    for eqn in closed.jaxpr.eqns:
        speaks = speaks_of(eqn, axis.name)
        if not runs or runs[-1][0] is not speaks:
            runs.append((speaks, []))
        runs[-1][1].append(eqn)
    needed = {v for v in closed.jaxpr.outvars if isinstance(v, Var)}
    found = []
    for speaks, eqns in reversed(runs):
        made = [v for eqn in eqns for v in eqn.outvars]
        read = dict.fromkeys(v for eqn in eqns for v in eqn.invars if isinstance(v, Var))
        invars = [v for v in read if v not in made]
        outvars = [v for v in made if v in needed]
        needed = (needed - {*made}) | {*invars}
        jaxpr = Jaxpr([], invars, outvars, eqns)
        found.append(Piece(speaks, ClosedJaxpr(jaxpr), invars, outvars))
    return found[::-1]


def speaks_of(eqn: JaxprEqn, axis_name: Hashable) -> bool:
    """Whether an equation, or one inside it, is a collective over the axis."""
    named = (eqn.params.get(key) for key in ("axes", "axis_name"))
    if any(axis_name in (x if isinstance(x, (tuple, list)) else (x,)) for x in named):
        return True
    return any(speaks_of(inner, axis_name) for j in subjaxprs(eqn.params) for inner in j.eqns)


# ---- values of many devices ----


class Shards:
    """The memory of an array whose slices along axis 0 are on different devices."""

    queue = None  # of no one device
    has_one_owner = False

    def __init__(self, shards: list[ArrayImpl]):
        self.shards = shards

    @property
    def devices(self) -> tuple[Device, ...]:
        return tuple(shard.device for shard in self.shards)

    def read(self) -> np.ndarray:
        return np.stack([shard._value for shard in self.shards])

    def wait(self) -> None:
        for shard in self.shards:
            shard.block_until_ready()

    def is_ready(self) -> bool:
        return all(shard.is_ready() for shard in self.shards)


def spread(x: ArrayImpl, axis: int | None, devices: tuple[Device, ...]) -> list[ArrayImpl]:
    """What each device gets of an array: its slice along axis 0, or with None all of it."""
    if axis is None:
        return [commit(ArrayImpl(x._value, x.aval), device) for device in devices]
    if isinstance(x.buffer, Shards) and x.buffer.devices == devices:
        return x.buffer.shards
    aval = x.aval.update(shape=x.shape[1:])
    return [
        commit(ArrayImpl(np.asarray(value), aval), device)
        for value, device in zip(x._value, devices)
    ]


def gathered(shards: list[ArrayImpl]) -> ArrayImpl:
    """The slices as one array; they stay where they are until somebody reads it."""
    aval = shards[0].aval
    whole = aval.update(shape=(len(shards), *aval.shape))
    return ArrayImpl(None, whole, Shards(shards), PmapSharding(Shards(shards).devices))
