"""jit's in_shardings and out_shardings: the places of arguments and results.

A tree prefix becomes a sharding for each argument and each result, in parameters of the jit equation. An
uncommitted argument is moved there, one committed elsewhere is an error, and results are labelled. Everything
that determines where a program runs must name the same devices: its arguments, its equations, out_shardings
and the current mesh.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.config import config
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, all_jaxprs, cached_on_jaxpr, without_dead_code
from tinyjax.core.tree_util.prefixes import flatten_axes
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_flatten, tree_leaves
from tinyjax.many_devices.placing import requested_sharding
from tinyjax.many_devices.sharding.blocks import from_block, own_block, spans_processes
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec
from tinyjax.many_devices.sharding.sharding import Sharding, check_fits, place_of, places_asked
from tinyjax.runtime.placement import DeviceOrSpread, PlacementRequest, commit, devices_of, put_at
from tinyjax.transform.jit.static_arguments import split_static


class JitShardings:
    """The shardings of a jitted function; compared by value, so that traces can be shared."""

    def __init__(self, in_shardings: Any, out_shardings: Any):
        self.ins, self.outs = in_shardings, out_shardings
        self._key = [(leaves, tree) for leaves, tree in map(tree_flatten, (self.ins, self.outs))]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JitShardings) and self._key == other._key

    def __hash__(self) -> int:
        return hash(tuple(tuple(leaves) for leaves, _ in self._key))

    def of_arguments(self, dynamic: Any) -> list[Any]:
        """A sharding, or None, for each leaf of the arguments (args, kwargs).

        Raises ValueError for keyword arguments, and for in_shardings that aren't a tree prefix."""
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
        """The types of the arguments with their splits over explicit axes."""
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


def jit_shardings(in_shardings: Any, out_shardings: Any, device: Any) -> JitShardings | None:
    """None if nothing is specified. Raises TypeError for a leaf that isn't a sharding, ValueError if a device
    or backend was given too."""
    for what, tree in (("in_shardings", in_shardings), ("out_shardings", out_shardings)):
        for leaf in tree_leaves(tree):
            if not isinstance(leaf, Sharding | PartitionSpec):
                raise TypeError(
                    f"{what} leaf specifications are expected to be PartitionSpec instances or None, but got "
                    f"{leaf}"
                )
    if tree_leaves((in_shardings, out_shardings)):
        if device is not None:
            raise ValueError(
                "If backend or device is specified on jit, then in_shardings and out_shardings should not "
                "be: they say on which devices the function runs"
            )
        return JitShardings(in_shardings, out_shardings)
    return None


def _resolved(place: Any, argument: str) -> Any:
    if place is None:
        return None
    from tinyjax.many_devices.sharding.current_mesh import on_mesh  # with the first sharding

    return on_mesh(place, "jit", argument)


def _check(place: Any, shape: Sequence[int], of: str) -> None:
    """Raises ValueError if an array of this shape can't have this sharding."""
    if place is not None:
        check_fits(place, shape, f"pjit {of} with shape {tuple(shape)}")


# ---- where a program runs ----


def requests_of_call(jaxpr: ClosedJaxpr, out_places: Sequence[Any]) -> tuple[PlacementRequest, ...]:
    """The placement requests of the current mesh, of equations within a jitted program, and of
    out_shardings."""
    by_results = [PlacementRequest("out_shardings", place_of(concrete(p))) for p in out_places if p]
    return (*requests_of_set_mesh(), *requests_within(jaxpr), *by_results)


def requests_of_set_mesh() -> tuple[PlacementRequest, ...]:
    """The request of the block `with jax.set_mesh(mesh):`, if there is one."""
    place = getattr(vars(config).get("mesh"), "replicated", None)
    return () if place is None else (PlacementRequest("the mesh of jax.set_mesh", place),)


@cached_on_jaxpr
def requests_within(jaxpr: ClosedJaxpr) -> tuple[PlacementRequest, ...]:
    """The requests of a jaxpr's equations: the first for each set of devices."""
    if not any(map(_places_of, _equations(jaxpr))):  # most
        return ()
    found: dict[Any, PlacementRequest] = {}
    for eqn in _equations(without_dead_code(jaxpr)):
        for place in _places_of(eqn):
            found.setdefault(
                devices_of(place), PlacementRequest(f"{eqn.primitive} within it", place)
            )
    return tuple(found.values())


def _equations(jaxpr: ClosedJaxpr) -> Iterator[JaxprEqn]:
    return (eqn for each in all_jaxprs(jaxpr.jaxpr) for eqn in each.eqns)


def _places_of(eqn: JaxprEqn) -> list[DeviceOrSpread]:
    """The places that an equation requests; one without devices is on the current mesh, which makes its own
    request."""
    name = eqn.primitive.name
    if name == "jit":
        said = (*eqn.params.get("in_shardings", ()), *eqn.params.get("out_shardings", ()))
    elif name in places_asked:
        said = tuple(places_asked[name](eqn.params))
    else:
        said = (requested_sharding(name, eqn.params),)
    return [place_of(place) for place in said if place is not None and place.has_devices]


# ---- arguments and results of a call ----


def put_arguments(arrays: Sequence[ArrayImpl], places: Sequence[Any]) -> list[ArrayImpl]:
    """Move the arguments to the places of in_shardings. Raises ValueError for an argument committed
    elsewhere."""
    return [x if p is None else _put_argument(x, concrete(p)) for x, p in zip(arrays, places)]


def _put_argument(x: ArrayImpl, place: Any) -> ArrayImpl:
    if not x.committed and spans_processes(getattr(place, "mesh", None)):
        return from_block(own_block(x, place), place)
    if x.committed and place.parts_in_order(x.ndim) != x.sharding.parts_in_order(x.ndim):
        raise ValueError(
            "Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: "
            f"{place},\narg sharding: {x.sharding} for arg type: {x.aval.str_short()}. Put it there by "
            "jax.device_put(x, sharding), or leave in_shardings out"
        )
    at = place_of(place)
    return x if x.committed and x._device == at else put_at(x, at)


def put_outputs(outs: Sequence[ArrayImpl], places: Sequence[Any]) -> None:
    """Label the results with their out_shardings."""
    for out, place in zip(outs, places):
        if place is not None:
            place = concrete(place)
            _check(place, out.shape, "outputs")
            commit(out, place_of(place))


def concrete(place: Any) -> Any:
    if place.has_devices:
        return place
    from tinyjax.many_devices.sharding.current_mesh import with_devices

    return with_devices(place)


def typed_results(avals: list[ShapedArray], places: Sequence[Any]) -> list[ShapedArray]:
    """The types of results, with out_shardings on explicit axes."""
    if not places:
        return avals
    return [a if place is None else place.typed(a) for a, place in zip(avals, places)]
