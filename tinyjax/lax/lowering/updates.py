"""The lowering rules of primitives that write windows into an array: scatter, dynamic_update_slice.

Each gives the windows' positions and the written values. Several windows are written one after the other
(compile/kernel/update_nest.py). A single one is also an index map: each element tests whether it is
inside, so that x.at[i].set(y) becomes part of the kernel that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tinyjax import lax
from tinyjax.compile.kernel import rules
from tinyjax.compile.kernel.indices import Index, index
from tinyjax.compile.kernel.writer import Number
from tinyjax.lax.lowering.indexing import clip, every, is_inside, one_of
from tinyjax.lax.scattering import window_sizes
from tinyjax.lax.windows import index_dtype

if TYPE_CHECKING:
    from tinyjax.compile.target import Target
    from tinyjax.core.jaxpr import JaxprEqn


def _lowering(update: rules.Update) -> rules.Lowering:
    if not update.is_one_window:
        return update
    return rules.WindowUpdate(emit=partial(_element, update), in_place=update)


def _element(update: rules.Update, ctx: Any, x: Any, *operands: Any, **params: Any) -> Number:
    """The operand's element, or the update's if it is in the only window."""
    coords = ctx.position.coords
    number = [index(0)] * len(update.counts)
    starts, conditions = update.windows(ctx, number, coords, x, *operands, **params)
    within = []
    for axis, (coord, start, window) in enumerate(zip(coords, starts, update.sizes)):
        if axis not in update.whole | update.batch:
            coord = coord - start()
            conditions += is_inside(ctx, coord, window - 1)
            coord = clip(coord, window)
        within.append(coord)

    def old() -> Number:
        return x.at_position(ctx.position)

    def new() -> Number:
        element = update.update(ctx, number, within, x, *operands, **params)
        return ctx.op(update.op, old(), element) if update.op else element

    return one_of(ctx, every(ctx, conditions), new, old)


def _unchanged(ctx: Any, x: Any, *_: Any, **params: Any) -> Number:
    return x.at_position(ctx.position)


# ---- dynamic_update_slice ----


def _dynamic_update_slice(eqn: JaxprEqn, target: Target) -> rules.Lowering:
    x, update = (v.aval for v in eqn.invars[:2])
    if not update.size:
        return rules.IndexMap(_unchanged)
    whole = frozenset(axis for axis, size in enumerate(x.shape) if size == update.shape[axis])
    window = rules.Update("", (), update.shape, whole, frozenset(), _slice_window, _slice_update)
    if x.dtype.kind == "c":  # two floats in a kernel: windows of them are not written in place
        return rules.IndexMap(partial(_element, window))
    return _lowering(window)


def _slice_window(
    ctx: Any, number: Any, coords: Any, x: Any, update: Any, *starts: Any
) -> tuple[list[Callable[[], Index]], list[Number]]:
    """The window is moved to be inside."""
    sizes = zip(starts, x.aval.shape, update.aval.shape)
    counts = [size - window + 1 for _, size, window in sizes]
    return [partial(ctx.index, start.at(()), count) for start, count in zip(starts, counts)], []


def _slice_update(
    ctx: Any, number: Any, within: Sequence[Index], x: Any, update: Any, *starts: Any
) -> Number:
    return update.at(within)


# ---- scatter ----


def _scatter(op: str) -> Callable[[JaxprEqn, Target], rules.Lowering]:
    """The rule of a scatter that combines elements with updates by `op`, or replaces them."""

    def rule(eqn: JaxprEqn, target: Target) -> rules.Lowering:
        x, indices, updates = (v.aval for v in eqn.invars)
        numbers = eqn.params["dimension_numbers"]
        if not op and eqn.params["update_jaxpr"] is not None:
            return rules.OnHost("it runs a function of the user's for each update")
        if not updates.size:
            return rules.IndexMap(_unchanged)
        paired = numbers.scatter_indices_batching_dims
        places = enumerate(indices.shape[:-1])
        counts = tuple([size for axis, size in places if axis not in paired])
        sizes = window_sizes(x.shape, updates.shape, numbers)
        batch = frozenset(numbers.operand_batching_dims)
        whole = frozenset(axis for axis, size in enumerate(x.shape) if size == sizes[axis]) - batch
        update = rules.Update(op, counts, sizes, whole, batch, _scatter_window, _scatter_update)
        if target.name == "gpu" and not update.is_one_window:
            return rules.OnHost("several updates may go to one place")
        return _lowering(update)

    return rule


def _batch_coords(
    numbers: Any, ndim: int, number: Sequence[Index], coords: Mapping[int, Index] | Sequence[Index]
) -> list[Index]:
    """The place of an index vector: along batching axes, that of the operand's element."""
    paired = dict(zip(numbers.scatter_indices_batching_dims, numbers.operand_batching_dims))
    others = iter(number)
    return [coords[paired[axis]] if axis in paired else next(others) for axis in range(ndim)]


def _scatter_window(
    ctx: Any, number: Any, coords: Any, x: Any, indices: Any, updates: Any, *, dimension_numbers: Any,
    mode: Any, **_: Any,
) -> tuple[list[Callable[[], Index]], list[Number]]:  # fmt: skip
    """The window at the index vector. One that is not all inside is left out, or moved inside in mode
    'clip'."""
    numbers, shape = dimension_numbers, x.aval.shape
    sizes = window_sizes(shape, updates.aval.shape, numbers)
    batch = _batch_coords(numbers, indices.aval.ndim - 1, number, coords)
    starts: list[Callable[[], Index]] = [partial(index, 0)] * len(shape)
    conditions: list[Number] = []
    for at, axis in enumerate(numbers.scatter_dims_to_operand_dims):
        last = shape[axis] - sizes[axis]
        if mode is lax.GatherScatterMode.CLIP and not last:
            continue
        start = indices.at([*batch, index(at)])
        if mode is not lax.GatherScatterMode.CLIP:
            if start.dtype.itemsize < 8:
                start = start.astype(index_dtype(shape))
            conditions += is_inside(ctx, start, last)
        starts[axis] = partial(ctx.index, start, last + 1)
    return starts, conditions


def _scatter_update(
    ctx: Any, number: Any, within: Sequence[Index], x: Any, indices: Any, updates: Any, *,
    dimension_numbers: Any, **_: Any,
) -> Number:  # fmt: skip
    numbers = dimension_numbers
    batch = iter(_batch_coords(numbers, indices.aval.ndim - 1, number, within))
    single = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    window = iter([coord for axis, coord in enumerate(within) if axis not in single])
    axes = range(updates.aval.ndim)
    return updates.at(next(window if d in numbers.update_window_dims else batch) for d in axes)


rules.lowering_rules[lax.dynamic_update_slice_p] = _dynamic_update_slice
rules.lowering_rules[lax.scatter_p] = _scatter("")
for _op in ("add", "sub", "mul", "min", "max"):
    rules.lowering_rules[getattr(lax, f"scatter_{_op}_p")] = _scatter(_op)
