"""Sums with updates: what is added to zeros and then to an array is added to the array.

The gradient of an array that a program indexes several times is a sum of such updates, one for each place.
Each update is then rounded beside the array's element, as in XLA. Sums of 16-bit floats stay as they are, as
they would lose small updates.
"""

from __future__ import annotations

from collections import Counter

from tinyjax.compile.passes.patterns import Producer, walk
from tinyjax.compile.record import event
from tinyjax.core.dtypes import is_inexact
from tinyjax.core.jaxpr import ClosedJaxpr, JaxprEqn, Literal


def updates(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same jaxpr, in which a scatter-add to zeros that only a sum reads adds to the other operand."""
    if "scatter-add" not in [eqn.primitive.name for eqn in closed.jaxpr.eqns]:
        return closed
    counts = Counter([v for eqn in closed.jaxpr.eqns for v in eqn.invars] + closed.jaxpr.outvars)

    def change(eqn: JaxprEqn, producer: Producer) -> list[JaxprEqn] | None:
        if eqn.primitive.name not in ("add", "add_any"):
            return None
        for update, other in (eqn.invars, eqn.invars[::-1]):
            made = producer.get(update)
            if made and counts[update] == 1 and _adds_to_zeros(made, producer):
                if other.aval.shape == update.aval.shape:
                    event(eqn, ("becomes", made), "the sum is updated, instead of zeros", eqn)
                    return [made.replace(invars=[other, *made.invars[1:]], outvars=eqn.outvars)]
        return None

    return walk(closed, change)


def _adds_to_zeros(eqn: JaxprEqn, producer: Producer) -> bool:
    made = producer.get(eqn.invars[0]) if eqn.primitive.name == "scatter-add" else None
    if made is None or made.primitive.name != "broadcast_in_dim":
        return False
    dtype = eqn.outvars[0].aval.dtype
    if is_inexact(dtype) and dtype.itemsize < 4:
        return False
    (value,) = made.invars
    return isinstance(value, Literal) and not value.val
