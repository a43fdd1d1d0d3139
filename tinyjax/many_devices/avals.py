"""What a mesh adds to an array's type: how it is split, and the axes along which it varies.

`f32[8@x,4]{V:y}`: axis 0 is split over the explicit mesh axis "x" (sharding/types.py), and devices along "y"
may have different values (varying.py). Avals carry both in their `extra`; this file gives them the attributes
`_sharding` and `vma`, and JAX's name of the latter, `manual_axis_type` or `mat`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tinyjax.core.array import ShapedArray, aval_fields
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Primitive
from tinyjax.many_devices.mapped import mapped_axis
from tinyjax.many_devices.placing import PLACES
from tinyjax.many_devices.sharding.partition_spec import ManualAxisType, names_of
from tinyjax.many_devices.varying import Axes, manual_axes, pvary_to, varying_results


class MeshType(NamedTuple):
    """The `extra` of an aval. An empty one is None instead."""

    sharding: Any  # a NamedSharding that splits an axis; None if the type names no split
    vma: Axes

    def without_axis(self, axis: int) -> MeshType | None:
        return _mesh_type(self.sharding and self.sharding.without_axis(axis), self.vma)

    def with_axis(self, axis: int) -> MeshType | None:
        return _mesh_type(self.sharding and self.sharding.with_axis(axis), self.vma)

    def of_any_shape(self) -> MeshType | None:
        return _mesh_type(None, self.vma)

    def text(self, shape: tuple[int, ...]) -> str:
        spec = (None,) * len(shape) if self.sharding is None else self.sharding.spec
        sizes = ",".join([f"{size}{split_text(entry)}" for size, entry in zip(shape, spec)])
        return f"[{sizes}]{_vma_text(self.vma)}"

    def result_types(
        self,
        primitive: Primitive,
        rule: Callable,
        avals: Sequence[ShapedArray],
        params: dict[str, Any],
    ) -> Any:
        sharding = next((a._sharding for a in avals if a._sharding is not None), None)
        if sharding is None:
            out = rule(*avals, **params)
        else:
            out = sharding.result_types(primitive, rule, avals, params)
        return varying_results(primitive, avals, out, params)

    def here(self) -> MeshType | None:
        return _mesh_type(self.sharding, self.vma & manual_axes())

    def difference(self, a: ShapedArray, b: ShapedArray) -> str:
        return "manual axis types" if a.vma != b.vma else "shardings"

    def advice(self, pairs: Sequence[tuple[ShapedArray, ShapedArray]], what: str) -> str:
        missing = {name for a, b in pairs for name in (a.vma ^ b.vma)}
        if not missing:
            return ""
        names = tuple(sorted(map(str, missing)))
        return (
            f", jax.lax.pcast(..., {names}, to='varying') of {what} where it is equal along axes of the "
            "mesh, and the other varies over them"
        )

    def check_scanned(self, avals: Sequence[ShapedArray]) -> None:
        split = [a.str_short() for a in avals if a._sharding and a._sharding.spec[0] is not None]
        if split:
            raise ValueError(
                f"0th dimension of xs that scan goes along must not be sharded, got {', '.join(split)}. "
                "Reshard it first: jax.sharding.reshard(xs, P(None, ...))"
            )

    def cast(self, x: Any) -> Any:
        return pvary_to(x, self.vma)

    def params_for(self, primitive: str) -> dict[str, Any]:
        return {} if self.sharding is None else {PLACES[primitive]: self.sharding}

    def place_of_cotangent(self, aval: ShapedArray, cts: Sequence[Any]) -> Any:
        if aval._sharding is not None:
            return aval._sharding
        split = (get_aval(ct)._sharding for ct in cts)
        return next((s.replicated for s in split if s is not None), None)

    def of_mapped_axis(self, leaves: Any, dims: Any, name: Any) -> Any:
        return mapped_axis(leaves, dims, name)


def split_text(entry: Any) -> str:
    """The split as types show it: @x, @(x,y), or nothing."""
    names = names_of(entry)
    return "" if not names else f"@{names[0]}" if len(names) == 1 else f"@({','.join(names)})"


def _vma_text(vma: Axes) -> str:
    names = ",".join(sorted(map(str, vma)))
    return f"{{V:{names if len(vma) == 1 else f'({names})'}}}" if names else ""


def _mesh_type(sharding: Any, vma: Axes) -> MeshType | None:
    if sharding is not None and not any(sharding.spec):
        sharding = None  # it names no split
    return None if sharding is None and not vma else MeshType(sharding, vma)


def _with_sharding(extra: Any, sharding: Any) -> MeshType | None:
    return _mesh_type(sharding, vma_of(extra))


def _with_vma(extra: Any, vma: Axes) -> MeshType | None:
    return _mesh_type(extra and extra.sharding, frozenset(vma))


def vma_of(extra: Any) -> Axes:
    return frozenset() if extra is None else extra.vma


aval_fields.update(sharding=_with_sharding, vma=_with_vma)
ShapedArray._sharding = property(  # type: ignore[attr-defined]
    lambda aval: None if aval.extra is None else aval.extra.sharding
)
ShapedArray.vma = property(lambda aval: vma_of(aval.extra))  # type: ignore[attr-defined]
_of_type = property(lambda aval: ManualAxisType(varying=aval.vma))
ShapedArray.manual_axis_type = ShapedArray.mat = _of_type  # type: ignore[attr-defined]
