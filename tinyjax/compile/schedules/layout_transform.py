"""Layout transform: matrices that a loop reads along their columns are transposed once, before the loop.

After this file you can say why `W @ h` in a loop reads W's elements in the order in which they lie: all
elements of the product advance together (see private_arrays.py), and each iteration takes the next column of
W. Builds on jaxpr.
"""

from __future__ import annotations

from tinyjax.core.array import ShapedArray
from tinyjax.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var


def with_transposed_weights(
    eqn: JaxprEqn, names: dict[Var, str]
) -> tuple[JaxprEqn, list[tuple[int, Var]]]:
    """The loop with other constants, and which of its operands are to be transposed first: the number of
    each, and its variable in the body. `names` gets the names of new variables."""
    param, first, count = _body_and_consts(eqn)
    body = eqn.params[param].jaxpr
    wanted = [v for v in body.invars[:count] if _is_read_by_columns(v, body)]
    new = {v: Var(ShapedArray(v.aval.shape[::-1], v.aval.dtype)) for v in wanted}
    names.update((new[v], names.get(v, "v")) for v in wanted)
    eqns = [_reading_rows(e, new) if not new.keys().isdisjoint(e.invars) else e for e in body.eqns]
    invars = [new.get(v, v) for v in body.invars]
    changed = ClosedJaxpr(Jaxpr([], invars, body.outvars, eqns))
    transposed = [(first + body.invars.index(v), new[v]) for v in wanted]
    return eqn.replace(params=eqn.params | {param: changed}), transposed


def _body_and_consts(eqn: JaxprEqn) -> tuple[str, int, int]:
    """The parameter with the body, and where its constants are among the operands."""
    params = eqn.params
    if eqn.primitive.name == "scan":
        return "jaxpr", 0, params["num_consts"]
    return "body_jaxpr", params["cond_nconsts"], params["body_nconsts"]


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
