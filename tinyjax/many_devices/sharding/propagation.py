"""How results are split: from the way operands are, by one table of the words that primitives declare.

The rules, two here and the others in axes.py, say what becomes of the operands' axes. Then "an axis that
survives keeps what it is split over; the first claim wins". A primitive without a rule gives results that are
whole everywhere, which is right for any program: how a value is split never changes it.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

from typing import Any

from tinyjax.core.facts import axes_words
from tinyjax.many_devices.sharding.axes import (
    Axes,
    Rule,
    Shape,
    Source,
    Spec,
    Use,
    along,
    broadcast_in_dim,
    clamp,
    concatenate,
    convolution,
    each,
    elementwise,
    gather,
    gather_windows,
    matrices,
    nothing,
    of_keys,
    reduction,
    replicated,
    same_axes,
    scatter,
    scatter_windows,
    select,
    split_sums,
    squeeze,
    stack,
    triangular_solve,
    unstack,
    update_slice,
)
from tinyjax.many_devices.sharding.reshaping import reshaped

# ---- two rules ----


def transpose(use: Use) -> Axes:
    """Axis i of the result is axis permutation[i] of the operand."""
    return Axes([[[(0, axis)] for axis in use.params["permutation"]]])


def dot_general(use: Use) -> Axes:
    """The batch axes, which are axes of both operands; then the others of lhs, then those of rhs, in order,
    except the summed ones: `split_sums` has the reasons why some of these can't be split."""
    (lhs_summed, rhs_summed), (lhs_batch, rhs_batch) = use.params["dimension_numbers"]
    batch = [[(0, a), (1, b)] for a, b in zip(lhs_batch, rhs_batch)]
    lhs = [a for a in range(len(use.shapes[0])) if a not in (*lhs_summed, *lhs_batch)]
    rhs = [b for b in range(len(use.shapes[1])) if b not in (*rhs_summed, *rhs_batch)]
    whole = split_sums(use, list(lhs_summed), list(rhs_summed))
    return Axes([[*batch, *[[(0, a)] for a in lhs], *[[(1, b)] for b in rhs]]], whole)


# ---- the table ----

_SORTED = "Arguments to sort must be unsharded over the sorting dimension."
_SUMMED = "Input should be unsharded over the axis being reduced."
_BEST = "The input should be unsharded over the axis along which to find the largest elements."
_ABOUT_BEST = "reduction dimension {axis} of an approximate top_k must be unsharded."

# By the word that primitives declare (`axes` of core/facts.py), or by the name of one that is like no other
rules: dict[str, Rule] = {
    "elementwise": elementwise,
    "reduction": reduction,
    "first operand": same_axes,
    "scatter": scatter,
    "cumulative": along("axis", _SUMMED),
    "each operand": each,
    "none": nothing,
    "keys": of_keys,
    "approx_top_k": along("reduction_dimension", _ABOUT_BEST),
    "broadcast_in_dim": broadcast_in_dim,
    "clamp": clamp,
    "concatenate": concatenate,
    "conv_general_dilated": convolution,
    "dot_general": dot_general,
    "dynamic_update_slice": update_slice,
    "gather": gather,
    "select_and_gather_add": gather_windows,
    "select_and_scatter_add": scatter_windows,
    "select_n": select,
    "sort": along("dimension", _SORTED),
    "squeeze": squeeze,
    "stack": stack,
    "top_k": along("axis", _BEST),
    "transpose": transpose,
    "triangular_solve": triangular_solve,
    "unstack": unstack,
}


def rule_of(name: str) -> Rule | None:
    """The rule of a primitive; None if how its results are split is not known, or "unclear"."""
    word, *ranks = axes_words.get(name, name).split()
    return (
        matrices(*map(int, ranks)) if word == "matrices" else rules.get(axes_words.get(name, name))
    )


# ---- from axes to specs ----


def propagate(use: Use) -> list[Spec]:
    """The specs of the results. What is not split into equal parts, or over a mesh axis that an axis
    before it has, is whole."""
    if use.name == "reshape":
        return [reshaped(use) or replicated(use.out_shapes[0])]
    rule = rule_of(use.name)
    if rule is None or not any(any(spec) for spec in use.specs):
        return [replicated(shape) for shape in use.out_shapes]
    results = rule(use).results
    return [_first_claims(use, axes, shape) for axes, shape in zip(results, use.out_shapes)]


def _first_claims(use: Use, axes: list[list[Source]], shape: Shape) -> Spec:
    """The spec of a result, given what its axes are. Each is split as the first of its sources whose claim
    fits: that is split at all, into equal parts, over mesh axes of which no axis before has any. Else: ()."""
    spec: list[tuple] = []
    taken: set[Any] = set()
    for sources, size in zip(axes, shape):
        claims = (use.specs[operand][axis] for operand, axis in sources)
        fitting = (c for c in claims if c and not taken & {*c} and size % use.parts(c) == 0)
        names = next(fitting, ())
        taken.update(names)
        spec.append(names)
    return tuple(spec)
