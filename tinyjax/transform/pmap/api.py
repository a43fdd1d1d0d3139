"""One program, many devices: `pmap` gives each device its slice, and they meet at collectives.

After this file you can say when a function is traced for pmap (once for each kind of slice), and which
devices run it. A call binds `pmap_p`. Builds on the primitive, batching and jit.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from tinyjax.core.api_util import (
    FlatFun,
    as_argnums,
    check_callable,
    fun_name,
    memory_of,
    memory_of_traces,
    positions,
    split_static,
    unhashable_error,
    with_static,
)
from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import context, extend_axis_env
from tinyjax.core.config import config
from tinyjax.core.jaxpr import ClosedJaxpr
from tinyjax.core.tracing import named_avals, trace_to_jaxpr
from tinyjax.core.tree_util.prefixes import flatten_axes
from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.runtime.devices import Device
from tinyjax.runtime.devices import devices as listed_devices
from tinyjax.transform.batching import AxisData, moveaxis
from tinyjax.transform.jit.api import consts_to_args
from tinyjax.transform.mapped_axes import argument_paths, checked_dim, flat_out_axes, mapped_size
from tinyjax.transform.pmap.primitive import pmap_p

_caches = memory_of_traces()


class _Tracing(threading.local):
    """Whether this thread traces a function for pmap."""

    is_tracing = False


_current = _Tracing()


def pmap(
    fun: Callable,
    axis_name: Hashable | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """`fun` on many devices at once: each computes with its own slice of the arguments.

    As vmap, with a device for each slice: `in_axes` and `out_axes` as there (a result for which
    `out_axes` is None is taken from the first device), collectives over `axis_name` within. Static
    arguments, which must be hashable, are the same for all devices. `devices` says which ones to use: by
    default the first of `backend`. Donated arguments can't be used after the call.
    Raises:
      TypeError: `fun` can't be called, axis_name has no hash, or in_axes, out_axes or devices are of
        another form.
      ValueError: no argument is mapped, sizes differ, there are no slices, or fewer devices than slices,
        a device is named twice, or pmap is called in a function that pmap maps.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html
    """
    check_callable(fun, "pmap")
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    _check_options(in_axes, axis_name, devices)
    static_argnums = as_argnums(static_broadcasted_argnums, "static_broadcasted_argnums")
    donated = as_argnums(donate_argnums, "donate_argnums")
    name = axis_name if axis_name is not None else f"<axis of pmap({fun_name(fun)})>"

    @functools.wraps(fun)
    def pmap_f(*args: Any, **kwargs: Any) -> Any:
        _check_not_mapped(fun)
        dynamic, static = split_static(args, kwargs, static_argnums, ())
        fixed = positions(static_argnums, len(args))
        (leaves, in_tree), paths = tree_flatten(dynamic), argument_paths(*dynamic)
        dims = _mapped_dims(_dynamic_axes(in_axes, args, fixed), in_tree, leaves, paths)
        axis = AxisData(name, mapped_size(leaves, dims, paths, axis_size, "pmap"))
        chosen = _chosen_devices(axis.size, devices, backend)
        avals = tuple(map(_slice_aval, named_avals(fun, fixed, in_tree, leaves), dims))
        key = (in_tree, avals, static, static_argnums, axis, context.axis_env, config.key)
        jaxpr, out_tree, consts = _traced(fun, key, static, in_tree, avals, axis)
        operands = [moveaxis(x, d, 0) if d else x for x, d in zip(leaves, dims)]
        outs = pmap_p.bind(
            *consts,
            *operands,
            jaxpr=jaxpr,
            in_axes=(None,) * len(consts) + tuple(None if d is None else 0 for d in dims),
            axis_name=name,
            axis_size=axis.size,
            devices=chosen,
            name=fun_name(fun),
        )
        _delete_arrays([args[i] for i in positions(donated, len(args))])
        out_dims = flat_out_axes("pmap", out_tree, out_axes)
        return tree_unflatten(out_tree, [_at_axis(x, d) for x, d in zip(outs, out_dims)])

    return pmap_f


def _check_options(in_axes: Any, axis_name: Any, devices: Any) -> None:
    """Raises TypeError for in_axes of another form, an axis name without a hash and what is no device,
    ValueError for a device that is named twice."""
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


def _mapped_dims(in_axes: Any, in_tree: Any, leaves: list, paths: list) -> list[int | None]:
    """Which axis of each leaf is mapped. Raises ValueError if none is."""
    dims = flatten_axes("pmap in_axes", in_tree, (in_axes, 0))
    dims = [checked_dim(x, d, p, "pmap") for x, d, p in zip(leaves, dims, paths)]
    if all(dim is None for dim in dims):
        raise ValueError(
            "pmap requires at least one argument with a mapped axis: it maps one slice to each device"
        )
    return dims


def _slice_aval(aval: ShapedArray, dim: int | None) -> ShapedArray:
    return aval if dim is None else aval.update(shape=aval.shape[:dim] + aval.shape[dim + 1 :])


def _traced(
    fun: Callable, key: tuple, static: Any, in_tree: Any, avals: Sequence[Any], axis: AxisData
) -> tuple[ClosedJaxpr, Any, list]:
    """The jaxpr of one device, its result's tree, and tracers that `fun` closes over, which become its
    first arguments. A function is traced once for each kind of arguments, as by jit."""
    cache = memory_of(_caches, fun)
    try:
        known = cache.get(key)
    except TypeError:
        raise unhashable_error(static) from None
    if known is not None:
        return (*known, [])
    flat_fun = FlatFun(with_static(fun, static), in_tree)
    _current.is_tracing = True
    try:
        with extend_axis_env(axis.env):
            closed = trace_to_jaxpr(flat_fun, avals)
    finally:
        _current.is_tracing = False
    closed, tracers = consts_to_args(closed)
    if not tracers:
        cache[key] = closed, flat_fun.out_tree
    return closed, flat_fun.out_tree, tracers


def _chosen_devices(
    size: int, devices: Sequence[Device] | None, backend: str | None
) -> tuple[Device, ...]:
    """A device for each slice. Raises ValueError if there are too few, or no slices."""
    if size == 0:
        raise ValueError("pmap maps one slice to each device, but the mapped axis has size 0")
    present = list(devices) if devices is not None else listed_devices(backend)
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


def _at_axis(x: Any, axis: int | None) -> Any:
    """A result, whose axis 0 is that of the devices, as out_axes ask for it."""
    if axis is None:
        return x[0]
    ndim = get_aval(x).ndim
    if not -ndim <= axis < ndim:
        raise ValueError(f"pmap out_axes {axis} is out of range for a result of rank {ndim}")
    return moveaxis(x, 0, axis) if axis else x
