"""One program, many devices: `pmap` gives each device its slice, and they meet at collectives.

After this file you can say what each device computes in pmap(f)(xs), and when the devices wait for each
other. A call is one equation of `pmap_p`, whose jaxpr is the program of one device. To run it, that jaxpr
is cut at its collectives (psum and the like). Each piece without one is compiled, and started on all
devices, each with its own values, before anybody waits. At a collective the values of all devices are
brought together, and there the batching rule says what every device gets: a collective over devices is
one over a batch. A loop with a collective in it is such a piece as a whole.
Builds on batching and jit_primitive.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyjax.api_util import (
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
from tinyjax.array import ArrayImpl, ShapedArray
from tinyjax.config import config
from tinyjax.core import (
    Primitive,
    abstract_eval_rules,
    as_array,
    context,
    extend_axis_env,
    get_aval,
    impl_rules,
    no_rule_reasons,
)
from tinyjax.devices import Device
from tinyjax.devices import devices as listed_devices
from tinyjax.interpreters.batching import (
    AxisData,
    argument_paths,
    batch_jaxpr,
    checked_dim,
    mapped_size,
    moveaxis,
)
from tinyjax.interpreters.jit import consts_to_args
from tinyjax.interpreters.jit_primitive import compiled
from tinyjax.interpreters.tracing import named_avals, trace_to_jaxpr
from tinyjax.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, cached_on_jaxpr, subjaxprs
from tinyjax.tree_util.prefixes import flatten_axes
from tinyjax.tree_util.pytrees import tree_flatten, tree_unflatten

# ---- the primitive ----

# Parameters: name, jaxpr (of one device), in_axes (an operand each: 0, or None: all devices get all of
# it), axis_name, axis_size and devices (one a slice). All results have an axis 0 for the devices.
pmap_p = Primitive("pmap", multiple_results=True, takes_arrays=True)


def _pmap_avals(*avals: ShapedArray, jaxpr: ClosedJaxpr, axis_size: int, **params: Any) -> list:
    return [a.update(shape=(axis_size, *a.shape)) for a in jaxpr.out_avals]


def _pmap_impl(
    *args: Any,
    jaxpr: ClosedJaxpr,
    in_axes: Sequence[int | None],
    axis_name: Hashable,
    devices: tuple[Device, ...],
    name: str,
    axis_size: int,
) -> list[ArrayImpl]:
    """Runs the pieces of the jaxpr in order, each on all devices."""
    axis = AxisData(axis_name, axis_size, of_devices=True)
    lanes: dict[Var, list[ArrayImpl]] = {}
    for var, x, dim in zip(jaxpr.jaxpr.invars, args, in_axes):
        lanes[var] = spread(as_array(x), dim, devices)
    for var, const in zip(jaxpr.jaxpr.constvars, jaxpr.consts):
        lanes[var] = spread(as_array(const), None, devices)
    for piece in pieces(jaxpr, axis):
        operands = [lanes[v] for v in piece.invars]
        if piece.is_collective:
            outs = _together(piece, operands, axis, devices, name)
        else:
            each = [
                compiled(piece.jaxpr, device, name)([xs[i] for xs in operands])
                for i, device in enumerate(devices)
            ]
            outs = [list(xs) for xs in zip(*each)]
        lanes.update(zip(piece.outvars, outs))
    return [
        _gathered(spread(_literal(v), None, devices) if isinstance(v, Literal) else lanes[v])
        for v in jaxpr.jaxpr.outvars
    ]


def _literal(literal: Literal) -> ArrayImpl:
    return ArrayImpl(np.asarray(literal.val, literal.aval.dtype), literal.aval)


def _together(
    piece: Piece,
    operands: Sequence[list[ArrayImpl]],
    axis: AxisData,
    devices: tuple[Device, ...],
    name: str,
) -> list[list[ArrayImpl]]:
    """A collective: the first device computes, from the values of all, what each one gets."""
    dims, at_front = (0,) * len(operands), (True,) * len(piece.outvars)
    with extend_axis_env(axis.env):
        batched, _ = batch_jaxpr(piece.jaxpr, axis, dims, at_front)
    stacks = [_gathered(xs) for xs in operands]
    outs = compiled(batched, devices[0], name)(stacks)
    return [spread(out, 0, devices) for out in outs]


impl_rules[pmap_p] = _pmap_impl
abstract_eval_rules[pmap_p] = _pmap_avals
no_rule_reasons[pmap_p, "lowering"] = "a compiled program runs on one device: pmap starts others"


# ---- a jaxpr in pieces ----


@dataclass
class Piece:
    """Equations that follow each other, and the values that they take and give."""

    is_collective: bool
    jaxpr: ClosedJaxpr
    invars: list[Var]
    outvars: list[Var]


@cached_on_jaxpr
def pieces(closed: ClosedJaxpr, axis: AxisData) -> list[Piece]:
    """The equations in runs of those that speak of the axis and those that do not."""
    runs: list[tuple[bool, list[JaxprEqn]]] = []
    for eqn in closed.jaxpr.eqns:
        speaks = speaks_of(eqn, axis.name)
        if not runs or runs[-1][0] is not speaks:
            runs.append((speaks, []))
        runs[-1][1].append(eqn)
    needed = {v for v in closed.jaxpr.outvars if isinstance(v, Var)}
    found = []
    for speaks, eqns in reversed(runs):
        made = [v for eqn in eqns for v in eqn.outvars]
        read = dict.fromkeys(v for eqn in eqns for v in eqn.invars if isinstance(v, Var))
        invars = [v for v in read if v not in made]
        outvars = [v for v in made if v in needed]
        needed = (needed - {*made}) | {*invars}
        jaxpr = Jaxpr([], invars, outvars, eqns)
        found.append(Piece(speaks, ClosedJaxpr(jaxpr), invars, outvars))
    return found[::-1]


def speaks_of(eqn: JaxprEqn, axis_name: Hashable) -> bool:
    """Whether an equation, or one inside it, is a collective over the axis."""
    named = (eqn.params.get(key) for key in ("axes", "axis_name"))
    if any(axis_name in (x if isinstance(x, (tuple, list)) else (x,)) for x in named):
        return True
    return any(speaks_of(inner, axis_name) for j in subjaxprs(eqn.params) for inner in j.eqns)


# ---- values of many devices ----


class Shards:
    """The memory of an array whose slices along axis 0 are on different devices."""

    queue = None  # of no one device
    has_one_owner = False

    def __init__(self, shards: list[ArrayImpl]):
        self.shards = shards

    @property
    def devices(self) -> tuple[Device, ...]:
        return tuple(shard.device for shard in self.shards)

    def read(self) -> np.ndarray:
        return np.stack([shard._value for shard in self.shards])

    def wait(self) -> None:
        for shard in self.shards:
            shard.block_until_ready()

    def is_ready(self) -> bool:
        return all(shard.is_ready() for shard in self.shards)


def spread(x: ArrayImpl, axis: int | None, devices: tuple[Device, ...]) -> list[ArrayImpl]:
    """What each device gets of an array: its slice along axis 0, or with None all of it."""
    if axis is None:
        return [ArrayImpl(x._value, x.aval, None, device, True) for device in devices]
    if isinstance(x.buffer, Shards) and x.buffer.devices == devices:
        return x.buffer.shards
    aval = x.aval.update(shape=x.shape[1:])
    return [
        ArrayImpl(np.asarray(value), aval, None, device, True)
        for value, device in zip(x._value, devices)
    ]


def _gathered(shards: list[ArrayImpl]) -> ArrayImpl:
    """The slices as one array; they stay where they are until somebody reads it."""
    aval = shards[0].aval
    whole = aval.update(shape=(len(shards), *aval.shape))
    return ArrayImpl(None, whole, Shards(shards), shards[0].device)


# ---- the front door ----

_caches = memory_of_traces()


class _Current(threading.local):
    """Whether this thread traces a function for pmap."""

    is_tracing = False


_current = _Current()


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
      TypeError: `fun` can't be called, or in_axes are of another form.
      ValueError: no argument is mapped, sizes differ, there are fewer devices than slices, or pmap is
        called in a function that pmap maps.
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.pmap.html
    """
    check_callable(fun, "pmap")
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    if not (in_axes is None or type(in_axes) in (int, tuple)):
        raise TypeError(
            "pmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
            f"arguments passed to the function, but got {in_axes}."
        )
    static_argnums = as_argnums(static_broadcasted_argnums, "static_broadcasted_argnums")
    donated = as_argnums(donate_argnums, "donate_argnums")
    name = axis_name if axis_name is not None else f"<axis of pmap({fun_name(fun)})>"

    @functools.wraps(fun)
    def pmap_f(*args: Any, **kwargs: Any) -> Any:
        if _current.is_tracing:
            raise ValueError(
                f"pmap({fun_name(fun)}) is called in a function that pmap maps: the devices are taken. "
                "Use vmap for the inner one"
            )
        dynamic, static = split_static(args, kwargs, static_argnums, ())
        fixed = positions(static_argnums, len(args))
        leaves, in_tree = tree_flatten(dynamic)
        dims = flatten_axes("pmap in_axes", in_tree, (_dynamic_axes(in_axes, args, fixed), 0))
        paths = argument_paths(*dynamic)
        dims = [checked_dim(x, d, p, "pmap") for x, d, p in zip(leaves, dims, paths)]
        if all(dim is None for dim in dims):
            raise ValueError(
                "pmap requires at least one argument with a mapped axis: it maps one slice to each device"
            )
        axis = AxisData(name, mapped_size(leaves, dims, paths, axis_size, "pmap"))
        chosen = _chosen_devices(axis.size, devices, backend)

        whole_avals = named_avals(fun, fixed, in_tree, leaves)
        avals = tuple([_slice_aval(aval, dim) for aval, dim in zip(whole_avals, dims)])
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
        for leaf in tree_flatten([args[i] for i in positions(donated, len(args))])[0]:
            if isinstance(leaf, ArrayImpl):
                leaf.delete()
        out_dims = flatten_axes("pmap out_axes", out_tree, out_axes)
        return tree_unflatten(out_tree, [_at_axis(x, d) for x, d in zip(outs, out_dims)])

    return pmap_f


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
    """A device for each slice. Raises ValueError if there are too few."""
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


def _at_axis(x: Any, axis: int | None) -> Any:
    """A result, whose axis 0 is that of the devices, as out_axes ask for it."""
    if axis is None:
        return x[0]
    ndim = get_aval(x).ndim
    if not -ndim <= axis < ndim:
        raise ValueError(f"pmap out_axes {axis} is out of range for a result of rank {ndim}")
    return moveaxis(x, 0, axis) if axis else x
