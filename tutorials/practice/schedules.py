"""A naive kernel, made faster by a list of directives, each of which gains what `cycles` counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.compile.kernel.indices import index_value
from tinyjax.compile.kernel.kernel_ir import For, Kernel, Statement
from tinyjax.compile.schedules.directive import Directive, axis_of
from tinyjax.compile.schedules.parallelize import Parallelize
from tinyjax.compile.schedules.split import Split  # noqa: F401 (for answers)
from tinyjax.compile.schedules.vectorize import Vectorize

CORES = 4


def scaled_rows(x: Any, scale: Any) -> Any:
    """Each row of x times a number of its own, and x: the program that the schedule is for."""
    return x * scale[:, None] + x


def cycles(kernel: Kernel) -> int:
    """What a kernel takes on a processor of four cores. A statement takes one cycle, be it of a number or of
    a vector, and each iteration of a loop one more. A core runs every fourth work-item."""
    items = [_cycles(kernel.body, {"item": item}) for item in range(kernel.items)]
    return max(sum(items[core::CORES]) for core in range(CORES))


def _cycles(body: Sequence[Statement], scope: dict[str, int]) -> int:
    count = 0
    for s in body:
        if not isinstance(s, For):
            count += 1
            continue
        start, stop = (index_value(at, scope) for at in (s.start, s.stop))
        for i in range(start, stop, s.step):
            count += 1 + _cycles(s.body, {**scope, axis_of(s): i})
    return count


def own_schedule() -> list[Directive]:
    """Directives that make the naive kernel of `scaled_rows` faster, for any x of 8 rows or more, each of 16
    elements or more. For 60 rows of 100 elements it is to take at most a fortieth of its `cycles`."""
    return [
        Vectorize("i2", 16, why="neighbours are contiguous in memory"),
        Parallelize("i1", CORES, why="a work-item for each core"),
    ]
