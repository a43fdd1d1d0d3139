"""How a trace sees a jitted call: one equation of the primitive `jit_p`, with a jaxpr as a parameter.

A jaxpr is compiled when it is first run on a device. Eagerly, `jit_p` calls the compiled program; all
other traces treat it like any other equation.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tinyjax.core.array import ArrayImpl
from tinyjax.core.bind import (
    HigherOrderPrimitive,
    abstract_eval_rules,
    as_array,
    impl_rules,
    no_rule_reasons,
)
from tinyjax.core.config import config
from tinyjax.core.inlining import eager_jaxpr_fun
from tinyjax.core.jaxpr import ClosedJaxpr, cached_on_jaxpr, eval_jaxpr, prepare_jaxpr
from tinyjax.core.key_reuse import follow_call
from tinyjax.core.nan_checks import check_finite
from tinyjax.core.shortcuts import are_on, with_shortcut
from tinyjax.core.tracing import JaxprTrace, staging_rules
from tinyjax.runtime import placement
from tinyjax.runtime.devices import Device, default_device
from tinyjax.runtime.placement import (
    DeviceOrSpread,
    PlacementRequest,
    committed_place,
    compile_device,
    put_results,
)

if TYPE_CHECKING:
    from tinyjax.runtime.executable import Executable

# Parameters: name, jaxpr, donated_invars, keep_unused, inline and device (None: follow the arguments).
is_committed = operator.attrgetter("committed")
jit_p = HigherOrderPrimitive("jit", multiple_results=True, impl_binds_primitives=True)


def _jit_impl(
    *args: Any, jaxpr: ClosedJaxpr, device: Device | None, **params: Any
) -> list[ArrayImpl]:
    """Runs the compiled jaxpr; compiles it at the first call on a device."""
    arrays = list(map(as_array, args))
    run = run_compiled if placement.places is None else placement.places.run
    outs = run(jaxpr, device, arrays, params)
    if config.jax_debug_key_reuse:
        follow_call(jit_p, {"jaxpr": jaxpr}, arrays, outs)
    return outs


def run_compiled(
    jaxpr: ClosedJaxpr,
    place: DeviceOrSpread | None,
    arrays: Sequence[ArrayImpl],
    params: dict[str, Any],
) -> list[ArrayImpl]:
    """The results, computed at `place`, or where the arguments were put, or on the default device."""
    name = params["name"]
    if place is None and any(map(is_committed, arrays)):
        place = place_of_call(jaxpr, arrays, name)
    device = default_device() if place is None else compile_device(place)
    outs = compiled(jaxpr, device, name, params["donated_invars"])(arrays)
    if place is not None:
        put_results(place, "jit", params | {"jaxpr": jaxpr}, arrays, outs)
    if config.jax_debug_nans or config.jax_debug_infs:
        _find_first_nan(outs, jaxpr, arrays, name)
    return outs


def place_of_call(
    jaxpr: ClosedJaxpr,
    arrays: Sequence[ArrayImpl],
    name: str,
    requests: Sequence[PlacementRequest] = (),
) -> Any:
    """The place of the arguments that the jaxpr reads, or else the first place of `requests`; None if
    there is none. Raises ValueError if two of them have other devices."""
    if not requests and not any(map(is_committed, arrays)):
        return None
    read = [x if r else None for x, r in zip(arrays, read_arguments(jaxpr))]
    return committed_place(read, name, requests)


@cached_on_jaxpr
def read_arguments(jaxpr: ClosedJaxpr) -> list[bool]:
    """Which arguments the jaxpr reads or returns."""
    read = {*jaxpr.jaxpr.outvars, *(v for eqn in jaxpr.jaxpr.eqns for v in eqn.invars)}
    return [v in read for v in jaxpr.jaxpr.invars]


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
    """Builds the executable's kernels and returns it."""
    from tinyjax.runtime.executable import compile_jaxpr  # the compiler is imported when first used

    return compile_jaxpr(jaxpr, device, name, donated)


def _find_first_nan(outs: Sequence[ArrayImpl], jaxpr: ClosedJaxpr, args: Any, name: str) -> None:
    """If a result has a NaN that jax_debug_nans forbids, runs op by op to name the primitive."""
    try:
        check_finite(f"jit({name})", outs)
    except FloatingPointError:
        eager_jaxpr_fun(jaxpr)(*args)
        raise


class Inline(enum.Enum):
    """When a jitted function's equations take the place of a call in another function: while that one is
    traced (JAX_EARLY), or when it is compiled. The compiler does so for all calls, whatever they ask for."""

    JAX_EARLY = "jax_early"
    JAX_LATE = "jax_late"
    XLA_EARLY = "xla_early"
    XLA_LATE = "xla_late"
    AUTO = "auto"


def _jit_staging(trace: JaxprTrace, args: Sequence[Any], params: dict) -> Any:
    """jit(inline=Inline.JAX_EARLY) leaves its equations where it is called, not a jit equation."""
    if params["inline"] is not Inline.JAX_EARLY:
        return NotImplemented
    return eval_jaxpr(params["jaxpr"].jaxpr, params["jaxpr"].consts, *args)


impl_rules[jit_p] = _jit_impl
abstract_eval_rules[jit_p] = lambda *avals, jaxpr, **params: jaxpr.out_avals
staging_rules[jit_p] = _jit_staging
no_rule_reasons[jit_p, "lowering"] = "compile/passes/inline.py replaces it by its equations"
