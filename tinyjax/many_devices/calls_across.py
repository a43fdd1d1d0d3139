"""Call programs that several processes run together, each with its part of the arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax.core.array import ArrayImpl
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, Var
from tinyjax.many_devices.distributed.processes import process_count

Call = Callable[[Sequence[ArrayImpl]], list[ArrayImpl]]


def call_across_processes(
    jaxpr: ClosedJaxpr, arrays: Sequence[ArrayImpl], params: dict[str, Any]
) -> Call | None:
    """A function that calls the program with these arguments if they are spread over several processes; else
    None."""
    if process_count() == 1:
        return None
    from tinyjax.many_devices.processes.calls import find_call  # with the first call

    return find_call(jaxpr, arrays, params)


def reshard_array(x: ArrayImpl, sharding: Any) -> ArrayImpl:
    """Reshard an array with blocks in several processes: runs a program that returns its argument."""
    v = Var(x.aval.update(extra=None))
    how = {"name": "device_put", "out_shardings": (sharding,)}
    call = call_across_processes(ClosedJaxpr(Jaxpr([], [v], [v], [])), [x], how)
    assert call is not None
    return call([x])[0]
