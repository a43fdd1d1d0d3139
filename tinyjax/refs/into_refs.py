"""Cotangents that are added to what Refs hold, so that no second array is made."""

from __future__ import annotations

from typing import Any

from tinyjax.core.tree_util.partial import Partial
from tinyjax.core.tree_util.pytrees import register_pytree_node, tree_flatten, tree_unflatten
from tinyjax.refs.ref import addupdate
from tinyjax.refs.types import is_ref
from tinyjax.transform.vjp import VJP


def with_refs(f_vjp: VJP, *refs: Any) -> Partial:
    """A function as f_vjp that adds the cotangents to what Refs hold: gradients are summed in place.

    `refs` has an entry for each primal, of its tree: a Ref, or a number where the cotangent is wanted as a
    result. Where a cotangent went into a Ref, the result has GradRef()."""
    return Partial(_into_refs, f_vjp, refs) if refs else f_vjp


VJP.with_refs = with_refs  # type: ignore[attr-defined]


class GradRef:
    """Stands for a cotangent that was added to a Ref."""

    def __repr__(self) -> str:
        return "GradRef()"


register_pytree_node(GradRef, lambda _: ((), None), lambda aux, _: GradRef())


def _into_refs(f_vjp: VJP, refs: tuple, cotangent: Any) -> Any:
    cts, tree = tree_flatten(f_vjp(cotangent))
    places = tree.flatten_up_to(refs, "with_refs")
    for ref, ct in zip(places, cts):
        if is_ref(ref):
            addupdate(ref, ..., ct)
    return tree_unflatten(tree, [GradRef() if is_ref(r) else ct for r, ct in zip(places, cts)])
