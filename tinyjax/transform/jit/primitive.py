"""A call of a jitted function, to a trace: one equation of a primitive, `jit_p`, with a jaxpr in it.

After this file you can say when a jaxpr is compiled (when it is first run on a device), and on which
device it runs. Eagerly, `jit_p` is a call of the compiled program; to all other traces it is an equation
as any other. Builds on tracing and shortcuts.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tinyjax.core.array import ArrayImpl
from tinyjax.core.bind import (
    BodyPrimitive,
    abstract_eval_rules,
    as_array,
    impl_rules,
    no_rule_reasons,
)
from tinyjax.core.config import config
from tinyjax.core.inlining import inlined_fun
from tinyjax.core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    Var,
    cached_on_jaxpr,
    eval_jaxpr,
    prepare_jaxpr,
)
from tinyjax.core.key_reuse import follow_call
from tinyjax.core.nan_checks import check_finite
from tinyjax.core.shortcuts import are_on, with_shortcut
from tinyjax.core.tracing import JaxprTrace, staging_rules
from tinyjax.many_devices.distributed.processes import process_count
from tinyjax.many_devices.jit_shardings import (
    place_of_call,
    put_arguments,
    put_outputs,
    typed_results,
)
from tinyjax.runtime.devices import Device, default_device
from tinyjax.runtime.placement import home_of, put_results

if TYPE_CHECKING:
    from tinyjax.runtime.executable import Executable

# Parameters: name, jaxpr, donated_invars, keep_unused, inline and device (None: follow the arguments); and if
# somebody says where arguments and results are, in_shardings and out_shardings, with an entry each.
jit_p = BodyPrimitive("jit", multiple_results=True, takes_arrays=True)


# Pairs (is_one, run), for programs that several devices of this process have parts of:
# `is_one(jaxpr, arrays)` says whether this is one, `run(jaxpr, arrays, out_shardings)` gives its results.
# One is made in transform/shard_map/across_devices.py.
runs_in_parts: list[tuple[Callable[..., bool], Callable[..., list[Any]]]] = []
Call = Callable[[Sequence[ArrayImpl]], list[ArrayImpl]]
# `find(jaxpr, arrays, params)` gives what calls a program that several processes have parts of, None for
# others; it is one of lax's.
find_calls_across_processes: list[Callable[..., Call | None]] = []


def call_across_processes(
    jaxpr: ClosedJaxpr, arrays: Sequence[ArrayImpl], params: dict[str, Any]
) -> Call | None:
    """What calls a program with these arguments, if several processes have parts of it; else None."""
    if process_count() > 1:
        for find in find_calls_across_processes:
            return find(jaxpr, arrays, params)
    return None


def call_in_parts(
    jaxpr: ClosedJaxpr, arrays: Sequence[ArrayImpl], params: dict[str, Any]
) -> Call | None:
    """What calls a program that several processes or devices have parts of; None of another one."""
    if (across := call_across_processes(jaxpr, arrays, params)) is not None:
        return across
    out_places = params.get("out_shardings", ())
    for is_one, run in runs_in_parts:
        if is_one(jaxpr, arrays):
            place_of_call(
                jaxpr, arrays, params["name"], out_places
            )  # raises, if there is no such place
            return functools.partial(
                _run_in_parts, run, jaxpr, out_places, params["donated_invars"]
            )
    return None


def _run_in_parts(
    run: Callable[..., list[ArrayImpl]],
    jaxpr: ClosedJaxpr,
    out_places: Sequence[Any],
    donated: Sequence[bool],
    arrays: Sequence[ArrayImpl],
) -> list[ArrayImpl]:
    outs = run(jaxpr, arrays, out_places)
    for x, is_donated in zip(arrays, donated):
        if is_donated:
            x.delete()
    return outs


def _jit_impl(
    *args: Any, jaxpr: ClosedJaxpr, device: Device | None, **params: Any
) -> list[ArrayImpl]:
    """Runs the compiled jaxpr; compiles it at the first call on a device."""
    arrays = [as_array(x) for x in args]
    said = params.get("in_shardings", ()), params.get("out_shardings", ())
    arrays = put_arguments(arrays, said[0]) if any(said[0]) else arrays
    if (in_parts := call_in_parts(jaxpr, arrays, params)) is not None:
        outs = in_parts(arrays)
        follow_call(jit_p, {"jaxpr": jaxpr}, arrays, outs)
        return outs
    place = device or place_of_call(jaxpr, arrays, params["name"], said[1])
    home = home_of(place or default_device())
    outs = compiled(jaxpr, home, params["name"], params["donated_invars"])(arrays)
    if place is not None:
        put_results(place, "jit", params | {"jaxpr": jaxpr}, arrays, outs)
        put_outputs(outs, said[1])
    if config.jax_debug_nans or config.jax_debug_infs:
        _find_first_nan(outs, jaxpr, arrays, params["name"])
    follow_call(jit_p, {"jaxpr": jaxpr}, arrays, outs)
    return outs


def spread_anew(x: ArrayImpl, sharding: Any) -> ArrayImpl:
    """An array that several processes have blocks of, spread in another way over them: a program that gives
    its argument."""
    v = Var(x.aval.update(extra=None))
    how = {"name": "device_put", "out_shardings": (sharding,)}
    call = call_across_processes(ClosedJaxpr(Jaxpr([], [v], [v], [])), [x], how)
    assert call is not None
    return call([x])[0]


def compiled(
    jaxpr: ClosedJaxpr, device: Device, name: str, donated: tuple[bool, ...] = ()
) -> Executable:
    """The executable of a jaxpr on a device, made once (and once with shortcuts); some arguments' memory may
    be `donated` to it."""
    for prepare in prepare_jaxpr:
        jaxpr = prepare(jaxpr, True)
    return _compiled(jaxpr, device, name, donated, are_on())


@cached_on_jaxpr
def _compiled(jaxpr: ClosedJaxpr, *how: Any) -> Executable:
    return build(jaxpr, *how[:-1])


@with_shortcut
def build(jaxpr: ClosedJaxpr, device: Device, name: str, donated: tuple[bool, ...]) -> Executable:
    """The executable, once its kernels are built."""
    from tinyjax.runtime.executable import compile_jaxpr  # the compiler is imported when first used

    return compile_jaxpr(jaxpr, device, name, donated)


def _find_first_nan(outs: Sequence[ArrayImpl], jaxpr: ClosedJaxpr, args: Any, name: str) -> None:
    """Where a result has a NaN that jax_debug_nans forbids: runs op by op, to name the primitive."""
    try:
        check_finite(f"jit({name})", outs)
    except FloatingPointError:
        inlined_fun(jaxpr)(*args)
        raise


def _jit_staging(trace: JaxprTrace, args: Sequence[Any], params: dict) -> Any:
    """jit(inline=True) leaves its equations where it is called, not a jit equation."""
    if not params["inline"]:
        return NotImplemented
    return eval_jaxpr(params["jaxpr"].jaxpr, params["jaxpr"].consts, *args)


impl_rules[jit_p] = _jit_impl
abstract_eval_rules[jit_p] = lambda *avals, jaxpr, out_shardings=(), **params: typed_results(
    jaxpr.out_avals, out_shardings
)
staging_rules[jit_p] = _jit_staging
no_rule_reasons[jit_p, "lowering"] = "compile/passes/inline.py puts its equations in its place"
