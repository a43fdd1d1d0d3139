"""Check in_specs and out_specs: the split of each argument, and the match of results with their specs.

Errors are axes that the mesh lacks, sizes that the number of devices doesn't divide, and results that may
differ between devices although a spec requires equal ones.

Source: https://docs.jax.dev/en/latest/notebooks/shard_map.html
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tinyjax.core.api_util import fun_name
from tinyjax.core.array import ShapedArray
from tinyjax.core.tree_util.key_paths import keystr, tree_leaves_with_path
from tinyjax.core.tree_util.prefixes import broadcast_prefix
from tinyjax.core.tree_util.pytrees import (
    PyTreeDef,
    prefix_errors,
    tree_flatten,
    tree_leaves,
    tree_unflatten,
)
from tinyjax.many_devices.shard_map.nested_vmap import MeshAxes, Specs
from tinyjax.many_devices.sharding.mesh import Mesh
from tinyjax.many_devices.sharding.named_sharding import whole_spec
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec, names_of
from tinyjax.many_devices.sharding.types import spec_of_type

WHOLE = PartitionSpec()


def is_spec(x: Any) -> bool:
    return x is None or isinstance(x, PartitionSpec)


def check_specs(what: str, specs: Any, axes: MeshAxes) -> None:
    """`what` is in_specs or out_specs. Raises TypeError for leaves that aren't specs, ValueError for one that
    names an axis that isn't mapped over, or names one twice."""
    manual = frozenset(name for name, _ in axes)
    for spec in tree_leaves(specs, is_leaf=is_spec):
        if not is_spec(spec):
            raise TypeError(
                f"shard_map {what} argument must be a pytree of `jax.sharding.PartitionSpec` instances, "
                f"but:\n\n  {what} is {spec} of type {type(spec).__name__}\n\nCheck the {what} values "
                "passed to shard_map."
            )
        unknown = [name for name in (spec or WHOLE).names if name not in manual]
        if unknown:
            raise ValueError(
                f"shard_map {what} argument must refer to an axis marked as manual ({manual}), but:\n\n"
                f"  {what} refers to {', '.join(map(repr, unknown))}\n\nCheck the {what} values passed to "
                "shard_map."
            )


def flat_specs(what: str, specs: Any, tree: PyTreeDef) -> Specs:
    """A spec for each leaf of a tree. Raises ValueError if the specs aren't a prefix of it."""
    try:
        found = broadcast_prefix(
            specs, tree_unflatten(tree, [0] * tree.num_leaves), is_leaf=is_spec
        )
    except ValueError:
        prefix = tree_flatten(specs, is_leaf=is_spec)[1]
        raise next(prefix_errors(f"shard_map {what}", prefix, tree)) from None
    return tuple([WHOLE if spec is None else spec for spec in found])


# ---- arguments ----


def check_arguments(
    fun: Callable, mesh: Mesh, axes: MeshAxes, specs: Specs, avals: Sequence[ShapedArray], args: Any
) -> None:
    """Raises ValueError for a spec with more entries than its argument has axes, and for an axis whose size
    the mesh axis doesn't divide."""
    paths = [path for path, _ in tree_leaves_with_path(args)]
    for spec, aval, path in zip(specs, avals, paths):
        if len(spec) > aval.ndim:
            raise ValueError(
                f"shard_map applied to the function {fun_name(fun)!r} was given an in_specs entry which "
                "is too long to be compatible with the corresponding input value from the function:\n\n"
                f"in_specs is {spec} which has length {len(spec)}, but the passed args{keystr(path)}"
                f"{_bound(fun, path)}, has shape {aval.str_short()}, which has rank {aval.ndim} (and "
                f"{aval.ndim} < {len(spec)})\n\nEntries in in_specs must be of length no greater than "
                "the number of axes in the corresponding input value.\n\nEither revise the spec to be "
                f"shorter, or modify {fun_name(fun)!r} so that its inputs have sufficient rank."
                + _SCALARS_ARE_WHOLE
                * (not aval.ndim)
            )
    for spec, aval, path in zip(specs, avals, paths):
        for i, entry in enumerate(spec):
            names = names_of(entry)
            size = _size(names, axes)
            if aval.shape[i] % size:
                raise ValueError(
                    f"shard_map applied to the function {fun_name(fun)!r} was given argument arrays with "
                    "axis sizes that are not evenly divisible by the corresponding mesh axis sizes:\n\n"
                    f"{_of_mesh(mesh)}\n\nthe passed args{keystr(path)} of shape {aval.str_short()}"
                    f"{_bound(fun, path)}, corresponds to in_specs of value {spec}, which maps array "
                    f"axis {i} (of size {aval.shape[i]}) to mesh {_axes_text(names)} (of "
                    f"{'total ' * (len(names) > 1)}size {size}), but {size} does not evenly divide "
                    f"{aval.shape[i]}\n\nArray arguments' axis "
                    "sizes must be evenly divisible by the mesh axis or axes indicated by the "
                    "corresponding elements of the argument's in_specs entry. Consider checking that "
                    "in_specs are correct, and if so consider changing the mesh axis sizes or else "
                    f"padding the input and adapting {fun_name(fun)!r} appropriately."
                )


def spec_of_argument(aval: ShapedArray, axes: MeshAxes) -> PartitionSpec:
    """The spec of an argument by its type's split over the mapped axes."""
    sizes = dict(axes)
    return PartitionSpec(*[[n for n in names if n in sizes] for names in spec_of_type(aval)])


def check_types(axes: MeshAxes, specs: Specs, avals: Sequence[ShapedArray]) -> None:
    """Raises ValueError for a spec that contradicts its argument's type."""
    for spec, aval in zip(specs, avals):
        if whole_spec(spec, aval.ndim) != spec_of_argument(aval, axes):
            raise ValueError(
                f"in_specs passed to shard_map: {spec} does not match the type of the argument, "
                f"{aval.str_short()}. Leave in_specs out, or reshard the argument first: "
                f"jax.sharding.reshard(x, {spec})"
            )


_SCALARS_ARE_WHOLE = (
    "\n\nFor scalar values (rank 0), consider using an in_specs entry of `P()`, where "
    "`P = jax.sharding.PartitionSpec`."
)


def _bound(fun: Callable, path: Sequence[Any]) -> str:
    """The name of the argument at the start of a path, if it is known."""
    number = getattr(path[0], "idx", 0)
    try:
        name = list(inspect.signature(fun).parameters)[number]
    except (TypeError, ValueError, IndexError):
        return ""
    return f", where args[{number}] is bound to {fun_name(fun)}'s parameter {name!r}"


def _size(names: Sequence[Hashable], axes: MeshAxes) -> int:
    size = 1
    for name in names:
        size *= dict(axes)[name]
    return size


def _axes_text(names: Sequence[Hashable]) -> str:
    return f"axes {tuple(names)}" if len(names) > 1 else f"axis {names[0]!r}"


def _of_mesh(mesh: Mesh) -> str:
    return f"The mesh given has shape {mesh.axis_sizes} with corresponding axis names {mesh.axis_names}."


# ---- results ----


def check_results(
    fun: Callable, mesh: Mesh, axes: MeshAxes, specs: Sequence[PartitionSpec],
    avals: Sequence[ShapedArray], tree: PyTreeDef, check_vma: bool,
) -> None:  # fmt: skip
    """Raises ValueError for a spec with more entries than its result has axes, and with check_vma for one
    without an axis over which the result may vary."""
    paths = [keystr(path) for path, _ in tree_leaves_with_path(tree_unflatten(tree, avals))]
    for spec, aval, path in zip(specs, avals, paths):
        if len(spec) > aval.ndim:
            raise ValueError(
                f"shard_map applied to the function {fun_name(fun)!r} was given an out_specs entry which "
                "is too long to be compatible with the corresponding output value from the function:\n\n"
                f"out_specs{path} is {spec} which has length {len(spec)}, but {fun_name(fun)}(*args){path} "
                f"has shape {aval.str_short()}, which has rank {aval.ndim} (and {aval.ndim} < {len(spec)})"
                "\n\nEntries in out_specs must be of length no greater than the number of axes in the "
                "corresponding output value.\n\nEither revise the spec to be shorter, or modify "
                f"{fun_name(fun)!r} so that its outputs have sufficient rank."
                + _SCALARS_NEED_AN_AXIS
                * (not aval.ndim)
            )
    for spec, aval, path in zip(specs, avals, paths):
        left_out = [name for name, _ in axes if name in aval.vma and name not in spec.names]
        if check_vma and left_out:
            equal = [name for name, _ in axes if name not in aval.vma]
            known = f"only over {_axes_text(equal)}" if equal else "over any axes"
            raise ValueError(
                f"shard_map applied to the function {fun_name(fun)!r} was given out_specs which require "
                "replication which can't be statically inferred given the mesh:\n\n"
                f"{_of_mesh(mesh)}\n\nout_specs{path} is {spec} which implies that the corresponding "
                f"output value is replicated across mesh {_axes_text(left_out)}, but could "
                f"{'' if equal else 'not '}infer replication {known}\n\nCheck if these output values are "
                "meant to be replicated over those mesh axes. If not, consider revising the corresponding "
                "out_specs entries. If so, consider disabling the check by passing the check_vma=False "
                "argument to `jax.shard_map`."
            )


_SCALARS_NEED_AN_AXIS = (
    "\n\nFor scalar values (rank 0), consider using an out_specs entry of `P()`, where "
    "`P = jax.sharding.PartitionSpec`. In particular, for rank 0 outputs which are not constant over the "
    "mesh, add at least one (singleton) axis to them so that they can be concatenated using out_specs."
)
