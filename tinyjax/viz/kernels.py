"""A compiled program as a picture: which equations are one kernel, what is stored between, what takes long.

    jitted = jax.jit(f)
    times = jax.profiler.step_times(lambda: jitted(x))
    viz.kernels(jitted.lower(x), times)   # shows itself in a notebook

A frame with a solid border is a kernel or another step of the schedule, by its number there; what is one
launch has one time, in a dashed frame. The longer it takes, the thicker the border. A thick arrow is an
array in memory, a thin one never leaves registers.
Builds on dot.py and opencl.plan.
"""

import functools
from collections.abc import Iterator, Mapping

import graphviz

from tinyjax.jaxpr import Atom, Jaxpr, Var
from tinyjax.opencl.groups import HostGroup, KernelGroup, LoopGroup
from tinyjax.opencl.plan import Plan, step_word
from tinyjax.stages import Compiled, Lowered
from tinyjax.viz.dot import Drawing

_STEP = {"style": "rounded"}
_THICKEST = 6.0
_STORED = {"penwidth": "2.5"}


def kernels(
    program: Lowered | Compiled, times: Mapping[tuple[int, ...], float] | None = None
) -> graphviz.Digraph:
    """Draw the steps of a lowered or compiled function, with the equations inside.

    Args:
      times: the microseconds of each step, as from jax.profiler.step_times.
    Raises:
      TypeError: `program` is anything else, such as the function itself.
    """
    if not isinstance(program, Lowered | Compiled):
        raise TypeError(
            f"kernels draws what jax.jit(f).lower(*args) gives, or its .compile(), not a "
            f"{type(program).__name__}"
        )
    plan = program.compiler_ir("schedule")
    drawing = _Kernels(plan, times or {})
    drawing.whole(plan.closed.jaxpr)
    return drawing.graph


class _Kernels(Drawing):
    """A drawing whose equations stand in the frames of their steps."""

    def __init__(self, plan: Plan, times: Mapping[tuple[int, ...], float]):
        super().__init__(plan.names)
        self.plan = plan
        self.times = times
        self.registers: set[str] = set()  # the nodes of the step that is being drawn

    def body(self, graph: graphviz.Digraph, jaxpr: Jaxpr, sources: dict[Var, str]) -> list[str]:
        if jaxpr is not self.plan.closed.jaxpr:
            return super().body(graph, jaxpr, sources)
        return self.steps_of(self.plan, graph, jaxpr, sources)

    def steps_of(
        self, plan: Plan, graph: graphviz.Digraph, jaxpr: Jaxpr, sources: dict[Var, str]
    ) -> list[str]:
        """Draw the steps of a plan; give the node that each output of its jaxpr comes from."""
        for numbers in self.launches(plan):
            timed, style = self.timed(plan, numbers)
            if len(numbers) == 1:
                self.step(graph, plan, numbers[0], sources, timed, style)
                continue
            with self.frame(graph, f"one launch{timed}", **style) as together:
                for number in numbers:
                    self.step(together, plan, number, sources, "", {})
        self.registers = set()
        return [self.source(graph, x, sources) for x in jaxpr.outvars]

    def launches(self, plan: Plan) -> Iterator[tuple[int, ...]]:
        """The steps' numbers, those together that were launched together."""
        together = {numbers[0]: numbers for numbers in self.times} if plan is self.plan else {}
        number = 0
        while number < len(plan.groups):
            numbers = together.get(number, (number,))
            yield numbers
            number = numbers[-1] + 1

    def timed(self, plan: Plan, numbers: tuple[int, ...]) -> tuple[str, dict[str, str]]:
        """What the title says of a step's time, and the border's thickness."""
        if plan is not self.plan or numbers not in self.times:
            return "", {}
        share = self.times[numbers] / sum(self.times.values())
        thickness = 1 + (_THICKEST - 1) * share
        return f"   {self.times[numbers]:,.1f} us, {share:.0%}", {"penwidth": f"{thickness:.1f}"}

    # ---- one step ----

    def step(
        self,
        graph: graphviz.Digraph,
        plan: Plan,
        number: int,
        sources: dict[Var, str],
        timed: str,
        style: dict[str, str],
    ) -> None:
        """A frame, and in it what the step computes."""
        group = plan.groups[number]
        title = f"{number}: {step_word(plan, number)}{timed}"
        with self.frame(graph, title, **_STEP, **style) as frame:
            self.registers = set()
            if isinstance(group, KernelGroup):
                self.kernel(frame, group, sources)
            elif isinstance(group, HostGroup):
                self.host_step(frame, group, sources)
            else:
                self.loop(frame, plan, number, sources)

    def kernel(self, frame: graphviz.Digraph, group: KernelGroup, sources: dict[Var, str]) -> None:
        """The equations that a kernel computes, those too that others compute again."""
        within = dict(sources)
        for eqn in group.eqns:
            operands = [(x, self.source(frame, x, within)) for x in eqn.invars]
            within.update(zip(eqn.outvars, self.equation(frame, eqn, operands)))
        sources.update({v: within[v] for v in group.outputs})

    def host_step(self, frame: graphviz.Digraph, group: HostGroup, sources: dict[Var, str]) -> None:
        """One equation, which NumPy computes."""
        operands = [(x, self.source(frame, x, sources)) for x in group.eqn.invars]
        sources.update(zip(group.outputs, self.equation(frame, group.eqn, operands)))

    def loop(
        self, frame: graphviz.Digraph, plan: Plan, number: int, sources: dict[Var, str]
    ) -> None:
        """A loop or branch: one kernel, or steps that run in turn."""
        group = plan.groups[number]
        assert isinstance(group, LoopGroup)
        operands: list[tuple[Atom, str]] = [(v, sources[v]) for v in group.inputs]
        if number in plan.kernels:
            results = self.equation(frame, group.eqn, operands)
        else:
            box = self.box(frame, group.eqn, operands)
            results = [box] * len(group.outputs)
            for label, body in plan.bodies[number].items():
                draw_body = functools.partial(self.steps_of, body)
                self.hang(frame, box, label, body.closed.jaxpr, draw_body)
        sources.update(zip(group.outputs, results))

    # ---- the smallest parts ----

    def node(self, graph: graphviz.Digraph, label: str, kind: dict[str, str]) -> str:
        name = super().node(graph, label, kind)
        self.registers.add(name)
        return name

    def edge(self, value: Atom, tail: str, head: str, **style: str) -> None:
        super().edge(value, tail, head, **(style if tail in self.registers else _STORED))
