"""What became of a function, as columns of items linked to those in all other columns.

After this file you can ask of a line of Python which equations, kernels, lines of C and microseconds are its
own, and of any of those where it is from. The columns: Python, the function's jaxpr, the transformed jaxpr,
groups (the simplified jaxpr, by what is computed together), OpenCL C, or WebAssembly where that runs (in a
browser), and the measured time of each step.
Builds on provenance_links, provenance and compile.explain; html.py shows it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tinyjax as jax
from tinyjax.compile.cost import step_costs
from tinyjax.compile.explain import MappedLine, eqn_name, mapping, mapping_of_module, numbered_eqns
from tinyjax.compile.fusion.groups import Group, HostGroup, KernelGroup
from tinyjax.compile.plan import Plan, step_word
from tinyjax.core.api_util import fun_name
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, SourceLine, Var, subjaxprs
from tinyjax.core.pretty_printer import literal_text
from tinyjax.runtime.devices import default_device
from tinyjax.sharding.traffic import Traffic, traffic_lines, traffic_of
from tinyjax.studio.viz.drawing import told_params
from tinyjax.studio.viz.event_text import short_file
from tinyjax.studio.viz.provenance import Seen, mark_of, marked, origins, printed_eqns
from tinyjax.studio.viz.provenance_links import Column, Item, Section, Thread, note_what_is_gone
from tinyjax.studio.viz.sources import function_around, source_of
from tinyjax.studio.viz.value_names import names_as_in_plan, names_as_in_transformed


def columns_of(
    f: Callable[..., Any],
    args: Sequence[Any],
    transforms: Sequence[Callable[..., Any]] = (),
    here: SourceLine | None = None,
) -> list[Column]:
    """Takes `f` through its transformations and all stages of jit, and runs what comes out, for its times.
    `here` is a line that is none of the function's: who asked for the columns.

    Raises what tracing, compiling and running raise."""
    seen = Seen(f)
    traced = _jitted(transformed(seen, transforms)).trace(*args)
    own, run = seen.traced()
    from_marks = _jitted(transformed(run, transforms)).trace(*args)
    origin = origins(traced.jaxpr, from_marks.jaxpr)
    traced.jaxpr = marked(traced.jaxpr)
    compiled = traced.lower().compile()
    times = jax.profiler.step_times(lambda: compiled(*args))
    plan = compiled.compiler_ir("schedule")
    names = name_of(f), name_of(f, transforms)
    is_module = default_device().platform == "wasm"
    columns = _Columns(f, own, traced.jaxpr, origin, plan, here, traced._places)
    return columns.made(times, names, is_module)


def name_of(f: Callable[..., Any], transforms: Sequence[Callable[..., Any]] = ()) -> str:
    """jit(grad(f))"""
    name = fun_name(f)
    for transform in transforms:
        name = f"{fun_name(transform)}({name})"
    return name


def _jitted(f: Callable[..., Any]) -> jax.stages.Wrapped:
    return f if isinstance(f, jax.stages.Wrapped) else jax.jit(f)


def transformed(
    f: Callable[..., Any], transforms: Iterable[Callable[..., Any]]
) -> Callable[..., Any]:
    """`f` with the transformations applied, the first one first."""
    for transform in transforms:
        f = transform(f)
    return f


# ---- columns ----


class _Columns:
    """The columns of one program in the making."""

    def __init__(
        self,
        f: Callable[..., Any],
        traced: ClosedJaxpr,
        transformed: ClosedJaxpr,
        origin: Sequence[int | None],
        plan: Plan,
        here: SourceLine | None,
        places: Sequence[Any],
    ):
        self.f = f
        self.places = places
        self.traced = traced
        self.transformed = transformed
        self.plan = plan
        self.here = here
        self.names = {eqn_name(plan, eqn): n for n, eqn in enumerate(numbered_eqns(plan))}
        self.its_names = names_as_in_plan(transformed, plan)
        self.own_names = names_as_in_transformed(traced, transformed, origin, self.its_names)
        # What each thread is from, with itself.
        self.threads: dict[Thread, set[Thread]] = {}
        for n, (_, eqn) in enumerate(printed_eqns(traced.jaxpr)):
            self.threads["traced", n] = {("traced", n), *self.line_of(eqn)}
        for n, (_, eqn) in enumerate(printed_eqns(transformed.jaxpr)):
            above = self.threads.get(("traced", origin[n]), set())
            self.threads["transformed", n] = {("transformed", n), *self.line_of(eqn)} | above
        for n, eqn in enumerate(numbered_eqns(plan)):
            above = self.threads.get(("transformed", mark_of(eqn)), set())
            self.threads["simplified", n] = {("simplified", n)} | above

    def line_of(self, eqn: JaxprEqn) -> list[Thread]:
        line = eqn.source_info
        return [("line", *line[:2])] if line and line[0] and line != self.here else []

    def item(self, text: str, own: Iterable[Thread], **more: Any) -> Item:
        own = set(own)
        everything = (self.threads.get(thread, {thread}) for thread in own)
        return Item(text, own=own, all=set().union(*everything), **more)

    def made(
        self, times: dict[tuple[int, ...], float], names: tuple[str, str], is_module: bool = False
    ) -> list[Column]:
        """The columns in order; `is_module` says that the kernels run as WebAssembly."""
        name, its_name = names
        columns = [
            Column("python", "Python", "your program", "line", "lines", "python", self.python()),
            self.jaxpr_column("traced", "jaxpr", name, self.traced, self.own_names),
            self.jaxpr_column(
                "transformed", "transformed jaxpr", its_name, self.transformed, self.its_names
            ),
            Column(
                "groups",
                "groups",
                "simplified",
                "equation",
                "equations",
                "jaxpr",
                list(self.groups(self.plan, "")),
                "Nothing is left to compute.",
            ),
            Column(
                "c",
                "WebAssembly" if is_module else "OpenCL C",
                "the kernels",
                "line",
                "lines",
                "c",
                self.kernels(mapping_of_module if is_module else mapping),
                "There is no kernel: NumPy computes it all.",
            ),
            Column("time", "time", "measured", "launch", "launches", "jaxpr", self.times(times)),
        ]
        if str(self.traced) == str(self.transformed):  # one jaxpr is enough
            del columns[1]
            columns[1].title = "jaxpr"
        note_what_is_gone(columns)
        return columns

    # ---- Python ----

    def python(self) -> list[Section]:
        """The function, and all others that equations are from a line of."""
        lines = {t[1:] for threads in self.threads.values() for t in threads if t[0] == "line"}
        places = [place] if (place := source_of(self.f)) else []
        for file, number in sorted(lines):
            if not any(f == file and number in of_f for f, of_f, _ in places):
                places.append(function_around(file, number))
        return [self.function(*place) for place in places]

    def function(self, file: str, numbers: range, name: str) -> Section:
        """One function's lines."""
        texts = [linecache.getline(file, number).rstrip() for number in numbers]
        known = set().union(*self.threads.values())
        margin = min((len(t) - len(t.lstrip()) for t in texts if t), default=0)
        items = [
            self.item(text[margin:], {("line", file, number)} & known, number=str(number))
            for number, text in zip(numbers, texts)
        ]
        return Section(f"{short_file(file)}: {name}", items)

    # ---- jaxprs ----

    def jaxpr_column(
        self, kind: str, title: str, function: str, closed: ClosedJaxpr, names: dict[Var, str]
    ) -> Column:
        blocks = self.jaxpr(kind, closed, names)
        return Column(kind, title, f"of {function}", "equation", "equations", "jaxpr", blocks)

    def jaxpr(self, kind: str, closed: ClosedJaxpr, names: dict[Var, str]) -> list[Section]:
        """A jaxpr, an item an equation."""
        numbers = {eqn: n for n, (_, eqn) in enumerate(printed_eqns(closed.jaxpr))}
        arguments = closed.jaxpr.invars
        traffic = traffic_of(closed, self.places if len(arguments) == len(self.places) else ())
        typed = [f"{names.get(v, '_')}:{traffic.type_text(v)}" for v in arguments]
        head = self.item(f"lambda {' '.join(typed)}. let", [])
        items = [
            self.item(
                "  " * (depth + 1) + eqn_text(eqn, names, traffic),
                {(kind, numbers[e]) for e in [eqn, *_within(eqn)]},
            )
            for depth, eqn in printed_eqns(closed.jaxpr)
        ]
        results = [
            names.get(v, "_") if isinstance(v, Var) else literal_text(v)
            for v in closed.jaxpr.outvars
        ]
        ending = f"in ({', '.join(results)}{',' * (len(results) == 1)})"
        sent = traffic_lines(traffic)[-1].strip().capitalize() if traffic.exchanges else ""
        return [Section("", [head, *items, self.item(ending, [])], sent)]

    # ---- groups, kernels, times ----

    def numbers_of(self, eqn: JaxprEqn) -> set[Thread]:
        """What an equation of the plan stands for, with the equations of its bodies."""
        names = [eqn_name(self.plan, e) for e in [eqn, *_within(eqn)]]
        return {("simplified", self.names[name]) for name in names if name in self.names}

    def group_threads(self, group: Group) -> set[Thread]:
        return set().union(*map(self.numbers_of, group.eqns))

    def groups(self, plan: Plan, prefix: str) -> Iterator[Section]:
        """A block a group, and after it those of its bodies."""
        for number, group in enumerate(plan.groups):
            title = f"{prefix}{number}: {step_word(plan, number)}"
            made = f"makes {_stored(plan, group)}"
            head = self.item(made, self.group_threads(group), is_head=True)
            eqns = [e for eqn in group.eqns for e in (eqn, *_within(eqn))]
            items = [
                self.item("  " + eqn_text(eqn, plan.names), self.numbers_of(eqn)) for eqn in eqns
            ]
            yield Section(title, [head, *items], _why(plan, number, group))
            for label, body in plan.bodies.get(number, {}).items():
                yield from self.groups(body, f"{prefix}{number} {label} ")

    def kernels(self, mapped: Callable[[Plan], list[MappedLine]]) -> list[Section]:
        """A block a kernel, an item a line."""
        blocks: dict[str, Section] = {}
        for line in mapped(self.plan):
            block = blocks.setdefault(line.kernel, Section(line.kernel, []))
            own = [("simplified", number) for number in line.eqns]
            block.items.append(self.item(line.text, own, number=str(line.number)))
        for plan in self.plan.all_plans():
            for number, kernel in plan.kernels.items():  # its first line stands for all of it
                head, group = blocks[kernel.name].items[0], plan.groups[number]
                whole = self.item(head.text, head.own | self.group_threads(group))
                head.own, head.all = whole.own, head.all | whole.all
        return list(blocks.values())

    def times(self, times: dict[tuple[int, ...], float]) -> list[Section]:
        """An item a launch."""
        every, costs = sum(times.values()), step_costs(self.plan)
        items = []
        for numbers, microseconds in times.items():
            own = set().union(*(self.group_threads(self.plan.groups[n]) for n in numbers))
            cost = sum((costs[n] for n in numbers), start=type(costs[0])())
            words = "\n".join(f"{n}: {step_word(self.plan, n)}" for n in numbers)
            work = cost.flops + cost.transcendentals
            text = f"{words}\noperations: {work:,.0f}\nbytes: {cost.bytes:,.0f}"
            share = microseconds / every if every else 0.0
            items.append(self.item(text, own, number=f"{microseconds:,.1f} µs", share=share))
        return [Section(f"{every:,.1f} µs in all", items, "the best of 5 calls")]


# ---- text ----


def eqn_text(eqn: JaxprEqn, names: dict[Var, str], traffic: Traffic | None = None) -> str:
    """An equation on one line, without the jaxprs among its parameters; on a mesh, types say how values are
    split, and a remark what devices send each other for it."""
    type_text = traffic.type_text if traffic else _type
    outs = " ".join(f"{names.get(v, '_')}:{type_text(v)}" for v in eqn.outvars)
    args = [names.get(v, "_") if isinstance(v, Var) else f"{literal_text(v)}" for v in eqn.invars]
    params = " ".join(told_params(eqn))
    params = f"[{params}]" if params else ""
    remarks = [f" # {exchange.short}" for exchange in (traffic.of(eqn) if traffic else ())]
    words = [outs, "=" if outs else "", f"{eqn.primitive.name}{params}", *args, *remarks]
    return " ".join(words).strip()


def _type(v: Var) -> str:
    return v.aval.str_short(short_dtypes=True)


def _within(eqn: JaxprEqn) -> list[JaxprEqn]:
    """The equations of the jaxprs inside of an equation."""
    return [e for inner in subjaxprs(eqn.params) for _, e in printed_eqns(inner)]


def _stored(plan: Plan, group: Group) -> str:
    made = ", ".join(f"{plan.names[v]}:{_type(v)}" for v in group.outputs)
    read = ", ".join(plan.names[v] for v in group.inputs)
    return f"{made} from {read or 'nothing'}"


def _why(plan: Plan, number: int, group: Group) -> str:
    """Why NumPy computes it, or a loop is no kernel, or what is stored between two kernels."""
    if isinstance(group, HostGroup):
        return group.reason
    if number in plan.reasons:
        return f"steps, not one kernel: {plan.reasons[number]}"
    if not isinstance(group, KernelGroup):
        return f"one kernel, {plan.kernels[number].form}"
    reasons = [
        f"{plan.names[v]} is stored: {reason}"
        for v, reason in zip(group.outputs, group.reasons)
        if v not in plan.closed.jaxpr.outvars
    ]
    return "; ".join(reasons)
