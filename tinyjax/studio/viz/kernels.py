"""A compiled program as a picture: its kernels and their equations, the arrays stored between them, their
times.

    jitted = jax.jit(f)
    times = jax.profiler.step_times(lambda: jitted(x))
    viz.kernels(jitted.lower(x), times)   # shows itself in a notebook

A frame with a solid border is a kernel or another numbered step of the schedule; steps of one launch share a
time, in a dashed frame. Longer times have thicker borders. A thick arrow is an array in memory; the value of
a thin one never leaves registers.
"""

import functools
from collections.abc import Iterator, Mapping

from tinyjax.compile.fusion.groups import LoopGroup
from tinyjax.compile.plan import Plan, step_word
from tinyjax.core.jaxpr import Atom, Jaxpr, JaxprEqn, Var
from tinyjax.studio.viz import style
from tinyjax.studio.viz.drawing import Bodies, Drawing
from tinyjax.studio.viz.fold import LIMIT, FoldedEqn, all_in_one, count
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.style import NodeStyle
from tinyjax.transform.jit.stages import Compiled, Lowered

_STEP = {"style": "rounded"}
_THICKEST = 6.0
_LONGEST_NAME = 32


def kernels(
    program: Lowered | Compiled, times: Mapping[tuple[int, ...], float] | None = None
) -> Graph:
    """Draw the steps of a lowered or compiled function, with the equations inside.

    Args:
      times: the microseconds of each step, as from jax.profiler.step_times.
    Raises:
      TypeError: `program` is not a program, but for example the function itself."""
    if not isinstance(program, Lowered | Compiled):
        raise TypeError(
            f"kernels draws what jax.jit(f).lower(*args) gives, or its .compile(), not a "
            f"{type(program).__name__}"
        )
    plan = program.compiler_ir("schedule")
    drawing = _Kernels(plan, times or {})
    drawing.name_ends(plan.closed.jaxpr, program.traced.debug_info)
    drawing.whole(plan.closed.jaxpr)
    return drawing.finished()


class _Kernels(Drawing):
    """A drawing with the equations in the frames of their steps."""

    def __init__(self, plan: Plan, times: Mapping[tuple[int, ...], float]):
        super().__init__(plan.closed.jaxpr, plan.names)
        self.plan = plan
        self.bodies = {
            group.eqn: each.bodies[number]
            for each in plan.all_plans()
            for number, group in enumerate(each.groups)
            if number in each.bodies and isinstance(group, LoopGroup)
        }
        self.times = times
        self.registers: set[str] = set()  # the nodes of the current step

    def whole(self, jaxpr: Jaxpr) -> None:
        """Draw the program; in a very large one, each step is one box."""
        if count(jaxpr) > LIMIT:
            boxes = [self.as_box(number) for number in range(len(self.plan.groups))]
            jaxpr = jaxpr.replace(eqns=boxes)
        super().whole(jaxpr)

    def as_box(self, number: int) -> JaxprEqn:
        group = self.plan.groups[number]
        box = all_in_one(group.eqns, group.outputs)
        time, _ = self.timed(self.plan, (number,))
        title = f"{number}: {_name(self.plan, number)}{time}"
        return FoldedEqn(title, box, box.params, box.inside)

    def body(self, graph: Graph, jaxpr: Jaxpr, sources: dict[Var, str]) -> list[str]:
        if jaxpr is not self.plan.closed.jaxpr:
            return super().body(graph, jaxpr, sources)
        return self.steps_of(self.plan, graph, jaxpr, sources)

    def steps_of(
        self, plan: Plan, graph: Graph, jaxpr: Jaxpr, sources: dict[Var, str]
    ) -> list[str]:
        """Draw the steps of a plan; return the source node of each output of its jaxpr."""
        for numbers in self.launches(plan):
            timed, border = self.timed(plan, numbers)
            if len(numbers) == 1:
                self.step(graph, plan, numbers[0], sources, timed, border)
                continue
            with self.frame(graph, f"one launch{timed}", **border) as together:
                for number in numbers:
                    self.step(together, plan, number, sources, "", {})
        self.registers = set()
        return [self.source(graph, x, sources) for x in jaxpr.outvars]

    def launches(self, plan: Plan) -> Iterator[tuple[int, ...]]:
        """The steps' numbers, grouped by launch."""
        together = {numbers[0]: numbers for numbers in self.times} if plan is self.plan else {}
        number = 0
        while number < len(plan.groups):
            numbers = together.get(number, (number,))
            yield numbers
            number = numbers[-1] + 1

    def timed(self, plan: Plan, numbers: tuple[int, ...]) -> tuple[str, dict[str, str]]:
        """The title's text for a step's time, and the border's thickness."""
        if plan is not self.plan or numbers not in self.times:
            return "", {}
        share = self.times[numbers] / sum(self.times.values())
        thickness = 1 + (_THICKEST - 1) * share
        return f"   {self.times[numbers]:,.1f} us, {share:.0%}", {"penwidth": f"{thickness:.1f}"}

    # ---- one step ----

    def step(
        self,
        graph: Graph,
        plan: Plan,
        number: int,
        sources: dict[Var, str],
        timed: str,
        border: dict[str, str],
    ) -> None:
        """A frame with the step's equations."""
        group = plan.groups[number]
        title = f"{number}: {_name(plan, number)}{timed}"
        with self.frame(graph, title, **_STEP, **border) as frame:
            self.registers = set()
            within = dict(sources)  # kernels may recompute equations of other kernels
            for eqn in group.eqns:
                self.one_equation(frame, eqn, within)
            sources.update({v: within[v] for v in group.outputs})

    def inside(self, eqn: JaxprEqn) -> Bodies:
        """The jaxprs of a loop, drawn as steps if the loop isn't a kernel."""
        plans = self.bodies.get(eqn)
        if plans is None:
            return super().inside(eqn)
        return {
            label: (plan.closed.jaxpr, functools.partial(self.steps_of, plan))
            for label, plan in plans.items()
        }

    # ---- the smallest parts ----

    def node(self, graph: Graph, text: str, node_style: NodeStyle, classes: str = "") -> str:
        name = super().node(graph, text, node_style, classes)
        self.registers.add(name)
        return name

    def edge(self, value: Atom, tail: str, head: str, type_: str = "", **attributes: str) -> None:
        node_style = (
            style.IN_REGISTERS if tail.partition(":")[0] in self.registers else style.STORED
        )
        self.legend_styles += [node_style] * isinstance(value, Var)
        super().edge(value, tail, head, type_, **(attributes | node_style.attributes))


def _name(plan: Plan, number: int) -> str:
    """A step's name; of a long kernel name, its beginning."""
    word = step_word(plan, number)
    return word if len(word) <= _LONGEST_NAME else word[: _LONGEST_NAME - 1] + "…"
