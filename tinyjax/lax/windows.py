"""What gather and scatter share: which axes belong together, and where their windows are.

Gathering and scattering build on this.

Source: https://www.openxla.org/stablehlo/spec (gather, scatter)
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray

# ---- dimension numbers and modes ----


class GatherDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and result belong together in a gather.

    The last axis of the indices holds index vectors; a window of `slice_sizes` is read at each.
    - offset_dims: the result's axes that run within a window; the others run over the indices.
    - collapsed_slice_dims: the operand's axes (of window size 1) that the result has not.
    - start_index_map: the operand's axis that each entry of an index vector is for.
    - operand_batching_dims, start_indices_batching_dims: axes of operand and indices that go together."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and updates belong together in a scatter.

    The mirror image of GatherDimensionNumbers, with updates for the result: update_window_dims are
    its offset_dims, inserted_window_dims its collapsed_slice_dims, and so on."""

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


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


# ---- dimension numbers of a batch ----

Dims = tuple[int, ...]


def batched_dims(dims: Dims) -> Dims:
    """The dims behind a new leading axis; np.add makes NumPy integers of them, as JAX prints them."""
    return tuple(np.add(1, dims))


def with_window_axis(numbers: Sequence[Dims]) -> list[Dims]:
    """The numbers where the operand has one more axis, in front, that every window covers whole."""
    window, hidden, index_map, operand_batch, _ = [batched_dims(dims) for dims in numbers]
    return [(0, *window), hidden, index_map, operand_batch, numbers[-1]]


def with_batching_axis(numbers: Sequence[Dims]) -> list[Dims]:
    """The numbers where operand and indices have one more axis each, in front, that go together."""
    window, hidden, index_map, operand_batch, indices_batch = [batched_dims(d) for d in numbers]
    return [window, hidden, index_map, (0, *operand_batch), (0, *indices_batch)]


# ---- checks ----


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
    window, hidden, index_map, operand_batch, indices_batch = tuple(numbers)
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


# ---- where the windows are, for gather and scatter ----


def index_dtype(shape: Sequence[int]) -> np.dtype:
    """The dtype in which JAX asks whether an index is inside: of longer ones, their low bits."""
    return np.dtype("int32" if max(shape, default=0) < 2**31 else "int64")


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
        if indices.dtype == np.uint64:  # indices beyond int64's range are out of bounds anyway
            indices = np.minimum(indices, np.uint64(np.iinfo(np.int64).max))
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
        if not self.index:  # all windows are the whole operand
            found = np.broadcast_to(found, (*self.inside.shape, *found.shape))
        return found.transpose(np.argsort(self.out_axes))

    def updates_view(self, updates: np.ndarray) -> np.ndarray:
        """A scatter's updates in the order of the index: batch, windowed, whole."""
        return updates.transpose(self.out_axes)
