"""Explicit mode: types of arrays that include their split.

f32[8@x,4]: axis 0 is split over the mesh axis "x", whose type is "Explicit". Each operation finds its
result's type by the same table as auto mode. Where operands disagree, auto mode uses the first one; explicit
mode raises an error, and the program must use `reshard` or `out_sharding=`. Operands with types without
splits combine with any others.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tinyjax.core.array import ShapedArray
from tinyjax.core.config import config
from tinyjax.core.facts import axes_words
from tinyjax.many_devices import typed_rules as _rules  # noqa: F401  (fills rule tables)
from tinyjax.many_devices.avals import split_text
from tinyjax.many_devices.placing import requested_sharding
from tinyjax.many_devices.sharding.axes import Spec, Use, replicated
from tinyjax.many_devices.sharding.mesh import AbstractMesh
from tinyjax.many_devices.sharding.named_sharding import NamedSharding, whole_spec
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec, entry_of, names_of
from tinyjax.many_devices.sharding.propagation import rule_of
from tinyjax.many_devices.sharding.reshaping import reshaped


class ShardingTypeError(Exception):
    """An operation on arrays whose splits leave its result's type ambiguous."""


# ---- types ----


def type_on(sharding: NamedSharding, aval: ShapedArray) -> ShapedArray:
    """The type of an array with this sharding, which includes the splits over Explicit axes."""
    mesh, given = sharding.mesh.abstract_mesh, sharding.spec
    if len(given) > aval.ndim:
        raise ValueError(
            f"Length of sharding.spec ({len(given)}) must be equal to aval's ndim ({aval.ndim}). Got "
            f"sharding.spec {given}, aval.ndim {aval.ndim} and sharding {sharding.update(mesh=mesh)}"
        )
    entries = [entry_of(tuple(n for n in names_of(e) if n in mesh.explicit_axes)) for e in given]
    spec = whole_spec(PartitionSpec(*entries), aval.ndim)
    check_divisible(sharding, aval.shape)
    return aval.update(sharding=NamedSharding(mesh, spec))


def spec_of_type(aval: ShapedArray) -> Spec:
    if aval._sharding is None:
        return replicated(aval.shape)
    return tuple(names_of(entry) for entry in aval._sharding.spec)


def explicit_sharding(place: Any, function: str) -> NamedSharding:
    """The `out_sharding=` of a function as a NamedSharding; a PartitionSpec refers to the current mesh.

    Raises TypeError unless it is a sharding, ValueError if there is no mesh, or if a spec names a mesh axis
    that isn't Explicit."""
    if not isinstance(place, NamedSharding | PartitionSpec):
        raise TypeError(
            f"`out_sharding` argument of {function} only supports instances of `NamedSharding` or "
            f"`PartitionSpec`. Got {place} of type {type(place)}"
        )
    sharding = place if isinstance(place, NamedSharding) else _on_current_mesh(place)
    if config.mesh is not None and function != "reshard":
        sharding = sharding.update(mesh=sharding.mesh.abstract_mesh, memory_kind=None)
    mesh = sharding.mesh
    for name in sharding.spec.names:
        if name not in mesh.explicit_axes:
            kind = dict(zip(mesh.axis_names, mesh.axis_types))[name]
            raise ValueError(
                f"PartitionSpec passed to {function} cannot contain axis names that are of type Auto or "
                f"Manual. Got PartitionSpec: {sharding.spec} with axis name: {name} of type: {kind}"
            )
    return sharding


def _on_current_mesh(place: PartitionSpec) -> NamedSharding:
    if config.mesh is None:
        raise ValueError(
            "Using PartitionSpec when you are not under a mesh context is not allowed. Please pass a "
            f"NamedSharding instance or enter into a mesh context via `jax.set_mesh`. Got {place}"
        )
    return NamedSharding(config.mesh, place)


def check_divisible(sharding: NamedSharding, shape: Sequence[int]) -> None:
    """Raises ValueError if an array of this shape can't have such a type."""
    for axis, (size, parts) in enumerate(zip(shape, sharding.parts(len(shape)))):
        if size % parts:
            raise ValueError(
                f"Sharding spec {sharding.spec.partitions} implies that array axis {axis} is partitioned "
                f"{parts} times, but does not evenly divide the dimension size {size}. Got shape: "
                f"{tuple(shape)} and sharding {sharding.update(mesh=sharding.mesh.abstract_mesh)}"
            )


# ---- types of results ----


def result_types(
    primitive: Any, rule: Callable, avals: Sequence[ShapedArray], params: Mapping[str, Any]
) -> Any:
    """The types of an abstract_eval rule, with the splits that follow from the operands' types.

    Raises ShardingTypeError if the splits are ambiguous."""
    name = primitive.name
    if axes_words.get(name) == "unclear":
        raise ShardingTypeError(
            f"sharding rule for {name} is not implemented. Call it in auto mode, and say how its results are "
            "to be split: jax.sharding.auto_axes(fun, out_sharding=...)"
        )
    if rule_of(name) is None and name != "reshape":
        # calls and loops, whose jaxprs have the types; and users' primitives
        return rule(*avals, **params)
    mesh = _mesh_of(name, avals)
    outs = rule(*[a.update(sharding=None) for a in avals], **params)
    if requested_sharding(name, params) is not None:
        return outs  # given by out_sharding
    results = list(outs) if primitive.multiple_results else [outs]
    specs, shapes = [spec_of_type(a) for a in avals], [a.shape for a in avals]
    use = Use(name, shapes, specs, [r.shape for r in results], params, mesh.shape)
    found = _reshape_spec(use, avals) if name == "reshape" else _specs(use, avals)
    types = [_with_spec(r, mesh, spec) for r, spec in zip(results, found)]
    return types if primitive.multiple_results else types[0]


def _with_spec(aval: ShapedArray, mesh: AbstractMesh, spec: Spec) -> ShapedArray:
    if not any(spec):
        return aval.update(sharding=None)
    return aval.update(sharding=NamedSharding(mesh, PartitionSpec(*map(entry_of, spec))))


def _mesh_of(name: str, avals: Sequence[ShapedArray]) -> AbstractMesh:
    meshes = [a._sharding.mesh for a in avals if a._sharding is not None]
    for mesh in meshes:
        if mesh != meshes[0]:
            raise ValueError(
                f"Mesh for all inputs should be equal. Got one mesh: {meshes[0]} and another mesh: {mesh}"
            )
    return meshes[0]


def _reshape_spec(use: Use, avals: Sequence[ShapedArray]) -> list[Spec]:
    spec = reshaped(use, is_type=True)
    if spec is None:
        raise ShardingTypeError(
            "This reshape is not supported. Please specify the sharding of the output via the `out_sharding` "
            f"argument of jax.lax.reshape. Got operand type: {avals[0].str_short()}, new sizes: "
            f"{use.out_shapes[0]}"
        )
    return [spec]


def _specs(use: Use, avals: Sequence[ShapedArray]) -> list[Spec]:
    axes = rule_of(use.name)(use)  # type: ignore[misc]
    for (operand, axis), why in axes.whole.items():
        if use.specs[operand][axis]:
            raise ShardingTypeError(
                f"{why} Got {avals[operand].str_short()}, of which axis {axis} is split: reshard it first, "
                "as in jax.sharding.reshard(x, P(...))"
            )
    for group, why in axes.alike.items():
        _check_alike(why, [avals[i] for i in group], [use.specs[i][: axes.common] for i in group])
    return [_one_spec(use, each, shape, avals) for each, shape in zip(axes.results, use.out_shapes)]


def _check_alike(why: str, avals: Sequence[ShapedArray], specs: Sequence[Spec]) -> None:
    """Whole operands combine with any split."""
    said = [spec for spec, a in zip(specs, avals) if a._sharding is not None]
    if any(spec != said[0] for spec in said):
        raise ShardingTypeError(
            f"{why} Got {', '.join(a.str_short() for a in avals)}: reshard one of them first, as in "
            "jax.sharding.reshard(x, P(...))"
        )


def _one_spec(use: Use, axes: Any, shape: Sequence[int], avals: Sequence[ShapedArray]) -> Spec:
    """The spec of a result, on whose axes all their sources agree."""
    spec: list[tuple] = []
    for sources, size in zip(axes, shape):
        claims = [use.specs[operand][axis] for operand, axis in sources if use.specs[operand][axis]]
        if any(claim != claims[0] for claim in claims):
            specs = ", ".join(str(tuple(map(entry_of, s))) for s in use.specs if any(s))
            raise ShardingTypeError(
                f"{use.name} got incompatible shardings for broadcasting: {specs}. Reshard one of the "
                "operands first, as in jax.sharding.reshard(x, P(...))"
            )
        names = claims[0] if claims else ()
        if size % use.parts(names):
            raise ShardingTypeError(
                f"{_SLICING.get(use.name, use.name)} on sharded dims where out dim ({size}) is not divisible "
                f"by mesh axes ({use.parts(names)}) with spec ({entry_of(names)}) is not implemented. Got "
                f"input type={avals[0].str_short(True)} and output shape={tuple(shape)}"
            )
        spec.append(names)
    named = [name for names in spec for name in names]
    if len(set(named)) != len(named):
        inputs = ", ".join(a.str_short(True) for a in avals)
        dims = ",".join(f"{n}{split_text(entry_of(s))}" for n, s in zip(shape, spec))
        raise ShardingTypeError(
            f"{use.name} operation with inputs: {inputs} produces an illegally sharded result: "
            f"{avals[0].str_short(True).split('[')[0]}[{dims}]"
        )
    return tuple(spec)


NamedSharding.explicit_type = type_on
NamedSharding.result_types = lambda self, *use: result_types(*use)  # type: ignore[attr-defined]


# In messages.
_SLICING = {
    "pad": "padding",
    "reduce_window_max": "reduce_window",
    "reduce_window_min": "reduce_window",
    "reduce_window_sum": "reduce_window",
    "slice": "slicing",
}
