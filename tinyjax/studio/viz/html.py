"""A function explained in one page: HTML that needs no network and no server, to be opened, kept and sent.

    page = viz.explain(f, 3.0, transforms=[jax.grad, jax.jit])
    page.save("explain.html")      # in a notebook, the page shows itself

The page has four views: the stages (columns.py), the passes of the compiler (passes.py), what ran when in a
compiled call (times.py), and the steps of an eager one (timeline.py). What a page says is data, written into
it as JSON; the scripts in page/ draw it, and put texts in as texts: nothing of a program is ever read as
HTML. Builds on columns.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import tinyjax as jax
from tinyjax.core.avals import get_aval
from tinyjax.core.tracing import user_line
from tinyjax.studio.viz.columns import columns_of, name_of, transformed
from tinyjax.studio.viz.passes import passes_data
from tinyjax.studio.viz.provenance_links import Column, provenance_links
from tinyjax.studio.viz.timeline import recorded, timeline
from tinyjax.studio.viz.times import times_data

_SCRIPTS = (
    "common.js",
    "columns.js",
    "stages.js",
    "passes.js",
    "times.js",
    "folding.js",
    "graph.js",
    "steps.js",
    "search.js",
)


@dataclass(frozen=True)
class Page:
    """A page of HTML, which shows itself in a notebook; `summary` says in a few lines what is on it."""

    title: str
    summary: str
    html: str = field(repr=False)

    def save(self, path: str | Path) -> Path:
        """Writes the page; gives the path."""
        Path(path).write_text(self.html, encoding="utf-8")
        return Path(path)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that neither it nor the notebook disturbs the other."""
        page = html.escape(self.html)
        return f'<iframe srcdoc="{page}" style="width:100%; height:760px; border:0"></iframe>'


def explain(
    f: Callable[..., Any],
    *args: Any,
    transforms: Sequence[Callable[..., Any]] = (),
) -> Page:
    """Explains what becomes of `f`, transformed by `transforms`, the first one first, when it is called.

    For that it is traced three times, called once as it is, and a few times compiled.

    Args:
      args: what the transformed function is called with: arrays, numbers, or pytrees of them.
      transforms: functions such as jax.grad; functools.partial(jax.vmap, in_axes=(0, None)).
    Raises:
      What tracing, compiling and running the function raise.
    """
    here = user_line()  # what transformations do before and after f runs is from no line of f
    with jax.config.set("tinyjax_fast", False):
        recording = recorded(transformed(f, transforms), args)
        columns = columns_of(f, args, transforms, here)
        lowered = jax.jit(transformed(f, transforms)).lower(*args)
        compiled = lowered.compile()
        times = times_data(lambda: compiled(*args))
    name, shown = name_of(f, transforms), f"({', '.join(map(_short, args))})"
    counts = f"{'passes':20}{len(lowered.passes)}\n{'steps':20}{len(recording.events)} events"
    summary = f"{_summary(columns)}\n{counts}"
    data = {
        "columns": _columns_data(columns),
        "passes": passes_data(lowered.passes),
        "times": times,
        "steps": timeline(recording, here),
    }
    return Page(name + shown, summary, _filled(name, shown, data))


# ---- in words ----


def _short(arg: Any) -> str:
    """An argument as its value if it is a number, else as its types."""

    def leaf(x: Any) -> str:
        return repr(x) if isinstance(x, int | float) else get_aval(x).str_short(short_dtypes=True)

    return str(jax.tree.map(leaf, arg)).replace("'", "")


def _summary(columns: Sequence[Column]) -> str:
    """How much there is at each stage, a line a stage."""
    related = provenance_links(columns)
    return "\n".join(f"{column.title:20}{column.count(related)}" for column in columns)


# ---- as data ----


def _columns_data(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The columns as JSON has them; items go by numbers."""
    related = provenance_links(columns)
    number = {item: n for n, item in enumerate(related)}
    return [
        {
            "name": column.name,
            "title": column.title,
            "about": column.about,
            "count": column.count(related),
            "units": column.units,
            "language": column.language,
            "empty": column.empty,
            "blocks": [
                {
                    "title": block.title,
                    "note": block.note,
                    "items": [
                        {
                            "id": number[item],
                            "text": item.text,
                            "number": item.number,
                            "share": item.share,
                            "gone": item.gone,
                            "wide": item.is_head or len(item.own) > 1,
                            "kin": [number[other] for other in related[item]],
                        }
                        for item in block.items
                    ],
                }
                for block in column.blocks
            ],
        }
        for column in columns
    ]


def _filled(name: str, args: str, data: dict[str, Any]) -> str:
    """The page's template with everything in its place."""
    parts = {
        "name": html.escape(name),
        "args": html.escape(args),
        "css": _file("page.css"),
        "js": "\n".join(map(_file, _SCRIPTS)),
        # No text can end the script element: "</script>" and "<!--" have no "<" in JSON that is written so.
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    }
    before, *rest = _file("page.html").split("{{")
    filled = [before]
    for piece in rest:
        name, after = piece.split("}}", 1)
        filled += [parts[name], after]
    return "".join(filled)


def _file(name: str) -> str:
    return (resources.files("tinyjax.studio.viz") / "page" / name).read_text(encoding="utf-8")
