"""Columns of items, and the links between items of different columns.

An item represents some *threads* (a line, an equation of a stage), and is made from these and from their
origins. Two items are linked if one represents a thread that the other is made from. columns.py fills the
columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

# A thread: ("line", file, number), ("traced", n), ("transformed", n), ("simplified", n)
Thread = tuple[Any, ...]


@dataclass(eq=False)
class Item:
    """One line of a column."""

    text: str
    number: str = ""  # in the margin
    own: set[Thread] = field(default_factory=set)  # threads that it represents
    all: set[Thread] = field(default_factory=set)  # the same and their origins
    share: float | None = None  # share of the measured time
    gone: bool = False  # an equation without compiled code
    is_head: bool = False  # a line around others: of a group, or of a jaxpr's parameters or results


@dataclass
class Section:
    """Items under a heading: a function, a group, a kernel."""

    title: str
    items: list[Item]
    note: str = ""


@dataclass
class Column:
    """One stage."""

    name: str
    title: str
    about: str
    unit: str  # the word for one item,
    units: str  # and for several
    language: str  # the key of the colouring
    blocks: list[Section]
    empty: str = ""  # the text if there are none

    def count(self) -> str:
        """The number of items without heads."""
        number = sum(not item.is_head for block in self.blocks for item in block.items)
        return f"{number:,} {self.unit if number == 1 else self.units}"


def provenance_links(columns: Sequence[Column]) -> dict[Item, list[Item]]:
    """For each item, the items that it is made from or that are made from it, in the order of the page."""
    items = [item for column in columns for block in column.blocks for item in block.items]
    stand_for, made_from = defaultdict(set), defaultdict(set)
    for place, item in enumerate(items):
        for thread in item.own:
            stand_for[thread].add(place)
        for thread in item.all:
            made_from[thread].add(place)
    found = {}
    for place, item in enumerate(items):
        below = (made_from[thread] for thread in item.own)
        above = (stand_for[thread] for thread in item.all)
        found[item] = [items[i] for i in sorted(set().union(*below, *above) - {place})]
    return found


def note_what_is_gone(columns: Sequence[Column]) -> None:
    """Mark the equations of the last jaxpr that have no link to compiled code."""
    related = provenance_links(columns)
    compiled = {item for column in columns[-3:] for block in column.blocks for item in block.items}
    for block in columns[-4].blocks:
        for item in block.items:
            item.gone = bool(item.own) and compiled.isdisjoint(related[item])
