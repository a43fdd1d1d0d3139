"""The communication of a mesh's devices: the collectives of a program, and the bytes of each.

Within shard_map these are the program's own psums and all_gathers. Elsewhere they follow from the splits of
values: a sum over a split axis is a psum, and an operation that a device can't do on its own block needs an
all_gather. (Several processes compute this way. Devices on one processor send nothing.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.inlining import CALLS, called_by
from tinyjax.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, all_jaxprs
from tinyjax.many_devices.collectives import SENT, bytes_sent
from tinyjax.many_devices.sharding.auto import spec_of, specs_of_results
from tinyjax.many_devices.sharding.axes import Spec, Use, replicated
from tinyjax.many_devices.sharding.blockwise import on_blocks
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.many_devices.sharding.partition_spec import names_at
from tinyjax.many_devices.sharding.sharding import places_asked
from tinyjax.many_devices.sharding.types import spec_of_type


@dataclass(frozen=True)
class Exchange:
    """A collective, which `eqn` is or needs. `size` devices along the mesh axes `names` take part, each with
    `operand` bytes; all `devices` of the mesh form such groups. `times` is the number of repetitions in
    loops; a loop of unknown length counts as one iteration."""

    eqn: JaxprEqn
    kind: str
    names: tuple[Any, ...]
    size: int
    devices: int
    operand: int
    times: int

    @property
    def sent(self) -> int:
        """The bytes that each device sends, per repetition."""
        return bytes_sent(self.kind, self.operand, self.size)

    @property
    def sent_by_all(self) -> int:
        """The bytes that all devices send, per repetition."""
        return self.sent * self.devices

    @property
    def short(self) -> str:
        """A short text for pictures; without the name if the equation shows it."""
        name = "" if self.kind == self.eqn.primitive.name else f"{self.kind} "
        over = ", ".join(map(str, self.names))
        times = f"; {self.times:,} times" if self.times > 1 else ""
        return f"{name}over {over}: each sends {self.sent:,} bytes, all {self.sent_by_all:,}{times}"

    def __str__(self) -> str:
        over = ", ".join(map(str, self.names))
        times = f"; {self.times:,} times" if self.times > 1 else ""
        return (
            f"{self.kind} over {over}: each of {self.size} has {self.operand:,} bytes and sends "
            f"{self.sent:,}, all devices {self.sent_by_all:,}{times}"
        )


@dataclass
class Traffic:
    """The exchanges in program order, and the splits of values outside of shard_maps. `mesh` is None if there
    is none."""

    exchanges: list[Exchange]
    specs: dict[Var, Spec]
    mesh: Any

    def of(self, eqn: JaxprEqn) -> list[Exchange]:
        """The exchanges of an equation."""
        return [exchange for exchange in self.exchanges if exchange.eqn is eqn]

    def type_text(self, v: Atom) -> str:
        """A type as in printed jaxprs, with the value's split: f32[8@x,4]."""
        spec = self.specs.get(v) if isinstance(v, Var) else None
        return v.aval.str_short(short_dtypes=True) if spec is None else split_text(v.aval, spec)


def mesh_text(eqn: JaxprEqn) -> str:
    """The axes of a shard_map's mesh with their sizes; "" for other equations."""
    if eqn.primitive.name != "shard_map":
        return ""
    return ", ".join(f"{name}: {size}" for name, size in eqn.params["mesh"].shape.items())


def cut_texts(eqn: JaxprEqn) -> list[str]:
    """The types of a shard_map's operands with its splits; empty for other equations."""
    if eqn.primitive.name != "shard_map":
        return [""] * len(eqn.invars)
    specs = zip(eqn.invars, eqn.params["in_specs"])
    return [
        split_text(v.aval, [names_at(spec, i) for i in range(v.aval.ndim)]) for v, spec in specs
    ]


def split_text(aval: ShapedArray, spec: Sequence[Sequence[Any]]) -> str:
    """The type of an array with this split, as in printed jaxprs: f32[8@x,4]."""
    entries = [names[0] if len(names) == 1 else f"({','.join(names)})" for names in spec if names]
    found = iter(entries)
    axes = [f"{n}@{next(found)}" if names else str(n) for n, names in zip(aval.shape, spec)]
    return f"{dtypes.short_name(aval.dtype)}[{','.join(axes)}]"


def places_of(leaves: Sequence[Any]) -> list[Any]:
    """The places of arguments; None for uncommitted ones."""
    return [x._device if isinstance(x, ArrayImpl) and x.committed else None for x in leaves]


def traffic_of(jaxpr: ClosedJaxpr | Jaxpr, places: Sequence[Any] = ()) -> Traffic:
    """The traffic of a program whose arguments are at `places`: shardings, or None."""
    jaxpr = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    places = tuple(places) or (None,) * len(jaxpr.invars)
    mesh = next(_meshes(jaxpr, places), None)
    walk = _Walk(mesh)
    if mesh is not None:
        walk.jaxpr(jaxpr, [walk.spec_at(v.aval, p) for v, p in zip(jaxpr.invars, places)], 1)
    return Traffic(walk.exchanges, walk.specs, mesh)


def _meshes(jaxpr: Jaxpr, places: Sequence[Any]) -> Iterator[Any]:
    """The meshes of a program that have several devices."""
    of_types = [v.aval._sharding for v in jaxpr.invars]
    for place in [*places, *of_types]:
        if isinstance(place, NamedSharding) and place.mesh.size > 1:
            yield place.mesh
    for inner in all_jaxprs(jaxpr):
        for eqn in inner.eqns:
            if eqn.primitive.name == "shard_map":
                asked = [
                    NamedSharding(eqn.params["mesh"], spec) for spec in eqn.params["out_specs"]
                ]
            else:
                asked = list(eqn.params.get("in_shardings", ()))
                asked += places_asked.get(eqn.primitive.name, lambda _: ())(eqn.params)
            for place in asked:
                if isinstance(place, NamedSharding) and place.mesh.size > 1:
                    yield place.mesh


class _Walk:
    """Follows a program's values through its equations, and collects the exchanges."""

    def __init__(self, mesh: Any):
        self.mesh = mesh
        self.manual: dict[Any, int] = {}  # the axes that a shard_map around us maps over
        self.devices = 0 if mesh is None else mesh.size
        self.exchanges: list[Exchange] = []
        self.specs: dict[Var, Spec] = {}

    def spec_at(self, aval: ShapedArray, place: Any) -> Spec:
        if aval._sharding is not None:
            return spec_of_type(aval)
        return spec_of(place, aval.ndim, self.mesh)

    def jaxpr(self, jaxpr: Jaxpr, in_specs: Sequence[Spec], times: int) -> list[Spec]:
        """The splits of the results of a jaxpr that runs `times` times."""
        specs = dict(zip(jaxpr.invars, in_specs))

        def spec(atom: Atom) -> Spec:
            known = None if isinstance(atom, Literal) else specs.get(atom)
            return replicated(atom.aval.shape) if known is None else known

        for eqn in jaxpr.eqns:
            outs = self.equation(eqn, list(map(spec, eqn.invars)), times)
            for v, out in zip(eqn.outvars, outs):
                specs[v] = spec_of_type(v.aval) if v.aval._sharding is not None else out
        if not self.manual:
            self.specs.update(specs)
        return list(map(spec, jaxpr.outvars))

    def equation(self, eqn: JaxprEqn, specs: list[Spec], times: int) -> Sequence[Spec]:
        """The splits of the results of an equation."""
        name, params = eqn.primitive.name, eqn.params
        named = params.get("axes", params.get("axis_name"))
        named = named if isinstance(named, tuple | list) else (named,)
        over = tuple([axis for axis in named if axis in self.manual])
        shapes = [v.aval.shape for v in eqn.invars]
        out_shapes = [v.aval.shape for v in eqn.outvars]
        if name == "shard_map":
            self.shard_map(eqn, specs, times)
        elif name in SENT and over:
            self.collective(eqn, over, times)
        elif name in CALLS:
            asked = params.get("in_shardings") or (None,) * len(specs)
            inner = called_by(name, params)
            specs = [
                before
                if place is None
                else self.moved(eqn, v, before, self.spec_at(v.aval, place), times)
                for v, before, place in zip(eqn.invars, specs, asked)
            ]
            outs = self.jaxpr(inner.jaxpr, specs, times)
            asked = params.get("out_shardings") or (None,) * len(outs)
            return [
                before
                if place is None
                else self.moved(eqn, v, before, self.spec_at(v.aval, place), times)
                for v, before, place in zip(eqn.outvars, outs, asked)
            ]
        outs = specs_of_results(name, params, shapes, specs, out_shapes, self.mesh)
        if name in ("scan", "while", "cond"):
            self.bodies(eqn, specs, outs, times)
        elif name in places_asked and name != "shard_map":
            for v, before, after in zip(eqn.invars, specs, outs):
                self.moved(eqn, v, before, after, times)
        elif name != "shard_map" and any(any(spec) for spec in specs):
            use = Use(name, shapes, specs, out_shapes, params, self.mesh.shape)
            self.operation(eqn, use, times)
        return outs

    # ---- what is sent ----

    def note(
        self, eqn: JaxprEqn, kind: str, names: Sequence[Any], operand: int, times: int
    ) -> None:
        sizes = self.mesh.shape | self.manual
        size = math.prod(sizes[name] for name in names)
        if groups := eqn.params.get("axis_index_groups"):
            size = len(groups[0])
        if size > 1:
            found = Exchange(eqn, kind, tuple(names), size, self.devices, operand, times)
            self.exchanges.append(found)

    def collective(self, eqn: JaxprEqn, over: tuple[Any, ...], times: int) -> None:
        """A collective in the program of one device. For sums over positions too, the results are sent."""
        has_positions = "axes" in eqn.params
        for v in eqn.outvars if has_positions else eqn.invars:
            self.note(eqn, eqn.primitive.name, over, _bytes(v.aval, 1), times)

    def moved(self, eqn: JaxprEqn, v: Atom, before: Spec, after: Spec, times: int) -> Spec:
        """A value with another split: replicated values are split without communication, others are
        gathered."""
        names = [name for axis in before for name in axis]
        if names and tuple(map(tuple, before)) != tuple(map(tuple, after)):
            parts = math.prod(self.mesh.shape[name] for name in names)
            self.note(eqn, "all_gather", names, _bytes(v.aval, parts), times)
        return after

    def operation(self, eqn: JaxprEqn, use: Use, times: int) -> None:
        """An operation on blocks, or on whole operands."""
        plan = on_blocks(eqn, use)
        needed = plan.needed if plan else [replicated(shape) for shape in use.shapes]
        for v, before, after in zip(eqn.invars, use.specs, needed):
            self.moved(eqn, v, before, tuple(after), times)
        if plan is not None and plan.summed:
            parts = use.parts([name for axis in plan.spec for name in axis])
            self.note(eqn, "psum", plan.summed, _bytes(eqn.outvars[0].aval, parts), times)

    # ---- programs within programs ----

    def shard_map(self, eqn: JaxprEqn, specs: list[Spec], times: int) -> None:
        params, mesh = eqn.params, eqn.params["mesh"]
        for v, before, spec in zip(eqn.invars, specs, params["in_specs"]):
            self.moved(eqn, v, before, spec_of(NamedSharding(mesh, spec), v.aval.ndim, mesh), times)
        body, manual, devices = params["jaxpr"].jaxpr, self.manual, self.devices
        names = params["newly_manual_axes"]
        self.manual = self.manual | {n: size for n, size in mesh.shape.items() if n in names}
        self.devices = mesh.size
        self.jaxpr(body, [replicated(v.aval.shape) for v in body.invars], times)
        self.manual, self.devices = manual, devices

    def bodies(self, eqn: JaxprEqn, specs: list[Spec], outs: Sequence[Spec], times: int) -> None:
        """The bodies of a loop, whose carries are split like its results, or of a branch, of which one
        runs."""
        params = eqn.params
        if eqn.primitive.name == "cond":
            found = []
            for branch in params["branches"]:
                count = len(self.exchanges)
                self.jaxpr(branch.jaxpr, specs[1:], times)
                found.append(self.exchanges[count:])
                del self.exchanges[count:]
            self.exchanges += max(found, key=lambda each: sum(x.sent * x.times for x in each))
        elif eqn.primitive.name == "while":
            first, last = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
            self.jaxpr(params["cond_jaxpr"].jaxpr, [*specs[:first], *outs], times)
            self.jaxpr(params["body_jaxpr"].jaxpr, [*specs[first:last], *outs], times)
        else:
            first, last = params["num_consts"], params["num_consts"] + params["num_carry"]
            xs = []
            for v, spec in zip(eqn.invars[last:], specs[last:]):
                xs.append(self.moved(eqn, v, spec, ((), *spec[1:]), times)[1:])
            carry = list(outs[: params["num_carry"]])
            body = params["jaxpr"].jaxpr
            self.jaxpr(body, [*specs[:first], *carry, *xs], times * params["length"])


def _bytes(aval: ShapedArray, parts: int) -> int:
    return aval.size * aval.dtype.itemsize // parts


def traffic_lines(traffic: Traffic) -> list[str]:
    """A line for each collective, and a device's total; none if there is no mesh."""
    if traffic.mesh is None:
        return []
    axes = ", ".join(f"{name}: {size}" for name, size in traffic.mesh.shape.items())
    head = f"collectives, if each device of the mesh ({axes}) is one by itself:"
    sent = sum(exchange.sent * exchange.times for exchange in traffic.exchanges)
    of_all = sum(exchange.sent_by_all * exchange.times for exchange in traffic.exchanges)
    ending = f"in all, each device sends {sent:,} bytes, and all of them {of_all:,}"
    lines = [*map(str, traffic.exchanges), ending] if traffic.exchanges else ["none"]
    return [head, *("  " + line for line in lines)]
