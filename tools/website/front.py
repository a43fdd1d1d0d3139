"""The front page: a program that runs at once, `tinyjax explain` at work, and how fast programs are."""

from __future__ import annotations

import html
import re

from website.lessons import cell_html
from website.pages import ROOT, Pages, raw, text_of

ANIMATION = "a call of grad, event by event: the program, the values, the trace stack, the rule and the graph"
RESULTS = "benchmarks/results/speed.md"
SHOWN = {  # workloads of its first table, and what the chart calls them
    "gradients of the MLP by example (jit)": "a gradient for each example",
    "layer norm of 2000 x 2000 (jit)": "layer norm",
    "gradient of sum(logistic(x)) of 1M (jit)": "grad of sum(logistic(x))",
    "training step of a CNN (jit)": "training step of a CNN",
    "softmax of 2000 x 2000 (jit)": "softmax",
    "matmul of 2000 x 2000 (jit)": "matrix product",
    "training step of an MLP (jit)": "training step of an MLP",
    "convolution, 32 images of 14 x 14 x 32 by 3 x 3 x 32 x 64 (jit)": "convolution",
}


def write_front(pages: Pages) -> None:
    """index.md, with README's example as a cell."""
    text = (ROOT / "tools" / "website" / "index.md").read_text(encoding="utf-8")
    pages.write("index", "JAX that you can read", filled(text, pages))


def filled(text: str, pages: Pages) -> str:
    readme = text_of("README.md")
    code, printed = (
        re.findall(rf"^```{language}\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)[0]
        for language in ("python", "text")
    )
    output = f"<pre>{html.escape(printed.rstrip())}</pre>"
    cell = cell_html(code.rstrip(), 'data-name="index" data-line="1"', output)
    moving, still = (
        pages.picture(f"docs/explain_steps.{kind}", "index") for kind in ("gif", "png")
    )
    picture = (
        f'<picture><source srcset="{still}" media="(prefers-reduced-motion: reduce)">'
        f'<img loading="lazy" width="1020" height="570" src="{moving}" alt="{ANIMATION}"></picture>'
    )
    text = text.replace("@cell@", raw(cell)).replace("@steps@", raw(picture))
    return text.replace("@speed@", raw(speed_html(text_of(RESULTS))))


def speed_html(results: str) -> str:
    """How many times as fast as JAX some workloads are, as bars, and the mean of all."""
    mean = re.search(r"^Geometric mean of those jitted: ([\d.]+) times", results, re.MULTILINE)
    assert mean is not None, f"{RESULTS} has no geometric mean"
    rows = {row[0]: row for row in _first_table(results)}
    found = {workload: float(rows[workload][4]) for workload in SHOWN}
    ordered = sorted(found, key=lambda workload: -found[workload])
    lines = "".join(
        f'<tr><th scope="row">{SHOWN[workload]}</th><td>{found[workload]:.2f}</td>'
        f"<td>{_bar(found[workload], found[ordered[0]])}</td></tr>"
        for workload in ordered
    )
    return (
        '<table class="bars"><caption>How many times as fast as JAX, jitted, on a CPU</caption>'
        f"<tbody>{lines}</tbody></table>"
        f"<p>On average, programs that are jitted run {mean[1]} times as fast as on JAX. "
        '<a href="benchmarks.html">All workloads</a>, NumPy beside them, and what was missed.</p>'
    )


def _first_table(results: str) -> list[list[str]]:
    """The cells of its rows."""
    table = re.search(r"(?:^\|.*\n)+", results, re.MULTILINE)
    assert table is not None, f"{RESULTS} has no table"
    return [line.strip("| ").split(" | ") for line in table[0].splitlines()]


def _bar(ratio: float, largest: float) -> str:
    kind = "ahead" if ratio >= 1 else "behind"
    width = f"{100 * ratio / largest:.1f}%"
    return (
        '<svg aria-hidden="true" width="100%" height="12">'
        f'<rect class="{kind}" width="{width}" height="12"/></svg>'
    )
