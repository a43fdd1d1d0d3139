"""Compilation: `jit` traces a function once per kind of arguments, compiles the jaxpr, and reuses it.

A cache, by the types of the arguments, says when a function is traced again. A global is read once.

Source: https://docs.jax.dev/en/latest/jit-compilation.html
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from tinyjax.core.api_util import FlatFun, check_callable, fun_name, wraps
from tinyjax.core.argument_names import named_avals
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Tracer, context, is_staging
from tinyjax.core.compile_log import logged_time
from tinyjax.core.config import config
from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, Var
from tinyjax.core.shortcuts import with_shortcut
from tinyjax.core.structs import ShapeDtypeStruct, struct_of
from tinyjax.core.trace_memory import forget_traces, memory_of
from tinyjax.core.tracing import trace_to_jaxpr
from tinyjax.core.tree_util.pytrees import PyTreeDef, tree_flatten, tree_unflatten
from tinyjax.runtime import placement
from tinyjax.runtime.devices import Device, devices
from tinyjax.runtime.placement import DeviceOrSpread, PlacementRequest, committed_place
from tinyjax.transform.jit.cache_misses import explain_miss
from tinyjax.transform.jit.primitive import Inline, jit_p, read_arguments
from tinyjax.transform.jit.stages import Traced
from tinyjax.transform.jit.static_arguments import (
    named_arguments,
    positions,
    split_static,
    unhashable_error,
    with_static,
)

# ---- jitted functions ----

# function -> options of jit -> its traces (so that a second jit(f) retraces nothing), and the non-arrays
# that it closes over.
Traces = dict[Any, tuple[tuple[ClosedJaxpr, PyTreeDef, tuple[bool, ...]], list[Any]]]
_caches: WeakKeyDictionary[Callable, dict[tuple, Traces]] = WeakKeyDictionary()


def _cache_of(fun: Callable, options: tuple) -> Traces:
    """The cache that all jit(fun) with equal options share."""
    return memory_of(_caches, fun).setdefault(options, {})


_jit_functions: WeakSet[PjitFunction] = WeakSet()


class PjitFunction:
    """What `jit` gives: a callable that remembers a jaxpr for each kind of arguments it has met."""

    def __init__(
        self,
        fun: Callable,
        static_argnums: tuple[int, ...],
        static_argnames: tuple[str, ...],
        donate_argnums: tuple[int, ...],
        donate_argnames: tuple[str, ...],
        keep_unused: bool,
        place: Device | str | None,
        inline: Inline,
        placements: Any = None,
    ):
        wraps(fun)(self)
        _jit_functions.add(self)
        self.fun = fun
        self.static_argnums = static_argnums
        self.static_argnames = static_argnames
        self.donate_argnums = donate_argnums
        self.donate_argnames = donate_argnames
        self.params: dict[str, Any] = {
            "name": fun_name(fun),
            "keep_unused": keep_unused,
            "inline": inline,
        }
        self.place = place  # a backend's name is looked up at the first call
        self.placements = placements  # in_shardings and out_shardings; None if neither is given
        options = (static_argnums, static_argnames, donate_argnums, donate_argnames, placements)
        self.cache = _cache_of(fun, options)
        # A shortcut's cache of calls.
        self.calls: dict[Any, Any] = _cache_of(fun, (*options, "calls"))

    @property
    def device(self) -> Device | None:
        """Where the function runs; None for its arguments' device. Raises RuntimeError if there is no
        such backend."""
        return devices(self.place)[0] if isinstance(self.place, str) else self.place

    @with_shortcut
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's results."""
        if config.jax_disable_jit:
            return self.fun(*args, **kwargs)
        leaves, (jaxpr, out_tree, donated), consts = self.trace_cached(args, kwargs)
        outs = jit_p.bind(
            *consts,
            *leaves,
            jaxpr=jaxpr,
            donated_invars=(False,) * len(consts) + donated,
            device=self.device,
            **self.params,
            **(
                self.placements.params(self, args, kwargs, consts, out_tree)
                if self.placements
                else {}
            ),
        )
        return out_tree.unflatten(outs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A jitted method: `self` is its first argument."""
        return self if instance is None else functools.partial(self, instance)

    def cache_key(self, args: tuple, kwargs: dict) -> tuple[list, tuple]:
        """The dynamic leaves of a call, and its key in the cache, which has all that a trace can depend
        on: (tree of the dynamic arguments, their avals, static arguments, named axes, configuration).

        Avals know weak types, static arguments are as `split_static` gives them, named axes are those
        around the call, and the configuration is `config.key`."""
        dynamic, static = split_static(args, kwargs, self.static_argnums, self.static_argnames)
        leaves, in_tree = tree_flatten(dynamic)
        static_positions = positions(self.static_argnums, len(args))
        avals = named_avals(self.fun, static_positions, in_tree, leaves)
        return leaves, (in_tree, avals, static, context.axis_env, config.key)

    def trace_cached(self, args: tuple, kwargs: dict) -> tuple[list, tuple, list]:
        """The dynamic leaves, what was traced for them, and what it closes over that is no value."""
        leaves, key = self.cache_key(args, kwargs)
        in_tree, avals, static, *others = key
        if self.placements is not None:
            avals = self.placements.typed(tree_unflatten(in_tree, leaves), avals)
            key = in_tree, avals, static, *others
        try:
            entry = self.cache.get(key)
        except TypeError:
            raise unhashable_error(self.fun, static) from None
        if entry is not None:
            return leaves, *entry
        if config.jax_no_tracing:
            raise RuntimeError(
                f"re-tracing function {self.params['name']} for `jit`, but 'no_tracing' is set: its tree, "
                "types or static arguments are new (jax.explain_cache_misses says which)"
            )
        if config.jax_explain_cache_misses:
            static_positions = positions(self.static_argnums, len(args))
            explain_miss(self.fun, static_positions, key, list(self.cache))
        info = self._debug_info(in_tree, args, leaves)
        flat_fun = FlatFun(with_static(self.fun, static), in_tree, info)
        with logged_time(f"tracing {self.params['name']} for jit"):
            closed = trace_to_jaxpr(flat_fun, avals)
        closed, consts = consts_to_args(closed)
        traced = closed, flat_fun.out_tree, self._donated(args, kwargs)
        # A jaxpr that closes over an outer trace's values is of use but once.
        if not any(isinstance(x, Tracer) for x in consts):
            self.cache[key] = traced, consts
        return leaves, traced, consts

    def _debug_info(self, in_tree: PyTreeDef, args: tuple, leaves: list) -> DebugInfo:
        """The description of this call in errors about tracers."""
        static, types = positions(self.static_argnums, len(args)), tuple(map(type, leaves))
        return DebugInfo(self.fun, static, in_tree, None, "jax.jit", (), "static_argnames", types)

    def _donated(self, args: tuple, kwargs: dict) -> tuple[bool, ...]:
        """For each dynamic leaf, whether its memory is donated."""
        static = positions(self.static_argnums, len(args))
        donated = [(x, i in self.donate_argnums) for i, x in enumerate(args) if i not in static]
        donated += [
            (kwargs[name], name in self.donate_argnames)
            for name in sorted(kwargs)
            if name not in self.static_argnames
        ]
        return tuple([flag for x, flag in donated for _ in tree_flatten(x)[0]])

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The function as a jaxpr, at these arguments (arrays or ShapeDtypeStructs)."""
        leaves, (jaxpr, out_tree, donated), consts = self.trace_cached(args, kwargs)
        dynamic, _ = split_static(args, kwargs, self.static_argnums, self.static_argnames)
        in_tree = tree_flatten(dynamic)[1]
        name = self.params["name"]
        places, out_places = list(map(_place_of, leaves)), []
        if self.placements:
            params = self.placements.params(self, args, kwargs, consts, out_tree)
            places, out_places = placement.places.before_call(places, **params)
        place = self.device or _place_before_call(jaxpr, places, name, out_places)
        static = positions(self.static_argnums, len(args))
        info = DebugInfo(self.fun, static, in_tree, out_tree)
        return Traced(
            jaxpr, in_tree, out_tree, name, place, consts, donated, places, out_places, info
        )

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """As trace(...).lower(): the OpenCL program and its schedule, not yet built."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The result's tree of ShapeDtypeStructs."""
        _, (jaxpr, out_tree, _), _ = self.trace_cached(args, kwargs)
        structs = list(map(struct_of, jaxpr.out_avals))
        return tree_unflatten(out_tree, structs)

    def _cache_size(self) -> int:
        """The number of cached traces. Users' tests count retraces with it."""
        return len(self.cache)

    def clear_cache(self) -> None:
        """Forgets all traces: the next call traces and compiles again."""
        self.cache.clear()
        self.calls.clear()

    def __repr__(self) -> str:
        return f"<PjitFunction of {self.fun!r}>"

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.fun)

    def __deepcopy__(self, memo: dict) -> PjitFunction:
        return self  # as Python's functions have


def _place_of(x: Any) -> DeviceOrSpread | None:
    """Where an argument was put, or will be; None if nowhere."""
    if isinstance(x, ShapeDtypeStruct):
        return x.sharding and placement.places.place_of(x.sharding)
    return x._device if getattr(x, "committed", False) else None


def _place_before_call(
    jaxpr: ClosedJaxpr, places: Sequence[Any], name: str, out_places: Sequence[Any]
) -> DeviceOrSpread | None:
    """place_of_call for arguments whose values are not known, only their places."""
    by_arguments = [
        PlacementRequest(f"argument args[{i}] of {name}", place)
        for i, (place, is_read) in enumerate(zip(places, read_arguments(jaxpr)))
        if place is not None and is_read
    ]
    by_others = placement.places and placement.places.requests_of_call(jaxpr, out_places)
    return committed_place((), name, [*by_arguments, *(by_others or ())])


def clear_caches() -> None:
    """Empties the caches of traced and compiled jitted functions, loop bodies and branches; not the cache
    on disk."""
    forget_traces()
    for function in list(_jit_functions):
        function.clear_cache()


def consts_to_args(closed: ClosedJaxpr) -> tuple[ClosedJaxpr, list[Any]]:
    """Constants that are an outer trace's tracers, or not arrays, become the first arguments."""
    pairs = list(zip(closed.jaxpr.constvars, closed.consts))
    tracers = [pair for pair in pairs if _is_argument(*pair)]
    if not tracers:
        return closed, []
    values = [pair for pair in pairs if not _is_argument(*pair)]
    jaxpr: Jaxpr = closed.jaxpr.replace(
        constvars=[v for v, _ in values], invars=[v for v, _ in tracers] + closed.jaxpr.invars
    )
    return ClosedJaxpr(jaxpr, [x for _, x in values]), [x for _, x in tracers]


def _is_argument(v: Var, x: Any) -> bool:
    return isinstance(x, Tracer) or type(v.aval) is not ShapedArray


# ---- the front door ----


def jit(
    fun: Callable | None = None,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    keep_unused: bool = False,
    device: Device | None = None,
    backend: str | None = None,
    inline: bool | Inline = False,
    in_shardings: Any = None,
    out_shardings: Any = None,
) -> Any:
    """`fun`, compiled to OpenCL: traced once per tree, shapes, dtypes and static values it meets.

    Static arguments must be hashable, and are Python values inside; donated ones can't be used after
    the call; `inline` says when the equations take the place of a call (see Inline; True is JAX_LATE).
    `in_shardings` and `out_shardings` say where arguments and results are. Usable as a decorator, too.
    Raises TypeError if `fun` can't be called, ValueError for static_argnums out of range."""
    if fun is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            donate_argnames=donate_argnames,
            keep_unused=keep_unused,
            device=device,
            backend=backend,
            inline=inline,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
        )
    check_callable(fun, "jit")
    place = _checked_place(device, backend)
    numbers, names = named_arguments(fun, static_argnums, static_argnames, "static_argnums")
    donate_numbers, donate_names = named_arguments(
        fun, donate_argnums, donate_argnames, "donate_argnums"
    )
    both = set(numbers) & set(donate_numbers) or set(names) & set(donate_names)
    if both:
        raise ValueError(
            f"static_argnames and donate_argnames cannot intersect, but both name {both}: a static "
            "argument has no memory to give away"
        )
    return PjitFunction(
        fun,
        numbers,
        names,
        donate_numbers,
        donate_names,
        keep_unused,
        place,
        Inline.JAX_LATE if inline is True else Inline.AUTO if inline is False else Inline(inline),
        _placements(in_shardings, out_shardings, place),
    )


def _placements(ins: Any, outs: Any, place: Device | str | None) -> Any:
    """The placements that in_shardings and out_shardings request; None if neither is given."""
    if ins is None and outs is None:
        return None
    return placement.needed_places().jit_shardings(ins, outs, place)


def _checked_place(device: Device | None, backend: str | None) -> Device | str | None:
    """Returns `device` or `backend`, whichever was given, with a deprecation warning."""
    if not isinstance(device, Device | None):
        raise TypeError(
            f"jit's device must be a Device such as jax.devices()[0], got {device!r}: to choose a "
            "platform by its name, use backend"
        )
    if device is not None and backend is not None:
        raise ValueError(
            f"can't specify both a device and a backend for jit, got device={device!r} and "
            f"backend={backend!r}"
        )
    if device is not None or backend is not None:
        warnings.warn(
            "backend and device argument on jit is deprecated: put the arguments on the device, as by "
            'jax.device_put(x, jax.devices("cpu")[0])',
            DeprecationWarning,
            stacklevel=3,  # where jit is called
        )
    return device or backend


def jitted(fun: Callable | None = None, *, static_argnames: str | Sequence[str] = ()) -> Any:
    """For jax.numpy's own functions: a jit equation where a jaxpr is being traced, as JAX shows them,
    and plain Python where operations run eagerly, so that nothing is compiled there."""
    if fun is None:
        return functools.partial(jitted, static_argnames=static_argnames)
    traced = jit(fun, static_argnames=static_argnames)

    @functools.wraps(fun)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return (traced if is_staging() else fun)(*args, **kwargs)

    return wrapper
