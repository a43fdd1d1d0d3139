"""Draw an array's parts and their devices: as boxes in the terminal, or as a graph.

`jax.debug.visualize_array_sharding(x)` prints a rectangle for each part, with the devices that have it, and
`viz.sharding(x)` draws the same, of one array or of several side by side. Rows are axis 0, columns axis 1.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.debug.visualize_array_sharding.html
"""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.array import ArrayImpl
from tinyjax.core.avals import get_aval
from tinyjax.core.tree_util.key_paths import keystr, tree_leaves_with_path
from tinyjax.core.tree_util.pytrees import tree_leaves
from tinyjax.many_devices.sharding.sharding import Sharding
from tinyjax.many_devices.sharding.shards import sharding_of_type
from tinyjax.studio.viz import style
from tinyjax.studio.viz.output import Graph
from tinyjax.studio.viz.style import shade

Grid = list[list[str]]  # the devices of each part
COLOURS = ("blue", "orange", "green", "pink", "yellow")  # of the theme
SIDE = 150  # the longer side of a drawn array, in points
CHARACTER = 2.5  # a character's height by its width, line spacing included


# ---- which devices have which part ----


def parts(shape: Sequence[int], sharding: Sharding) -> Grid:
    """The names of the devices that have each part, row by row.

    Raises ValueError for arrays that have not one or two axes."""
    if len(shape) not in (1, 2):
        raise ValueError(
            "`visualize_sharding` only works for shapes with 1 and 2 dimensions: take a slice, or reshape"
        )
    owners: dict[tuple[int, ...], list[Any]] = {}
    for device, index in sharding.devices_indices_map(shape).items():
        starts = tuple(part.start or 0 for part in index)
        owners.setdefault((0, *starts)[-2:], []).append(device)
    rows = sorted({row for row, _ in owners})
    columns = sorted({column for _, column in owners})
    return [[_names(owners[row, column]) for column in columns] for row in rows]


def _names(devices: Sequence[Any]) -> str:
    ids = ",".join(str(device.id) for device in sorted(devices, key=lambda d: d.id))
    return f"{devices[0].platform.upper()} {ids}"


def _colours(grid: Grid) -> dict[str, str]:
    """A colour for each part, different from that of the previous one."""
    names = dict.fromkeys(name for row in grid for name in row)
    return {name: shade(COLOURS[i % len(COLOURS)]) for i, name in enumerate(names)}


# ---- in the terminal ----


def text(
    shape: Sequence[int],
    sharding: Sharding,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    fill: Callable[[str, str], str] = lambda line, name: line,
) -> str:
    """The picture as lines of text; `fill(line, name)` can colour a line of a part."""
    grid = parts(shape, sharding)
    height = int(10 * scale)
    width = CHARACTER * int(height * (shape[1] if len(shape) == 2 else 1) / max(shape[0], 1))
    rows = max(int(height / len(grid)) - 1, 1) if len(shape) == 2 else 1
    longest = max(len(name) for row in grid for name in row)
    room = (max_width - 1) // len(grid[0]) - 1
    columns, wanted = len(grid[0]), max(int(width / len(grid[0])), min_width) - 2
    inside = max(min(wanted, room), longest)

    def rule(left: str, middle: str, right: str) -> str:
        return left + middle.join(["─" * inside] * columns) + right

    lines = [rule("┌", "┬", "┐")]
    for number, row in enumerate(grid):
        if number:
            lines.append(rule("├", "┼", "┤"))
        for at in range(rows):
            cells = [_centred(name if at == (rows - 1) // 2 else "", inside) for name in row]
            lines.append("│" + "│".join(map(fill, cells, row)) + "│")
    return "\n".join([*lines, rule("└", "┴", "┘")])


def _centred(name: str, width: int) -> str:
    left = (width - len(name)) // 2
    return " " * left + name + " " * (width - len(name) - left)


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Any = None,
) -> None:
    """Print the devices of each part of an array of this shape; in colour in a terminal.

    Raises ValueError for arrays that have not one or two axes."""
    colours = _colours(parts(shape, sharding))

    def coloured(line: str, name: str) -> str:
        red, green, blue = (int(colours[name][i : i + 2], 16) for i in (1, 3, 5))
        return f"\033[30;48;2;{red};{green};{blue}m{line}\033[0m"

    fill = coloured if use_color and sys.stdout.isatty() else lambda line, name: line
    print(text(shape, sharding, scale, min_width, max_width, fill))


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print the devices of each part of an array; options as of visualize_sharding."""
    inspect_array_sharding(arr, callback=lambda s: visualize_sharding(arr.shape, s, **kwargs))


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Call `callback` with the sharding of each array of a pytree; while tracing, with that of the values'
    types."""
    for leaf in tree_leaves(value):
        callback(leaf.sharding if isinstance(leaf, ArrayImpl) else sharding_of_type(get_aval(leaf)))


# ---- as a graph ----


def sharding(arrays: Any) -> Graph:
    """A picture of the devices of each part of an array with one or two axes; the arrays of a pytree are side
    by side, each below its path. A part that all devices have is grey.

    Raises ValueError for arrays that have not one or two axes."""
    graph = Graph(graph_attr=style.GRAPH, node_attr=style.NODE | style.BAR.attributes)
    for number, (path, array) in enumerate(tree_leaves_with_path(arrays)):
        name = keystr(path, simple=True, separator=" ")
        graph.node(str(number), f"<{_table(f'{name} {array.aval.str_short()}'.strip(), array)}>")
    return graph


def _table(title: str, array: Any) -> str:
    """The parts as a Graphviz table in the array's proportions."""
    grid = parts(array.shape, array.sharding)
    colours = _colours(grid)
    high, wide = (array.shape if array.ndim == 2 else (1, array.shape[0])) or (1, 1)
    points = SIDE / max(high, wide, 1)
    height, width = max(points * high / len(grid), 20), max(points * wide / len(grid[0]), 20)
    is_whole = array.sharding.is_fully_replicated
    rows = [
        "".join(
            f'<td width="{width:.0f}" height="{height:.0f}" '
            f'bgcolor="{shade("dark_grey") if is_whole else colours[name]}">{html.escape(name)}</td>'
            for name in row
        )
        for row in grid
    ]
    boxes = "".join(f"<tr>{row}</tr>" for row in rows)
    line, text = shade("line"), shade("text")
    border = f'border="0" cellborder="1" cellspacing="0" cellpadding="3" color="{line}"'
    return (
        f'<table border="0" cellspacing="4">'
        f'<tr><td><font color="{text}">{html.escape(title)}</font></td></tr>'
        f"<tr><td><table {border}>{boxes}</table></td></tr></table>"
    )
