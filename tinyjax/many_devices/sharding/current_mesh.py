"""The current mesh: the one that names of axes are of, where a program gives a PartitionSpec alone.

Within the block jit, device_put and with_sharding_constraint take `P("x")` for NamedSharding(mesh, P("x")),
and arrays that are made there are on the mesh. While a function is traced the mesh is known without its
devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tinyjax.core.bind import watch
from tinyjax.core.config import config
from tinyjax.many_devices.sharding.mesh import EMPTY_ABSTRACT_MESH, AbstractMesh, Mesh
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec
from tinyjax.many_devices.sharding.sharding import Sharding
from tinyjax.runtime.placement import follow_operands


class set_mesh:  # noqa: N801  (used as a function)
    """`jax.set_mesh(mesh)` makes a mesh the current one of this thread, from there on; as `with
    jax.set_mesh(mesh):`, within the block. None: no mesh.

    Raises ValueError for what is no Mesh."""

    def __init__(self, mesh: Mesh | None):
        if not isinstance(mesh, Mesh | None):
            raise ValueError(f"Expected mesh of type `jax.sharding.Mesh`. Got {type(mesh)}")
        self.before = config.mesh
        _set(mesh)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _set(self.before)


class use_abstract_mesh:  # noqa: N801  (used as a function)
    """`with use_abstract_mesh(mesh):` within the block types of arrays refer to this AbstractMesh."""

    def __init__(self, mesh: AbstractMesh):
        if not isinstance(mesh, AbstractMesh):
            raise ValueError(
                f"Expected mesh of type `jax.sharding.AbstractMesh`. Got type: {type(mesh)}"
            )
        self.mesh = mesh

    def __enter__(self) -> AbstractMesh:
        self.before = config.mesh
        _set(self.mesh)
        return self.mesh

    def __exit__(self, *exc: object) -> None:
        _set(self.before)


class within_mesh:  # noqa: N801  (used as a function)
    """`with within_mesh(mesh):` within the block a Mesh or an AbstractMesh is the current one."""

    def __init__(self, mesh: Mesh | AbstractMesh):
        self.mesh = mesh

    def __enter__(self) -> None:
        self.before = config.mesh
        _set(self.mesh)

    def __exit__(self, *exc: object) -> None:
        _set(self.before)


def _set(mesh: Mesh | AbstractMesh | None) -> None:
    if mesh is None:
        vars(config).pop("mesh", None)
    else:
        vars(config)["mesh"] = mesh
        watch(follow_operands)  # arrays that are made from now on are on the mesh


def mesh_of(params: Mapping[str, Any]) -> Any:
    """The mesh of an equation, with its devices."""
    mesh = params["mesh"]
    return get_mesh() if isinstance(mesh, AbstractMesh) else mesh


def get_mesh() -> Mesh:
    """The mesh that set_mesh has set; an empty one if there is none."""
    return config.mesh if isinstance(config.mesh, Mesh) else Mesh(np.empty((), object), ())


def get_abstract_mesh() -> AbstractMesh:
    """The current mesh without its devices; an empty one if there is none."""
    return EMPTY_ABSTRACT_MESH if config.mesh is None else config.mesh.abstract_mesh


def current_mesh() -> Any:
    """What with_sharding_constraint takes: the mesh of set_mesh, without devices, or that of `with mesh:`."""
    return config.block_mesh if config.mesh is None else config.mesh.abstract_mesh


def named(spec: Any, what: str) -> Any:
    """A PartitionSpec as a NamedSharding on the current mesh; other shardings as they are.

    Raises ValueError if there is none; `what` names the function that got the spec."""
    if not isinstance(spec, PartitionSpec):
        return spec
    if config.mesh is None:
        raise ValueError(
            f"Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to {what}"
        )
    return NamedSharding(config.mesh, spec)


def on_mesh(place: Any, function: str, argument: str) -> Any:
    """A sharding that a function was given; a PartitionSpec is one on the current mesh, which is known
    without its devices while a function is traced.

    Raises TypeError for what is none, RuntimeError where there is no current mesh."""
    if isinstance(place, Sharding):
        return place
    if not isinstance(place, PartitionSpec):
        raise TypeError(
            f"{argument} leaf specifications are expected to be PartitionSpec instances or None, but got "
            f"{place}"
        )
    mesh = current_mesh()
    if mesh is None or function == "jit" and config.mesh is None:
        raise RuntimeError(
            f"{function} requires a non-empty mesh in context if you are passing `PartitionSpec`s to "
            f"{argument}. You can define a context mesh via `jax.set_mesh(mesh)`. Alternatively, provide "
            f"`Sharding`s to {argument} and then the mesh context manager is not required"
        )
    return NamedSharding(mesh, place)


def with_devices(sharding: Any) -> Any:
    """A sharding on an AbstractMesh as that on the current mesh; others as they are.

    Raises ValueError where there is no current mesh."""
    if not isinstance(sharding, NamedSharding) or sharding.has_devices:
        return sharding
    if not isinstance(config.mesh, Mesh):
        raise ValueError(
            f"{sharding} has no devices: run this within `with jax.set_mesh(mesh):`, where mesh has them"
        )
    return NamedSharding(config.mesh, sharding.spec)
