"""The function that vjp gives, and cotangents that are added to what Refs hold.

After this file you can sum gradients in place: `f_vjp.with_refs(ref)(cotangent)` adds to the Ref, and no
second array is made. Builds on refs and pytrees.
"""

from __future__ import annotations

from typing import Any

from tinyjax.core.tree_util.pytrees import tree_flatten, tree_unflatten
from tinyjax.core.tree_util.registration import Partial, register_pytree_node
from tinyjax.refs.ref import addupdate
from tinyjax.refs.types import is_ref


class VJP(Partial):
    """The function that vjp gives: from a cotangent of the result to those of the primals."""

    def with_refs(self, *refs: Any) -> Partial:
        """The same, but adds the cotangents to what Refs hold: a sum of gradients without a second array.

        `refs` has an entry for each primal, of its tree: a Ref, or a number where the cotangent is wanted
        as a result. Where a cotangent went into a Ref, the result has GradRef()."""
        return Partial(_into_refs, self, refs) if refs else self


register_pytree_node(
    VJP,
    lambda f_vjp: ((f_vjp.args, f_vjp.keywords), f_vjp.func),
    lambda func, children: VJP(func, *children[0], **children[1]),
)


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
