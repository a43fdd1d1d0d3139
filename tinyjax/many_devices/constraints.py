"""with_sharding_constraint and reshard: placing a value within a program.

with_sharding_constraint is a hint for "Auto" axes of a mesh; reshard changes the type along "Explicit" ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.core.bind import as_array
from tinyjax.core.config import config
from tinyjax.core.tree_util.prefixes import flatten_axes
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.many_devices.constraint_rules import reshard_p, sharding_constraint_p
from tinyjax.many_devices.sharding.current_mesh import current_mesh, on_mesh
from tinyjax.many_devices.sharding.mesh import Mesh
from tinyjax.many_devices.sharding.named_sharding import NamedSharding, whole_spec
from tinyjax.many_devices.sharding.partition_spec import UNCONSTRAINED, PartitionSpec
from tinyjax.many_devices.sharding.types import check_divisible, explicit_sharding


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """`x`, a pytree of arrays, sharded by `shardings`: a tree prefix with Shardings, or with PartitionSpecs
    on the current mesh.

    Raises:
      ValueError: a sharding does not fit, or is None; or names an axis of the mesh that is "Explicit".
      TypeError: it is no sharding.
      RuntimeError: there is no current mesh.
      AssertionError: all axes of the mesh are "Explicit", and `x` is spread in another way."""
    return _each(_constrained, x, "with_sharding_constraint shardings", shardings)


def _each(put: Callable[[Any, Any], Any], xs: Any, what: str, places: Any) -> Any:
    """Call `put` with each array of a pytree and its place; `places` is a tree prefix."""
    leaves, tree = tree_flatten(xs)
    of_leaves = flatten_axes(what, tree, places)
    return tree_unflatten(tree, [put(x, place) for x, place in zip(leaves, of_leaves)])


def _constrained(x: Any, place: Any) -> Any:
    if place is None:
        raise ValueError(
            "One of with_sharding_constraint arguments got sharding None which is not allowed. Please only "
            "pass `jax.sharding.Sharding` instances"
        )
    sharding = on_mesh(place, "with_sharding_constraint", "shardings")
    shape = as_array(x).shape
    if isinstance(sharding, NamedSharding):
        if sharding.mesh.are_all_axes_explicit and isinstance(place, PartitionSpec):
            return _asserted(x, sharding)
        _check_axes(sharding)
    try:
        sharding.check_compatible_aval(shape)
    except ValueError as error:
        raise ValueError(
            f"One of with_sharding_constraint arguments is incompatible with its sharding annotation "
            f"{sharding}: {error}"
        ) from None
    entries = sharding.spec if isinstance(sharding, NamedSharding) else ()
    free = frozenset(i for i, e in enumerate(entries) if e is UNCONSTRAINED)
    return sharding_constraint_p.bind(
        x, sharding=sharding, layout=None, context_mesh=_ContextMesh(), unconstrained_dims=free
    )


def _check_axes(sharding: NamedSharding) -> None:
    mesh = sharding.mesh.abstract_mesh
    if any(name in mesh.explicit_axes for name in sharding.spec.names):
        raise ValueError(
            "The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto axes of the "
            f"mesh. Got spec={sharding.spec} and mesh={mesh}. You probably meant to use `reshard` API?"
        )


def _asserted(x: Any, sharding: NamedSharding) -> Any:
    """On explicit axes the types have the sharding, so a constraint is only a check."""
    x = as_array(x)
    got, wanted = x.aval.sharding.spec, whole_spec(sharding.spec, x.ndim)
    if got != wanted:
        raise AssertionError(
            "`with_sharding_constraint` acts as an assert when all axes of mesh are of type `Explicit`. The "
            f"array sharding: {got} did not match the sharding provided: {wanted}. Please use "
            "`jax.sharding.reshard` to shard your input to the sharding you want"
        )
    return x


class _ContextMesh:
    """The current mesh, as JAX's jaxprs show it."""

    def __init__(self) -> None:
        mesh = current_mesh()
        self.text = "Mesh()" if mesh is None else str(mesh)

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ContextMesh) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def reshard(xs: Any, out_shardings: Any) -> Any:
    """`xs`, a pytree of arrays, resharded along "Explicit" axes of a mesh, which changes their types.
    `out_shardings`: NamedShardings, or PartitionSpecs on the current mesh; a tree prefix.

    Raises ValueError for a spec without a mesh, or one that names an axis of another type."""
    return _each(_resharded, xs, "reshard out_shardings", out_shardings)


def _resharded(x: Any, place: Any) -> Any:
    if place is None:
        raise ValueError(
            "Reshard should only be used with out_shardings that are not None: give a NamedSharding, or a "
            "PartitionSpec within jax.set_mesh"
        )
    x, sharding = as_array(x), explicit_sharding(place, "reshard")
    mesh = sharding.mesh
    check_divisible(sharding, x.shape)
    if not isinstance(mesh, Mesh) and isinstance(config.mesh, Mesh):
        sharding = sharding.update(mesh=config.mesh)
    return reshard_p.bind(x, dst_sharding=sharding.update(spec=whole_spec(sharding.spec, x.ndim)))
