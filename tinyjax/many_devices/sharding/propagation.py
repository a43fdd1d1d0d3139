"""Sharding propagation: the splits of results from those of operands, by one table of rules.

The rules, two here and the others in axes.py, map operand axes to result axes. A surviving axis keeps its
split; if operands disagree, the first one wins. A primitive without a rule has replicated results, which is
always correct: a split never changes a value.

Source: https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
"""

from __future__ import annotations

from typing import Any

from tinyjax.core.facts import axes_words
from tinyjax.many_devices.sharding import axes
from tinyjax.many_devices.sharding.axes import (
    Axes,
    Shape,
    Source,
    Spec,
    Use,
    replicated,
    split_sums,
)
from tinyjax.many_devices.sharding.reshaping import reshaped

# ---- two rules ----


def transpose(use: Use) -> Axes:
    """Axis i of the result is axis permutation[i] of the operand."""
    return Axes([[[(0, axis)] for axis in use.params["permutation"]]])


def dot_general(use: Use) -> Axes:
    """The batch axes, from both operands; then the free axes of lhs, then those of rhs, in order.
    `split_sums` has the reasons why some summed axes can't be split."""
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

# By the word that primitives declare (`axes` of core/facts.py), or by the name of a primitive with its own
# rule
rules: dict[str, axes.Rule] = {
    "elementwise": axes.elementwise,
    "reduction": axes.reduction,
    "first operand": axes.same_axes,
    "scatter": axes.scatter,
    "cumulative": axes.along("axis", _SUMMED),
    "each operand": axes.each,
    "none": axes.nothing,
    "keys": axes.of_keys,
    "approx_top_k": axes.along("reduction_dimension", _ABOUT_BEST),
    "broadcast_in_dim": axes.broadcast_in_dim,
    "clamp": axes.clamp,
    "concatenate": axes.concatenate,
    "conv_general_dilated": axes.convolution,
    "dot_general": dot_general,
    "dynamic_update_slice": axes.update_slice,
    "gather": axes.gather,
    "select_and_gather_add": axes.gather_windows,
    "select_and_scatter_add": axes.scatter_windows,
    "select_n": axes.select,
    "sort": axes.along("dimension", _SORTED),
    "squeeze": axes.squeeze,
    "stack": axes.stack,
    "top_k": axes.along("axis", _BEST),
    "transpose": transpose,
    "triangular_solve": axes.triangular_solve,
    "unstack": axes.unstack,
}


def rule_of(name: str) -> axes.Rule | None:
    """The rule of a primitive; None if the split of its results is unknown or "unclear"."""
    words = axes_words.get(name, name)
    word, *ranks = words.split()
    return axes.matrices(*map(int, ranks)) if word == "matrices" else rules.get(words)


# ---- from axes to specs ----


def propagate(use: Use) -> list[Spec]:
    """The specs of the results. An axis that can't be split into equal parts, or whose mesh axis an earlier
    axis uses, is whole."""
    if use.name == "reshape":
        return [reshaped(use) or replicated(use.out_shapes[0])]
    rule = rule_of(use.name)
    if rule is None or not any(any(spec) for spec in use.specs):
        return [replicated(shape) for shape in use.out_shapes]
    results = rule(use).results
    return [_first_claims(use, axes, shape) for axes, shape in zip(results, use.out_shapes)]


def _first_claims(use: Use, axes: list[list[Source]], shape: Shape) -> Spec:
    """The spec of a result, given its axes' sources. Each axis is split like its first source with a valid
    split: into equal parts, over mesh axes that no earlier axis uses. Otherwise: ()."""
    spec: list[tuple] = []
    taken: set[Any] = set()
    for sources, size in zip(axes, shape):
        claims = (use.specs[operand][axis] for operand, axis in sources)
        fitting = (c for c in claims if c and not taken & {*c} and size % use.parts(c) == 0)
        names = next(fitting, ())
        taken.update(names)
        spec.append(names)
    return tuple(spec)
