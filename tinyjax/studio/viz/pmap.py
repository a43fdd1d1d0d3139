"""One program on many devices, as a picture: a lane for each device, joined by collectives.

    viz.pmap(lambda x: x / lax.psum(x, "i"), jnp.arange(4.0), axis_name="i")

pmap and vmap give the same values, so the lanes show vmap's. No devices are needed.
"""

from collections.abc import Callable, Hashable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, cached_on_jaxpr, subjaxprs
from tinyjax.studio.viz import style
from tinyjax.studio.viz.drawing import Drawing, Note
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.program import Program
from tinyjax.studio.viz.values import all_values, value_text
from tinyjax.transform.batching import AxisData, vmap

_MOST_LANES = 4


def pmap(
    f: Callable[..., Any], *args: Any, axis_name: Hashable = "devices", in_axes: Any = 0
) -> Graph:
    """Draw `jax.pmap(f, axis_name, in_axes=in_axes)` at these arguments, a lane for each device.

    With more than four devices, only the first three and the last are drawn.
    Raises like `jax.vmap` if in_axes don't match the arguments."""
    programs: list[Program] = []
    variables: list[Var] = []

    def one(*slices: Any) -> list[Any]:
        programs.append(Program(f, slices))
        found = all_values(programs[0].closed, programs[0].leaves)
        variables.extend(found)
        return list(found.values())

    stacked = vmap(one, in_axes, 0, axis_name)(*args)
    stacks = dict(zip(variables, stacked))
    size = len(stacked[0])
    drawing = _Lanes(programs[0], AxisData(axis_name, size, of_devices=True), stacks)
    drawing.name_ends(programs[0].closed.jaxpr, programs[0].debug_info)
    drawing.draw()
    return drawing.finished()


class _Lanes(Drawing):
    """Draws one program many times, side by side."""

    def __init__(self, program: Program, axis: AxisData, stacks: dict[Var, Any]):
        super().__init__(program.closed.jaxpr, program.names, program.numbers)
        self.closed = program.closed
        self.axis = axis
        self.stacks = stacks
        size = axis.size
        self.lanes = range(size) if size <= _MOST_LANES else [0, 1, 2, size - 1]
        if size > _MOST_LANES:
            self.remark = f"{size} devices, of which {len(self.lanes)} are drawn"

    def draw(self) -> None:
        """Draw the whole arguments, the lanes with the collectives between them, and the results of all
        devices."""
        jaxpr = self.closed.jaxpr
        whole = {v: self.node(self.graph, self.title_of(v), style.INPUT) for v in jaxpr.invars}
        with ExitStack() as stack:
            frames = [  # frames opened last are written first
                stack.enter_context(self.frame(self.graph, f"device {lane}"))
                for lane in reversed(self.lanes)
            ][::-1]
            sources = []
            for lane, frame in zip(self.lanes, frames):
                self.show_values_of(lane)
                sources.append(self.inputs(frame, jaxpr, style.INPUT))
                for v in jaxpr.invars:
                    self.edge(v, whole[v], sources[-1][v])
            for piece in pieces(self.closed, self.axis):
                for eqn in piece.jaxpr.eqns:
                    if piece.is_collective:
                        self.collective(eqn, sources)
                    else:
                        self.in_each_lane(eqn, frames, sources)
            ends = [
                (jaxpr.outvars, [self.source(frame, v, found) for v in jaxpr.outvars])
                for frame, found in zip(frames, sources)
            ]
        self.joined(self.graph, ends, style.OUTPUT)

    def show_values_of(self, lane: int) -> None:
        self.notes = {v: [Note(value_text(stack[lane]))] for v, stack in self.stacks.items()}

    def in_each_lane(
        self, eqn: JaxprEqn, frames: list[Graph], sources: list[dict[Var, str]]
    ) -> None:
        for lane, frame, found in zip(self.lanes, frames, sources):
            self.show_values_of(lane)
            self.one_equation(frame, eqn, found)

    def collective(self, eqn: JaxprEqn, sources: list[dict[Var, str]]) -> None:
        """One box across all lanes: each device's operand goes in, and its result comes out."""
        texts = {v: {value_text(x) for x in self.stacks[v]} for v in eqn.outvars}
        self.notes = {v: [Note(*same)] for v, same in texts.items() if len(same) == 1}
        node_style, self.equation_style = self.equation_style, style.COLLECTIVE
        first, *others = [
            [self.source(self.graph, v, found) for v in eqn.invars] for found in sources
        ]
        box = self.box(self.graph, eqn, first)
        self.equation_style = node_style
        for operands in others:
            for value, source in zip(eqn.invars, operands):
                self.edge(value, source, box)
        for found in sources:
            found.update({v: box for v in eqn.outvars})


# ---- a jaxpr in pieces ----


@dataclass
class Piece:
    """Consecutive equations, with their inputs and outputs."""

    is_collective: bool
    jaxpr: ClosedJaxpr
    invars: list[Var]
    outvars: list[Var]


@cached_on_jaxpr
def pieces(closed: ClosedJaxpr, axis: AxisData) -> list[Piece]:
    """The equations in alternating runs: those that use the axis and those that don't."""
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
    """Whether an equation is a collective over the axis, or contains one."""
    named = (eqn.params.get(key) for key in ("axes", "axis_name"))
    if any(axis_name in (x if isinstance(x, (tuple, list)) else (x,)) for x in named):
        return True
    return any(speaks_of(inner, axis_name) for j in subjaxprs(eqn.params) for inner in j.eqns)
