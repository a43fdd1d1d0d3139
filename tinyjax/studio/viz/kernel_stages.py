"""The kernels of a plan, run in Python before and after each directive of their schedules.

A stage is the naive loop nest of a kernel, or the nest after a directive, with all its accesses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tinyjax as jax
from tinyjax.compile.kernel.kernel_ir import Allocate, Buffer, Kernel
from tinyjax.compile.kernel.substitution import every_statement
from tinyjax.compile.passes.lower_prng_keys import is_key
from tinyjax.compile.plan import Plan
from tinyjax.compile.schedules.directive import Directive
from tinyjax.core.avals import get_aval
from tinyjax.studio.viz.accesses import LIMIT, Access, Traffic, accesses_of, traffic_of
from tinyjax.studio.viz.values import all_values

TOTAL = 100_000  # accesses of all stages: a page of a few megabytes
COLUMNS = 32  # of an array with only one axis


@dataclass(frozen=True)
class Grid:
    """An array as rows and columns of elements: the last axis is the columns."""

    name: str
    dtype: np.dtype
    shape: Sequence[int]
    columns: int
    is_local: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def rows(self) -> int:
        return math.ceil(self.size / self.columns)


@dataclass(frozen=True)
class Stage:
    """A kernel at one point of its schedule. `title` is the directive that made it."""

    title: str
    why: str
    kernel: Any  # a Kernel, or the Programs of a pallas_call: it has a name, items and a text
    grids: list[Grid]
    accesses: list[Access] = field(repr=False)
    traffic: Traffic
    word: str = "work-item"  # for work-items that run at once


def played_kernels(
    plan: Plan, args: Sequence[Any], schedule: Sequence[Directive] = (), total: int = TOTAL
) -> list[list[Stage]]:
    """The stages of each kernel of a plan, run with the values that the program has.

    Raises TooManyAccesses, also if all stages together have more than `total`."""
    values = all_values(plan.closed, list(map(_in_words, args)))
    kernels: list[list[Stage]] = []
    for number, made in plan.kernels.items():
        group = plan.groups[number]
        arrays = [np.asarray(values[v], v.aval.dtype) for v in (*group.inputs, *group.outputs)]
        directives = schedule or [d for d in made.schedule if isinstance(d, Directive)]
        kernels.append([])
        for title, why, each in _versions(made.naive or made, directives):
            kernels[-1].append(_stage(title, why, each, arrays, min(LIMIT, total)))
            total -= len(kernels[-1][-1].accesses)
    return kernels


def _in_words(x: Any) -> Any:
    """A random key as its words, as in kernels; anything else unchanged."""
    return jax.random.key_data(x) if is_key(get_aval(x)) else x


def _versions(naive: Kernel, directives: Sequence[Directive]) -> Iterator[tuple[str, str, Kernel]]:
    """The naive loop nest, and the nest after each directive, with the directive's reason."""
    yield "naive loop nest", "", naive
    for directive in directives:
        naive = directive.apply(naive)
        yield str(directive), directive.why, naive


def _stage(title: str, why: str, made: Kernel, arrays: Sequence[np.ndarray], limit: int) -> Stage:
    memory = [array.ravel() for array in arrays]  # the stored value is the one already there
    memory += [np.zeros(b.size, b.dtype) for b in made.buffers[len(arrays) :]]
    accesses = accesses_of(made, [array.copy() for array in memory], limit)
    shapes = [array.shape for array in arrays] + [()] * len(made.buffers)
    grids = [_grid(buffer, shape) for buffer, shape in zip(made.buffers, shapes)]
    local = [s.array for s in every_statement(made.body) if isinstance(s, Allocate)]
    grids += [
        Grid(a.name, a.dtype, (a.size,), min(a.size, COLUMNS), True) for a in local if a.is_local
    ]
    touched = {access.array for access in accesses}
    item_bytes = {buffer.name: buffer.dtype.itemsize for buffer in made.buffers}
    traffic = traffic_of(accesses, item_bytes)
    return Stage(title, why, made, [g for g in grids if g.name in touched], accesses, traffic)


def _grid(buffer: Buffer, shape: Sequence[int]) -> Grid:
    if buffer.size != math.prod(shape):
        shape = (buffer.size,)  # a complex number's parts
    columns = shape[-1] if len(shape) > 1 else min(buffer.size, COLUMNS)
    return Grid(buffer.name, buffer.dtype, shape, max(1, columns))
