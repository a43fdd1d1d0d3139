"""One program, many devices: `shard_map` gives each device of a mesh its part of the arrays.

The function sees one device's part, whose type shows over which mesh axes the parts differ. A call binds
`shard_map_p`.

Source: https://docs.jax.dev/en/latest/notebooks/shard_map.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tinyjax.core.api_util import FlatFun, wraps
from tinyjax.core.argument_names import named_avals
from tinyjax.core.avals import get_aval
from tinyjax.core.jaxpr import constvars_as_invars
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_leaves, tree_map, tree_unflatten
from tinyjax.many_devices.shard_map.nested_vmap import Specs
from tinyjax.many_devices.shard_map.primitive import (
    manual_env,
    mapped_axes,
    mesh_within,
    part_aval,
    shard_map_p,
)
from tinyjax.many_devices.shard_map.specs import (
    WHOLE,
    check_arguments,
    check_results,
    check_specs,
    check_types,
    flat_specs,
    spec_of_argument,
)
from tinyjax.many_devices.sharding.current_mesh import get_abstract_mesh, use_abstract_mesh
from tinyjax.many_devices.sharding.mesh import AbstractMesh, Mesh
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec
from tinyjax.many_devices.varying import pvary_to


class _Infer:
    """The marker for in_specs taken from the arguments' types."""

    def __repr__(self) -> str:
        return "jax.sharding.Infer"


Infer = _Infer()


def shard_map(
    f: Callable | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: Mesh | None = None,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
) -> Callable[..., Any]:
    """`f` on all devices of a mesh: each computes its part of the results from its part of the arguments.

    `in_specs`, a tree prefix of the tuple of arguments, has PartitionSpecs: an axis with a mesh axis's name
    is split into as many parts as the mesh axis has devices; devices along unnamed mesh axes have the same
    part. Along "Explicit" axes the split is in the arguments' types: in_specs must agree, and can be omitted.
    `out_specs` define how parts are joined into results. A mesh axis that a spec doesn't name is a promise
    that the result is equal along it, which is proved from types unless check_vma is False. Within `f`,
    collectives such as lax.psum use the names of the axes. `mesh` is by default that of jax.set_mesh. With
    `axis_names`, only these axes are mapped over. Without `f`, a decorator.
    Raises:
      TypeError: `f` can't be called, `mesh` isn't a mesh, or specs aren't PartitionSpecs. ValueError: there
      is no mesh, specs do not match the mesh, the arguments or the results, or a
        result may vary where its spec doesn't allow it."""
    if f is None:
        options = {"in_specs": in_specs, "mesh": mesh, "axis_names": axis_names}
        return functools.partial(shard_map, out_specs=out_specs, check_vma=check_vma, **options)
    if not callable(f):
        raise TypeError(
            f"shard_map requires a callable for its first argument, but got {f} of type {type(f)}."
        )
    names = frozenset((axis_names,) if isinstance(axis_names, str) else axis_names)

    @wraps(f)
    def mapped(*args: Any) -> Any:
        checked = _checked_mesh(mesh, names)
        params = {
            "mesh": checked,
            "newly_manual_axes": names or frozenset(checked.axis_names),
            "check_vma": check_vma,
        }
        return _call(f, args, in_specs, out_specs, params)

    return mapped


def _checked_mesh(mesh: Any, names: frozenset) -> Any:
    """The given mesh or the current one. Raises TypeError if it isn't a mesh, ValueError if there is none or
    it lacks one of the names."""
    if not isinstance(mesh, AbstractMesh | Mesh | None):
        raise TypeError(
            "shard_map requires a `jax.sharding.Mesh` or a `jax.sharding.AbstractMesh` instance for its "
            f"second argument, but got {mesh} of type {type(mesh)}."
        )
    around = get_abstract_mesh()
    if mesh is not None and not around.empty and mesh.abstract_mesh != around:
        raise ValueError(
            f"The context mesh {around} should match the mesh passed to shard_map {mesh}: leave mesh out"
        )
    mesh = around if mesh is None else mesh
    if mesh.empty:
        raise ValueError(
            "The context mesh cannot be empty. Use `jax.set_mesh(mesh)` to enter into a mesh context, or "
            "give shard_map its mesh"
        )
    if not names <= set(mesh.axis_names):
        raise ValueError(
            f"jax.shard_map requires axis_names={names} to be a subset of "
            f"mesh.axis_names={frozenset(mesh.axis_names)}"
        )
    return mesh


def _call(f: Callable, args: tuple, in_specs: Any, out_specs: Any, params: dict[str, Any]) -> Any:
    """The results of a call with checked specs."""
    axes, mesh, check_vma = mapped_axes(params), params["mesh"], params["check_vma"]
    is_explicit = all(name in mesh.explicit_axes for name, _ in axes)
    if in_specs is Infer and not is_explicit:
        kinds = ", ".join(str(kind) for kind in mesh.axis_types)
        raise TypeError(
            "shard_map in_specs argument must be a pytree of `jax.sharding.PartitionSpec` instances, but "
            f"it was left out, and axis_names={params['newly_manual_axes']} are of type {kinds}: only where "
            "they are Explicit do the arguments' types say how they are split"
        )
    leaves, args_tree = tree_flatten(args)
    tree = tree_flatten((args, {}))[1]
    avals = named_avals(f, (), tree, leaves)
    if in_specs is Infer:
        in_specs = tree_unflatten(args_tree, [spec_of_argument(aval, axes) for aval in avals])
    in_specs = tuple(in_specs) if isinstance(in_specs, list) else in_specs
    check_specs("in_specs", in_specs, axes)
    check_specs("out_specs", out_specs, axes)
    specs = flat_specs("in_specs", in_specs, args_tree)
    check_arguments(f, mesh, axes, specs, avals, args)
    if is_explicit and len(axes) == len(mesh.axis_names):
        check_types(axes, specs, avals)
    flat_fun = FlatFun(f, tree)

    def of_parts(*parts: Any) -> tuple[list[Any], Specs]:
        outs = flat_fun(*parts)
        found = flat_specs("out_specs", out_specs, flat_fun.out_tree)
        out_avals = [get_aval(x) for x in outs]
        check_results(f, mesh, axes, found, out_avals, flat_fun.out_tree, check_vma)
        return outs, found

    outs = bind_parts(of_parts, leaves, specs, params)
    return tree_unflatten(flat_fun.out_tree, outs)


def bind_parts(
    of_parts: Callable[..., tuple[list[Any], Specs]],
    args: Sequence[Any],
    in_specs: Specs,
    params: dict[str, Any],
) -> list[Any]:
    """Trace the program of one device, which returns results and their specs, and bind it to whole arrays.
    Values that the program closes over are whole arrays too."""
    out_specs: list[PartitionSpec] = []

    def program(*parts: Any) -> list[Any]:
        outs, out_specs[:] = of_parts(*parts)
        return [pvary_to(x, frozenset(spec.names)) for x, spec in zip(outs, out_specs)]

    avals = [part_aval(get_aval(x), spec, params) for x, spec in zip(args, in_specs)]
    with manual_env(params), use_abstract_mesh(mesh_within(params)):
        closed = trace_to_jaxpr(program, avals)
    return shard_map_p.bind(
        *closed.consts,
        *args,
        jaxpr=constvars_as_invars(closed),
        in_specs=(*(WHOLE,) * len(closed.consts), *in_specs),
        out_specs=tuple(out_specs),
        **params,
    )


def smap(
    f: Callable | None = None, /, *, in_axes: Any = Infer, out_axes: Any, axis_name: Hashable
) -> Callable[..., Any]:
    """shard_map over one axis of the current mesh, with vmap's in_axes and out_axes.

    An axis number is the argument's axis that is split along the mesh's `axis_name`; with None all devices
    have the whole argument. Without `f`, a decorator. Raises TypeError for axes that are neither ints nor
    None, ValueError like shard_map."""
    if f is None:
        return functools.partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    if isinstance(axis_name, (tuple, list)):
        raise TypeError(f"smap axis_name should be a `str` or a `Hashable`, but got {axis_name}")
    if not (in_axes is Infer or in_axes is None or type(in_axes) in (int, tuple)):
        raise TypeError(
            "smap in_axes must be an int, None, jax.sharding.Infer, or a tuple of entries corresponding "
            f"to the positional arguments passed to the function, but got {in_axes}."
        )
    if not all(axis is None or type(axis) is int for axis in tree_leaves(out_axes)):
        raise TypeError(
            "smap out_axes must be an int, None, or (nested) container with those types as leaves, but "
            f"got {out_axes}."
        )

    def spec(axis: int | None) -> PartitionSpec:
        return WHOLE if axis is None else PartitionSpec(*(None,) * axis, axis_name)

    def specs(axes: Any) -> Any:
        return axes if axes is Infer else tree_map(spec, axes, is_leaf=lambda x: x is None)

    names = frozenset((axis_name,))
    return shard_map(f, in_specs=specs(in_axes), out_specs=specs(out_axes), axis_names=names)
