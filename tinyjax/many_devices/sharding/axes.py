"""The map from a primitive's operand axes to result axes: one rule per kind of primitive.

Axis 1 of a transpose's result is axis 0 of its operand; a sum drops axes. propagation.py has the table of
primitives and rules. Types (types.py) reject more than labels do (auto.py): a rule also names the axes that
types can't have split, and the operands whose types must be split alike.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tinyjax.many_devices.sharding.partition_spec import entry_of

Shape = tuple[int, ...]
Spec = tuple[tuple[Any, ...], ...]  # for each axis of an array, the mesh axes that it is split over
Source = tuple[int, int]  # an operand's number, and one of its axes


def replicated(shape: Shape) -> Spec:
    """The spec of a replicated array."""
    return ((),) * len(shape)


@dataclass
class Use:
    """A primitive application: the operands' shapes and specs, the results' shapes, the sizes of mesh
    axes."""

    name: str
    shapes: list[Shape]
    specs: list[Spec]
    out_shapes: list[Shape]
    params: Mapping[str, Any]
    sizes: Mapping[Any, int]

    def parts(self, names: Sequence[Any]) -> int:
        return math.prod(self.sizes[name] for name in names)


@dataclass
class Axes:
    """The sources of results' axes: for each axis of each result, the operand axes that it comes from.

    `whole`: axes that types can't have split, and the reason. `alike`: operands whose types must have the
    same split on all of their axes, or on the first `common`, and the error message otherwise."""

    results: list[list[list[Source]]]
    whole: dict[Source, str] = field(default_factory=dict)
    alike: dict[tuple[int, ...], str] = field(default_factory=dict)
    common: int | None = None


Rule = Callable[[Use], Axes]


# ---- element by element, and moving axes ----


def elementwise(use: Use) -> Axes:
    """Each axis comes from all operands of the result's rank (scalars have no axes)."""
    return Axes([_same_axes(use, shape) for shape in use.out_shapes])


def _same_axes(use: Use, shape: Shape) -> list[list[Source]]:
    alike = [i for i, operand in enumerate(use.shapes) if len(operand) == len(shape)]
    return [[(i, axis) for i in alike] for axis in range(len(shape))]


def clamp(use: Use) -> Axes:
    return Axes([[[(1, axis)] for axis in range(len(use.shapes[1]))]])


def reduction(use: Use) -> Axes:
    """The remaining axes, from all operands, of which lax.reduce has several."""
    dropped = use.params.get("axes", use.params.get("dimensions", ()))
    kept = [axis for axis in range(len(use.shapes[0])) if axis not in dropped]
    return Axes([[[(0, axis)] for axis in kept] for _ in use.out_shapes])


def broadcast_in_dim(use: Use) -> Axes:
    result: list[list[Source]] = [[] for _ in use.out_shapes[0]]
    for axis, to in enumerate(use.params["broadcast_dimensions"]):
        if use.shapes[0][axis] == use.out_shapes[0][to]:
            result[to] = [(0, axis)]
    return Axes([result])


def squeeze(use: Use) -> Axes:
    gone = {d % len(use.shapes[0]) for d in use.params["dimensions"]}
    return Axes([[[(0, axis)] for axis in range(len(use.shapes[0])) if axis not in gone]])


def same_axes(use: Use) -> Axes:
    """Axes come from operand 0 alone, whatever the sizes are: slices, pad, rev, tile. A new axis is whole."""
    rank = len(use.shapes[0])
    return Axes([[[(0, a)] if a < rank else [] for a in range(len(s))] for s in use.out_shapes])


def each(use: Use) -> Axes:
    """Each result has the axes of the operand with the same number."""
    return Axes([[[(i, a)] for a in range(len(s))] for i, s in enumerate(use.out_shapes)])


def nothing(use: Use) -> Axes:
    """Results are whole, however operands are split, as for host callbacks."""
    return Axes([[[] for _ in shape] for shape in use.out_shapes])


# ---- operands that belong together ----


def _all(use: Use, what: str) -> dict[tuple[int, ...], str]:
    """All operands must have the same split."""
    return {tuple(range(len(use.shapes))): what}


def concatenate(use: Use) -> Axes:
    rank = len(use.out_shapes[0])
    sources = [[(i, axis) for i in range(len(use.shapes))] for axis in range(rank)]
    return Axes([sources], alike=_all(use, "All operands should have the same sharding."))


def stack(use: Use) -> Axes:
    together = [[(i, axis) for i in range(len(use.shapes))] for axis in range(len(use.shapes[0]))]
    result = [*together[: use.params["axis"]], [], *together[use.params["axis"] :]]
    return Axes([result], alike=_all(use, "All operands should have the same sharding."))


def unstack(use: Use) -> Axes:
    kept = [[(0, axis)] for axis in range(len(use.shapes[0])) if axis != use.params["axis"]]
    why = "unstack operand cannot be sharded along the axis that it is taken apart along."
    return Axes([kept for _ in use.out_shapes], {(0, use.params["axis"]): why})


def select(use: Use) -> Axes:
    axes, cases = elementwise(use), tuple(range(1, len(use.shapes)))
    axes.alike[cases] = "select cases must have the same shardings."
    if use.shapes[0]:
        axes.alike[0, 1] = "select `which` must be scalar or have the sharding of the cases."
    return axes


def update_slice(use: Use) -> Axes:
    why = "dynamic_update_slice operand sharding must be equal to that of the update."
    return Axes(same_axes(use).results, alike={(0, 1): why})


def scatter_windows(use: Use) -> Axes:
    """select_and_scatter_add: the result is like the operand, which is the second."""
    return Axes([[[(1, axis)] for axis in range(len(shape))] for shape in use.out_shapes])


def gather_windows(use: Use) -> Axes:
    why = "select_and_gather_add tangents and operand shardings must match."
    return Axes(same_axes(use).results, alike=_all(use, why))


# ---- along an axis ----


def along(parameter: str, why: str) -> Rule:
    """Operations along one axis that keep the operands' axes: sort, cumsum, top_k. All operands are split
    alike."""

    def rule(use: Use) -> Axes:
        axis = use.params[parameter] % len(use.shapes[0])
        results = [_same_axes(use, shape) for shape in use.out_shapes]
        said = why.format(axis=use.params[parameter])
        return Axes(results, {(i, axis): said for i in range(len(use.shapes))}, _all(use, said))

    return rule


# ---- products ----


def split_sums(use: Use, lhs: list[int], rhs: list[int]) -> dict[Source, str]:
    """The reasons why types can't have axes of a product split: summed axes that both operands have split, as
    each device would have a part of the sum; and batch axes with different splits."""
    lhs_spec = tuple(entry_of(use.specs[0][axis]) for axis in lhs)
    rhs_spec = tuple(entry_of(use.specs[1][axis]) for axis in rhs)
    unclear = (
        "Contracting dimensions are sharded and it is ambiguous how the output should be sharded. Please "
        f"specify the output sharding via the `out_sharding` parameter. Got lhs_contracting_spec={lhs_spec} "
        f"and rhs_contracting_spec={rhs_spec}"
    )
    both = [a for a, x, y in zip(lhs, lhs_spec, rhs_spec) if x is not None and y is not None]
    return _split_in_two_ways(use) | {(0, axis): unclear for axis in both}


def _split_in_two_ways(use: Use) -> dict[Source, str]:
    batch = use.params["dimension_numbers"][1]
    specs = [tuple([entry_of(spec[a]) for a in axes]) for spec, axes in zip(use.specs, batch)]
    why = (
        "dot_general requires lhs batch dimensions and rhs batch dimensions to have the same sharding, got "
        f"{specs[0]} and {specs[1]}."
    )
    differ = [(a, b, x) for a, b, x, y in zip(*batch, *specs) if x != y]
    return {(1, b) if x is None else (0, a): why for a, b, x in differ}


def convolution(use: Use) -> Axes:
    """Examples are split like the images', channels like the filters'. With types, filters are whole, and
    then rows and columns are split like the images'."""
    dims = use.params["dimension_numbers"]
    result: list[list[Source]] = [[] for _ in use.out_shapes[0]]
    for to, axis in zip(dims.out_spec, dims.lhs_spec):
        result[to] = [(0, axis)]
    result[dims.out_spec[1]] = [(1, dims.rhs_spec[0])]
    why = (
        "Please specify the output sharding via `out_sharding` of conv_general_dilated: it is clear only "
        "where filters are whole, and the images' channels."
    )
    channels = (0, dims.lhs_spec[1])
    return Axes([result], {source: why for source in [channels, *_axes_of(use, 1)]})


def _axes_of(use: Use, operand: int) -> list[Source]:
    return [(operand, axis) for axis in range(len(use.shapes[operand]))]


# ---- indexing ----


def gather(use: Use) -> Axes:
    """Axes that are taken whole stay; batch axes are those of operand and indices."""
    dims, shape, sizes = use.params["dimension_numbers"], use.shapes[0], use.params["slice_sizes"]
    pairs = dict(zip(dims.start_indices_batching_dims, dims.operand_batching_dims))
    taken = iter(
        [a for a in range(len(shape)) if a not in (*dims.collapsed_slice_dims, *pairs.values())]
    )
    result: list[list[Source]] = []
    indices = iter(range(len(use.shapes[1]) - 1))
    for axis in range(len(use.out_shapes[0])):
        if axis in dims.offset_dims:
            source = next(taken)
            result.append([(0, source)] if sizes[source] == shape[source] else [])
        else:
            index = next(indices)
            result.append([(1, index), *([(0, pairs[index])] if index in pairs else [])])
    why = (
        "Use `.at[...].get(out_sharding=)` to say how the result should be split: it is clear only where "
        "neither the indices are split nor the axes that they choose from."
    )
    chosen = [a for a in dims.start_index_map if sizes[a] != shape[a]]
    single = [i for i in range(len(use.shapes[1])) if i not in pairs]
    return Axes([result], {(0, a): why for a in chosen} | {(1, i): why for i in single})


def scatter(use: Use) -> Axes:
    """Split like the operand; axes that updates have whole, and batch axes, also like the updates."""
    dims, shape, updates = use.params["dimension_numbers"], use.shapes[0], use.shapes[2]
    pairs = dict(zip(dims.operand_batching_dims, dims.scatter_indices_batching_dims))
    over_indices = [a for a in range(len(updates)) if a not in dims.update_window_dims]
    windows = iter(dims.update_window_dims)
    result: list[list[Source]] = []
    whole = [(2, a) for i, a in enumerate(over_indices) if i not in pairs.values()]
    whole += [(1, i) for i in range(len(use.shapes[1])) if i not in pairs.values()]
    for axis in range(len(shape)):
        if axis in pairs:
            index = pairs[axis]
            result.append([(0, axis), (1, index), (2, over_indices[index])])
            continue
        window = None if axis in dims.inserted_window_dims else next(windows)
        if window is not None and updates[window] == shape[axis]:
            result.append([(0, axis), (2, window)])
        else:
            result.append([(0, axis)])
            whole += [(0, axis), *([] if window is None else [(2, window)])]
    why = (
        "Use `.at[...].set/add/mul/...(out_sharding=)` to say how the result should be split: it is clear "
        "only where neither indices nor updates are split, nor axes of which a part is updated."
    )
    return Axes([result], dict.fromkeys(whole, why))


# ---- matrices ----


def matrices(*ranks: int) -> Rule:
    """Operations on the last axes of each operand, as many as in `ranks`, batched over the others."""

    def rule(use: Use) -> Axes:
        batches = [range(len(shape) - rank) for shape, rank in zip(use.shapes, ranks)]
        sources = [[(i, a) for i in range(len(ranks))] for a in batches[0]]
        results = [[*sources, *[[] for _ in shape[len(sources) :]]] for shape in use.out_shapes]
        whole = {
            (i, axis): f"Input {i} to {use.name} must be unsharded on non-batch dimensions."
            for i, batch in enumerate(batches)
            for axis in range(len(batch), len(use.shapes[i]))
        }
        why = f"All inputs to {use.name} must have the same batch sharding."
        return Axes(results, whole, _all(use, why), common=len(sources))

    return rule


def triangular_solve(use: Use) -> Axes:
    """Each row or column of b is solved separately, with the whole triangle."""
    axes, (a, b) = matrices(2, 2)(use), (len(use.shapes[0]), len(use.shapes[1]))
    left, transposed = use.params["left_side"], use.params["transpose_a"]
    kept = [(0, a - 2 + transposed), (1, b - 1)] if left else [(1, b - 2), (0, a - 1 - transposed)]
    axes.results[0][-2:] = [[source] for source in kept]
    summed = ((0, a - 2 + (left ^ transposed)), (1, b - 1 - left))
    axes.whole = {
        source: f"triangular solve input `{'ab'[source[0]]}` must be unsharded on the contracting axis."
        for source in summed
    }
    return axes


def of_keys(use: Use) -> Axes:
    """The axes of the keys, followed by new ones, if any: random_bits, random_split."""
    rank = min(len(use.shapes[0]), len(use.out_shapes[0]))
    return Axes([[[(0, a)] if a < rank else [] for a in range(len(use.out_shapes[0]))]])
