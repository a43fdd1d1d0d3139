"""PartitionSpecs and shardings as the `out_sharding=` of a function (lax/placing.py)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tinyjax.core.avals import get_aval
from tinyjax.core.bind import watch

# primitive name -> the parameter with the result's sharding, if it has one
PLACES = {
    "broadcast_in_dim": "sharding",
    "conv_general_dilated": "out_sharding",
    "dot_general": "out_sharding",
    "iota": "sharding",
    "reduce_sum": "out_sharding",
    "reshape": "sharding",
}


def requested_sharding(name: str, params: Any) -> Any:
    """The sharding that a program requests for a primitive's result, or None."""
    return params.get(PLACES[name]) if name in PLACES else None


class OutSharding:
    """The base class of objects that can be an `out_sharding`. The first use imports the modules that it
    needs, which import this one."""

    __slots__ = ()

    def result_params(self, primitive: str, function: str) -> dict[str, Any]:
        """The parameter that gives this primitive's result this split."""
        place = import_module("tinyjax.many_devices.sharding.types").explicit_sharding(
            self, function
        )
        # it places the results
        watch(import_module("tinyjax.runtime.placement").follow_operands)
        return {PLACES[primitive]: place}

    def within(self, f: Callable, function: str) -> Callable[..., Any]:
        """`f` in auto mode, with its result split this way."""
        axis_types = import_module("tinyjax.many_devices.axis_types")
        return axis_types.within_auto_axes(f, self, function)

    def put_result(self, x: Any) -> Any:
        """`x` with this sharding, unless its type already has it."""
        if get_aval(x)._sharding is not None:
            return x
        return import_module("tinyjax.many_devices.constraints").reshard(x, self)
