"""auto_axes and explicit_axes: change the type of mesh axes for a part of a program.

Within a function under auto_axes, types don't mention the mesh. Its results are resharded by
`out_sharding`, and are explicit again. Both functions only add a reshard before and after.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tinyjax.core.api_util import wraps
from tinyjax.core.avals import get_aval
from tinyjax.core.config import config
from tinyjax.core.tree_util.pytrees import tree_leaves, tree_map
from tinyjax.many_devices.constraints import reshard
from tinyjax.many_devices.sharding.current_mesh import within_mesh
from tinyjax.many_devices.sharding.mesh import AxisType
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec, entry_of
from tinyjax.many_devices.sharding.types import explicit_sharding, spec_of_type


def auto_axes(
    f: Callable | None = None, /, *, axes: Any = None, out_sharding: Any = None
) -> Callable[..., Any]:
    """`f` with mesh `axes` (by default, all) of type Auto within it.

    `out_sharding`, a tree prefix of the result with PartitionSpecs or NamedShardings, specifies the split of
    the results, whose types are explicit again; it can also be given at the call. Without `f`, a decorator.
    Raises TypeError if it is missing, KeyError for an axis that the mesh lacks, ValueError for shardings on
    another mesh."""
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)

    @wraps(f)
    def in_auto_mode(*args: Any, **kwargs: Any) -> Any:
        place = _given("out_sharding", out_sharding, kwargs)
        mesh = _mesh_of(place)
        if mesh is None:
            return f(*args, **kwargs)
        changed = _with_types(mesh, axes, AxisType.Auto)
        if changed == mesh:
            return f(*args, **kwargs)
        with within_mesh(changed):
            outs = f(*tree_map(_as_types_say, args), **kwargs)
        with within_mesh(mesh):
            return reshard(outs, place)

    return in_auto_mode


def explicit_axes(
    f: Callable | None = None, /, *, axes: Any = None, in_sharding: Any = None
) -> Callable[..., Any]:
    """`f` with mesh `axes` (by default, all) of type Explicit within it.

    `in_sharding`, a tree prefix of the tuple of arguments, says how they are split, as their types do
    within `f`; it can be given at the call too. Without `f`, a decorator.
    Raises TypeError if it is not given, KeyError for an axis that the mesh does not have, ValueError
    where there is no current mesh."""
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)

    @wraps(f)
    def in_explicit_mode(*args: Any, **kwargs: Any) -> Any:
        place = _given("in_sharding", in_sharding, kwargs)
        mesh = _mesh_of(())
        if mesh is None:
            raise ValueError(
                "Context mesh cannot be empty: enter one by `jax.set_mesh(mesh)` before explicit_axes"
            )
        with within_mesh(_with_types(mesh, axes, AxisType.Explicit)):
            outs = f(*reshard(args, place), **kwargs)
        with within_mesh(mesh):
            return tree_map(_as_types_say, outs)

    return in_explicit_mode


def within_auto_axes(f: Callable, out_sharding: Any, function: str) -> Callable[..., Any]:
    """`f`, or `f` in auto mode if the public function of this name got an `out_sharding`."""
    if out_sharding is None:
        return f
    place = explicit_sharding(out_sharding, function)
    return auto_axes(f, axes=place.mesh.explicit_axes, out_sharding=place)


def _given(parameter: str, place: Any, kwargs: dict[str, Any]) -> Any:
    if place is None and parameter not in kwargs:
        raise TypeError(f"Missing required keyword argument: '{parameter}'")
    return kwargs.pop(parameter) if place is None else place


def _mesh_of(places: Any) -> Any:
    """The current mesh, or the shardings' mesh; None if there is none. Raises ValueError for several."""
    meshes = [p.mesh for p in tree_leaves(places) if isinstance(p, NamedSharding)]
    known = [mesh for mesh in (config.mesh, *meshes) if mesh is not None]
    for mesh in known:
        if mesh.abstract_mesh != known[0].abstract_mesh:
            raise ValueError(
                f"All shardings should have one mesh, that of jax.set_mesh: got {known[0]} and {mesh}"
            )
    return known[0] if known else None


def _with_types(mesh: Any, axes: Any, kind: AxisType) -> Any:
    """The mesh with other axis types."""
    names = mesh.axis_names if axes is None else axes if isinstance(axes, tuple) else (axes,)
    kinds = dict(zip(mesh.axis_names, mesh.axis_types))
    for name in names:
        if name not in kinds:
            raise KeyError(f"{name!r} is no axis of the mesh {mesh}")
        if kinds[name] == AxisType.Manual:
            raise NotImplementedError(
                f"the mesh axis {name!r} is of type Manual, as within shard_map, and stays that"
            )
    return mesh.update_axis_types(dict.fromkeys(names, kind))


def _as_types_say(x: Any) -> Any:
    """`x`, resharded so that its type has its split over the current mesh's axes."""
    explicit = config.mesh.explicit_axes
    kept = [
        entry_of(tuple(n for n in names if n in explicit)) for names in spec_of_type(get_aval(x))
    ]
    return reshard(x, PartitionSpec(*kept))
