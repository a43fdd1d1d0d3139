"""All stages of a function as columns of linked items: from a line of Python to its microseconds and back.

The columns: Python, the function's jaxpr, the transformed jaxpr, groups (the simplified jaxpr, split into
steps), OpenCL C (in a browser, WebAssembly), and the time of each step. html.py makes the page.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import tinyjax as jax
from tinyjax.compile.cost import step_costs
from tinyjax.compile.explain import MappedLine, eqn_name, mapping, numbered_eqns
from tinyjax.compile.fusion.cost_record import Cost, total
from tinyjax.compile.fusion.groups import Group, HostGroup, KernelGroup
from tinyjax.compile.plan import Plan, step_word
from tinyjax.compile.record import PassRecord
from tinyjax.core.api_util import fun_name
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, SourceLine, Var, subjaxprs
from tinyjax.core.missing_names import feature
from tinyjax.core.pretty_printer import literal_text
from tinyjax.many_devices.sharding.traffic import Traffic, traffic_lines, traffic_of
from tinyjax.runtime.devices import default_device
from tinyjax.studio.recorder import Event, call_time, shortest_call, time_text, times_of_steps
from tinyjax.studio.viz.drawing import bodies, visible_params
from tinyjax.studio.viz.event_text import short_file
from tinyjax.studio.viz.provenance import Seen, mark_of, marked, origins, printed_eqns
from tinyjax.studio.viz.provenance_links import Column, Item, Section, Thread, note_what_is_gone
from tinyjax.studio.viz.sources import function_around, source_of
from tinyjax.studio.viz.value_names import names_as_in_plan, names_as_in_transformed


class Stages(NamedTuple):
    """All stages of a function, its plan, and one compiled call of it, as events."""

    columns: list[Column]
    passes: Sequence[PassRecord]
    plan: Plan
    call: list[Event]


def stages_of(
    f: Callable[..., Any],
    args: Sequence[Any],
    transforms: Sequence[Callable[..., Any]] = (),
    here: SourceLine | None = None,
) -> Stages:
    """Transform `f`, take it through all stages of jit, and run the result for its times. `here` is the
    caller's line, which isn't the function's.

    Raises what tracing, compiling and running raise."""
    seen = Seen(f)
    traced = _jitted(transformed(seen, transforms)).trace(*args)
    own, run = seen.traced()
    from_marks = _jitted(transformed(run, transforms)).trace(*args)
    origin = origins(traced.jaxpr, from_marks.jaxpr)
    traced.jaxpr = marked(traced.jaxpr)
    lowered = traced.lower()
    compiled = lowered.compile()
    call = shortest_call(lambda: compiled(*args))
    plan = compiled.compiler_ir("schedule")
    names = name_of(f), name_of(f, transforms)
    is_module = default_device().platform == "wasm"
    columns = _Columns(f, own, traced.jaxpr, origin, plan, here, traced.places)
    return Stages(columns.made(call, names, is_module), lowered.passes, plan, call)


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
    """`f` with the transformations applied in order."""
    for transform in transforms:
        f = transform(f)
    return f


class _Columns:
    """Builds the columns of one program."""

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
        # The threads that each thread is from, itself included.
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
        self, call: Sequence[Event], names: tuple[str, str], is_module: bool = False
    ) -> list[Column]:
        """The columns in order; with `is_module` the kernels run as WebAssembly."""
        name, its_name = names
        mapped = feature("wasm.explain").mapping_of_module if is_module else mapping
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
                self.kernels(mapped),
                "There is no kernel: NumPy computes it all.",
            ),
            Column("time", "time", "measured", "launch", "launches", "jaxpr", self.times(call)),
        ]
        if str(self.traced) == str(self.transformed):  # the two jaxprs are equal
            del columns[1]
            columns[1].title = "jaxpr"
        note_what_is_gone(columns)
        return columns

    # ---- Python ----

    def python(self) -> list[Section]:
        """The function, and all other functions that equations have source lines in."""
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

        def item(eqn: JaxprEqn, indent: str) -> Item:
            own = {(kind, numbers[e]) for e in [eqn, *_within(eqn)]}
            return self.item(indent + eqn_text(eqn, names, traffic), own)

        items = list(_program_items(closed.jaxpr, names, item, traffic.type_text))
        sent = traffic_lines(traffic)[-1].strip().capitalize() if traffic.exchanges else ""
        return [Section("", items, sent)]

    # ---- groups, kernels, times ----

    def numbers_of(self, eqn: JaxprEqn) -> set[Thread]:
        """The numbers of an equation of the plan and of the equations of its bodies."""
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
            steps = plan.bodies.get(number, {})  # of a loop or branch that isn't a kernel

            def item(eqn: JaxprEqn, indent: str) -> Item:
                return self.item(indent + eqn_text(eqn, plan.names), self.numbers_of(eqn))

            printed = _eqn_items(group.eqns, plan.names, item, _type, 1, set())
            items = [item(eqn, "  ") for eqn in group.eqns] if steps else printed
            yield Section(title, [head, *items], _why(plan, number, group))
            for label, body in steps.items():
                arguments = _binders(body.closed.jaxpr, body.names, _type)
                yield Section(f"{prefix}{number} {label}", [Item(arguments, is_head=True)])
                yield from self.groups(body, f"{prefix}{number} {label} ")

    def kernels(self, mapped: Callable[[Plan], list[MappedLine]]) -> list[Section]:
        """A block a kernel, an item a line."""
        blocks: dict[str, Section] = {}
        for number, line in enumerate(mapped(self.plan), 1):
            block = blocks.setdefault(line.kernel, Section(line.kernel, []))
            own = [("simplified", number) for number in line.eqns]
            block.items.append(self.item(line.text, own, number=str(number)))
        for plan in self.plan.all_plans():
            for number, kernel in plan.kernels.items():  # its first line represents all of it
                head, group = blocks[kernel.name].items[0], plan.groups[number]
                whole = self.item(head.text, head.own | self.group_threads(group))
                head.own, head.all = whole.own, head.all | whole.all
        return list(blocks.values())

    def times(self, call: Sequence[Event]) -> list[Section]:
        """An item for each launch, with its time in the call that the times view shows."""
        times = times_of_steps(call)
        every, costs = sum(times.values()), step_costs(self.plan)
        items = []
        for numbers, microseconds in sorted(times.items()):
            own = set().union(*(self.group_threads(self.plan.groups[n]) for n in numbers))
            cost = total(costs[n] for n in numbers)
            words = [f"{n}: {step_word(self.plan, n)}" for n in numbers]
            if not self.is_uncounted(numbers, cost):
                words.append(f"operations: {_count_text(cost.flops + cost.transcendentals)}")
            text = "\n".join([*words, f"bytes: {_count_text(cost.bytes)}"])
            share = microseconds / every if every else 0.0
            items.append(self.item(text, own, number=time_text(microseconds), share=share))
        note = f"of a call of {time_text(call_time(call))}, the shortest of 5: see Times"
        return [Section(f"{time_text(every)} in kernels and NumPy", items, note)]

    def is_uncounted(self, numbers: Sequence[int], cost: Cost) -> bool:
        """Whether a launch's number of operations is unknown, as for NumPy's and SciPy's functions."""
        work = cost.flops + cost.transcendentals
        return not work and any(isinstance(self.plan.groups[n], HostGroup) for n in numbers)


# ---- jaxprs, line by line ----


def _program_items(
    jaxpr: Jaxpr,
    names: Mapping[Var, str],
    item: Callable[[JaxprEqn, str], Item],
    type_text: Callable[[Var], str],
    depth: int = 0,
    label: str = "",
    seen: set[Jaxpr] | None = None,
) -> Iterator[Item]:
    """The parameters of a jaxpr, an item for each equation, and its results."""
    seen = set() if seen is None else seen
    indent = "  " * depth
    yield Item(f"{indent}{label}{_binders(jaxpr, names, type_text)}", is_head=True)
    yield from _eqn_items(jaxpr.eqns, names, item, type_text, depth + 1, seen)
    results = [names.get(v, "_") if isinstance(v, Var) else literal_text(v) for v in jaxpr.outvars]
    comma = "," * (len(results) == 1)
    yield Item(f"{indent}in ({', '.join(results)}{comma})", is_head=True)


def _eqn_items(
    eqns: Iterable[JaxprEqn],
    names: Mapping[Var, str],
    item: Callable[[JaxprEqn, str], Item],
    type_text: Callable[[Var], str],
    depth: int,
    seen: set[Jaxpr],
) -> Iterator[Item]:
    """Each equation, followed by the jaxprs among its parameters. A jaxpr that several share is shown once:
    `seen` has those so far."""
    for eqn in eqns:
        yield item(eqn, "  " * depth)
        for parameter, inner in bodies(eqn):
            label = f"{_label(eqn, parameter)}: "
            if inner in seen:
                yield Item(f"{'  ' * (depth + 1)}{label}the same jaxpr as above", is_head=True)
                continue
            seen.add(inner)
            yield from _program_items(inner, names, item, type_text, depth + 1, label, seen)


def _label(eqn: JaxprEqn, parameter: str) -> str:
    """The role of a jaxpr in its equation: "body", "branch 0", or the parameter's name."""
    if eqn.primitive.name == "scan":
        return "body"
    return re.sub(r"^branches\[(\d+)\]$", r"branch \1", parameter)


def _binders(jaxpr: Jaxpr, names: Mapping[Var, str], type_text: Callable[[Var], str]) -> str:
    """lambda a:f32[3] b:i32[]. let"""
    typed = [f" {names.get(v, '_')}:{type_text(v)}" for v in (*jaxpr.constvars, *jaxpr.invars)]
    return f"lambda{''.join(typed)}. let"


# ---- text ----


def eqn_text(eqn: JaxprEqn, names: dict[Var, str], traffic: Traffic | None = None) -> str:
    """An equation on one line, without the jaxprs among its parameters; on a mesh, types show how values are
    split, and a remark the bytes that devices exchange."""
    type_text = traffic.type_text if traffic else _type
    outs = " ".join(f"{names.get(v, '_')}:{type_text(v)}" for v in eqn.outvars)
    args = [names.get(v, "_") if isinstance(v, Var) else f"{literal_text(v)}" for v in eqn.invars]
    params = " ".join(visible_params(eqn))
    params = f"[{params}]" if params else ""
    remarks = [f" # {exchange.short}" for exchange in (traffic.of(eqn) if traffic else ())]
    words = [outs, "=" if outs else "", f"{eqn.primitive.name}{params}", *args, *remarks]
    return " ".join(words).strip()


def _count_text(count: float) -> str:
    """All digits of a number below a million, three digits of a larger one: 33.6 M."""
    for unit, size in (("G", 1e9), ("M", 1e6)):
        if count >= size:
            return f"{count / size:,.3g} {unit}"
    return f"{count:,.0f}"


def _type(v: Var) -> str:
    return v.aval.str_short(short_dtypes=True)


def _within(eqn: JaxprEqn) -> list[JaxprEqn]:
    """The equations of the jaxprs inside an equation."""
    return [e for inner in subjaxprs(eqn.params) for _, e in printed_eqns(inner)]


def _stored(plan: Plan, group: Group) -> str:
    made = ", ".join(f"{plan.names[v]}:{_type(v)}" for v in group.outputs)
    read = ", ".join(plan.names[v] for v in group.inputs)
    return f"{made} from {read or 'nothing'}"


def _why(plan: Plan, number: int, group: Group) -> str:
    """Why NumPy computes a step, why a loop isn't a kernel, or what is stored between two kernels."""
    if isinstance(group, HostGroup):
        return group.reason
    if group.reason:
        return f"steps, not one kernel: {group.reason}"
    if not isinstance(group, KernelGroup):
        return f"one kernel, {plan.kernels[number].form}"
    reasons = [
        f"{plan.names[v]} is stored: {reason}"
        for v, reason in zip(group.outputs, group.reasons)
        if v not in plan.closed.jaxpr.outvars
    ]
    return "; ".join(reasons)
