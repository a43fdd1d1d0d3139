"""How operations on Refs are printed: `a[0] <- b`, as JAX does.

The arrow points at the written element.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.core.jaxpr import Atom, JaxprEqn, Literal
from tinyjax.core.pretty_printer import Doc, JaxprPpContext, atom_text, binders, printed_eqns
from tinyjax.refs.indices import index_text


def _get_doc(eqn: JaxprEqn, context: JaxprPpContext) -> Doc:
    """b:f32[] <- a[0]"""
    return [binders(eqn.outvars, context), " <- ", _ref_text(eqn, eqn.invars[1:], context)]


def _swap_doc(eqn: JaxprEqn, context: JaxprPpContext) -> Doc:
    """a[0] <- b, or if the old value is used, c:f32[], a[0] <- a[0], b"""
    (old,) = eqn.outvars
    left = "" if old in context.unused else binders(eqn.outvars, context)
    place, value = _ref_text(eqn, eqn.invars[2:], context), atom_text(eqn.invars[1], context)
    return [left, ", ", place, " <- ", place, ", ", value] if left else [place, " <- ", value]


def _addupdate_doc(eqn: JaxprEqn, context: JaxprPpContext) -> Doc:
    """a[0] += b"""
    return [_ref_text(eqn, eqn.invars[2:], context), " += ", atom_text(eqn.invars[1], context)]


def _ref_text(eqn: JaxprEqn, operands: Sequence[Atom], context: JaxprPpContext) -> str:
    ref = eqn.invars[0]
    names = [str(v.val) if isinstance(v, Literal) else context.name(v) for v in operands]
    return f"{atom_text(ref, context)}[{index_text(eqn.params['indexer'], names, ref.aval.shape)}]"


printed_eqns["get"] = _get_doc
printed_eqns["swap"] = _swap_doc
printed_eqns["addupdate"] = _addupdate_doc
