"""`pmap`: a function on several devices, each with a slice of its arguments; a jit of a shard_map.

pmap is shard_map over a mesh with one axis and one device per slice, where slices lack the axis along which
they were cut. Types don't track what varies, as with check_vma=False.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tinyjax.core import primitives
from tinyjax.core.api_util import FlatFun, as_argnums, check_callable, fun_name, wraps
from tinyjax.core.argument_names import named_avals
from tinyjax.core.array import ArrayImpl
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import Tracer, as_array
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.tree_util.prefixes import flatten_axes
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.many_devices.distributed.processes import process_count, process_index
from tinyjax.many_devices.shard_map.api import bind_parts
from tinyjax.many_devices.shard_map.nested_vmap import Specs
from tinyjax.many_devices.sharding.blocks import Block, from_block, spans_processes
from tinyjax.many_devices.sharding.mesh import Mesh
from tinyjax.many_devices.sharding.named_sharding import NamedSharding
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec
from tinyjax.runtime.devices import Device
from tinyjax.runtime.devices import devices as listed_devices
from tinyjax.runtime.placement import commit
from tinyjax.transform.jit.api import jit
from tinyjax.transform.jit.static_arguments import (
    positions,
    split_static,
    unhashable_error,
    with_static,
)
from tinyjax.transform.mapped_axes import checked_dim, flat_out_axes, mapped_size


class _Tracing(threading.local):
    """Whether this thread traces a function for pmap."""

    is_tracing = False


_current = _Tracing()


def pmap(
    fun: Callable, axis_name: Hashable | None = None, *, in_axes: Any = 0, out_axes: Any = 0,
    static_broadcasted_argnums: int | Sequence[int] = (), devices: Sequence[Device] | None = None,
    backend: str | None = None, axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:  # fmt: skip
    """`fun` on many devices at once: each computes with its own slice of the arguments.

    Like vmap, with a device for each slice: `in_axes` and `out_axes` are the same (a result with `out_axes`
    None comes from the first device), and collectives use `axis_name`. Static arguments, which must be
    hashable, are the same for all devices. `devices` are the ones to use: by default the first of `backend`.
    Donated arguments can't be used after the call.
    Raises:
      TypeError: `fun` can't be called, axis_name has no hash, or in_axes, out_axes or devices are of
        another form.
      ValueError: no argument is mapped, sizes differ, there are no slices, or fewer devices than slices,
        a device is named twice, or pmap is called in a function that pmap maps."""
    check_callable(fun, "pmap")
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    _check_options(in_axes, axis_name, devices)
    static_argnums = as_argnums(static_broadcasted_argnums, "static_broadcasted_argnums")
    donated = as_argnums(donate_argnums, "donate_argnums")
    name = axis_name if axis_name is not None else f"<axis of pmap({fun_name(fun)})>"
    known: dict[Any, _Mapped] = {}  # by the options that jit lacks

    @wraps(fun)
    def pmap_f(*args: Any, **kwargs: Any) -> Any:
        _check_not_mapped(fun)
        dynamic, static = split_static(args, kwargs, static_argnums, ())
        fixed = positions(static_argnums, len(args))
        leaves, in_tree = tree_flatten(dynamic)
        info = DebugInfo(fun, fixed, in_tree)
        dims = _mapped_dims(_dynamic_axes(in_axes, args, fixed), in_tree, leaves, info)
        size = mapped_size(leaves, dims, info, axis_size, "pmap")
        chosen = _chosen_devices(size, devices, backend)
        named_avals(fun, fixed, in_tree, leaves)  # raises unless it is an array
        key = (in_tree, tuple(dims), static, chosen)
        try:
            mapped = known.get(key)
        except TypeError:
            raise unhashable_error(fun, static) from None
        if mapped is None:
            flat_fun = FlatFun(with_static(fun, static), in_tree)
            mapped = known[key] = _Mapped(flat_fun, dims, chosen, name, out_axes)
        outs, out_tree = tree_flatten(mapped.jitted(*mapped.arguments(leaves)))
        _delete_arrays([args[i] for i in positions(donated, len(args))])
        out_dims = _out_dims(outs, out_tree, out_axes, 0)
        return tree_unflatten(out_tree, list(map(mapped.placed, outs, out_dims)))

    return pmap_f


class _Mapped:
    """A jitted function of whole arrays, and the places of its results: devices of one machine share its
    memory, so the first of them computes with the whole, and arrays are labelled."""

    def __init__(
        self,
        flat_fun: FlatFun,
        dims: Sequence[int | None],
        devices: Sequence[Device],
        name: Hashable,
        out_axes: Any,
    ):
        self.name, self.mesh = name, Mesh(np.array(devices, object), (name,))
        self.jitted = jit(_of_slices(flat_fun, dims, self.mesh, out_axes))
        self.spans = spans_processes(self.mesh)
        own = [d for d in devices if d.process_index == process_index()]
        self.results_mesh = Mesh(np.array(own, object), (name,))
        if not self.spans:
            self.jitted.place = devices[0]
        self.dims = dims
        self.places: dict[int | None, Any] = {}

    def arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """The arguments of the jitted function: if the devices belong to several processes, this one's block
        of each array."""
        unplaced = list(map(_unplaced, leaves))
        if not self.spans or any(isinstance(x, Tracer) for x in unplaced):
            return unplaced
        return [
            x
            if d is None
            else from_block(as_array(x), NamedSharding(self.mesh, _spec(d, self.name)))
            for x, d in zip(unplaced, self.dims)
        ]

    def placed(self, x: Any, dim: int | None) -> Any:
        """A result, not yet shared, cut along an axis."""
        if isinstance(x, Tracer):
            return x
        if isinstance(x.buffer, Block):
            x = x.buffer.own
        if dim not in self.places:
            self.places[dim] = NamedSharding(self.results_mesh, _spec(dim, self.name))
        return commit(x, self.places[dim])


def _unplaced(x: Any) -> Any:
    """An uncommitted array with the same elements."""
    if not getattr(x, "committed", False) or x.is_deleted():
        return x
    if x.buffer is not None:
        x.buffer.has_one_owner = False  # no computation may overwrite memory that two arrays share
    return ArrayImpl(x._host, x.aval, x.buffer)


def _spec(dim: int | None, name: Hashable) -> PartitionSpec:
    """The spec of an array that is cut along an axis."""
    return PartitionSpec() if dim is None else PartitionSpec(*(None,) * dim, name)


def _of_slices(
    flat_fun: FlatFun, dims: Sequence[int | None], mesh: Mesh, out_axes: Any
) -> Callable[..., Any]:
    """The function of whole arrays that jit compiles, by shard_map."""
    (name,) = mesh.axis_names
    names = frozenset((name,))
    params = {"mesh": mesh, "newly_manual_axes": names, "check_vma": False}
    specs = tuple([_spec(dim, name) for dim in dims])

    def of_parts(*parts: Any) -> tuple[list[Any], Specs]:
        """A part still has its axis, of size 1, which a slice lacks."""
        slices = [x if d is None else x.squeeze(d) for x, d in zip(parts, dims)]
        outs = _traced(flat_fun, slices)
        out_dims = _out_dims(outs, flat_fun.out_tree, out_axes, 1)
        outs = [x if d is None else primitives.expand_dims(x, (d,)) for x, d in zip(outs, out_dims)]
        return outs, tuple([_spec(d, name) for d in out_dims])

    def _fun(*leaves: Any) -> Any:
        outs = bind_parts(of_parts, leaves, specs, params)
        return tree_unflatten(flat_fun.out_tree, outs)

    return _fun


def _check_options(in_axes: Any, axis_name: Any, devices: Any) -> None:
    """Raises TypeError for invalid in_axes, an unhashable axis name or an invalid device, ValueError for a
    device listed twice."""
    if not (in_axes is None or type(in_axes) in (int, tuple)):
        raise TypeError(
            "pmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
            f"arguments passed to the function, but got {in_axes}."
        )
    try:
        hash(axis_name)
    except TypeError:
        raise TypeError(
            f"pmap's axis_name must be hashable, such as a string, got {axis_name!r}"
        ) from None
    for device in devices or ():
        if not isinstance(device, Device):
            raise TypeError(
                f"pmap's devices must be Devices such as jax.devices()[0], got {device!r}"
            )
    if devices is not None and len(set(devices)) != len(devices):
        raise ValueError(f"pmap's devices must be different ones, got {list(devices)}")


def _check_not_mapped(fun: Callable) -> None:
    if _current.is_tracing:
        raise ValueError(
            f"pmap({fun_name(fun)}) is called in a function that pmap maps: the devices are taken. "
            "Use vmap for the inner one"
        )


def _dynamic_axes(in_axes: Any, args: tuple, fixed: set[int]) -> Any:
    """in_axes without the entries of static arguments."""
    if not isinstance(in_axes, tuple):
        return in_axes
    if len(in_axes) != len(args):
        raise ValueError(
            "pmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
            f"arguments passed to the function, but got len(in_axes)={len(in_axes)}, len(args)={len(args)}"
        )
    return tuple([axes for i, axes in enumerate(in_axes) if i not in fixed])


def _mapped_dims(in_axes: Any, in_tree: Any, leaves: list, info: DebugInfo) -> list[int | None]:
    """The mapped axis of each leaf. Raises ValueError if none is mapped."""
    dims = flatten_axes("pmap in_axes", in_tree, (in_axes, 0), kws=True)
    dims = [checked_dim(i, x, d, info, "pmap") for i, (x, d) in enumerate(zip(leaves, dims))]
    if all(dim is None for dim in dims):
        raise ValueError(
            "pmap requires at least one argument with a mapped axis: it maps one slice to each device"
        )
    return dims


def _traced(flat_fun: FlatFun, slices: Sequence[Any]) -> list[Any]:
    """The results for one device. A nested pmap raises."""
    _current.is_tracing = True
    try:
        return flat_fun(*slices)
    finally:
        _current.is_tracing = False


def _chosen_devices(
    size: int, devices: Sequence[Device] | None, backend: str | None
) -> tuple[Device, ...]:
    """A device for each slice; with several processes, which all have slices, the devices of all. Raises
    ValueError if there are too few, or no slices."""
    if size == 0:
        raise ValueError("pmap maps one slice to each device, but the mapped axis has size 0")
    present = list(devices) if devices is not None else listed_devices(backend)
    own = [d for d in present if d.process_index == process_index()]
    if len(own) < len(present):
        if size != len(own):
            raise ValueError(
                f"pmap maps over the devices of {process_count()} processes, of which this one has "
                f"{len(own)}, and takes a slice for each, but got {size}. To map over its own alone, give "
                "devices=jax.local_devices()"
            )
        return tuple(present)
    if size > len(present):
        where = "were given" if devices is not None else "are available"
        raise ValueError(
            f"pmap maps over {size} slices, one for each device, but {len(present)} devices {where}. "
            f"To have {size} CPU devices, set JAX_NUM_CPU_DEVICES={size} before the program starts, or "
            f'jax.config.update("jax_num_cpu_devices", {size}) before devices are used; or give each '
            "device a batch, and use vmap inside"
        )
    return tuple(present[:size])


def _delete_arrays(tree: Any) -> None:
    for leaf in tree_flatten(tree)[0]:
        if isinstance(leaf, ArrayImpl):
            leaf.delete()


def _out_dims(outs: Sequence[Any], tree: Any, out_axes: Any, more: int) -> list[int | None]:
    """The position of the devices' axis in each result, which has it or gains it."""
    dims = flat_out_axes("pmap", tree, out_axes)
    return [_out_dim(dim, get_aval(x).ndim + more) for x, dim in zip(outs, dims)]


def _out_dim(dim: int | None, ndim: int) -> int | None:
    if dim is None:
        return None
    if not -ndim <= dim < ndim:
        raise ValueError(f"pmap out_axes {dim} is out of range for a result of rank {ndim - 1}")
    return dim % ndim
