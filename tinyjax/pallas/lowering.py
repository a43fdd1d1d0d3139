"""A pallas_call as a program without Refs: what a jit compiles.

A nest of loops, where the kernel allows it. The first axes of the grid, along which programs write separate
blocks of the outputs, become axes of the arrays by vmap: they run in parallel. Along the other axes, programs
write to the same block repeatedly: a scan carries these blocks.

    grid (i, j, k), output block (i, j)   ->   scan over k of vmap over i and j

All other kernels are one scan over the grid that carries the outputs (loops.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core.jaxpr import ClosedJaxpr, cached_on_jaxpr, jaxpr_as_fun
from tinyjax.core.lists import drop, merge_lists, pick, split_list
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.lax.control_flow.scan import scan
from tinyjax.pallas.blocks import (
    block_at,
    empty,
    followed_axes,
    in_blocks,
    joined,
    padded,
    slices_of_blocks,
)
from tinyjax.pallas.grid_mapping import BlockMapping, GridMapping
from tinyjax.pallas.kernel_jaxpr import with_numbers
from tinyjax.pallas.loops import loop_over_grid
from tinyjax.pallas.races import (
    blocks_by_place,
    check_blocks,
    check_races,
    one_block_each,
    parallel_axes,
)
from tinyjax.refs.discharge import discharge_refs
from tinyjax.transform.batching import vmap

Aliases = tuple[tuple[int, int], ...]
# an array, and {axis of the grid: the array's axis that is mapped}
Mapped = tuple[Any, dict[int, int]]


@cached_on_jaxpr
def lowered(
    jaxpr: ClosedJaxpr, mapping: GridMapping, aliases: Aliases, interpret: bool
) -> ClosedJaxpr:
    """The program of the call's operands that gives its outputs. With `interpret`, programs run in order.

    Raises ValueError for blocks that are not there, and for programs that write to the same elements."""
    numbers = len(mapping.seen)
    is_ref = (False,) * numbers + (True,) * len(mapping.ref_avals)
    kernel = discharge_refs(with_numbers(jaxpr, numbers), is_ref)
    if not interpret:
        check_blocks(mapping)
        check_races(mapping)

    def call(*args: Any) -> list[Any]:
        axes = parallel_axes(kernel, mapping, aliases) if mapping.num_programs else None
        if interpret or axes is None:
            return loop_over_grid(kernel, mapping, aliases, args)
        return _Nest(kernel, mapping, aliases, axes).run(args)

    return trace_to_jaxpr(call, [m.aval for m in mapping.inputs])


class _Nest:
    """The grid as a loop over `inner` programs, each mapped along the first `axes`."""

    def __init__(self, kernel: ClosedJaxpr, mapping: GridMapping, aliases: Aliases, axes: int):
        self.kernel, self.mapping, self.axes = kernel, mapping, axes
        self.outer_grid, self.inner_grid = mapping.grid[:axes], mapping.grid[axes:]
        self.inner = math.prod(self.inner_grid)
        self.is_carry = tuple(one_block_each(m, self.inner) for m in mapping.outputs)
        self.input_of = {o: i for i, o in aliases}

    def run(self, args: Sequence[Any]) -> list[Any]:
        """The outputs: blocks that each inner program overwrites are stacked, others are the last ones."""
        whole = [padded(x, m) for x, m in zip(args, self.mapping.inputs)]
        followed = [followed_axes(m, range(self.axes)) for m in self.mapping.inputs]
        arrays = [in_blocks(x, m, f) for x, m, f in zip(whole, self.mapping.inputs, followed)]
        starts = [self.starts(m, f) for m, f in zip(self.mapping.inputs, followed)]
        first = [(rows[0], places) for rows, places in starts]
        carry = self.over_outer(self.begin, self.sliced(arrays, first), first)

        def step(carry: list[Any], x: tuple[Any, list[Any]]) -> tuple[list[Any], list[Any]]:
            numbers: list[Mapped] = [
                (np.arange(size, dtype=np.int32), {axis: 0})
                for axis, size in enumerate(self.outer_grid)
            ]
            numbers += [(x[0][i], {}) for i in range(len(self.inner_grid))]
            rows = [(row, places) for row, (_, places) in zip(x[1], starts)]
            now = self.sliced(arrays, rows)
            carried = [(c, {axis: axis for axis in range(self.axes)}) for c in carry]
            outs = self.over_outer(self.programs, numbers, now, rows, carried)
            new, own, scratch = split_list(outs, sum(self.is_carry), self.is_carry.count(False))
            return new + scratch, own

        inner = np.indices(self.inner_grid, np.int32).reshape(-1, self.inner).T
        rows = [rows for rows, _ in starts]
        if self.inner == 1:
            carry, own = step(carry, (inner[0], [row[0] for row in rows]))
        else:
            carry, own = scan(step, carry, (inner, rows))
        blocks = merge_lists(self.is_carry, own, carry[: sum(self.is_carry)])
        return [
            self.output(o, x, whole[self.input_of[o]] if o in self.input_of else None)
            for o, x in enumerate(blocks)
        ]

    def over_outer(self, fun: Callable[..., Any], *operands: list[Mapped]) -> list[Any]:
        """`fun` at each place of the outer grid; the results get the outer axes in front."""
        flat = [operand for part in operands for operand in part]
        sizes = list(map(len, operands[:-1]))

        def call(*xs: Any) -> list[Any]:
            return fun(*split_list(xs, *sizes))

        for axis in reversed(range(self.axes)):  # the last vmap is the outermost, and takes axis 0
            in_axes = tuple(_in_axis(places, axis) for _, places in flat)
            call = vmap(call, in_axes, axis_size=self.outer_grid[axis])
        return call(*[x for x, _ in flat])

    def starts(self, mapping: BlockMapping, followed: dict[int, int]) -> Mapped:
        """Where an input's blocks start along the axes of the array that are not cut, for each inner program:
        an array, whose second axes are those of the outer grid along which they differ."""
        starts = mapping.starts.copy()
        starts[..., list(followed.values())] = 0
        differs = [a for a in range(self.axes) if (starts != starts.take([0], a)).any()]
        for axis in range(self.axes):
            if axis not in differs:
                starts = starts.take([0], axis)
        sizes = [self.outer_grid[axis] for axis in differs]
        starts = starts.reshape(*sizes, self.inner, mapping.aval.ndim)
        places = {axis: place for place, axis in enumerate(differs)}
        return np.moveaxis(starts, len(differs), 0), places

    def sliced(self, arrays: list[Mapped], starts: list[Mapped]) -> list[Mapped]:
        """The arrays, reduced to their blocks where these start at the same element at all outer places."""
        return [
            array if starts_places else (slices_of_blocks(*array, start, m), array[1])
            for array, (start, starts_places), m in zip(arrays, starts, self.mapping.inputs)
        ]

    def begin(self, arrays: Sequence[Any], starts: Sequence[Any]) -> list[Any]:
        """The carry of the first inner program: blocks of outputs, and scratch arrays."""
        blocks = self.first_blocks(self.read(arrays, starts))
        return pick(blocks, self.is_carry) + list(map(empty, self.mapping.scratch_avals))

    def programs(
        self, numbers: list[Any], arrays: list[Any], starts: list[Any], carry: list[Any]
    ) -> list[Any]:
        """Runs the kernel at one place of the grid; returns the carried blocks, the others and scratch
        arrays.
        """
        carried, scratch = split_list(carry, sum(self.is_carry))
        ins = self.read(arrays, starts)
        outs = merge_lists(self.is_carry, drop(self.first_blocks(ins), self.is_carry), carried)
        for o, i in self.input_of.items():
            ins[i] = outs[o]
        seen = [numbers[axis] for axis in self.mapping.seen]
        last = jaxpr_as_fun(self.kernel)(*seen, *ins, *outs, *scratch)
        _, outs, scratch = split_list(last, len(ins), len(outs))
        return pick(outs, self.is_carry) + drop(outs, self.is_carry) + scratch

    def read(self, arrays: Sequence[Any], starts: Sequence[Any]) -> list[Any]:
        """The inputs' blocks."""
        return [block_at(x, s, m) for x, s, m in zip(arrays, starts, self.mapping.inputs)]

    def first_blocks(self, ins: Sequence[Any]) -> list[Any]:
        """The first values of the outputs' blocks: an input's, or uninitialized."""
        return [
            ins[self.input_of[o]] if o in self.input_of else empty(m.ref_aval)
            for o, m in enumerate(self.mapping.outputs)
        ]

    def output(self, o: int, blocks: Any, begin: Any) -> Any:
        """The array of an output's blocks, which have the axes of the grid in front: the inner ones, unless
        it is carried, then the outer ones."""
        mapping, is_carry = self.mapping.outputs[o], self.is_carry[o]
        numbers = blocks_by_place(mapping, self.inner)
        grid = self.outer_grid if is_carry else (*self.inner_grid, *self.outer_grid)
        numbers = numbers[:, 0] if is_carry else np.concatenate(numbers.swapaxes(0, 1))
        begin = padded(empty(mapping.aval), mapping) if begin is None else begin
        return joined(blocks, numbers, grid, mapping, begin)


def _in_axis(places: dict[int, int], axis: int) -> int | None:
    """The position of an axis of the grid in an operand, once vmap has taken those before it."""
    if axis not in places:
        return None
    before = [p for a, p in places.items() if a < axis and p < places[axis]]
    return places[axis] - len(before)
