"""Collectives: operations over an axis that has a name, such as the mean of a gradient over a batch.

Within `vmap(f, axis_name="i")`, `psum(x, "i")` is the sum over the examples. Tracing writes it as an
equation. vmap knows which axis of the arrays that is, and its rule removes the name, which leaves sums
over positions, transposes and reshapes. Other maps over named axes (pmap) use the same primitives.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NoReturn

import numpy as np

from tinyjax.core import bind as core
from tinyjax.core import primitives
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive, Tracer, abstract_eval_rules, impl_rules, no_rule_reasons
from tinyjax.core.facts import MOVES
from tinyjax.core.primitives import reduced_aval, shape_of
from tinyjax.core.tree_util import tree_map
from tinyjax.lax import shape as shapes
from tinyjax.lax.conversion import convert_element_type
from tinyjax.lax.creation import iota
from tinyjax.lax.reductions import reduce_max_p, reduce_min_p
from tinyjax.transform.batching import (
    AxisData,
    BatchTrace,
    axis_batch_rules,
    moveaxis,
    not_mapped,
    vmap,
)
from tinyjax.transform.transposition import deflinear2, transpose_rules

AxisName = Hashable
Groups = Sequence[Sequence[int]] | None

# ---- names ----


def names_of(axis_name: AxisName | Sequence[AxisName]) -> tuple[AxisName, ...]:
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def _is_position(axis: AxisName) -> bool:
    """Reductions take names and positions: a whole number is a position."""
    return isinstance(axis, int)


def check_bound(names: Sequence[AxisName]) -> None:
    for name in names:
        if not _is_position(name):
            core.axis_size(name)


def axis_size(axis_name: AxisName | Sequence[AxisName]) -> int:
    """The size of a named axis, or the product of several.

    Raises NameError for an unbound name."""
    return group_size(axis_name, None)


def group_size(axis_name: Any, groups: Groups) -> int:
    if groups is not None:
        return len(groups[0])
    return math.prod(core.axis_size(name) for name in names_of(axis_name))


def canonical_groups(groups: Groups) -> tuple[tuple[int, ...], ...] | None:
    if groups is not None and not groups:
        raise ValueError("axis_index_groups must have at least one group of indices, got none")
    return None if groups is None else tuple(map(tuple, groups))


def in_groups(primitive: Primitive, axis: AxisData, x: Any, dim: int | None, params: Any) -> Any:
    """A collective within groups of devices: (result, its batch dim, 0). Each of the axis_index_groups is
    an axis by itself.

    Raises NotImplementedError for vmap, and for several names; ValueError where a device has no group, or
    groups differ in size."""
    groups = params["axis_index_groups"]
    if not axis.of_devices or names_of(params.get("axis_name", params.get("axes"))) != (axis.name,):
        raise NotImplementedError(
            "axis_index_groups are for the one axis of pmap: reshape the batch, so that groups have an "
            "axis of their own, and name both axes by two vmaps, or by a pmap and a vmap"
        )
    order = [i for group in groups for i in group]
    if sorted(order) != list(range(axis.size)) or len({*map(len, groups)}) != 1:
        raise ValueError(
            f"axis_index_groups must have each index of the axis, whose size is {axis.size}, in one of "
            f"them, and all the same size, got {groups}"
        )
    collective = functools.partial(primitive.bind, **(params | {"axis_index_groups": None}))
    xs = shapes.broadcast(x, (axis.size,)) if dim is not_mapped else moveaxis(x, dim, 0)
    grouped = shapes.reshape(
        xs.take(np.array(order), 0), (len(groups), len(groups[0]), *shape_of(xs)[1:])
    )
    outs = fold_axes(vmap(vmap(collective, axis_name=axis.name))(grouped), 0)
    return outs.take(np.argsort(order), 0), 0


# Why a collective that needs a name has no lowering rule.
NAME_IS_GONE = "vmap's rule takes the name away, before anything is compiled"


def not_evaluated(*args: Any, **params: Any) -> NoReturn:
    raise RuntimeError(
        "a collective over a named axis has no value by itself: call it in a function that vmap or pmap maps"
    )


# ---- reductions: psum, pmax, pmin ----

psum_p = Primitive("psum", axes="each operand", makes_nan=True)
pmax_p = Primitive("pmax", axes="each operand", makes_nan=False)
pmin_p = Primitive("pmin", axes="each operand", makes_nan=False)


def psum(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """The sum of `x`, a pytree, over named axes; whole numbers among the names are positions of axes.

    Booleans are counted. If `x` is not a tracer, the sum is `x` times the axes' size: psum(1, "i") is
    that size as a Python number. Raises NameError for a name that is not bound."""
    axes, groups = names_of(axis_name), checked_groups(axis_name, axis_index_groups)

    def of_leaf(leaf: Any) -> Any:
        if get_aval(leaf).dtype == np.bool_:
            leaf = convert_element_type(leaf, np.int32)
        if isinstance(leaf, Tracer):
            return psum_p.bind(leaf, axes=axes, axis_index_groups=groups)
        size = group_size([name for name in axes if not _is_position(name)], groups)
        positions = [axis for axis in axes if _is_position(axis)]
        if positions:
            ndim = len(shape_of(leaf))
            axes_ = [shapes.canonicalize_axis(axis, ndim) for axis in positions]
            leaf = primitives.reduce_sum(leaf, axes_)
        return size * leaf

    return tree_map(of_leaf, x) if axes else x


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """The mean of `x`, a pytree, over named axes."""
    size = psum(1, axis_name, axis_index_groups=axis_index_groups)
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    return tree_map(lambda v: v / size, total)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """The greatest of `x`, a pytree, over named axes. It has no derivative."""
    return _reduce(pmax_p, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Groups = None) -> Any:
    """The least of `x`, a pytree, over named axes. It has no derivative."""
    return _reduce(pmin_p, x, axis_name, axis_index_groups)


def _reduce(primitive: Primitive, x: Any, axis_name: Any, axis_index_groups: Groups) -> Any:
    groups = checked_groups(axis_name, axis_index_groups)
    axes = names_of(axis_name)
    return tree_map(lambda leaf: primitive.bind(leaf, axes=axes, axis_index_groups=groups), x)


def checked_groups(axis_name: Any, groups: Groups) -> tuple[tuple[int, ...], ...] | None:
    if groups is None:
        return None
    if any(_is_position(axis) for axis in names_of(axis_name)):
        raise ValueError("axis_index_groups only supported for sums over just named axes")
    if sorted(i for group in groups for i in group) != list(range(sum(map(len, groups)))):
        raise ValueError(f"axis_index_groups must cover all indices exactly once, got {groups}")
    return canonical_groups(groups)


def _reduction_impl(reduce: Callable, x: Any, *, axes: Any, axis_index_groups: None) -> np.ndarray:
    if not all(map(_is_position, axes)):
        not_evaluated()
    return reduce(x, axes=axes)


def _reduction_aval(name: str, x: ShapedArray, *, axes: Any, axis_index_groups: Any) -> ShapedArray:
    check_bound(axes)
    positions = tuple(axis for axis in axes if _is_position(axis))
    return reduced_aval(x, positions, name).strip_weak_type()


def _reduction_batch(
    primitive: Primitive, axis: AxisData, vals: Any, dims: Any, *, axes: Any, axis_index_groups: Any
) -> Any:
    """The rule of psum, pmax and pmin for vmap: (result, its batch dim). `axes` are names and positions.

    An operand that is not batched is the same for each example: over this vmap's axis (`axis.name`, None
    where it has no name) its sum is `axis.size` times itself, its greatest and least itself; the other
    axes are left to be reduced. A batched one is unchanged if `axes` has neither our name nor a position.
    Otherwise its batch dim goes to the front: our name becomes position 0, and positions increase by one.
    Our name with axis_index_groups is handled by `in_groups`."""
    (x,), (dim,) = vals, dims
    bind = functools.partial(primitive.bind, axis_index_groups=axis_index_groups)
    ours = axis.name is not None and axis.name in axes
    if ours and axis_index_groups is not None:
        params = {"axes": axes, "axis_index_groups": axis_index_groups}
        return in_groups(primitive, axis, x, dim, params)
    if dim is not_mapped:
        others = tuple(name for name in axes if not (ours and name == axis.name))
        x = bind(x, axes=others) if others or not ours else x
        return axis.size * x if ours and primitive is psum_p else x, not_mapped
    if not ours and not any(map(_is_position, axes)):
        return bind(x, axes=axes), dim
    x = primitives.transpose(x, (dim, *np.delete(np.arange(len(shape_of(x))), dim)))
    axes = tuple(a + 1 if _is_position(a) else 0 if ours and a == axis.name else a for a in axes)
    return bind(x, axes=axes), not_mapped if ours else 0


def _psum_transpose(ct: Any, x: Any, *, axes: Any, axis_index_groups: Any) -> list[Any]:
    """The transpose of a sum over positions is a broadcast. A sum over a name is its own transpose: every
    example uses the result, so each operand's cotangent is the sum of all examples' cotangents."""
    positions = [axis for axis in axes if _is_position(axis)]
    if positions:
        (ct,) = transpose_rules[primitives.reduce_sum_p](ct, x, axes=positions)
    named = tuple(axis for axis in axes if not _is_position(axis))
    return [psum_p.bind(ct, axes=named, axis_index_groups=axis_index_groups)]


for _primitive, _over_positions in (
    (psum_p, impl_rules[primitives.reduce_sum_p]),
    (pmax_p, impl_rules[reduce_max_p]),
    (pmin_p, impl_rules[reduce_min_p]),
):
    impl_rules[_primitive] = functools.partial(_reduction_impl, _over_positions)
    abstract_eval_rules[_primitive] = functools.partial(_reduction_aval, _primitive.name)
    axis_batch_rules[_primitive] = functools.partial(_reduction_batch, _primitive)
deflinear2(psum_p, _psum_transpose)
for _primitive in (pmax_p, pmin_p):
    no_rule_reasons[_primitive, "jvp"] = (
        "JAX has none: differentiate jnp.max of lax.all_gather(x, axis_name) instead"
    )


# ---- axis_index ----

axis_index_p = Primitive("axis_index", axes="none", **MOVES)


def axis_index(axis_name: Any) -> Any:
    """This example's int32 index along a named axis, or along the product of several."""
    if not isinstance(axis_name, (tuple, list)):
        return axis_index_p.bind(axis_name=axis_name)
    index, inner_size = core.as_array(0), 1
    for name in reversed(axis_name):
        index += axis_index(name) * inner_size
        inner_size *= axis_size(name)
    return index


def _axis_index_aval(*, axis_name: AxisName) -> ShapedArray:
    check_bound([axis_name])
    return ShapedArray((), np.dtype("int32"))


def _axis_index_batch(axis: AxisData, vals: Any, dims: Any, *, axis_name: AxisName) -> Any:
    if axis_name != axis.name:
        return axis_index_p.bind(axis_name=axis_name), not_mapped
    return iota(np.int32, axis.size), 0


impl_rules[axis_index_p] = not_evaluated
no_rule_reasons[axis_index_p, "jvp"] = "it has no operand"
no_rule_reasons[axis_index_p, "lowering"] = NAME_IS_GONE
abstract_eval_rules[axis_index_p] = _axis_index_aval
axis_batch_rules[axis_index_p] = _axis_index_batch


# ---- rules for collectives that move data (all_gather.py, all_to_all_ppermute.py) ----


def def_collective(
    primitive: Primitive, aval_rule: Callable, along: Callable, beside: Callable,
    transpose: Callable, one_by_one: Any = None, among: Callable | None = None,
) -> None:  # fmt: skip
    """All rules of a primitive, linear in its one operand, that has a parameter `axis_name`.

    `along(x, dim, axis, params) -> (out, out_dim)` batches it over the axis that it names;
    `beside(dim, params) -> (changed params, out_dim)` over another axis of the operand;
    `one_by_one(x, params) -> out` is the same by collectives that name one axis each, or `among` is as
    `along`, over one of several axes."""

    def batch(axis: AxisData, vals: Any, dims: Any, **params: Any) -> Any:
        (x,), (dim,) = vals, dims
        names = names_of(params["axis_name"])
        if axis.name is None or axis.name not in names:
            changed, dim = ({}, dim) if dim is not_mapped else beside(dim, params)
            return primitive.bind(x, **(params | changed)), dim
        if params.get("axis_index_groups") is not None:
            return in_groups(primitive, axis, x, dim, params)
        if names == (axis.name,) or among is not None:
            return (along if len(names) == 1 else among)(x, dim, axis, params)  # type: ignore[misc]
        trace = BatchTrace(core.context.trace, axis)
        with core.set_current_trace(trace):
            return trace.val_and_dim(one_by_one(trace.tracer(x, dim), params))

    impl_rules[primitive] = not_evaluated
    abstract_eval_rules[primitive] = aval_rule
    axis_batch_rules[primitive] = batch
    deflinear2(primitive, lambda ct, x, **params: [transpose(ct, **params)])
    no_rule_reasons[primitive, "lowering"] = NAME_IS_GONE


def fold_axes(x: Any, axis: int) -> Any:
    """Merges an axis with the next one."""
    shape = list(shape_of(x))
    shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
    return shapes.reshape(x, shape)
