"""The programs of a pallas_call as a stage of `viz.kernel`: the blocks of each program.

The programs are shown in grid order, as if each loaded its blocks of the inputs and then stored its blocks of
the outputs. The kernel's accesses within its blocks are not known here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tinyjax.core.jaxpr import Jaxpr, JaxprEqn, subjaxprs
from tinyjax.studio.viz.accesses import LIMIT, Access, TooManyAccesses, traffic_of
from tinyjax.studio.viz.kernel_stages import COLUMNS, Grid, Stage


@dataclass(frozen=True)
class Programs:
    """Represents the kernel in such a stage."""

    name: str
    lines: tuple[str, ...]
    items: int

    def __str__(self) -> str:
        return "\n".join(self.lines)


def stages_of_programs(jaxpr: Jaxpr) -> Iterator[list[Stage]]:
    """One stage for each pallas_call of a jaxpr. Raises TooManyAccesses."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "pallas_call":
            yield [_stage(eqn)]
        else:
            for inner in subjaxprs(eqn.params):
                yield from stages_of_programs(inner)


def _stage(eqn: JaxprEqn) -> Stage:
    mapping = eqn.params["grid_mapping"]
    arrays = [(m, False) for m in mapping.inputs] + [(m, True) for m in mapping.outputs]
    name = eqn.params["name"] or "pallas_call"
    head = f"{name}: {math.prod(mapping.grid)} programs, grid {mapping.grid}"
    lines = [f"  {'stores' if is_out else 'loads'} {_block_text(m)}" for m, is_out in arrays]
    accesses: list[Access] = []
    for number, program in enumerate(itertools.product(*map(range, mapping.grid))):
        loops = {f"program_id({axis})": n for axis, n in enumerate(program)}
        for line, (m, is_out) in enumerate(arrays, 1):
            time = 2 * number + is_out
            for elements in _rows_of_block(m, program):
                accesses.append(
                    Access(time, number, 0, line, m.origin, elements, not is_out, is_out, loops)
                )
        if len(accesses) > LIMIT:
            raise TooManyAccesses(
                f"{name} has too many programs and blocks: call jax.viz.kernel with smaller arrays"
            )
    accesses.sort(key=lambda access: access.time)
    item_bytes = {m.origin: m.aval.dtype.itemsize for m, _ in arrays}
    grids = [_grid(m) for m, _ in arrays]
    kernel = Programs(name, (head, *lines), math.prod(mapping.grid))
    traffic = traffic_of(accesses, item_bytes)
    return Stage("programs and their blocks", "", kernel, grids, accesses, traffic, "program")


def _block_text(m: Any) -> str:
    whole = m.sizes == m.aval.shape
    return f"{m.origin}, all of it" if whole else f"a block {m.sizes} of {m.origin}"


def _rows_of_block(m: Any, program: tuple[int, ...]) -> Iterator[range]:
    """The elements of a program's block within the array, each row as a range of positions."""
    shape = m.aval.shape
    starts = [int(start) - low for start, (low, _) in zip(m.starts[program], m.padding)]
    axes = [
        range(max(0, start), min(n, start + size)) for start, size, n in zip(starts, m.sizes, shape)
    ]
    if not axes:
        yield range(1)
        return
    for place in itertools.product(*axes[:-1]):
        first = 0
        for n, i in zip(shape, place):
            first = first * n + i
        if axes[-1]:
            yield range(first * shape[-1] + axes[-1].start, first * shape[-1] + axes[-1].stop)


def _grid(m: Any) -> Grid:
    shape = m.aval.shape
    columns = shape[-1] if len(shape) > 1 else min(m.aval.size, COLUMNS)
    return Grid(m.origin, m.aval.dtype, shape, max(1, columns))
