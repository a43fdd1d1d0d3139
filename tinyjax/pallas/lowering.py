"""A pallas_call as a program without Refs: what a jit compiles.

A nest of loops, where the kernel allows it. The first axes of the grid, along which programs have their own
blocks of the outputs, become axes of the arrays, by vmap: they run in parallel. Along the others, programs
write to one block again and again: a scan, whose carry is the block.

    grid (i, j, k), output block (i, j)   ->   vmap over i and j of scan over k

All other kernels are one scan over the grid, whose carry are the outputs (loops.py).
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
from tinyjax.pallas.blocks import block_at, empty, followed_axes, in_blocks, joined, padded
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
from tinyjax.refs.discharge import with_values
from tinyjax.transform.batching import vmap

Aliases = tuple[tuple[int, int], ...]


@cached_on_jaxpr
def lowered(
    jaxpr: ClosedJaxpr, mapping: GridMapping, aliases: Aliases, interpret: bool
) -> ClosedJaxpr:
    """The program of the call's operands that gives its outputs. With `interpret`, programs run in order.

    Raises ValueError for blocks that are not there, and for programs that write to the same elements."""
    numbers = len(mapping.seen)
    is_ref = (False,) * numbers + (True,) * len(mapping.ref_avals)
    kernel = with_values(with_numbers(jaxpr, numbers), is_ref)
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
    """The grid as `axes` parallel ones, and a loop over the rest, of `inner` programs."""

    def __init__(self, kernel: ClosedJaxpr, mapping: GridMapping, aliases: Aliases, axes: int):
        self.kernel, self.mapping, self.axes = kernel, mapping, axes
        self.outer_grid, self.inner_grid = mapping.grid[:axes], mapping.grid[axes:]
        self.inner = math.prod(self.inner_grid)
        self.is_carry = tuple(one_block_each(m, self.inner) for m in mapping.outputs)
        self.input_of = {o: i for i, o in aliases}
        self.inputs = [_Input(m, axes, self.inner) for m in mapping.inputs]

    def run(self, args: Sequence[Any]) -> list[Any]:
        arrays = [padded(x, m) for x, m in zip(args, self.mapping.inputs)]
        operands: list[tuple[Any, tuple[int, ...]]] = [
            (np.arange(size, dtype=np.int32), (axis,)) for axis, size in enumerate(self.outer_grid)
        ]
        for x, each in zip(arrays, self.inputs):
            operands += [each.blocks(x), each.starts]
        program: Callable = self.programs
        for axis in reversed(range(self.axes)):
            in_axes = tuple(0 if axis in axes else None for _, axes in operands)
            program = vmap(program, in_axes)
        results = program(*[x for x, _ in operands])
        return [
            self.output(o, x, arrays[self.input_of[o]] if o in self.input_of else None)
            for o, x in enumerate(results)
        ]

    def programs(self, *operands: Any) -> list[Any]:
        """The outputs' blocks that the programs at one place of the outer grid give."""
        outer, rest = split_list(operands, self.axes)
        arrays, starts = rest[::2], rest[1::2]
        begin = self.begin(self.read(arrays, [rows[0] for rows in starts]))
        carry = pick(begin, self.is_carry) + list(map(empty, self.mapping.scratch_avals))

        def step(carry: list[Any], x: tuple[Any, list[Any]]) -> tuple[list[Any], list[Any]]:
            inner, rows = x
            carried, scratch = split_list(carry, sum(self.is_carry))
            ins = self.read(arrays, rows)
            outs = merge_lists(self.is_carry, drop(self.begin(ins), self.is_carry), carried)
            for o, i in self.input_of.items():
                ins[i] = outs[o]
            numbers = [*outer, *[inner[i] for i in range(len(self.inner_grid))]]
            seen = [numbers[axis] for axis in self.mapping.seen]
            last = jaxpr_as_fun(self.kernel)(*seen, *ins, *outs, *scratch)
            _, outs, scratch = split_list(last, len(ins), len(outs))
            return pick(outs, self.is_carry) + scratch, drop(outs, self.is_carry)

        inner = np.indices(self.inner_grid, np.int32).reshape(-1, self.inner).T
        if self.inner == 1:
            carry, own = step(carry, (inner[0], [rows[0] for rows in starts]))
        else:
            carry, own = scan(step, carry, (inner, starts))
        return merge_lists(self.is_carry, own, carry[: sum(self.is_carry)])

    def read(self, arrays: Sequence[Any], starts: Sequence[Any]) -> list[Any]:
        """The inputs' blocks."""
        return [block_at(x, s, m) for x, s, m in zip(arrays, starts, self.mapping.inputs)]

    def begin(self, ins: Sequence[Any]) -> list[Any]:
        """What the outputs' blocks begin as: an input's, or nothing."""
        return [
            ins[self.input_of[o]] if o in self.input_of else empty(m.ref_aval)
            for o, m in enumerate(self.mapping.outputs)
        ]

    def output(self, o: int, blocks: Any, begin: Any) -> Any:
        """The array of an output's blocks, which have the axes of the grid in front."""
        mapping, is_carry = self.mapping.outputs[o], self.is_carry[o]
        numbers = blocks_by_place(mapping, self.inner)
        grid = self.outer_grid if is_carry else self.mapping.grid
        numbers = numbers[:, 0] if is_carry else np.concatenate(numbers)
        begin = padded(empty(mapping.aval), mapping) if begin is None else begin
        return joined(blocks, numbers, grid, mapping, begin)


class _Input:
    """An input of a nest: along which of the outer axes its blocks are cut, and where they start along the
    other axes of the array, for each inner program."""

    def __init__(self, mapping: BlockMapping, axes: int, inner: int):
        self.mapping = mapping
        self.followed = followed_axes(mapping, range(axes))
        starts = mapping.starts.copy()
        starts[..., list(self.followed.values())] = 0
        differs = [axis for axis in range(axes) if (starts != starts.take([0], axis)).any()]
        for axis in range(axes):
            if axis not in differs:
                starts = starts.take([0], axis)
        shape = [mapping.indices.shape[axis] for axis in differs]
        self.starts = starts.reshape(*shape, inner, mapping.aval.ndim), tuple(differs)

    def blocks(self, x: Any) -> tuple[Any, tuple[int, ...]]:
        """The array, and along which axes of the grid it is mapped: its first axes."""
        return in_blocks(x, self.mapping, self.followed), tuple(sorted(self.followed))
