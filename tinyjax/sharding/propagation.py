"""How results are split: from the way operands are, by one table with an entry for each primitive.

After this file you can say along which mesh axes each axis of a result lies. Most entries only say what
becomes of the operands' axes: that axis 1 of a transpose's result is axis 0 of its operand, that a sum
drops some. Then "an axis that survives keeps what it is split over; the first claim wins". What the table
does not have gives results that are whole everywhere, which is right for any program: how a value is
split never changes it. types.py refuses what types can't say. Builds on partition_spec.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tinyjax.sharding.partition_spec import entry_of

Shape = tuple[int, ...]
Spec = tuple[tuple[Any, ...], ...]  # for each axis of an array, the mesh axes that it is split over
Source = tuple[int, int]  # an operand, and an axis of it


@dataclass
class Use:
    """A primitive at work: the operands' shapes and specs, the results' shapes, the sizes of mesh axes."""

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
    """What becomes of the operands' axes: for each axis of each result, those that it is.

    `whole`: axes that types can't have split, and why."""

    results: list[list[list[Source]]]
    whole: dict[Source, str] = field(default_factory=dict)


Rule = Callable[[Use], Axes]


# ---- the table ----


def elementwise(use: Use) -> Axes:
    """Each axis is that of all operands that have as many (scalars have none)."""
    return Axes([_same_axes(use, shape) for shape in use.out_shapes])


def _same_axes(use: Use, shape: Shape) -> list[list[Source]]:
    alike = [i for i, operand in enumerate(use.shapes) if len(operand) == len(shape)]
    return [[(i, axis) for i in alike] for axis in range(len(shape))]


def transpose(use: Use) -> Axes:
    """Axis i of the result is axis permutation[i] of the operand."""
    return Axes([[[(0, axis)] for axis in use.params["permutation"]]])


def reduction(use: Use) -> Axes:
    """The axes that are left; those of all operands, of which lax.reduce has several."""
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
    """Of operand 0 alone, whatever the sizes are: slices, pad, rev, tile."""
    return Axes([[[(0, axis)] for axis in range(len(shape))] for shape in use.out_shapes])


def concatenate(use: Use) -> Axes:
    rank = len(use.out_shapes[0])
    return Axes([[[(i, axis) for i in range(len(use.shapes))] for axis in range(rank)]])


def stack(use: Use) -> Axes:
    together = [[(i, axis) for i in range(len(use.shapes))] for axis in range(len(use.shapes[0]))]
    return Axes([[*together[: use.params["axis"]], [], *together[use.params["axis"] :]]])


def unstack(use: Use) -> Axes:
    kept = [[(0, axis)] for axis in range(len(use.shapes[0])) if axis != use.params["axis"]]
    why = "unstack needs the axis that it takes apart to be unsharded."
    return Axes([kept for _ in use.out_shapes], {(0, use.params["axis"]): why})


def along(parameter: str, why: str) -> Rule:
    """Works along one axis, and has the operands' axes: sort, cumsum, top_k."""

    def rule(use: Use) -> Axes:
        axis = use.params[parameter]
        results = [_same_axes(use, shape) for shape in use.out_shapes]
        return Axes(results, {(i, axis): why for i in range(len(use.shapes))})

    return rule


def dot_general(use: Use) -> Axes:
    """The batch axes, which are axes of both operands; then the others of lhs, then those of rhs, in order,
    but for those that are summed over: `_split_sums` says which of these types can't have split."""
    (lhs_summed, rhs_summed), (lhs_batch, rhs_batch) = use.params["dimension_numbers"]
    batch = [[(0, a), (1, b)] for a, b in zip(lhs_batch, rhs_batch)]
    lhs = [a for a in range(len(use.shapes[0])) if a not in (*lhs_summed, *lhs_batch)]
    rhs = [b for b in range(len(use.shapes[1])) if b not in (*rhs_summed, *rhs_batch)]
    whole = _split_sums(use, list(lhs_summed), list(rhs_summed))
    return Axes([[*batch, *[[(0, a)] for a in lhs], *[[(1, b)] for b in rhs]]], whole)


def _split_sums(use: Use, lhs: list[int], rhs: list[int]) -> dict[Source, str]:
    """A sum over an axis that both operands have split: each device would have a part of the sum."""
    lhs_spec = tuple(entry_of(use.specs[0][axis]) for axis in lhs)
    rhs_spec = tuple(entry_of(use.specs[1][axis]) for axis in rhs)
    unclear = (
        "Contracting dimensions are sharded and it is ambiguous how the output should be sharded. Please "
        f"specify the output sharding via the `out_sharding` parameter. Got lhs_contracting_spec={lhs_spec} "
        f"and rhs_contracting_spec={rhs_spec}"
    )
    differ = (
        "dot_general requires contracting dimensions to have consistent sharding, got "
        f"{lhs_spec} and {rhs_spec}."
    )
    both = [
        (a, x, y) for a, x, y in zip(lhs, lhs_spec, rhs_spec) if x is not None and y is not None
    ]
    return {(0, axis): unclear if x == y else differ for axis, x, y in both}


def convolution(use: Use) -> Axes:
    """Examples are split as those of the images, channels as those of the filters."""
    dims = use.params["dimension_numbers"]
    result: list[list[Source]] = [[] for _ in use.out_shapes[0]]
    result[dims.out_spec[0]] = [(0, dims.lhs_spec[0])]
    result[dims.out_spec[1]] = [(1, dims.rhs_spec[0])]
    return Axes([result])


def gather(use: Use) -> Axes:
    """Axes of which all is taken stay; the others come from the indices."""
    dims, shape = use.params["dimension_numbers"], use.shapes[0]
    single = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    kept = [axis for axis in range(len(shape)) if axis not in single]
    result: list[list[Source]] = []
    indices, taken = iter(range(len(use.shapes[1]) - 1)), iter(kept)
    for axis in range(len(use.out_shapes[0])):
        if axis not in dims.offset_dims:
            result.append([(1, next(indices))])
        else:
            source = next(taken)
            is_all = use.params["slice_sizes"][source] == shape[source]
            result.append([(0, source)] if is_all else [])
    why = (
        "Use `.at[...].get(out_sharding=)` to provide output PartitionSpec for the gather indexing as out "
        "sharding could not be resolved unambiguously (or would require collectives on inputs)."
    )
    whole = [a for a, size in enumerate(shape) if use.params["slice_sizes"][a] != size]
    return Axes([result], {(0, axis): why for axis in whole})


def batched(use: Use) -> Axes:
    """Works on the last two axes, and does the same for the ones before: lu, qr, cholesky, eigh."""
    batch = max(len(use.shapes[0]) - 2, 0)
    results = [
        [[(0, axis)] if axis < batch else [] for axis in range(len(s))] for s in use.out_shapes
    ]
    why = f"Input 0 to {use.name} must be unsharded on non-batch dimensions."
    return Axes(results, {(0, axis): why for axis in range(batch, len(use.shapes[0]))})


def fft(use: Use) -> Axes:
    rank, last = len(use.shapes[0]), len(use.params["fft_lengths"])
    why = "fft needs the axes that it transforms to be unsharded."
    whole = {(0, axis): why for axis in range(rank - last, rank)}
    return Axes([[[(0, a)] if a < rank - last else [] for a in range(rank)]], whole)


def clamp(use: Use) -> Axes:
    return Axes([[[(1, axis)] for axis in range(len(use.shapes[1]))]])


ELEMENTWISE = """
abs acos acosh add add_any and asin asinh atan atan2 atanh bitcast_convert_type cbrt ceil clz complex conj
convert_element_type copy cos cosh digamma div eq eq_to erf erf_inv erfc exp exp2 expm1 floor ge gt imag
integer_pow is_finite le le_to lgamma log log1p logistic lt lt_to max min mul name ne neg nextafter not or
polygamma population_count pow real reduce_precision rem round rsqrt select_n shift_left
shift_right_arithmetic shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor
random_clone random_fold_in random_seed
""".split()
_SORTED = "Arguments to sort must be unsharded over the sorting dimension."
_SUMMED = "Input should be unsharded over the axis being reduced."

rules: dict[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE, elementwise),
    **dict.fromkeys(("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"), reduction),
    **dict.fromkeys(("reduce_and", "reduce_or", "reduce_xor", "reduce"), reduction),
    **dict.fromkeys(("argmax", "argmin"), reduction),
    **dict.fromkeys(("slice", "dynamic_slice", "dynamic_update_slice", "pad", "rev"), same_axes),
    **dict.fromkeys(("tile", "split", "reduce_window", "reduce_window_sum"), same_axes),
    **dict.fromkeys(("reduce_window_max", "reduce_window_min"), same_axes),
    **dict.fromkeys(("scatter", "scatter-add", "scatter-sub", "scatter-mul"), same_axes),
    **dict.fromkeys(("scatter-max", "scatter-min"), same_axes),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin"), along("axis", _SUMMED)),
    **dict.fromkeys(("lu", "qr", "cholesky", "eigh", "svd", "eig"), batched),
    "broadcast_in_dim": broadcast_in_dim,
    "clamp": clamp,
    "concatenate": concatenate,
    "conv_general_dilated": convolution,
    "cumlogsumexp": along("axis", _SUMMED),
    "dot_general": dot_general,
    "fft": fft,
    "gather": gather,
    "sort": along("dimension", _SORTED),
    "squeeze": squeeze,
    "stack": stack,
    "top_k": along("axis", _SORTED),
    "transpose": transpose,
    "unstack": unstack,
}


# ---- from axes to specs ----


def propagate(use: Use) -> list[Spec]:
    """The specs of the results. What is not split into equal parts, or over a mesh axis that an axis
    before it has, is whole."""
    if use.name == "reshape":
        return [reshaped(use) or whole(use.out_shapes[0])]
    rule = rules.get(use.name)
    if rule is None or not any(any(spec) for spec in use.specs):
        return [whole(shape) for shape in use.out_shapes]
    results = rule(use).results
    return [_first_claims(use, axes, shape) for axes, shape in zip(results, use.out_shapes)]


def _first_claims(use: Use, axes: list[list[Source]], shape: Shape) -> Spec:
    """The spec of a result, given what its axes are. Each is split as the first of its sources whose claim
    fits: that is split at all, into equal parts, over mesh axes of which no axis before has any. Else: ()."""
    spec: list[tuple] = []
    taken: set[Any] = set()
    for sources, size in zip(axes, shape):
        claims = (use.specs[operand][axis] for operand, axis in sources)
        fitting = (c for c in claims if c and not taken & {*c} and size % use.parts(c) == 0)
        names = next(fitting, ())
        taken.update(names)
        spec.append(names)
    return tuple(spec)


def whole(shape: Shape) -> Spec:
    """The spec of an array that is split nowhere."""
    return ((),) * len(shape)


# ---- reshape ----


def reshaped(use: Use, is_type: bool = False) -> Spec | None:
    """The spec of a reshape's result: axes that become one are split as the first of them; those that one
    becomes, from the first on. None if that can't be, or, for a type, if axes are mixed."""
    (shape,), (spec,), (new,) = use.shapes[:1], use.specs[:1], use.out_shapes
    found: list[tuple] = []
    for old_axes, new_axes in _groups(shape, new):
        names = [spec[a] for a in old_axes]
        if is_type and len(old_axes) > 1 and len(new_axes) > 1 and any(names):
            return None
        joined = _joined(use, [shape[a] for a in old_axes], names, is_type)
        split = None if joined is None else _split(use, joined, [new[a] for a in new_axes])
        if split is None and is_type:
            return None
        found += split or [()] * len(new_axes)
    return tuple(found)


def _joined(use: Use, sizes: list[int], names: list[tuple], is_type: bool) -> tuple | None:
    """Axes as one: split over all that the first ones are split over, if the others are whole. What is not
    a type also has to be in one piece on each device."""
    joined: tuple = ()
    has_ended = False
    for size, each in zip(sizes, names):
        if size == 1 and not each:
            continue
        if each and has_ended:
            return None if is_type else joined
        joined += each
        has_ended = not each or not (is_type or use.parts(each) == size)
    return joined


def _split(use: Use, names: tuple, sizes: list[int]) -> list[tuple] | None:
    """One axis as several: the first ones take as many mesh axes as they can be split over."""
    found: list[tuple] = []
    for size in sizes:
        mine: tuple = ()
        while names and size % use.parts((*mine, names[0])) == 0:
            mine, names = (*mine, names[0]), names[1:]
        found.append(mine)
        if names and size != use.parts(mine):
            return None
    return None if names else found


def _groups(old: Shape, new: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """The shortest runs of axes with as many elements in both shapes; axes of size 1 go with what follows,
    and the last ones with what is before them."""
    i = j = 0
    while i < len(old) or j < len(new):
        first_i, first_j = i, j
        i, j = min(i + 1, len(old)), min(j + 1, len(new))
        while (a := math.prod(old[first_i:i])) != (b := math.prod(new[first_j:j])) or 0 in (
            i - first_i,
            j - first_j,
        ):
            if a <= b and i < len(old):
                i += 1
            elif j < len(new):
                j += 1
            else:
                i = len(old)
                break
        if math.prod(old[i:]) == 1 and math.prod(new[j:]) == 1:
            i, j = len(old), len(new)
        yield list(range(first_i, i)), list(range(first_j, j))
