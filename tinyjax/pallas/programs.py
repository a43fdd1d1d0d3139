"""Which program of the grid a kernel is running as: program_id and num_programs.

While a kernel is traced, program_id is an equation of the kernel itself, also within its loops and branches,
which take it as an operand. While one is interpreted, it is a number.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import (
    Primitive,
    Trace,
    abstract_eval_rules,
    as_array,
    context,
    no_rule_reasons,
    set_current_trace,
)

program_id_p = Primitive("program_id")  # axis
abstract_eval_rules[program_id_p] = lambda *, axis: ShapedArray((), np.dtype("int32"))
no_rule_reasons[program_id_p, "lowering"] = "pallas/kernel_jaxpr.py replaces it by the number"


class Grid:
    """The grid that a kernel sees, without the axes of vmap: its sizes, and if a program is running, its
    numbers; else the trace of the kernel."""

    def __init__(
        self,
        sizes: Sequence[int],
        numbers: Sequence[Any] | None = None,
        trace: Trace | None = None,
    ):
        self.sizes, self.numbers, self.trace = tuple(sizes), numbers, trace

    def size(self, axis: int) -> int:
        if not -len(self.sizes) <= axis < len(self.sizes):
            raise ValueError(f"Axis {axis} is out of bounds for grid {self.sizes}")
        return self.sizes[axis]


class _Current(threading.local):
    grid: Grid | None = None


_current = _Current()


@contextmanager
def running(grid: Grid) -> Iterator[None]:
    """Within the block, kernels run on this grid."""
    before, _current.grid = _current.grid, grid
    try:
        yield
    finally:
        _current.grid = before


def current_grid(name: str) -> Grid:
    # AssertionError is what JAX raises, without a word.
    assert _current.grid is not None, f"pl.{name} is known within a kernel only"
    return _current.grid


def program_id(axis: int) -> Any:
    """The number of this program along an axis of the grid, an int32.

    Raises ValueError for an axis that the grid lacks."""
    grid = current_grid("program_id")
    grid.size(axis)
    axis %= len(grid.sizes)
    if grid.numbers is not None:
        return as_array(grid.numbers[axis])
    with set_current_trace(grid.trace or context.trace):
        return program_id_p.bind(axis=axis)


def num_programs(axis: int) -> int:
    """The size of the grid along an axis."""
    return current_grid("num_programs").size(axis)
