"""gather: reading windows of an array at places that are computed.

After this file you can read the dimension numbers of a gather, and say what vmap makes of indexing:
one gather, with the batch dims of operand and indices side by side as batching dims. The gradient of
a gather is a scatter-add (see scattering). Builds on core and the interpreters' rule tables.

Source: https://www.openxla.org/stablehlo/spec#gather
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax import core, dtypes
from tinyjax.array import Array, ShapedArray
from tinyjax.core import Primitive, abstract_eval_rules, impl_rules, shape_of
from tinyjax.interpreters import batching
from tinyjax.interpreters.batching import batch_rules, not_mapped
from tinyjax.interpreters.jvp import defjvp
from tinyjax.interpreters.vjp import transpose_rules
from tinyjax.lax.conversion import full
from tinyjax.lax.elementwise import canonicalize_shape

# ---- dimension numbers and modes ----


class GatherDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and result belong together in a gather.

    The last axis of the indices holds index vectors; a window of `slice_sizes` is read at each.
    - offset_dims: the result's axes that run within a window; the others run over the indices.
    - collapsed_slice_dims: the operand's axes (of window size 1) that the result has not.
    - start_index_map: the operand's axis that each entry of an index vector is for.
    - operand_batching_dims, start_indices_batching_dims: axes of operand and indices that go together.
    """

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class GatherScatterMode(enum.Enum):
    """What happens to a window that is not all inside the operand.

    CLIP moves it inside. FILL_OR_DROP reads `fill_value` and writes nothing. PROMISE_IN_BOUNDS says
    that there is none (as JAX on a CPU, reads are clipped and writes dropped nevertheless)."""

    CLIP = 1
    FILL_OR_DROP = 2
    PROMISE_IN_BOUNDS = 3

    @staticmethod
    def from_any(mode: str | GatherScatterMode | None) -> GatherScatterMode:
        """The mode of a name: 'clip', 'fill', 'drop' or 'promise_in_bounds'; None is 'fill'.

        Raises ValueError for another name."""
        if isinstance(mode, GatherScatterMode):
            return mode
        if mode not in _MODES:
            names = [name for name in _MODES if name]
            raise ValueError(f'Unknown gather mode "{mode}": use one of {names}')
        return _MODES[mode]


_MODES = {
    None: GatherScatterMode.FILL_OR_DROP,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
}


# ---- where the windows are, for gather and scatter ----


class Windows:
    """The places of a gather's windows in its operand, in a form that NumPy can index with.

    NumPy's index needs one integer array for each axis, and these broadcast together. Axes that every
    window covers whole need none: the operand is seen with them as its last axes."""

    def __init__(
        self,
        shape: Sequence[int],
        indices: np.ndarray,
        numbers: GatherDimensionNumbers,
        slice_sizes: Sequence[int],
    ):
        batch_shape = indices.shape[:-1]
        hidden = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
        self.whole = [
            axis for axis, n in enumerate(shape) if axis not in hidden and slice_sizes[axis] == n
        ]
        self.indexed = [axis for axis in range(len(shape)) if axis not in self.whole]
        self.windowed = [axis for axis in self.indexed if axis not in hidden]

        starts = dict(zip(numbers.start_index_map, np.moveaxis(indices.astype(int), -1, 0)))
        for axis, batch_axis in zip(
            numbers.operand_batching_dims, numbers.start_indices_batching_dims
        ):
            places = np.arange(batch_shape[batch_axis]).reshape(
                [-1 if i == batch_axis else 1 for i in range(len(batch_shape))]
            )
            starts[axis] = np.broadcast_to(places, batch_shape)
        last = {axis: shape[axis] - slice_sizes[axis] for axis in range(len(shape))}
        self.inside = np.ones(batch_shape, bool)
        for axis in numbers.start_index_map:
            self.inside &= (starts[axis] >= 0) & (starts[axis] <= last[axis])

        self.index = []  # for each indexed axis, of rank len(batch_shape) + len(windowed)
        for axis in self.indexed:
            start = np.clip(starts.get(axis, np.zeros(batch_shape, int)), 0, max(last[axis], 0))
            place = start.reshape(batch_shape + (1,) * len(self.windowed))
            if axis in self.windowed:
                within = [1] * place.ndim
                within[len(batch_shape) + self.windowed.index(axis)] = slice_sizes[axis]
                place = place + np.arange(slice_sizes[axis]).reshape(within)
            self.index.append(place)

        # The result's axes in the order batch, windowed, whole; and where each one goes.
        ndim = len(batch_shape) + len(numbers.offset_dims)
        batch_axes = [axis for axis in range(ndim) if axis not in numbers.offset_dims]
        offset = dict(zip(sorted(self.windowed + self.whole), numbers.offset_dims))
        self.out_axes = batch_axes + [offset[axis] for axis in self.windowed + self.whole]

    def operand_view(self, x: np.ndarray) -> np.ndarray:
        """The operand with the indexed axes in front."""
        return x.transpose(self.indexed + self.whole)

    def read(self, x: np.ndarray) -> np.ndarray:
        """The windows' elements, as a gather gives them."""
        found = self.operand_view(x)[tuple(self.index)]
        return found.transpose(np.argsort(self.out_axes))

    def updates_view(self, updates: np.ndarray) -> np.ndarray:
        """A scatter's updates in the order of the index: batch, windowed, whole."""
        return updates.transpose(self.out_axes)


# ---- gather ----

gather_p = Primitive("gather")


def _gather_impl(
    x: np.ndarray,
    indices: np.ndarray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> np.ndarray:
    windows = Windows(x.shape, indices, dimension_numbers, slice_sizes)
    out = windows.read(x)
    if mode is GatherScatterMode.FILL_OR_DROP and not windows.inside.all():
        inside = np.expand_dims(windows.inside, dimension_numbers.offset_dims)
        out = np.where(inside, out, np.array(fill_value, out.dtype))
    return out


def _gather_shape(
    indices_shape: Sequence[int], numbers: GatherDimensionNumbers, slice_sizes: Sequence[int]
) -> tuple[int, ...]:
    hidden = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = iter([size for axis, size in enumerate(slice_sizes) if axis not in hidden])
    batch = iter(indices_shape[:-1])
    ndim = len(indices_shape) - 1 + len(numbers.offset_dims)
    return tuple(next(window if d in numbers.offset_dims else batch) for d in range(ndim))


def _check_dims(op: str, name: str, dims: Sequence[int], ndim: int, in_order: bool = True) -> None:
    """Raises TypeError unless `dims` are distinct axes, in ascending order if `in_order`."""
    if in_order and list(dims) != sorted(dims):
        raise TypeError(f"{name} in {op} op must be sorted; got {dims}")
    if len(set(dims)) != len(dims):
        raise TypeError(f"{name} in {op} op must not repeat; got: {dims}.")
    outside = [d for d in dims if not 0 <= d < ndim]
    if outside:
        raise TypeError(
            f"Invalid {name} set in {op} op; valid range is [0, {ndim}); got: {outside[0]}."
        )


def check_indexing(
    op: str,
    shape: Sequence[int],
    indices: ShapedArray,
    names: Sequence[str],
    numbers: GatherDimensionNumbers,
) -> None:
    """The checks that gather and scatter share; `names` are the fields' names in their own numbers."""
    window_name, hidden_name, map_name, operand_batch_name, indices_batch_name = names
    window, hidden, index_map, operand_batch, indices_batch = numbers
    if dtypes.kind(indices.dtype) not in "iu":
        raise ValueError(f"indices must have an integer type, got {indices.dtype.name}")
    if not indices.ndim:
        raise TypeError(f"{op} indices must have a last axis of index vectors, got a scalar")
    rank = len(shape)
    _check_dims(op, window_name, window, len(window) + indices.ndim - 1)
    _check_dims(op, hidden_name, hidden, rank)
    _check_dims(op, map_name, index_map, rank, in_order=False)
    _check_dims(op, operand_batch_name, operand_batch, rank)
    _check_dims(op, indices_batch_name, indices_batch, indices.ndim - 1, in_order=False)
    if len(index_map) != indices.shape[-1]:
        raise TypeError(
            f"{op} op has {len(index_map)} elements in {map_name} and the last dimension of indices "
            f"is {indices.shape[-1]}. These two numbers must be equal."
        )
    for name, dims in ((hidden_name, hidden), (map_name, index_map)):
        if set(dims) & set(operand_batch):
            raise TypeError(
                f"{name} and {operand_batch_name} in {op} op must be disjoint; got: {dims} and "
                f"{operand_batch}."
            )
    operand_sizes = tuple(shape[d] for d in operand_batch)
    indices_sizes = tuple(indices.shape[d] for d in indices_batch)
    if operand_sizes != indices_sizes:
        raise TypeError(
            f"{op} op requires {operand_batch_name} and {indices_batch_name} to have the same shape, "
            f"got {operand_sizes} and {indices_sizes}."
        )
    if rank != len(window) + len(hidden) + len(operand_batch):
        raise TypeError(
            f"every axis of the operand of a {op} op must be of a window, or be named in {hidden_name} "
            f"or {operand_batch_name}; got shape {tuple(shape)}, {window_name}={window}, "
            f"{hidden_name}={hidden}, {operand_batch_name}={operand_batch}."
        )


def _gather_aval(
    x: ShapedArray,
    indices: ShapedArray,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: tuple[int, ...],
    **params: Any,
) -> ShapedArray:
    numbers = dimension_numbers
    check_indexing("gather", x.shape, indices, GatherDimensionNumbers._fields, numbers)
    if len(slice_sizes) != x.ndim:
        raise TypeError(
            "Gather op must have one slice size for every input dimension; got: "
            f"slice_sizes={slice_sizes} for operand shape {x.shape}"
        )
    for axis, (size, n) in enumerate(zip(slice_sizes, x.shape)):
        if not 0 <= size <= n and 0 not in indices.shape:
            raise TypeError(
                f"Slice size at index {axis} in gather op is out of range, must be within "
                f"[0, {n} + 1), got {size}."
            )
    for axis in (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims):
        if slice_sizes[axis] != 1 and (axis in numbers.collapsed_slice_dims or slice_sizes[axis]):
            raise TypeError(
                "Gather op can only collapse slice dims and batch over dims with bound 1, but bound is "
                f"{slice_sizes[axis]} for dimension {axis}."
            )
    return x.update(shape=_gather_shape(indices.shape, numbers, slice_sizes))


def _gather_jvp(
    g: Any, x: Any, indices: Any, *, dimension_numbers: Any, slice_sizes: Any, **params: Any
) -> Any:
    return gather(g, indices, dimension_numbers, slice_sizes, **{**params, "fill_value": 0})


def _gather_transpose(
    ct: Any,
    x: Any,
    indices: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Any,
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> list[Any]:
    from tinyjax.lax import scattering  # imported late, as it builds on this file

    x_ct = scattering.scatter_add(
        full(x.aval.shape, 0, ct.dtype),
        indices,
        ct,
        scattering.ScatterDimensionNumbers(*dimension_numbers),
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )
    return [x_ct, None]


def batched_dims(dims: Sequence[int]) -> tuple[int, ...]:
    """The dims behind a new leading axis; np.add makes NumPy integers of them, as JAX prints them."""
    return tuple(np.add(1, dims))


def batch_gather(
    vals: Any,
    dims: Any,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Any,
    **params: Any,
) -> Any:
    """A batched operand alone: windows with one more axis. Batched indices: more windows. Both: the
    batch dims go together as batching dims."""
    (x, indices), (x_dim, indices_dim) = vals, dims
    offset, collapsed, index_map, operand_batch, indices_batch = dimension_numbers
    if indices_dim is not_mapped:
        x = batching.moveaxis(x, x_dim, 0)
        numbers = GatherDimensionNumbers(
            (0, *batched_dims(offset)),
            batched_dims(collapsed),
            batched_dims(index_map),
            batched_dims(operand_batch),
            indices_batch,
        )
        return gather(x, indices, numbers, (shape_of(x)[0], *slice_sizes), **params), 0
    if x_dim is not_mapped:
        indices = batching.moveaxis(indices, indices_dim, 0)
        numbers = GatherDimensionNumbers(
            tuple(1 + d for d in offset),
            collapsed,
            index_map,
            operand_batch,
            batched_dims(indices_batch),
        )
        # Windows of different examples may be the same, and each example starts anew.
        params |= {"unique_indices": False, "indices_are_sorted": False}
        return gather(x, indices, numbers, slice_sizes, **params), 0
    x = batching.moveaxis(x, x_dim, 0)
    indices = batching.moveaxis(indices, indices_dim, 0)
    numbers = GatherDimensionNumbers(
        batched_dims(offset),
        batched_dims(collapsed),
        batched_dims(index_map),
        (0, *batched_dims(operand_batch)),
        (0, *batched_dims(indices_batch)),
    )
    return gather(x, indices, numbers, (min(shape_of(x)[0], 1), *slice_sizes), **params), 0


impl_rules[gather_p] = _gather_impl
abstract_eval_rules[gather_p] = _gather_aval
defjvp(gather_p, _gather_jvp, None)
transpose_rules[gather_p] = _gather_transpose
batch_rules[gather_p] = batch_gather


# ---- the public function ----


def _default_fill_value(dtype: np.dtype) -> Any:
    """What a read outside gives: nan, the least signed or greatest unsigned integer, or True."""
    kind = dtypes.kind(dtype)
    if kind in "fc":
        return np.nan
    if kind == "i":
        return int(np.iinfo(dtype).min)
    if kind == "u":
        return int(np.iinfo(dtype).max)
    return True if kind == "b" else np.iinfo(np.uint32).max


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: str | GatherScatterMode | None = None,
    fill_value: Any = None,
) -> Array:
    """Windows of `slice_sizes` of `operand`, one at each index vector in the last axis of the indices.

    `mode` says what a window gives that is not all inside (None is 'promise_in_bounds'), `fill_value`
    what mode 'fill' gives. Most programs use jax.numpy indexing, which becomes a gather.
    Raises TypeError where dimension_numbers do not fit, ValueError for indices that are no integers.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.gather.html
    """
    parsed_mode = GatherScatterMode.from_any("promise_in_bounds" if mode is None else mode)
    if parsed_mode is not GatherScatterMode.FILL_OR_DROP:
        fill_value = None
    elif fill_value is None:
        fill_value = _default_fill_value(core.get_aval(operand).dtype)
    return gather_p.bind(
        operand,
        start_indices,
        dimension_numbers=dimension_numbers,
        slice_sizes=canonicalize_shape(slice_sizes, "gather"),
        unique_indices=bool(unique_indices),
        indices_are_sorted=bool(indices_are_sorted),
        mode=parsed_mode,
        fill_value=fill_value,
    )
