"""jit's in_shardings and out_shardings: where arguments and results are, said with the function.

After this file you can say what becomes of them: a tree prefix becomes a sharding for each argument and each
result, in parameters of the jit equation. An argument that was put nowhere is put there, one that is
elsewhere is an error, and results are labelled. Builds on sharding and tree prefixes.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.jit.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax.core.api_util import split_static
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.jaxpr import ClosedJaxpr, all_jaxprs, cached_on_jaxpr
from tinyjax.core.structs import ShapeDtypeStruct
from tinyjax.core.tree_util.prefixes import flatten_axes
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from tinyjax.runtime.devices import Device
from tinyjax.runtime.placement import Place, commit
from tinyjax.sharding.blocks import from_block, own_block, spans_processes
from tinyjax.sharding.partition_spec import PartitionSpec
from tinyjax.sharding.sharding import Sharding, SingleDeviceSharding, as_sharding, place_of
from tinyjax.transform.jit.stages import Compiled


class JitShardings:
    """What a jitted function was given; equal if that is, so that traces can be shared."""

    def __init__(self, in_shardings: Any, out_shardings: Any):
        self.ins, self.outs = in_shardings, out_shardings
        self._key = [(leaves, tree) for leaves, tree in map(tree_flatten, (self.ins, self.outs))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JitShardings) and self._key == other._key

    def __hash__(self) -> int:
        return hash(tuple(tuple(leaves) for leaves, _ in self._key))

    def of_arguments(self, dynamic: Any) -> list[Any]:
        """A sharding, or None, for each leaf of the arguments (args, kwargs).

        Raises ValueError for keywords, and for in_shardings that are no tree prefix."""
        args, kwargs = dynamic
        if self.ins is None:
            return [None] * len(tree_leaves(dynamic))
        if kwargs:
            raise ValueError("pjit does not support kwargs when in_shardings is specified.")
        if isinstance(self.ins, tuple | list) and len(self.ins) != len(args):
            raise ValueError(
                "pjit in_shardings specification must be a tree prefix of the positional arguments tuple. "
                "In particular, it must either be a Sharding, a PartitionSpec, or a tuple of length equal to "
                f"the number of positional arguments: got one of length {len(self.ins)} for {len(args)}"
            )
        ins = tuple(self.ins) if isinstance(self.ins, list) else self.ins
        places = flatten_axes("pjit in_shardings", tree_flatten(tuple(args))[1], ins)
        return [_resolved(place, "in_shardings") for place in places]

    def of_results(self, out_tree: PyTreeDef) -> list[Any]:
        """A sharding, or None, for each leaf of the result."""
        places = flatten_axes("pjit out_shardings", out_tree, self.outs)
        return [_resolved(place, "out_shardings") for place in places]

    def typed(self, dynamic: Any, avals: Sequence[ShapedArray]) -> tuple[ShapedArray, ...]:
        """The types of the arguments, where the shardings are on explicit axes."""
        places = self.of_arguments(dynamic)
        for place, aval in zip(places, avals):
            _check(place, aval.shape, "arguments")
        return tuple(a if p is None else p.typed(a) for p, a in zip(places, avals))

    def params(
        self, function: Any, args: tuple, kwargs: dict, consts: Sequence[Any], out_tree: PyTreeDef
    ) -> dict[str, Any]:
        """The parameters of the jit equation."""
        dynamic, _ = split_static(args, kwargs, function.static_argnums, function.static_argnames)
        ins = (None,) * len(consts) + tuple(self.of_arguments(dynamic))
        return {"in_shardings": ins, "out_shardings": tuple(self.of_results(out_tree))}


def jit_shardings(in_shardings: Any, out_shardings: Any) -> JitShardings | None:
    """None, if nothing is said. Raises TypeError for a leaf that is no sharding."""
    if (
        in_shardings is None and out_shardings is None
    ):  # a function of tinyjax, while it is imported
        return None
    for what, tree in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        for leaf in tree_leaves(tree):
            if not isinstance(leaf, Sharding | PartitionSpec):
                raise TypeError(
                    f"{what} leaf specifications are expected to be PartitionSpec instances or None, but got "
                    f"{leaf}"
                )
    if tree_leaves((in_shardings, out_shardings)):
        return JitShardings(in_shardings, out_shardings)
    return None


def _resolved(place: Any, argument: str) -> Any:
    if place is None:
        return None
    from tinyjax.sharding.current_mesh import on_mesh  # with the first sharding

    return on_mesh(place, "jit", argument)


def _check(place: Any, shape: Sequence[int], of: str) -> None:
    """Raises ValueError if an array of this shape can't be spread so."""
    if place is None:
        return
    try:
        place.check_compatible_aval(shape)
    except ValueError as error:
        raise ValueError(
            f"One of pjit {of} with shape {tuple(shape)} is incompatible with its sharding annotation "
            f"{place}: {error}"
        ) from None
    place.shard_shape(shape)


# ---- arguments and results of a call ----


def said_of(function: Any, *call: Any) -> dict[str, Any]:
    """The parameters of a call's equation that say where arguments and results are; none, if nobody does."""
    return {} if function.shardings is None else function.shardings.params(function, *call)


def places_of_arguments(leaves: Sequence[Any], said: dict[str, Any]) -> list[Any]:
    """Where each argument is: by in_shardings, or where it was put, or None."""
    asked = said.get("in_shardings") or (None,) * len(leaves)
    return [place or _place_of(x) for place, x in zip(asked, leaves)]


def _place_of(x: Any) -> Any:
    if isinstance(x, ShapeDtypeStruct):
        return x.sharding
    return as_sharding(x.device) if getattr(x, "committed", False) else None


def put_arguments(arrays: Sequence[ArrayImpl], places: Sequence[Any]) -> list[ArrayImpl]:
    """The arguments where in_shardings say; ValueError for one that was put elsewhere."""
    return [x if p is None else _put_argument(x, _concrete(p)) for x, p in zip(arrays, places)]


def _put_argument(x: ArrayImpl, place: Any) -> ArrayImpl:
    if not x.committed:
        if spans_processes(getattr(place, "mesh", None)):
            return from_block(own_block(x, place), place)
        return commit(ArrayImpl(x._host, x.aval, x.buffer), place_of(place))
    if not place.is_equivalent_to(x.sharding, x.ndim):
        raise ValueError(
            "Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: "
            f"{place},\narg sharding: {x.sharding} for arg type: {x.aval.str_short()}. Put it there by "
            "jax.device_put(x, sharding), or leave in_shardings out"
        )
    return x


def put_outputs(outs: Sequence[ArrayImpl], places: Sequence[Any]) -> None:
    """Labels results that out_shardings speak of."""
    for out, place in zip(outs, places):
        if place is not None:
            place = _concrete(place)
            _check(place, out.shape, "outputs")
            commit(out, place_of(place))


def place_said(places: Sequence[Any]) -> Any:
    """The first place of several; None, if all are None."""
    said = [_concrete(place) for place in places if place is not None]
    return place_of(said[0]) if said else None


def _concrete(place: Any) -> Any:
    if place.has_devices:
        return place
    from tinyjax.sharding.current_mesh import with_devices

    return with_devices(place)


@cached_on_jaxpr
def place_within(jaxpr: ClosedJaxpr) -> Place | None:
    """The place on a mesh that an equation of the jaxpr asks for; None if none does."""
    for each in all_jaxprs(jaxpr.jaxpr):
        for eqn in each.eqns:
            if (parameter := ASKS_FOR_A_PLACE.get(eqn.primitive.name)) is not None:
                places = eqn.params[parameter]
                for place in places if isinstance(places, tuple) else (places,):
                    if isinstance(place, Sharding) and place.has_devices and place.num_devices > 1:
                        return place
    return None


# primitive name -> the parameter that says where its results are to be
ASKS_FOR_A_PLACE = {
    "sharding_constraint": "sharding",
    "reshard": "dst_sharding",
    "device_put": "devices",
}


def typed_results(avals: list[ShapedArray], places: Sequence[Any]) -> list[ShapedArray]:
    """The types of results; out_shardings on explicit axes are part of them."""
    if not places:
        return avals
    return [a if place is None else place.typed(a) for a, place in zip(avals, places)]


# ---- what compiled programs know of it ----


def _input_shardings(compiled: Compiled) -> Any:
    """Where the arguments are read: a tree of shardings for the pair (args, kwargs)."""
    whole = _whole_everywhere(compiled)
    places = [whole if place is None else place for place in compiled.traced._places]
    return tree_unflatten(compiled.in_tree, places)


def _output_shardings(compiled: Compiled) -> Any:
    """Where the results are: the result's tree of shardings."""
    traced = compiled.traced
    if isinstance(traced.device, Device | None):
        outs = [_whole_everywhere(compiled)] * len(traced.jaxpr.out_avals)
    else:
        params = traced._sharding_params | {"jaxpr": traced.jaxpr}
        outs = traced.device.of_results(params, traced._places)
    return tree_unflatten(compiled.out_tree, outs)


def _whole_everywhere(compiled: Compiled) -> Any:
    """Where an array is of which nothing is said."""
    place = compiled.traced.device or compiled.executable.lowered.device
    return SingleDeviceSharding(place) if isinstance(place, Device) else place.whole_everywhere


Compiled.input_shardings = property(_input_shardings)  # type: ignore[attr-defined]
Compiled.output_shardings = property(_output_shardings)  # type: ignore[attr-defined]
