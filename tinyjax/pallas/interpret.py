"""A pallas_call interpreted: a Python loop over the grid, in which each program is a call of the kernel.

The kernel's Refs hold arrays, and each of its operations is evaluated at once, by NumPy. jits, loops and
branches in it run as Python, too: a debugger steps through all of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.compile_time import eval_context
from tinyjax.core.config_blocks import disable_jit
from tinyjax.pallas.grid_mapping import BlockMapping, GridMapping, uninitialized
from tinyjax.pallas.programs import Grid, running
from tinyjax.refs.ref import Ref

Aliases = Sequence[tuple[int, int]]


def run_programs(
    kernel: Callable[..., None], mapping: GridMapping, aliases: Aliases, args: Sequence[Any]
) -> list[ArrayImpl]:
    """The outputs. `kernel` takes Refs, of inputs, outputs and scratch arrays.

    Later programs read the elements that a program writes to a block, even to an input's block. Elements that
    no program writes are NaN, or the smallest integer."""
    arrays = _padded_arrays(mapping, aliases, args)
    scratch = [Ref(_as_array(_empty(aval))) for aval in mapping.scratch_avals]
    sizes = mapping.seen_grid.sizes
    with eval_context(), disable_jit():
        for program in itertools.product(*map(range, mapping.grid)):
            with running(Grid(sizes, mapping.numbers[program])):
                _run_program(kernel, mapping, program, arrays, scratch)
    outputs = zip(arrays[mapping.num_inputs :], mapping.outputs)
    return [_as_array(np.array(_unpadded(x, m))) for x, m in outputs]


def _run_program(
    kernel: Callable[..., None],
    mapping: GridMapping,
    program: tuple[int, ...],
    arrays: Sequence[np.ndarray],
    scratch: Sequence[Ref],
) -> None:
    """Calls the kernel on its blocks, and stores the blocks that it has written to."""
    blocks = [x[_window(m, program)] for x, m in zip(arrays, mapping.block_mappings)]
    before = [
        _as_array(np.array(block.reshape(m.ref_shape)))
        for block, m in zip(blocks, mapping.block_mappings)
    ]
    refs = list(map(Ref, before))
    kernel(*refs, *scratch)
    for block, ref, old in reversed([*zip(blocks, refs, before)]):  # an input's last: as in JAX
        if ref.value is not old:
            block[...] = np.asarray(ref.value).reshape(block.shape)


def _padded_arrays(mapping: GridMapping, aliases: Aliases, args: Sequence[Any]) -> list[np.ndarray]:
    """Copies of the inputs, and the initial outputs; aliases share one array."""
    values = [to_numpy(x, get_aval(x)) for x in args]
    values += [_empty(m.aval) for m in mapping.outputs]
    arrays = [_padded(x, m) for x, m in zip(values, mapping.block_mappings)]
    for i, o in aliases:
        arrays[mapping.num_inputs + o] = arrays[i]
    return arrays


def _as_array(x: np.ndarray) -> ArrayImpl:
    return ArrayImpl(x, ShapedArray(x.shape, x.dtype))


def _empty(aval: ShapedArray) -> np.ndarray:
    return np.full(aval.shape, uninitialized(aval.dtype), aval.dtype)


def _window(mapping: BlockMapping, program: tuple[int, ...]) -> tuple[Any, ...]:
    """Where in the padded array the block of a program is; the ellipsis makes NumPy give a view."""
    starts = mapping.starts[program].tolist()
    return (*[slice(start, start + size) for start, size in zip(starts, mapping.sizes)], ...)


def _padded(x: np.ndarray, mapping: BlockMapping) -> np.ndarray:
    out = np.full(mapping.padded_shape, uninitialized(x.dtype), x.dtype)
    _unpadded(out, mapping)[...] = x
    return out


def _unpadded(x: np.ndarray, mapping: BlockMapping) -> np.ndarray:
    sizes = zip(mapping.padding, mapping.aval.shape)
    window: list[Any] = [slice(low, low + n) for (low, _), n in sizes]
    return x[tuple([*window, ...])]
