"""A grid as one loop: a scan over its programs, which carries the arrays that kernels write to.

It is interpret.py's loop as a program, and works for all kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from tinyjax.core.lists import split_list
from tinyjax.lax.control_flow.scan import scan
from tinyjax.pallas.blocks import block_at, empty, padded, unpadded, with_block
from tinyjax.pallas.grid_mapping import GridMapping


def written_blocks(kernel: ClosedJaxpr, mapping: GridMapping) -> list[bool]:
    """Which of its blocks the kernel writes to. `kernel` takes the numbers of its program and the values of
    its Refs, and returns their final values.
    """
    start = len(mapping.seen)
    refs = kernel.jaxpr.invars[start : start + len(mapping.block_mappings)]
    return [new is not old for new, old in zip(kernel.jaxpr.outvars, refs)]


def loop_over_grid(
    kernel: ClosedJaxpr,
    mapping: GridMapping,
    aliases: Sequence[tuple[int, int]],
    args: Sequence[Any],
) -> list[Any]:
    """The outputs. An input and an output that are aliases share one array."""
    mappings, num_inputs = mapping.block_mappings, mapping.num_inputs
    begin = [padded(x, m) for x, m in zip(args, mapping.inputs)]
    begin += [padded(empty(m.aval), m) for m in mapping.outputs]
    place = list(range(len(mappings)))  # where the array of each block is
    for i, o in aliases:
        place[num_inputs + o] = i
    changed = sorted({p for p, new in zip(place, written_blocks(kernel, mapping)) if new})

    def program(carry: list[Any], x: tuple[Any, list[Any]]) -> tuple[list[Any], None]:
        numbers, starts = x
        carried, scratch = split_list(carry, len(changed))
        arrays = dict(enumerate(begin)) | dict(zip(changed, carried))
        blocks = [block_at(arrays[p], s, m) for p, s, m in zip(place, starts, mappings)]
        outs = jaxpr_as_fun(kernel)(
            *[numbers[i] for i in range(len(mapping.seen))], *blocks, *scratch
        )
        new_blocks, scratch = split_list(outs, len(mappings))
        for b in reversed(range(len(mappings))):  # an input's last: as in JAX
            if place[b] in changed and new_blocks[b] is not blocks[b]:
                array = arrays[place[b]]
                arrays[place[b]] = with_block(array, new_blocks[b], starts[b], mappings[b])
        return [*[arrays[p] for p in changed], *scratch], None

    count = mapping.num_programs
    xs = (
        mapping.numbers.reshape(count, len(mapping.seen)),
        [m.starts.reshape(count, m.aval.ndim) for m in mappings],
    )
    init = [begin[p] for p in changed] + [empty(aval) for aval in mapping.scratch_avals]
    last, _ = scan(program, init, xs, length=count)
    arrays = dict(enumerate(begin)) | dict(zip(changed, last))
    return [unpadded(arrays[p], m) for p, m in zip(place[num_inputs:], mapping.outputs)]
