"""Layout transform: matrices that a loop reads along their columns are transposed once, before the loop.

After this file you can say why `W @ h` in a loop reads W's elements in the order in which they lie: all
elements of the product advance together (see advance_together.py), and each iteration takes the next column
of W. Builds on loops.
"""

from __future__ import annotations

from dataclasses import replace

from tinyjax.compile.passes.loops import Loop
from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var


def with_transposed_weights(
    loop: Loop, names: dict[Var, str]
) -> tuple[Loop, list[tuple[int, Var]]]:
    """The loop with other constants, and which of these are to be transposed first: the number of
    each, and its variable in the body. `names` gets the names of new variables."""
    body = loop.body.jaxpr
    wanted = [v for v in body.invars[: len(loop.consts)] if _is_read_by_columns(v, body)]
    new = {v: Var(ShapedArray(v.aval.shape[::-1], v.aval.dtype)) for v in wanted}
    names.update((new[v], names.get(v, "v")) for v in wanted)
    eqns = [_reading_rows(e, new) if not new.keys().isdisjoint(e.invars) else e for e in body.eqns]
    invars = [new.get(v, v) for v in body.invars]
    changed = ClosedJaxpr(Jaxpr([], invars, body.outvars, eqns))
    return replace(loop, body=changed), [(body.invars.index(v), new[v]) for v in wanted]


def _is_read_by_columns(v: Var, body: Jaxpr) -> bool:
    """Whether all that is done with the matrix is products over its last axis, along its rows."""
    readers = [eqn for eqn in body.eqns if v in eqn.invars]
    return v.aval.ndim == 2 and bool(readers) and all(_is_such(v, eqn) for eqn in readers)


def _is_such(v: Var, eqn: JaxprEqn) -> bool:
    if eqn.primitive.name != "dot_general" or eqn.invars[0] is eqn.invars[1]:
        return False
    contracted, batch = eqn.params["dimension_numbers"]
    side = eqn.invars.index(v)
    other_is_vector = eqn.invars[1].aval.ndim == 1
    is_last = side == 1 or other_is_vector  # the last axis of the result is the matrix's
    return tuple(contracted[side]) == (1,) and not batch[0] and is_last


def _reading_rows(eqn: JaxprEqn, new: dict[Var, Var]) -> JaxprEqn:
    """A product with the transposed matrices instead."""
    contracted, batch = eqn.params["dimension_numbers"]
    axes = tuple((0,) if v in new else axes for v, axes in zip(eqn.invars, contracted))
    params = eqn.params | {"dimension_numbers": (axes, batch)}
    invars = [new.get(v, v) if isinstance(v, Var) else v for v in eqn.invars]
    return eqn.replace(invars=invars, params=params)
