"""A picture of the lessons, each below its prerequisites.

    viz.save(lesson_map({"01_primitives": 1.0, "02_jvp": 0.5}), "map.svg")

A lesson's box is filled in proportion to its finished part.
"""

from __future__ import annotations

from collections.abc import Mapping

import graphviz

from tinyjax.studio.learn.exercises import LESSONS
from tinyjax.studio.viz import style
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.style import shade

_LESSON = {"shape": "box", "style": "filled,rounded", "margin": "0.16,0.08"}


def lesson_map(done: Mapping[str, float] | None = None) -> graphviz.Digraph:
    """The lessons and their prerequisites; `done` is the finished part of each lesson, from 0 to 1."""
    graph = Graph(graph_attr=style.GRAPH, node_attr=style.NODE | _LESSON, edge_attr=style.EDGE)
    for lesson, needed in LESSONS.items():
        number, _, words = lesson.replace("story", "the whole story").partition("_")
        share = (done or {}).get(lesson, 0.0)
        mark = "\u2713 " if share == 1 else ""
        label = f"{mark}{number.removeprefix('0')}  {words.replace('_', ' ')}"
        graph.node(lesson, label, fillcolor=_fill(share))
        for before in needed:
            graph.edge(before, lesson)
    return graph


def _fill(share: float) -> str:
    """The colour of a node that is filled from the left up to `share`."""
    if 0 < share < 1:
        return f"{shade('green')};{share:.2f}:{shade('grey')}"
    return "green" if share else "grey"
