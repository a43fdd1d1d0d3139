"""`viz.show`: an array or a pytree as a picture.

viz.show(params)                 # in a notebook it shows itself; in a terminal it prints as text
viz.show(before, after)          # two side by side, with their difference
viz.show(x).save("x.html")
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from tinyjax.core.array import ArrayImpl
from tinyjax.studio.viz.arrays.html import tree_html
from tinyjax.studio.viz.arrays.picture import Picture
from tinyjax.studio.viz.arrays.text import Printer
from tinyjax.studio.viz.arrays.tree import item_of


class Shown(Picture):
    """Trees as a picture. The elements are read at construction, and drawn when it is shown."""

    def __init__(self, trees: Sequence[Any], names: Sequence[str], axes: Sequence[str], width: int):
        self._item = item_of(trees)
        self._names, self._axes, self._width = names, axes, width

    @cached_property
    def fragment(self) -> str:
        return tree_html(self._item, self._names, self._axes)

    def text(self, colours: bool = False) -> str:
        return Printer(self._names, self._width, colours).tree(self._item)


def show(
    *trees: Any, axes: Sequence[str] = (), names: Sequence[str] = ("a", "b"), width: int = 80
) -> Shown:
    """Show an array or a pytree; given two, both with their difference.

    Small arrays are shown as numbers, larger ones as heat maps: orange is below 0, blue above. An array of
    rank 3 or more is shown as slices, a tracer as its type. Not in JAX.

    Args:
      axes: names of the arrays' axes, from the first.
      names: the titles of two trees. width: of the text, in characters.
    Raises:
      TypeError: the number of trees is neither one nor two."""
    if len(trees) not in (1, 2):
        raise TypeError(f"show takes one tree, or two to compare; got {len(trees)}")
    return Shown(trees, names[: len(trees)], axes, width)


def show_arrays(is_on: bool = True) -> None:
    """In a notebook, show arrays at the end of a cell as pictures from now on; with False, as text again.

    Printed arrays stay text. Not in JAX. Raises RuntimeError outside of a notebook."""
    ipython = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if ipython is None:
        raise RuntimeError("show_arrays is for notebooks: elsewhere, call viz.show(x)")
    formatter = ipython.display_formatter.formatters["text/html"]
    if is_on:
        formatter.for_type(ArrayImpl, lambda x: show(x)._repr_html_())
    else:
        formatter.pop(ArrayImpl, None)
