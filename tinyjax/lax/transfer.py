"""Moving values: onto a device with device_put, back to NumPy with device_get.

An array that was put on a device explicitly is *committed*: computations with it run there. Putting
copies nothing: the new array shares the old one's memory, and the first computation that needs its
elements on its device brings them there (runtime/executable.py, memory_of). Between devices that share
the host's memory, that too is no copy.

Source: https://docs.jax.dev/en/latest/faq.html#controlling-data-and-computation-placement-on-devices
"""

from __future__ import annotations

import enum
import gc
from collections.abc import Sequence
from typing import Any

import numpy as np

from tinyjax.core.array import ArrayImpl
from tinyjax.core.avals import get_aval, to_numpy
from tinyjax.core.bind import Primitive, Tracer, abstract_eval_rules, impl_rules, no_rule_reasons
from tinyjax.core.facts import MOVES
from tinyjax.core.tree_util import tree_flatten, tree_map, tree_unflatten
from tinyjax.core.tree_util.prefixes import flatten_axes
from tinyjax.runtime import placement
from tinyjax.runtime.devices import Device, default_backend, devices
from tinyjax.runtime.placement import DeviceOrSpread, commit, devices_of, put_at
from tinyjax.transform.batching import batch_rules
from tinyjax.transform.jvp import Zero
from tinyjax.transform.transposition import deflinear2, is_undefined_primal

# ---- the primitive ----


class ArrayCopySemantics(enum.Enum):
    """What happens to the array that device_put is given."""

    REUSE_INPUT = 0  # the two may share memory
    ALWAYS_COPY = 1
    DONATE_INPUT = 2  # the caller gives its memory away

    def __repr__(self) -> str:
        return str(self)  # as it stands in printed jaxprs


# Parameters, an entry an operand: devices (a DeviceOrSpread or None), srcs (the same: from where)
# and copy_semantics.
device_put_p = Primitive(
    "device_put", multiple_results=True, impl_binds_primitives=True, **MOVES, is_identity=True
)


def _put(x: Any, place: DeviceOrSpread | None, how: ArrayCopySemantics) -> ArrayImpl:
    if placement.places is not None and place is not None:
        if (spread := placement.places.in_blocks(x, place)) is not None:
            return spread
        place = placement.places.place_of(place)
    if not isinstance(x, ArrayImpl):
        return _copied(x) if place is None else commit(_copied(x), place)
    if how is ArrayCopySemantics.ALWAYS_COPY:
        copied = ArrayImpl(x._value.copy(), x.aval, None, x._device)
        at = place or (x.device if x.committed else None)
        return copied if at is None else commit(copied, at)
    if place is None:
        return x
    if x.is_deleted():
        x._value  # noqa: B018  (raises)
    return put_at(x, place)


def _copied(x: Any) -> ArrayImpl:
    """An Array unchanged, other values as an Array. (to_numpy copies, so changing x changes no Array.)"""
    if isinstance(x, ArrayImpl):
        return x
    aval = get_aval(x)
    return ArrayImpl(to_numpy(x, aval), aval)


def _device_put_transpose(
    cts: Sequence[Any], *xs: Any, devices: Any, copy_semantics: Any, srcs: Any
) -> list[Any]:
    """The cotangents go back to where the operands came from."""
    wanted = [i for i, x in enumerate(xs) if is_undefined_primal(x) and type(cts[i]) is not Zero]
    outs = device_put_p.bind(
        *[cts[i] for i in wanted],
        devices=tuple(srcs[i] for i in wanted),
        srcs=tuple(devices[i] for i in wanted),
        copy_semantics=(ArrayCopySemantics.ALWAYS_COPY,) * len(wanted),
    )
    found: list[Any] = [None] * len(xs)
    for i, out in zip(wanted, outs):
        found[i] = out
    return found


impl_rules[device_put_p] = lambda *xs, devices, copy_semantics, srcs: [
    _put(x, d, how) for x, d, how in zip(xs, devices, copy_semantics)
]
abstract_eval_rules[device_put_p] = lambda *avals, devices, **params: [
    aval if place is None or isinstance(place, Device) else place.typed(aval)
    for aval, place in zip(avals, devices)
]
deflinear2(device_put_p, _device_put_transpose)
batch_rules[device_put_p] = lambda xs, dims, **params: (device_put_p.bind(*xs, **params), dims)
no_rule_reasons[device_put_p, "lowering"] = (
    "compile/passes/inline.py leaves it out: a compiled program runs on one device"
)


# ---- what users call ----


def device_put(
    x: Any, device: Any = None, *, src: Any = None, donate: Any = False, may_alias: Any = None
) -> Any:
    """A pytree with its leaves as Arrays on `device` (and committed to it, if it is given).

    Args:
      device: a Device, a Sharding, a PartitionSpec, None, or a tree prefix of `x` with these as leaves.
      src: where `x` is, in the same form; derivatives go back there. None: where its arrays are now.
      donate: whether `x` is not used again. It stays usable, as in JAX on a CPU.
      may_alias: False copies an Array. True uses a NumPy array's memory directly, for callers that don't
        change it afterwards; by default NumPy arrays are copied.
      Both can be tree prefixes too.
    Raises:
      TypeError: a leaf of `x` is no array or scalar.
      ValueError: `device` has other leaves, is no prefix of `x`, or is a sharding that `x` can't have
        (IndivisibleError if an axis can't be split into equal parts); `donate` and `may_alias` are True."""
    leaves, tree = tree_flatten(x)
    put_to = flatten_axes("device_put device", tree, _checked_places(device))
    sources = flatten_axes("device_put source", tree, _checked_places(src))
    donated = flatten_axes("device_put donate", tree, donate)
    aliased = flatten_axes("device_put may_alias", tree, may_alias)
    leaves = [_as_it_is(x) if alias else x for x, alias in zip(leaves, aliased)]
    for leaf, place in zip(leaves, put_to):
        aval = get_aval(leaf)
        if placement.places is not None:
            placement.places.check_put(aval, place)
    outs = device_put_p.bind(
        *leaves,
        devices=tuple(put_to),
        srcs=tuple(map(_source, sources, leaves)),
        copy_semantics=tuple(map(_copy_semantics, donated, aliased)),
    )
    return tree_unflatten(tree, outs)


def _as_it_is(x: Any) -> Any:
    """A NumPy array as an Array in the same memory, if its dtype is one that Arrays have."""
    if type(x) is np.ndarray and x.flags.aligned and get_aval(x).dtype == x.dtype:
        return ArrayImpl(x.view(), get_aval(x))
    return x


def _checked_places(places: Any) -> Any:
    """The tree of places. Raises ValueError for what is no place."""

    def checked(place: Any) -> DeviceOrSpread:
        if isinstance(place, Device):
            return place
        found = placement.places and placement.places.checked(place)
        if found is None:
            raise ValueError(
                "`jax.device_put` only accepts `None`, `jax.sharding.Sharding`, `jax.Device`, a "
                f"PartitionSpec or a pytree of these values. Received invalid value: {place!r}. A device is "
                "jax.devices()[0], or one of jax.devices('cpu')"
            )
        return found

    return tree_map(checked, places)


def _source(src: DeviceOrSpread | None, x: Any) -> DeviceOrSpread | None:
    """`src`, or if that is None, where `x` is: not known of what a jaxpr is being made of."""
    value = x.concrete() if isinstance(x, Tracer) else x
    return value.device if src is None and isinstance(value, ArrayImpl) else src


def _copy_semantics(donate: Any, may_alias: Any) -> ArrayCopySemantics:
    if donate and may_alias:
        raise ValueError("may_alias and donate cannot be True at the same time.")
    if donate:
        return ArrayCopySemantics.DONATE_INPUT
    reuse = may_alias is None or may_alias
    return ArrayCopySemantics.REUSE_INPUT if reuse else ArrayCopySemantics.ALWAYS_COPY


def device_get(x: Any) -> Any:
    """A pytree with its leaves as NumPy arrays; waits for those still being computed.

    Raises errors.TracerArrayConversionError for a tracer."""
    return tree_map(lambda leaf: np.asarray(leaf) if hasattr(leaf, "__array__") else leaf, x)


def block_until_ready(x: Any) -> Any:
    """Waits for all arrays of a pytree, and gives it back."""

    def ready(leaf: Any) -> Any:
        is_array = isinstance(leaf, ArrayImpl) and not isinstance(leaf, Tracer)
        return leaf.block_until_ready() if is_array else leaf

    return tree_map(ready, x)


def copy_to_host_async(x: Any) -> Any:
    """Returns the pytree: announcing a read doesn't make it faster here."""
    return x


def live_arrays(platform: str | None = None) -> list[ArrayImpl]:
    """All arrays on a platform that somebody still refers to; by default, on the default backend.

    Raises RuntimeError if there is no such platform."""
    there = set(devices(platform or default_backend()))
    arrays = [x for x in gc.get_objects() if issubclass(type(x), ArrayImpl)]
    return [x for x in arrays if not x.is_deleted() and there & {*devices_of(x.device)}]
