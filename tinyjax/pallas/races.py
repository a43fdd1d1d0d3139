"""Which programs of a grid may run at the same time: those whose output blocks don't overlap, and of which
none reads elements that another wrote.

On a TPU, programs that write to the same block must follow each other, along the last axes of the grid; on a
GPU that is not allowed. Here the TPU's rule holds, and violations are errors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core.compile_time import eval_context
from tinyjax.core.inlining import inline_calls
from tinyjax.core.jaxpr import ClosedJaxpr, Literal, Var, literal_value
from tinyjax.pallas.grid_mapping import BlockMapping, GridMapping, in_row_major
from tinyjax.pallas.loops import written_blocks
from tinyjax.pallas.specs import Blocked, Squeezed

# ---- errors ----


def check_blocks(mapping: GridMapping) -> None:
    """Raises ValueError for a block beyond its array."""
    for each in mapping.block_mappings:
        starts, last = each.unclamped_starts, np.subtract(each.padded_shape, each.sizes)
        beyond = np.argwhere(((starts < 0) | (starts > last)).any(axis=-1))
        if len(beyond):
            program = tuple(beyond[0].tolist())
            raise ValueError(
                f"The index map of {each.origin} gives {_text(each.indices[program])} for program {program}: "
                f"there is no such block, as the array has shape {each.aval.shape} and blocks have shape "
                f"{each.sizes}. (interpret=True takes the nearest block, as JAX does.)"
            )


def check_races(mapping: GridMapping) -> None:
    """Raises ValueError for two programs that write to the same elements of an output, and do not follow each
    other."""
    for output in mapping.outputs:
        if is_in_blocks(output):
            _check_revisits(output)
        else:
            _check_overlaps(output)


def is_in_blocks(mapping: BlockMapping) -> bool:
    """Whether any two blocks are the same or have no element in common."""
    return all(isinstance(dim, Blocked | Squeezed) for dim in mapping.block_shape)


def block_numbers(mapping: BlockMapping) -> np.ndarray:
    """The number of each program's block, along each axis."""
    return mapping.starts // np.maximum(np.array(mapping.sizes, np.int32).reshape(-1), 1)


def _check_revisits(output: BlockMapping) -> None:
    """Checks that all programs of a block follow each other, in one run."""
    grid = output.indices.shape[:-1]
    numbers = block_numbers(output).reshape(math.prod(grid), output.aval.ndim)
    places = in_row_major(numbers, output.block_counts)
    starts = np.flatnonzero(np.diff(places, prepend=-1))  # where a run begins
    _, first = np.unique(places[starts], return_index=True)
    if len(first) < len(starts):
        again = int(np.setdiff1d(starts, starts[first])[0])
        before = int(np.flatnonzero(places[:again] == places[again])[-1])
        raise _race(output, grid, before, again, f"block {_text(numbers[again])}")


def _check_overlaps(output: BlockMapping) -> None:
    """The same check for blocks that begin at any element."""
    owner = np.full(output.padded_shape, -1)
    grid = output.indices.shape[:-1]
    starts = output.starts.reshape(math.prod(grid), output.aval.ndim).tolist()
    for number, start in enumerate(starts):
        window = owner[tuple(slice(s, s + n) for s, n in zip(start, output.sizes))]
        if (window >= 0).any() and start != starts[number - 1]:
            at = np.argwhere(window >= 0)[0]
            raise _race(output, grid, window[tuple(at)], number, f"element {_text(at + start)}")
        window[...] = number


def _race(
    output: BlockMapping, grid: Sequence[int], before: int, number: int, what: str
) -> ValueError:
    first, second = (tuple(int(i) for i in np.unravel_index(n, grid)) for n in (before, number))
    return ValueError(
        f"race: programs {first} and {second} of the grid {tuple(grid)} both write to {what} of "
        f"{output.origin}, and may run at the same time. Only programs that follow each other may write "
        "to one block: let the axis of the grid along which they differ be the last one. (interpret=True "
        "runs all programs in order.)"
    )


def _text(numbers: Any) -> str:
    return str(tuple(np.asarray(numbers).tolist()))


# ---- parallel axes ----


def parallel_axes(
    kernel: ClosedJaxpr, mapping: GridMapping, aliases: Sequence[tuple[int, int]]
) -> int | None:
    """How many axes of the grid, from the first one on, run in parallel. Along the others, an output has one
    block, or each program its own. None if the kernel takes a loop over the grid."""
    written = written_blocks(kernel, mapping)
    if any(written[: mapping.num_inputs]) or not all(map(is_in_blocks, mapping.outputs)):
        return None
    if not all(_same_blocks(mapping.inputs[i], mapping.outputs[o]) for i, o in aliases):
        return None
    for axes in range(len(mapping.grid), -1, -1):
        inner = math.prod(mapping.grid[axes:])
        if all(_fits(output, inner) for output in mapping.outputs):
            fresh = not axes or not mapping.scratch_avals or _sets_scratch(kernel, mapping, axes)
            return axes if fresh else None
    return None


def _same_blocks(a: BlockMapping, b: BlockMapping) -> bool:
    return a.block_shape == b.block_shape and (a.starts == b.starts).all()


def blocks_by_place(output: BlockMapping, inner: int) -> np.ndarray:
    """The number of each program's block: shape (places in the outer grid, `inner` programs, ndim)."""
    outer = math.prod(output.indices.shape[:-1]) // inner
    return block_numbers(output).reshape(outer, inner, output.aval.ndim)


def one_block_each(output: BlockMapping, inner: int) -> bool:
    """Whether the programs along the inner axes, of which there are `inner`, have the same block."""
    blocks = blocks_by_place(output, inner)
    return bool((blocks == blocks[:, :1]).all())


def _fits(output: BlockMapping, inner: int) -> bool:
    """Whether places in the outer grid share no block, and programs at one place share none or all have the
    same.
    """
    blocks = blocks_by_place(output, inner)
    if one_block_each(output, inner):
        blocks = blocks[:, :1]
    numbers = in_row_major(blocks, output.block_counts)
    return len(np.unique(numbers)) == numbers.size


def _sets_scratch(kernel: ClosedJaxpr, mapping: GridMapping, axes: int) -> bool:
    """Whether the first program along the inner axes overwrites the scratch arrays completely."""
    closed = inline_calls(kernel)
    seen, invars = mapping.seen, closed.jaxpr.invars
    known = {v: np.int32(0) for v, axis in zip(invars, seen) if axis >= axes}
    known |= {v: np.int32(0) for v, axis in zip(invars, seen) if mapping.grid[axis] == 1}
    old = set(invars[len(invars) - len(mapping.scratch_avals) :])
    return not any(_depend(closed, known, old))


def _depend(closed: ClosedJaxpr, known: dict[Var, Any], old: set[Var]) -> list[bool]:
    """Which results may depend on the variables `old`, where some variables have `known` values: of a branch
    whose index is known, only that one counts."""
    known = known | dict(zip(closed.jaxpr.constvars, closed.consts))
    old = set(old)

    def is_old(atom: Any) -> bool:
        return isinstance(atom, Var) and atom in old

    def is_known(atom: Any) -> bool:
        return isinstance(atom, Literal) or atom in known

    def value(atom: Any) -> Any:
        return literal_value(atom) if isinstance(atom, Literal) else known[atom]

    for eqn in closed.eqns:
        dependent = [any(map(is_old, eqn.invars))] * len(eqn.outvars)
        if eqn.primitive.name == "cond" and is_known(eqn.invars[0]):
            branch = inline_calls(eqn.params["branches"][int(value(eqn.invars[0]))])
            operands = list(zip(branch.jaxpr.invars, eqn.invars[1:]))
            inner_known = {v: value(atom) for v, atom in operands if is_known(atom)}
            dependent = _depend(branch, inner_known, {v for v, atom in operands if is_old(atom)})
        elif eqn.invars and all(map(is_known, eqn.invars)) and not eqn.primitive.has_effects:
            with eval_context():
                outs = eqn.primitive.bind(*map(value, eqn.invars), **eqn.params)
            known.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
        old.update(itertools.compress(eqn.outvars, dependent))
    return [is_old(v) for v in closed.jaxpr.outvars]
