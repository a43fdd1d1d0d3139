"""Vectorization as a picture: each equation under vmap, and the position of the batch dim.

    viz.vmap(f, jnp.arange(3.0))

Arrows of batched values are highlighted, and types mark the batch dim, which shows the rules that move it or
repeat an operand.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from tinyjax.compile.kernel.rules import Elementwise, lowering_rules
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var, jaxpr_as_fun
from tinyjax.core.tracing import JaxprTracer, make_jaxpr
from tinyjax.studio.viz import style
from tinyjax.studio.viz.drawing import Drawing
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.program import Program
from tinyjax.studio.viz.provenance import mark_of
from tinyjax.transform import batching


def vmap(f: Callable[..., Any], *args: Any, in_axes: Any = 0) -> Graph:
    """Draw the jaxpr of `jax.vmap(f, in_axes)`, with the batch dim marked in the type of each value.

    If a batching rule writes several equations for one of `f`, they are in a frame."""

    programs = []

    def marked(*example: Any) -> list[Any]:
        programs.append(Program(f, example))
        return jaxpr_as_fun(programs[0].closed)(*programs[0].leaves)

    with _noted_batch_dims() as dims:
        jaxpr = make_jaxpr(batching.vmap(marked, in_axes))(*args).jaxpr
    drawing = _Batched(jaxpr, programs[0], dims)
    drawing.name_ends(jaxpr, programs[0].debug_info)
    drawing.whole(jaxpr)
    return drawing.finished()


@contextlib.contextmanager
def _noted_batch_dims() -> Iterator[dict[Var, int]]:
    """Within the block, record the batch dims of the variables of all batched jaxprs."""
    dims: dict[Var, int] = {}
    tracer = batching.BatchTrace.tracer

    def noting(trace: batching.BatchTrace, val: Any, dim: int | None) -> Any:
        if isinstance(val, JaxprTracer) and isinstance(val.atom, Var) and dim is not None:
            dims[val.atom] = dim
        return tracer(trace, val, dim)

    batching.BatchTrace.tracer = noting  # type: ignore
    try:
        yield dims
    finally:
        batching.BatchTrace.tracer = tracer  # type: ignore


class _Batched(Drawing):
    """A drawing with batch dims, and with the equations that one rule wrote."""

    def __init__(self, jaxpr: Jaxpr, program: Program, dims: dict[Var, int]):
        super().__init__(jaxpr)
        self.program = program
        self.dims = dims
        self.threads = {v: style.BATCHED for v in dims}

    def body(self, graph: Graph, jaxpr: Jaxpr, sources: dict[Var, str]) -> list[str]:
        for mark, group in itertools.groupby(jaxpr.eqns, mark_of):
            eqns = list(group)
            if mark is None or len(eqns) == 1:
                self.steps(graph, eqns, sources)
            else:
                primitive = self.program.eqns[mark].primitive
                with self.frame(graph, f"batch rule of {primitive}") as frame:
                    self.steps(frame, eqns, sources)
        return [self.source(graph, x, sources) for x in jaxpr.outvars]

    def steps(self, graph: Graph, eqns: list[JaxprEqn], sources: dict[Var, str]) -> None:
        for eqn in eqns:
            self.one_equation(graph, eqn, sources)
            batched = [v for v in eqn.invars if v in self.threads]
            if batched:
                self.threads |= {v: style.BATCHED for v in eqn.outvars}
                self.infer_dim(eqn, batched)

    def infer_dim(self, eqn: JaxprEqn, batched: list[Any]) -> None:
        """Infer the batch dim within a rule, where no tracer has it: elementwise operations don't move it."""
        if isinstance(lowering_rules.get(eqn.primitive), Elementwise):
            for v in batched:
                if v in self.dims and v.aval.shape == eqn.outvars[0].aval.shape:
                    self.dims.setdefault(eqn.outvars[0], self.dims[v])

    def type_of(self, value: Atom) -> str:
        if value not in self.dims:
            return super().type_of(value)
        dtype, _, shape = value.aval.str_short(short_dtypes=True).rstrip("]").partition("[")
        sizes = shape.split(",")
        sizes[self.dims[value]] = f"B={sizes[self.dims[value]]}"
        return f"{dtype}[{','.join(sizes)}]"
