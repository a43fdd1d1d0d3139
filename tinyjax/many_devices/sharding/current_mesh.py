"""The current mesh, whose axes a PartitionSpec without a mesh names.

Within the block, jit, device_put and with_sharding_constraint accept `P("x")` as NamedSharding(mesh, P("x")),
and new arrays are on the mesh. While a function is traced, the mesh has no devices.
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
    """`jax.set_mesh(mesh)` makes a mesh the current one of this thread from then on; `with
    jax.set_mesh(mesh):` within the block. None: no mesh.

    Raises ValueError unless it is a Mesh."""

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
    """`with use_abstract_mesh(mesh):` makes types of arrays refer to this AbstractMesh within the block."""

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
    """`with within_mesh(mesh):` makes a Mesh or an AbstractMesh the current one within the block."""

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
        watch(follow_operands)  # new arrays are on the mesh from now on


def mesh_of(params: Mapping[str, Any]) -> Any:
    """The mesh of an equation, with its devices."""
    mesh = params["mesh"]
    return get_mesh() if isinstance(mesh, AbstractMesh) else mesh


def get_mesh() -> Mesh:
    """The mesh of set_mesh; an empty one if there is none."""
    return config.mesh if isinstance(config.mesh, Mesh) else Mesh(np.empty((), object), ())


def get_abstract_mesh() -> AbstractMesh:
    """The current mesh without its devices; an empty one if there is none."""
    return EMPTY_ABSTRACT_MESH if config.mesh is None else config.mesh.abstract_mesh


def current_mesh() -> Any:
    """The mesh for with_sharding_constraint: that of set_mesh, without devices, or that of `with mesh:`."""
    return config.block_mesh if config.mesh is None else config.mesh.abstract_mesh


def named(spec: Any, what: str) -> Any:
    """A PartitionSpec as a NamedSharding on the current mesh; other shardings unchanged.

    Raises ValueError if there is no mesh; `what` names the function that received the spec."""
    if not isinstance(spec, PartitionSpec):
        return spec
    if config.mesh is None:
        raise ValueError(
            f"Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to {what}"
        )
    return NamedSharding(config.mesh, spec)


def on_mesh(place: Any, function: str, argument: str) -> Any:
    """A function's sharding argument; a PartitionSpec becomes one on the current mesh, which has no devices
    while a function is traced.

    Raises TypeError unless it is a sharding, RuntimeError if there is no current mesh."""
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
    """A sharding on an AbstractMesh moved to the current mesh; others unchanged.

    Raises ValueError if there is no current mesh."""
    if not isinstance(sharding, NamedSharding) or sharding.has_devices:
        return sharding
    if not isinstance(config.mesh, Mesh):
        raise ValueError(
            f"{sharding} has no devices: run this within `with jax.set_mesh(mesh):`, where mesh has them"
        )
    return NamedSharding(config.mesh, sharding.spec)
