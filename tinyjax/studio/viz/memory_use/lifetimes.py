"""The arrays of a plan as bars: the steps during which each is in memory, and the reason.

A bar is the memory of an array and of those that reuse it later. Arguments and constants stay for the whole
call. The memory of loop bodies is a separate bar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tinyjax.compile.explain import python_text
from tinyjax.compile.fusion.cost_record import bytes_of
from tinyjax.compile.plan import Plan
from tinyjax.core.jaxpr import JaxprEqn, SourceLine, Var
from tinyjax.studio.viz.memory_use.backward import BackwardLine

MAX_LINE = 60  # characters
_MOST_NAMES = 3  # arrays that share a memory


def line_text(line: SourceLine) -> str:
    """file:number and the line itself, cut to fit."""
    text = python_text(line)
    return text if len(text) <= MAX_LINE else text[: MAX_LINE - 3] + "..."


@dataclass
class Bar:
    """Memory in use from step `first` to step `last`, both included. `kind` is argument, constant, residual,
    temporary, result or body; `name` lists the arrays that use it in turn."""

    name: str
    type: str
    kind: str
    nbytes: int
    first: int
    last: int
    why: str = ""

    def lives_at(self, step: int) -> bool:
        return self.first <= step <= self.last


@dataclass
class Chart:
    """All bars of a call. `labels` describe the steps and, last, the state after the call; `measured` are a
    run's bytes by step, where they were counted."""

    title: str
    labels: list[str]
    bars: list[Bar]
    measured: list[int | None] = field(default_factory=list)

    @property
    def live(self) -> list[int]:
        """The bytes in use at each step."""
        return [sum(b.nbytes for b in self.at(step)) for step in range(len(self.labels))]

    @property
    def peak_step(self) -> int:
        return self.live.index(max(self.live))

    @property
    def peak(self) -> int:
        return max(self.live)

    def at(self, step: int) -> list[Bar]:
        return [bar for bar in self.bars if bar.lives_at(step)]


class Lifetimes:
    """Makes the charts of a plan; `arguments` are the names of its arguments in Python."""

    def __init__(self, plan: Plan, arguments: Sequence[str]):
        self.plan = plan
        self.jaxpr = plan.closed.jaxpr
        self.arguments = dict(zip(self.jaxpr.invars, arguments))
        self.results = {v for v in self.jaxpr.outvars if isinstance(v, Var)}
        self.end = len(plan.groups)  # one past the last step
        self.born = {v: n for n, group in enumerate(plan.groups) for v in group.outputs}
        self.last_reader = {v: n for n, group in enumerate(plan.groups) for v in group.inputs}

    def labels(self) -> list[str]:
        """A description of each step: its primitives, and the line of the last one."""
        return [*map(self.label, range(self.end)), "after the call"]

    def label(self, step: int) -> str:
        eqns = self.plan.groups[step].eqns
        words = " ".join(dict.fromkeys(eqn.primitive.name for eqn in eqns))
        lines = [eqn.source_info for eqn in eqns if eqn.source_info and eqn.source_info[0]]
        if not lines:
            return words
        back = "back through " if isinstance(lines[-1], BackwardLine) else ""
        return f"{words}  {back}{line_text(lines[-1])}"

    # ---- bars ----

    def planned(self, title: str) -> Chart:
        """The chart of the memory plan, in which arrays reuse each other's memory."""
        memory = self.plan.memory
        freed = {v: n for n, dying in memory.freed_after.items() for v in dying}
        tenants: dict[Var, list[Var]] = {
            v: [v] for v in (*self.jaxpr.constvars, *self.jaxpr.invars)
        }
        owner = {v: v for v in tenants}
        for v in self.born:
            first = owner[v] = owner.get(memory.reuses_buffer_of.get(v, v), v)
            tenants.setdefault(first, []).append(v)
        bars = []
        for first, variables in tenants.items():
            is_input = first not in self.born
            ends = [freed[v] for v in variables if v in freed and not is_input]
            last = min(ends, default=self.end)
            bars.append(self.bar(variables, self.born.get(first, 0), last))
        return Chart(title, self.labels(), bars + list(self.body_bars(bars)))

    def separate(self, title: str) -> Chart:
        """The chart without reuse: each array has its own memory, freed after its last reader."""
        bars = [self.bar([v], 0, self.end) for v in (*self.jaxpr.constvars, *self.jaxpr.invars)]
        for v, born in self.born.items():
            last = self.end if v in self.results else self.last_reader.get(v, born)
            bars.append(self.bar([v], born, last))
        planned = self.planned("")
        return Chart(title, self.labels(), bars + [b for b in planned.bars if b.kind == "body"])

    def body_bars(self, bars: Sequence[Bar]) -> Iterator[Bar]:
        """The memory of loop bodies, in addition to the whole plan's."""
        for step in self.plan.bodies:
            nbytes = self.plan.memory.live[step] - sum(
                bar.nbytes for bar in bars if bar.lives_at(step)
            )
            if nbytes > 0:
                why = f"in an iteration of step {step}: {self.label(step)}"
                yield Bar("iteration", "", "body", nbytes, step, step, why)

    def bar(self, variables: Sequence[Var], first: int, last: int) -> Bar:
        """The bar of a memory that these variables use in turn."""
        names = " → ".join(self.name(v) for v in variables[:_MOST_NAMES])
        if len(variables) > _MOST_NAMES:
            names += f" → … {self.name(variables[-1])}"
        kinds = [self.kind(v) for v in variables]
        kind = "residual" if "residual" in kinds else kinds[-1 if kinds[-1] == "result" else 0]
        aval = variables[0].aval
        why = self.why(variables[0])
        later = [f"; from step {self.born[v]} on, {self.name(v)}" for v in variables[1:_MOST_NAMES]]
        why += "".join(later) + "; ..." * (len(variables) > _MOST_NAMES)
        if kinds[-1] in ("residual", "temporary") and last == self.end:
            why += "; not freed before the end of the call"
        return Bar(names, aval.str_short(short_dtypes=True), kind, bytes_of(aval), first, last, why)

    def name(self, v: Var) -> str:
        if v in self.arguments:
            return self.arguments[v]
        letters = self.plan.names.get(v, "_")
        eqn = self.maker(v) if v in self.born else None
        return letters if eqn is None else f"{eqn.primitive.name} {letters}"

    def kind(self, v: Var) -> str:
        if v not in self.born:
            return "argument" if v in self.arguments else "constant"
        if v in self.results:
            return "result"
        return "residual" if self.backward_reader(v) and not self.is_backward(v) else "temporary"

    # ---- why ----

    def why(self, v: Var) -> str:
        """The origin of an array, and its last reader."""
        kind = self.kind(v)
        if kind in ("argument", "constant"):
            return kind
        words = {"residual": "residual of ", "result": "result, made by "}.get(kind, "made by ")
        made = words + self.line(self.maker(v))
        last = self.last_reader.get(v)
        if kind == "result" or last is None:
            return made
        return (
            f"{made}, kept for step {last}"
            if kind == "residual"
            else f"{made}, read in step {last}"
        )

    def line(self, eqn: JaxprEqn | None) -> str:
        """The line of an equation, and a remark if it is of the line's derivative."""
        if eqn is None or not (eqn.source_info and eqn.source_info[0]):
            return "the compiler" if eqn is None else eqn.primitive.name
        back = "the derivative of " if isinstance(eqn.source_info, BackwardLine) else ""
        return back + line_text(eqn.source_info)

    def maker(self, v: Var) -> JaxprEqn | None:
        eqns = self.plan.groups[self.born[v]].eqns
        return next((eqn for eqn in eqns if v in eqn.outvars), eqns[-1] if eqns else None)

    def is_backward(self, v: Var) -> bool:
        eqn = self.maker(v)
        return eqn is not None and isinstance(eqn.source_info, BackwardLine)

    def backward_reader(self, v: Var) -> JaxprEqn | None:
        """The last equation of a backward pass that reads `v`."""
        readers = [
            eqn
            for group in self.plan.groups
            for eqn in group.eqns
            if v in eqn.invars and isinstance(eqn.source_info, BackwardLine)
        ]
        return readers[-1] if readers else None
