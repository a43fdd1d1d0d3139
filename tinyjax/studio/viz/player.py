"""`viz.kernel`: the elements that each step of a function's kernels loads and stores, after each directive.

    played = viz.kernel(lambda a, b: a @ b, a, b)
    print(played)                  # a summary of each stage, and a few frames
    played.save("kernel.html")     # in a notebook, the page is displayed

A stage is the naive loop nest of a kernel, or the nest after a directive of its schedule. page/player.js
draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tinyjax as jax
from tinyjax.compile.passes.lower_prng_keys import lower_prng_keys
from tinyjax.compile.passes.pipeline import simplify
from tinyjax.compile.plan import Plan, make_plan
from tinyjax.compile.schedules.directive import Directive
from tinyjax.compile.target import CPU, GPU, Target
from tinyjax.core.api_util import check_callable, fun_name
from tinyjax.core.dtypes import short_name
from tinyjax.core.tree_util.pytrees import tree_leaves
from tinyjax.studio.viz.accesses import TooManyAccesses
from tinyjax.studio.viz.grid_programs import stages_of_programs
from tinyjax.studio.viz.kernel_stages import Stage, played_kernels
from tinyjax.studio.viz.page_files import Page, filled
from tinyjax.studio.viz.player_text import played_text

# Machines small enough for arrays that can be shown element by element: four cores with vectors of four
# elements, or groups of eight work-items.
MACHINES = {
    "cpu": replace(
        CPU, max_items=4, grain=16, reduction_items=4, reduction_grain=16, accumulators=4, width=4
    ),
    "gpu": replace(GPU, local_size=8, grain=1, reduction_items=8, reduction_grain=16, group=8),
}
TOTAL_OF_PAGE = 3000  # on the page of `explain`, which kernels should not slow down
STYLES = ("page.css", "player.css")
NO_KERNEL = "this function has no kernel: all of it runs on the host"


@dataclass(frozen=True, repr=False)
class Played(Page):
    """Kernels and their stages. It prints as numbers and frames, and is displayed as a page in a notebook."""

    kernels: list[list[Stage]]

    def __repr__(self) -> str:
        return self.summary


def kernel(
    f: Callable[..., Any],
    *args: Any,
    machine: str | Target = "cpu",
    schedule: Sequence[Directive] = (),
) -> Played:
    """Run the kernels of `f` in Python, and record every load and store, before and after each directive.

    For a pallas_call, the blocks of its programs come first; the compiled kernel follows, if it has few
    enough accesses.

    Args:
      args: small arrays, numbers, or pytrees of them.
      machine: "cpu" (four cores, vectors of four elements) or "gpu" (groups of eight work-items). The
        compiler makes the schedules for it. A Target is for a machine of another size.
      schedule: directives instead of the compiler's, for a function that is one kernel.
    Raises:
      TypeError: `f` isn't a function, or an entry of the schedule isn't a directive. ValueError: a kernel has
      more than 5,000 accesses; `f` has no kernel; the schedule can't be applied. What tracing and running the
      function raise."""
    target = MACHINES.get(machine) if isinstance(machine, str) else machine
    if target is None:
        raise ValueError(
            f"machine is {', '.join(map(repr, MACHINES))} or a Target, not {machine!r}"
        )
    check_callable(f, "viz.kernel")
    for directive in schedule:
        if not isinstance(directive, Directive):
            raise TypeError(
                f"a schedule is a list of directives, such as Vectorize('i0', 4), and {directive!r} is none: "
                "print(viz.kernel(f, *args)) shows those that the compiler chose"
            )
    traced = jax.make_jaxpr(f)(*args)
    plan = make_plan(simplify(lower_prng_keys(traced)), target)
    if schedule and len(plan.kernels) != 1:
        raise ValueError(f"a schedule is for one kernel, and this function has {len(plan.kernels)}")
    kernels = list(stages_of_programs(traced.jaxpr))
    try:
        kernels += played_kernels(plan, tree_leaves(args), schedule)
    except TooManyAccesses:
        if not kernels:
            raise
    if not kernels:
        raise ValueError(NO_KERNEL)
    title, data = fun_name(f), {"kernels": played_data(kernels)}
    page = filled("player.html", {"name": title}, STYLES, ("common.js", "player.js"), data)
    return Played(title, played_text(kernels), page, kernels)


# ---- as data of a page ----


def played_data(kernels: Sequence[Sequence[Stage]] | str) -> list[dict[str, Any]] | str:
    """The kernels as JSON, or the reason why there are none."""
    if isinstance(kernels, str):
        return kernels
    return [
        {"name": stages[0].kernel.name, "stages": [_stage_data(stage) for stage in stages]}
        for stages in kernels
    ]


def kernels_or_reason(plan: Plan, args: Sequence[Any]) -> list[list[Stage]] | str:
    """The kernels of a small compiled program, or the reason why there are none."""
    try:
        kernels = played_kernels(plan, tree_leaves(args), total=TOTAL_OF_PAGE)
    except TooManyAccesses as error:
        return f"There is nothing to play: {error}."
    return kernels or f"There is nothing to play: {NO_KERNEL}."


def _stage_data(stage: Stage) -> dict[str, Any]:
    numbers = {grid.name: number for number, grid in enumerate(stage.grids)}
    loops = {str(a.line): list(a.loops) for a in stage.accesses}
    traffic = stage.traffic
    return {
        "title": stage.title,
        "why": stage.why,
        "lines": str(stage.kernel).splitlines(),
        "items": stage.kernel.items,
        "word": stage.word,
        "grids": [
            {
                "name": grid.name,
                "type": f"{short_name(grid.dtype)}[{','.join(map(str, grid.shape))}]",
                "size": grid.size,
                "columns": grid.columns,
                "bytes": 0 if grid.is_local else grid.dtype.itemsize,
            }
            for grid in stage.grids
        ],
        "loops": loops,
        # time, item, line, array, first element, count, stride, 1 load + 2 store, the loops' variables
        "accesses": [
            [a.time, a.item, a.line, numbers[a.array], a.elements.start, len(a.elements)]
            + [a.elements.step, a.is_load + 2 * a.is_store, *a.loops.values()]
            for a in stage.accesses
        ],
        "steps": traffic.steps,
        "traffic": [
            traffic.accesses,
            traffic.steps,
            traffic.loads,
            traffic.stores,
            traffic.redundant,
            traffic.moved,
            traffic.fetched,
            traffic.local,
            traffic.reuse,
        ],
        "distances": sorted(traffic.distances.items()),
    }
