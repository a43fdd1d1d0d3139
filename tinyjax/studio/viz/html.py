"""`viz.explain`: a function explained in one self-contained page of HTML.

    page = viz.explain(f, 3.0, transforms=[jax.grad, jax.jit])
    page.save("explain.html")      # in a notebook, the page shows itself

The page has five views: the stages (columns.py), the passes of the compiler (passes.py), what its kernels
load and store (player.py), what ran when in a compiled call (times.py), and the steps of an eager one
(timeline.py). Their data is written into the page as JSON. The scripts in page/ draw it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tinyjax as jax
from tinyjax.core.avals import get_aval
from tinyjax.core.tracing import user_line
from tinyjax.studio.viz.columns import name_of, stages_of, transformed
from tinyjax.studio.viz.page_files import Page, filled
from tinyjax.studio.viz.passes import passes_data
from tinyjax.studio.viz.player import STYLES, kernels_or_reason, played_data
from tinyjax.studio.viz.provenance_links import Column, Item, provenance_links
from tinyjax.studio.viz.timeline import recorded, timeline
from tinyjax.studio.viz.times import times_data

_SCRIPTS = (
    "common.js",
    "long_list.js",
    "columns.js",
    "stages.js",
    "passes.js",
    "player.js",
    "times.js",
    "folding.js",
    "graph.js",
    "steps.js",
    "search.js",
)


def explain(
    f: Callable[..., Any], *args: Any, transforms: Sequence[Callable[..., Any]] = ()
) -> Page:
    """Explain a call of `f`, transformed by `transforms` in order, through all stages.

    It is traced three times, called once without compilation, and a few times compiled.

    Args:
      args: the transformed function's arguments: arrays, numbers, or pytrees of them. transforms: functions
      such as jax.grad; functools.partial(jax.vmap, in_axes=(0, None)).
    Raises:
      What tracing, compiling and running the function raise."""
    here = user_line()  # work of the transformations before and after f runs has no line of f
    with jax.config.set("tinyjax_fast", False):
        recording = recorded(transformed(f, transforms), args)
        columns, passes, plan, call = stages_of(f, args, transforms, here)
        kernels = kernels_or_reason(plan, args)
    name, shown = name_of(f, transforms), f"({', '.join(map(_short, args))})"
    counts = f"{'passes':20}{len(passes)}\n{'steps':20}{len(recording.events)} events"
    summary = "\n".join([*(f"{column.title:20}{column.count()}" for column in columns), counts])
    data = {
        "columns": _columns_data(columns),
        "passes": passes_data(passes),
        "kernels": played_data(kernels),
        "times": times_data(call),
        "steps": timeline(recording, here),
    }
    texts = {"name": name, "args": shown}
    return Page(name + shown, summary, filled("page.html", texts, STYLES, _SCRIPTS, data))


def _short(arg: Any) -> str:
    """An argument's value if it is a number, else its types."""

    def leaf(x: Any) -> str:
        return repr(x) if isinstance(x, int | float) else get_aval(x).str_short(short_dtypes=True)

    return str(jax.tree.map(leaf, arg)).replace("'", "")


# ---- as data ----


def _columns_data(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """The columns as JSON. Items are numbered in the order of the page."""
    related = provenance_links(columns)
    number = {item: n for n, item in enumerate(related)}

    def item_data(item: Item) -> dict[str, Any]:
        later = sorted(n for other in related[item] if (n := number[other]) > number[item])
        shown: dict[str, Any] = {"text": item.text}
        if item.share is not None:
            shown["share"] = item.share
        unless_empty = {
            "number": item.number,
            "gone": item.gone,
            "wide": item.is_head or len(item.own) > 1,
            "later": _runs(later),  # links to earlier items are stored with those
        }
        return shown | {name: value for name, value in unless_empty.items() if value}

    return [
        {
            "name": column.name,
            "title": column.title,
            "about": column.about,
            "count": column.count(),
            "units": column.units,
            "language": column.language,
            "empty": column.empty,
            "blocks": [
                {
                    "title": block.title,
                    "note": block.note,
                    "items": [item_data(item) for item in block.items],
                }
                for block in column.blocks
            ],
        }
        for column in columns
    ]


def _runs(numbers: Sequence[int]) -> list[int]:
    """Increasing numbers as the start and length of each run: 3 4 5 9 as 3 3 9 1."""
    runs: list[int] = []
    for n in numbers:
        if runs and n == runs[-2] + runs[-1]:
            runs[-1] += 1
        else:
            runs += [n, 1]
    return runs
