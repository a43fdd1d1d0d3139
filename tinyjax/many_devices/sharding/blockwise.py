"""The operations that devices can compute on their own blocks, and the communication that they need.

Operations that treat an axis uniformly run on blocks, split as the table of propagation.py defines; for a sum
over a split axis, each device has a partial sum, and these are added up between devices. Any other operation
gathers its operands, which is always correct.

Source: https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tinyjax.compile.kernel.rules import Elementwise, lowering_rules
from tinyjax.core.jaxpr import JaxprEqn
from tinyjax.many_devices.sharding.axes import Use
from tinyjax.many_devices.sharding.propagation import rule_of, rules


class OnBlocks(NamedTuple):
    """An operation on blocks: the required split of each operand, the split of the result, and the mesh axes
    over which the devices' results are then added up."""

    needed: list[list[tuple]]
    spec: list[tuple]
    summed: list[Any]


# Primitives that treat the axes uniformly that their propagation rules map to results. (Others, such as
# concatenate, have propagation rules too, but need their neighbours' elements.)
EVEN = {
    *("transpose", "squeeze", "broadcast_in_dim", "dot_general", "clamp", "argmax", "argmin"),
    *("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or"),
}


def on_blocks(eqn: JaxprEqn, use: Use) -> OnBlocks | None:
    """The way to compute an equation on blocks of its operands; None if each device needs whole operands."""
    is_elementwise = isinstance(lowering_rules.get(eqn.primitive), Elementwise)
    if not (is_elementwise or use.name in EVEN):
        return None
    rule: Any = rules["elementwise"] if is_elementwise else rule_of(use.name)
    axes = rule(use).results[0]
    spec: list[tuple] = []
    needed: list[list[tuple]] = [[()] * len(shape) for shape in use.shapes]
    for sources in axes:
        claims = (use.specs[i][axis] for i, axis in sources if use.specs[i][axis])
        names = next((c for c in claims if not {*c} & {n for each in spec for n in each}), ())
        spec.append(names)
        for i, axis in sources:
            if use.shapes[i][axis] != 1 or not is_elementwise:
                needed[i][axis] = names
    return OnBlocks(needed, spec, _summed(use, spec, needed))


def _summed(use: Use, spec: list[tuple], needed: list[list[tuple]]) -> list[Any]:
    """The mesh axes over which devices then add their partial sums: those that a summed axis is split over.
    The operands keep their split."""
    taken = {n for each in spec for n in each}
    if use.name == "reduce_sum":
        pairs = [[(0, axis)] for axis in use.params["axes"]]
    elif use.name == "dot_general":
        lhs, rhs = use.params["dimension_numbers"][0]
        pairs = [[(0, a), (1, b)] for a, b in zip(lhs, rhs)]
    else:
        return []
    summed: list[Any] = []
    for pair in pairs:
        names = next((use.specs[i][axis] for i, axis in pair if use.specs[i][axis]), ())
        if names and not taken & {*names}:
            taken |= {*names}
            summed += names
            for i, axis in pair:
                needed[i][axis] = names
    return summed
