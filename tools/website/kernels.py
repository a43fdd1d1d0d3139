"""Kernels at work, as pages of the site: what `viz.kernel` makes of a few programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.compile.schedules.directive import Directive
from tinyjax.compile.schedules.reorder import tile
from tinyjax.compile.schedules.unroll_and_jam import UnrollAndJam
from tinyjax.compile.schedules.vectorize import Vectorize
from tinyjax.studio import viz
from website.pages import Pages


class Example(NamedTuple):
    """A program, its arguments, and what to see in it."""

    name: str
    says: str
    f: Any
    args: tuple[Any, ...]
    schedule: list[Directive] = []
    machine: str = "cpu"


def matmul(a: Any, b: Any) -> Any:
    return a @ b


def stencil(x: Any) -> Any:
    return x[:-2] + x[1:-1] + x[2:]


def transpose(x: Any) -> Any:
    return x.T


def total(x: Any) -> Any:
    return x.sum()


def examples() -> list[Example]:
    product, square = (jnp.ones((8, 12)), jnp.ones((12, 16))), (jnp.ones((32, 32)),)
    tiles = tile(("i1", "i2"), 4, 4, "sixteen results at a time")
    registers = [
        *tiles,
        Vectorize("i2_inner", 4, why="four columns are the lanes of a vector"),
        UnrollAndJam("i1_inner", 4, why="a vector of b is loaded once for four rows"),
    ]
    return [
        Example("matmul", "As the compiler schedules it: four cores, four lanes.", matmul, product),
        Example("matmul in tiles", IN_TILES, matmul, product, registers),
        Example("softmax", IN_ROWS, jax.nn.softmax, (jnp.ones((8, 16)),)),
        Example("stencil", "Neighbours load the same elements.", stencil, (jnp.ones(66),)),
        Example("transpose", IN_COLUMNS, transpose, square),
        Example(
            "transpose in tiles", "A tile uses up its lines in time.", transpose, square, tiles
        ),
        Example("sum on a GPU", IN_GROUPS, total, (jnp.ones(256),), machine="gpu"),
    ]


IN_TILES = (
    "The same product in tiles of 4 by 4. *fetched* falls when the loops are reordered, *loads* when "
    "the sums of a tile stay in registers."
)
IN_ROWS = "Three loops over each row; the third one reads what the second has kept."
IN_COLUMNS = (
    "Columns are read. Each element brings a line of neighbours, gone when their turn comes."
)
IN_GROUPS = "Work-items of a group add in local memory, half as many each time."


def write_kernels(pages: Pages) -> None:
    """The page that lists them."""
    lines = [f"| [{each.name}]({_file(each)}) | {each.says} |" for each in examples()]
    text = "\n".join(["| kernel | what to see |", "|---|---|", *lines])
    pages.write("kernels/index", "Kernels at work", f"# Kernels at work\n\n{INTRO}\n\n{text}\n")


INTRO = """\
Each step of a kernel loads or stores something. Play it, or go through it by the arrow keys: which elements,
in which order, by which work-item; how many bytes move, and how many of them twice. The table has a line for
the naive loop nest and for each directive of the schedule: choose one, and see what it changed.

To play your own kernel, write `viz.kernel(f, *args)`; in the [playground](../playground.html), the view
*Kernels* shows them."""


def write_players(site: Path, chosen: Sequence[Example]) -> None:
    """The pages themselves, which have a policy of their own."""
    for each in chosen:
        played = viz.kernel(each.f, *each.args, schedule=each.schedule, machine=each.machine)
        played.save(site / "kernels" / _file(each))


def _file(example: Example) -> str:
    return f"{example.name.replace(' ', '_')}.html"
