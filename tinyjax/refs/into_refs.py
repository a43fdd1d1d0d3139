"""Add cotangents to Refs: the backward pass makes no array of the sum.

`f_vjp.with_refs(ref, jax.ad.GradValue(), jax.ad.DontWant())(ct)` specifies the use of each primal's
cotangent. `jax.ad` has the markers.

Source: https://docs.jax.dev/en/latest/array_refs.html
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from tinyjax.core import dtypes
from tinyjax.core.array import ShapedArray
from tinyjax.core.avals import get_aval
from tinyjax.core.tree_util.partial import Partial
from tinyjax.core.tree_util.prefixes import structures_differ
from tinyjax.core.tree_util.pytrees import (
    PyTreeDef,
    register_pytree_node,
    tree_flatten,
    tree_unflatten,
)
from tinyjax.refs.ref import addupdate
from tinyjax.refs.types import is_ref
from tinyjax.transform.jvp import Zero, instantiate_zeros
from tinyjax.transform.linearize import Linearized
from tinyjax.transform.transposition import UndefinedPrimal, ValAccum, backward_pass
from tinyjax.transform.vjp import VJP


@dataclasses.dataclass(frozen=True)
class GradValue:
    """Marker for with_refs: return the cotangent."""


@dataclasses.dataclass(frozen=True)
class DontWant:
    """Marker for with_refs: drop the cotangent."""


@dataclasses.dataclass(frozen=True)
class GradRef:
    """In the result: the cotangent was added to a Ref."""


@dataclasses.dataclass(frozen=True)
class DidntWant:
    """In the result: the cotangent wasn't wanted."""


for _mark in (GradRef, DidntWant):
    register_pytree_node(_mark, lambda mark: ((), type(mark)), lambda kind, _: kind())

ad = SimpleNamespace(DontWant=DontWant, DidntWant=DidntWant, GradRef=GradRef, GradValue=GradValue)


# ---- accumulators ----


class RefAccum(ValAccum):
    """Adds the cotangents of a linear value to a Ref."""

    __slots__ = ("ref",)

    def __init__(self, aval: ShapedArray, ref: Any):
        super().__init__(aval)
        self.ref = ref

    def accum(self, ct: Any) -> None:
        if ct is not None and type(ct) is not Zero:
            addupdate(self.ref, ..., ct)

    def freeze(self) -> Any:
        return GradRef()


class NullAccum(ValAccum):
    """Drops the cotangents of a linear value."""

    __slots__ = ()

    def accum(self, ct: Any) -> None:
        pass

    def freeze(self) -> Any:
        return DidntWant()


for _accum in (RefAccum, NullAccum):
    register_pytree_node(_accum, lambda x: ((), x.aval), lambda aval, _: UndefinedPrimal(aval))


def _accumulator(aval: ShapedArray, place: Any) -> ValAccum:
    """The accumulator of a primal's cotangent: `place` is a Ref, or a marker.

    Raises ValueError for a Ref of another type."""
    if isinstance(place, DontWant):
        return NullAccum(aval)
    if not is_ref(place):
        return ValAccum(aval)
    held = get_aval(place).inner_aval
    if (held.shape, held.dtype) != (aval.shape, aval.dtype):
        raise ValueError(
            "unexpected JAX type (e.g. shape/dtype) for gradient ref passed to the VJP function's "
            f"`with_refs` method: the given ref has type {get_aval(place).str_short()}, but accumulating "
            f"this argument's gradient requires a ref of type Ref{{{aval.str_short()}}}"
        )
    return RefAccum(aval, place)


# ---- with_refs ----


def with_refs(f_vjp: VJP, *refs: Any) -> Partial:
    """f_vjp as a function that adds cotangents to Refs: gradients are summed in place.

    `refs` is a tree like the primals', with a Ref; `jax.ad.GradValue()` or a number to return the cotangent;
    or `jax.ad.DontWant()`. The result has `jax.ad.GradRef()` or `jax.ad.DidntWant()` in place of cotangents
    that aren't returned. Raises ValueError for another tree, and for a Ref of another type.
    """
    return Partial(_into_refs, f_vjp, refs) if refs else f_vjp


VJP.with_refs = with_refs  # type: ignore[attr-defined]


def _into_refs(f_vjp: VJP, refs: tuple, cotangent: Any) -> Any:
    return f_vjp(cotangent, pull=functools.partial(_pull_into, refs))


def _pull_into(
    refs: tuple,
    in_tree: PyTreeDef,
    linearized: Linearized,
    residuals: Sequence[Any],
    cts: Sequence[Any],
) -> Any:
    """pull_back with the accumulators that `refs` specifies."""
    places, tree = tree_flatten(refs)
    if tree != in_tree:
        raise ValueError(
            "unexpected tree structure in the arguments to a VJP function's `with_refs` method: got "
            f"{tree}, but expected {in_tree}, that of the primals"
            + structures_differ("the primals", in_tree, "the arguments", tree)
        )
    accums = list(map(_accumulator, linearized.in_avals, places))
    linear = [a for a in accums if a.aval.dtype != dtypes.float0]
    used = [ct for ct, nonzero in zip(cts, linearized.nonzero_outs) if nonzero]
    backward_pass(linearized.jaxpr, residuals, linear, used)
    return tree_unflatten(in_tree, [instantiate_zeros(a.freeze()) for a in accums])
