"""`viz.memory`: the arrays of a compiled call over time, and those at the peak.

viz.memory(jax.grad(loss), params, x)
viz.memory(jax.grad(loss), params, x, compare=jax.grad(jax.checkpoint(loss)))
"""

from __future__ import annotations

import html
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tinyjax as jax
from tinyjax.compile.lowered import LoweredProgram
from tinyjax.compile.memory_plan import usable_donations, with_memory
from tinyjax.core.api_util import check_callable, fun_name
from tinyjax.studio.viz.arrays.picture import Picture
from tinyjax.studio.viz.arrays.tree import bytes_text
from tinyjax.studio.viz.memory_use.backward import backward_lines
from tinyjax.studio.viz.memory_use.chart import chart_svg
from tinyjax.studio.viz.memory_use.lifetimes import Bar, Chart, Lifetimes
from tinyjax.studio.viz.memory_use.measure import measured_bytes

KINDS = {
    "argument": "argument",
    "constant": "constant",
    "residual": "residual: kept for the backward pass",
    "temporary": "temporary",
    "result": "result",
    "body": "within an iteration",
}
_MOST_LISTED = 12  # listed arrays at the peak


class MemoryChart(Picture):
    """Charts of one function or of two; `peaks` has the peak in bytes for each way to place the arrays."""

    title = "memory"

    def __init__(self, charts: Sequence[Chart], peaks: dict[str, int]):
        self.charts, self.peaks = charts, peaks

    @property
    def fragment(self) -> str:
        most = max(chart.peak for chart in self.charts)
        charts = "".join(_chart_html(chart, most) for chart in self.charts)
        return f'<div class="tinyjax-show tinyjax-memory">{charts}{self._peaks_html()}</div>'

    def _peaks_html(self) -> str:
        largest = max(self.peaks.values()) or 1
        rows = [
            f"<tr><th scope=row>{html.escape(name)}</th><td>{bytes_text(nbytes)}</td>"
            f"<td>{_patch('temporary', round(160 * nbytes / largest), 8)}</td></tr>"
            for name, nbytes in self.peaks.items()
        ]
        return f"<h4>Peaks</h4><div class=scroll><table class=list>{''.join(rows)}</table></div>"

    def text(self, colours: bool = False) -> str:
        lines = [line for chart in self.charts for line in _chart_lines(chart)]
        width = max(map(len, self.peaks))
        lines += [
            "peaks",
            *(f"  {name:{width}}  {bytes_text(n)}" for name, n in self.peaks.items()),
        ]
        return "\n".join(lines)


def _patch(kind: str, width: int, height: int) -> str:
    size = f'width="{width}" height="{height}"'
    return f'<svg {size} viewBox="0 0 {width} {height}"><rect class="bar {kind}" {size}/></svg>'


def _chart_html(chart: Chart, most: int) -> str:
    kinds = [kind for kind in KINDS if any(bar.kind == kind for bar in chart.bars)]
    legend = "".join(f"<span>{_patch(kind, 12, 12)} {KINDS[kind]}</span>" for kind in kinds)
    rows = [
        f"<tr><th scope=row><code>{html.escape(bar.name)}</code></th><td class=type>{bar.type}</td>"
        f"<td>{bytes_text(bar.nbytes)}</td><td class=why>{html.escape(bar.why)}</td></tr>"
        for bar in _largest(chart)
    ]
    more = len(chart.at(chart.peak_step)) - len(rows)
    note = f"<p class=note>and {more:,} more</p>" if more > 0 else ""
    label = html.escape(_where(chart))
    return (
        f"<h3>{html.escape(chart.title)}</h3><div class=legend>{legend}</div>"
        f"<div class=scroll>{chart_svg(chart, most)}</div><p class=note>{_measured_text(chart)}</p>"
        f"<h4>At the peak, {label}: {bytes_text(chart.peak)}</h4>"
        f"<div class=scroll><table class=list>{''.join(rows)}</table></div>{note}"
    )


def _where(chart: Chart) -> str:
    step = chart.peak_step
    label = chart.labels[step]
    return label if step == len(chart.labels) - 1 else f"step {step} ({label})"


def _largest(chart: Chart) -> list[Bar]:
    return sorted(chart.at(chart.peak_step), key=lambda bar: -bar.nbytes)[:_MOST_LISTED]


def _measured_text(chart: Chart) -> str:
    known = [(p, m) for p, m in zip(chart.live, chart.measured) if m is not None]
    if not known:
        return "The plan's bytes: no run was measured."
    if all(planned == found for planned, found in known):
        return "A run was measured: it had as many bytes at each step."
    most = max(found for _, found in known)
    return f"A run was measured (dashed): {bytes_text(most)} at most, without iterations of loops."


def _chart_lines(chart: Chart) -> Iterator[str]:
    yield chart.title
    width = len(str(len(chart.labels) - 1))
    for step, (label, nbytes) in enumerate(zip(chart.labels, chart.live)):
        bar = "█" * round(24 * nbytes / max(chart.peak, 1))
        mark = "  <- peak" if step == chart.peak_step else ""
        number = f"{step:{width}}" if step < len(chart.labels) - 1 else " " * width
        yield f"  {number} {bar:24} {bytes_text(nbytes):>10}  {label[:60]}{mark}"
    yield f"at the peak, {_where(chart)}"
    for b in _largest(chart):
        yield f"  {b.name}:{b.type}  {bytes_text(b.nbytes)}  {b.why}"
    yield _measured_text(chart)


# ---- from functions ----


def memory(
    f: Callable[..., Any],
    *args: Any,
    donate_argnums: int | Sequence[int] = (),
    compare: Callable[..., Any] | None = None,
) -> MemoryChart:
    """The memory of a compiled call of `f`, step by step: each array is a bar from the step that makes it to
    its last reader. The arrays at the peak are listed, with the lines of residuals. Not in JAX.

    It shows the compiler's plan and a run's measured bytes, for which `args` are copied. With
    ShapeDtypeStructs it shows only the plan.

    Args:
      donate_argnums: as of jax.jit.
      compare: another function of the same arguments, such as one with jax.checkpoint.
    Raises:
      TypeError: `f` or `compare` isn't a function. What tracing, compiling and running raise."""
    functions = [f] if compare is None else [f, compare]
    charts: list[Chart] = []
    peaks: dict[str, int] = {}
    for function in functions:
        check_callable(function, "viz.memory")
        chart, lowered = _chart_of(function, args, donate_argnums)
        charts.append(chart)
        prefix = f"{chart.title}: " if compare is not None else ""
        peaks |= {prefix + name: nbytes for name, nbytes in _peaks(lowered).items()}
    return MemoryChart(charts, peaks)


def _chart_of(
    f: Callable[..., Any], args: Sequence[Any], donate_argnums: int | Sequence[int]
) -> tuple[Chart, LoweredProgram]:
    with jax.config.set("tinyjax_fast", False):
        with backward_lines():
            traced = jax.jit(lambda *xs: f(*xs), donate_argnums=donate_argnums).trace(*args)
        stage = traced.lower()
        lowered = stage.lowered
        paths = jax.tree_util.tree_flatten_with_path(tuple(args))[0]
        names = [
            f"{_argument(f, path[0].idx)}{jax.tree_util.keystr(path[1:])}" for path, _ in paths
        ]
        lifetimes = Lifetimes(lowered.plan, names)
        chart = lifetimes.planned(fun_name(f))
        if not any(isinstance(x, jax.ShapeDtypeStruct) for x in jax.tree.leaves(args)):
            copies = jax.tree.map(lambda x: jax.numpy.array(x, copy=True), args)  # some are donated
            compiled = stage.compile()
            chart.measured = measured_bytes(lambda: compiled(*copies), len(lowered.plan.groups))
    return chart, lowered


def _argument(f: Callable[..., Any], number: int) -> str:
    """An argument's name in Python."""
    try:
        parameters = [*inspect.signature(f).parameters.values()]
    except (TypeError, ValueError):
        return f"args[{number}]"
    if (
        number < len(parameters)
        and parameters[number].kind is parameters[number].POSITIONAL_OR_KEYWORD
    ):
        return parameters[number].name
    return f"args[{number}]"


def _peaks(lowered: LoweredProgram) -> dict[str, int]:
    """The peaks as planned, without reuse, and with all arguments donated."""
    lifetimes = Lifetimes(lowered.plan, ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        usable = usable_donations(lowered.closed, [True] * len(lowered.closed.in_avals))
    donated = with_memory(lowered.planned, usable).memory
    return {
        "as it runs": lowered.plan.memory.peak_bytes,
        "each array alone, until its last reader": lifetimes.separate("").peak,
        "with all arguments donated": donated.peak_bytes,
    }
