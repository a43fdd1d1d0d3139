"""The `places` hook of runtime/placement.py: eager operations, jitted calls and device_put on several
devices.

A jitted call moves its arguments to the places of in_shardings. It then runs on several processes or devices,
each with its part of the arrays, or as one program whose results are labelled. The rules of jit's
transformations see in_shardings and out_shardings as constraints within the jaxpr. Importing the folder
many_devices imports this file, which fills the hook.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tinyjax.core.array import ArrayImpl, ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.bind import abstract_eval_rules, as_array
from tinyjax.core.jaxpr import ClosedJaxpr, dce_rules, without_dead_code
from tinyjax.many_devices.calls_across import Call, call_across_processes, reshard_array
from tinyjax.many_devices.distributed.processes import when_several
from tinyjax.many_devices.jit_constraints import constraints_within
from tinyjax.many_devices.jit_shardings import (
    concrete,
    put_arguments,
    put_outputs,
    requests_of_call,
    requests_of_set_mesh,
    typed_results,
)
from tinyjax.many_devices.jit_shardings import jit_shardings as jit_shardings
from tinyjax.many_devices.placing import requested_sharding
from tinyjax.many_devices.sharding.blocks import Block, from_block, own_block, spans_processes
from tinyjax.many_devices.sharding.device_blocks import spans_devices, spread
from tinyjax.many_devices.sharding.partition_spec import PartitionSpec
from tinyjax.many_devices.sharding.sharding import Sharding, as_sharding, check_fits, place_of
from tinyjax.runtime import placement
from tinyjax.runtime.devices import Device
from tinyjax.runtime.placement import DeviceOrSpread, PlacementRequest, commit
from tinyjax.transform.batching import axis_batch_rules
from tinyjax.transform.jit import rules as _rules  # noqa: F401  (those that are wrapped below)
from tinyjax.transform.jit.primitive import jit_p, place_of_call, read_arguments, run_compiled
from tinyjax.transform.jvp import jvp_rules
from tinyjax.transform.linearize import linearize_rules, partial_eval_rules
from tinyjax.transform.transposition import transpose_rules

if TYPE_CHECKING:
    from tinyjax.runtime.executable import Executable
    from tinyjax.transform.jit.stages import Traced

# ---- eager operations ----


def requests_of_operation(name: str, params: dict[str, Any]) -> tuple[PlacementRequest, ...]:
    """The requests of the current mesh and of a primitive's `out_sharding`. A sharding without devices is
    on the current mesh."""
    said = requested_sharding(name, params)
    if said is None or not said.has_devices:
        return requests_of_set_mesh()
    return (*requests_of_set_mesh(), PlacementRequest(f"out_sharding of {name}", said))


# ---- jitted calls ----

# Pairs (is_one, run), for programs spread over several devices of this process: `is_one(jaxpr, arrays)`
# recognizes them, `run(jaxpr, arrays, out_shardings)` returns the results. shard_map/across_devices.py adds
# one.
multi_device_executors: list[tuple[Callable[..., bool], Callable[..., list[Any]]]] = []


def run(
    jaxpr: ClosedJaxpr, device: Device | None, arrays: Sequence[ArrayImpl], params: dict[str, Any]
) -> list[ArrayImpl]:
    """The results of a jitted call."""
    ins, out_places = params.get("in_shardings", ()), params.get("out_shardings", ())
    arrays = put_arguments(arrays, ins) if any(ins) else arrays
    if (in_parts := call_in_parts(jaxpr, arrays, params)) is not None:
        return in_parts(arrays)
    requests = requests_of_call(jaxpr, out_places)
    place = device or place_of_call(jaxpr, arrays, params["name"], requests)
    outs = run_compiled(jaxpr, place, arrays, params)
    put_outputs(outs, out_places)
    return outs


def run_stage(
    jaxpr: ClosedJaxpr, traced: Traced, executable: Executable, arrays: Sequence[ArrayImpl]
) -> list[ArrayImpl]:
    """The results of a call of `jit(f).lower(...).compile()`."""
    places = [p if r else None for p, r in zip(traced.places, read_arguments(traced.jaxpr))]
    arrays = put_arguments(arrays, [place and as_sharding(place) for place in places])
    params: dict[str, Any] = {"name": traced.fun_name, "donated_invars": traced.donated}
    if any(traced.out_places):
        params["out_shardings"] = traced.out_places
    if (in_parts := call_in_parts(jaxpr, arrays, params)) is not None:
        return in_parts(arrays)
    outs = executable(arrays)
    if traced.device is not None:
        for out, sharding in zip(outs, output_shardings(traced, executable)):
            commit(out, place_of(sharding))
    return outs


def before_call(
    places: Sequence[Any], in_shardings: Sequence[Any], out_shardings: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """The place of each argument, by in_shardings or by an earlier device_put; and the out_shardings."""
    ins = [place_of(concrete(new)) if new else old for new, old in zip(in_shardings, places)]
    return ins, [place and concrete(place) for place in out_shardings]


def input_shardings(traced: Traced, executable: Executable) -> list[Sharding | None]:
    """The places where the arguments are read; None for unused ones."""
    whole = as_sharding(traced.device or executable.device).replicated
    pairs = zip(traced.places, read_arguments(traced.jaxpr))
    return [(as_sharding(place) if place else whole) if read else None for place, read in pairs]


def output_shardings(traced: Traced, executable: Executable) -> list[Sharding]:
    """The places of the results."""
    places = [place and as_sharding(place) for place in traced.places]
    place = as_sharding(traced.device or executable.device)
    outs = place.of_results({"jaxpr": traced.jaxpr}, places)
    return [given or out for given, out in zip(traced.out_places, outs)]


def are_alike(place: DeviceOrSpread, other: DeviceOrSpread, ndim: int) -> bool:
    """Whether both put the elements of an array with `ndim` axes on the same devices."""
    return as_sharding(place).is_equivalent_to(as_sharding(other), ndim)


def text_of_traffic(jaxpr: ClosedJaxpr, places: Sequence[Any]) -> list[str]:
    """The devices' communication, as lines below the schedule of a program on a mesh, for arguments at these
    places."""
    from tinyjax.many_devices.sharding.traffic import traffic_lines, traffic_of

    shardings = [place and as_sharding(place) for place in places]
    return [*traffic_lines(traffic_of(without_dead_code(jaxpr), shardings))]


# ---- programs of which several processes or devices run parts ----


def call_in_parts(
    jaxpr: ClosedJaxpr, arrays: Sequence[ArrayImpl], params: dict[str, Any]
) -> Call | None:
    """A function that calls a program spread over several processes or devices; None for other programs."""
    if (across := call_across_processes(jaxpr, arrays, params)) is not None:
        return across
    out_places = params.get("out_shardings", ())
    for is_one, run_parts in multi_device_executors:
        if is_one(jaxpr, arrays):
            # Raises if there is no such place.
            place_of_call(jaxpr, arrays, params["name"], requests_of_call(jaxpr, out_places))
            donated = params["donated_invars"]
            return functools.partial(_run_in_parts, run_parts, jaxpr, out_places, donated)
    return None


def _run_in_parts(
    run_parts: Callable[..., list[ArrayImpl]],
    jaxpr: ClosedJaxpr,
    out_places: Sequence[Any],
    donated: Sequence[bool],
    arrays: Sequence[ArrayImpl],
) -> list[ArrayImpl]:
    outs = run_parts(jaxpr, arrays, out_places)
    for x, is_donated in zip(arrays, donated):
        if is_donated:
            x.delete()
    return outs


# ---- device_put ----


def checked(place: Any) -> Sharding | None:
    """A PartitionSpec as a NamedSharding on the current mesh, a Sharding unchanged; None for anything
    else."""
    if isinstance(place, PartitionSpec):
        from tinyjax.many_devices.sharding.current_mesh import named

        return named(place, "device_put")
    return place if isinstance(place, Sharding) else None


def check_put(aval: ShapedArray, place: DeviceOrSpread | None) -> None:
    """Raises ValueError if an array of this type can't have the sharding: IndivisibleError for an axis that
    can't be split into equal parts."""
    if isinstance(place, Sharding):
        check_fits(place, place.typed(aval).shape, "device_put args")


def in_blocks(x: Any, place: DeviceOrSpread) -> ArrayImpl | None:
    """The value in blocks, if the processes or devices of `place` have separate memory; else None.

    Raises ValueError if it can't be sharded so, and for a device of another process."""
    if isinstance(place, Sharding) and (blocks := _in_blocks_of(x, place)) is not None:
        return blocks
    device = place_of(place) if isinstance(place, Sharding) else place
    if isinstance(device, Device) and device.local_hardware_id is None:
        raise ValueError(
            f"device_put takes devices of this process, and {device!r} is one of process "
            f"{device.process_index}: see jax.local_devices(), or spread the array over a mesh of all"
        )
    return None


def _in_blocks_of(x: Any, place: Sharding) -> ArrayImpl | None:
    check_put(get_aval(x), place)
    if spans_processes(getattr(place, "mesh", None)):
        x = as_array(x)
        if isinstance(x.buffer, Block) and not place.is_equivalent_to(x.sharding, x.ndim):
            return reshard_array(x, place)
        return from_block(own_block(x, place), place)
    if spans_devices(getattr(place, "mesh", None)):
        return spread(as_array(x), place)
    place.is_fully_addressable  # noqa: B018  (raises, if it has no devices)
    return None


# ---- the rules of jit ----


def _of_constraints(rule: Callable) -> Callable:
    """The rule applied to the equation with in_shardings and out_shardings moved into its jaxpr as
    constraints, which have their own rules."""
    return lambda *args, **params: rule(*args, **constraints_within(params))


def _fill_hooks() -> None:
    placement.places = sys.modules[__name__]
    for rules in (jvp_rules, linearize_rules, axis_batch_rules, transpose_rules):
        rules[jit_p] = _of_constraints(rules[jit_p])
    partial_eval, dce = partial_eval_rules[jit_p], dce_rules[jit_p]
    result_types = abstract_eval_rules[jit_p]
    partial_eval_rules[jit_p] = lambda trace, args, params: partial_eval(
        trace, args, constraints_within(params)
    )
    dce_rules[jit_p] = lambda eqn, used: dce(
        eqn.replace(params=constraints_within(eqn.params)), used
    )
    abstract_eval_rules[jit_p] = lambda *avals, out_shardings=(), **params: typed_results(
        result_types(*avals, **params), out_shardings
    )


def _bind_over_processes() -> None:
    from tinyjax.many_devices.processes.eager import install  # with the first other process

    install()


_fill_hooks()
when_several.append(_bind_over_processes)
