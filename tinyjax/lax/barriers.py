"""optimization_barrier: values that a compiler must not move, merge or fuse.

Values before a barrier are computed before values after it, and nothing is moved, merged or fused across
it. A compiled program has a separate step for it.
"""

from __future__ import annotations

from typing import Any

from tinyjax.compile.kernel.rules import OnHost, lowering_rules
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.facts import MOVES
from tinyjax.core.tree_util import tree_flatten, tree_unflatten
from tinyjax.transform.batching import batch_rules
from tinyjax.transform.jvp import instantiate_zeros, jvp_rules
from tinyjax.transform.transposition import transpose_rules

optimization_barrier_p = Primitive(
    "optimization_barrier", multiple_results=True, axes="each operand", **MOVES
)


def _barrier_jvp(primals: Any, tangents: Any) -> tuple[list[Any], list[Any]]:
    """Tangents pass through a barrier, too."""
    moving = map(instantiate_zeros, tangents)
    return optimization_barrier_p.bind(*primals), optimization_barrier_p.bind(*moving)


impl_rules[optimization_barrier_p] = lambda *operands: list(operands)
abstract_eval_rules[optimization_barrier_p] = lambda *avals: list(avals)
jvp_rules[optimization_barrier_p] = _barrier_jvp
transpose_rules[optimization_barrier_p] = lambda cts, *operands: optimization_barrier_p.bind(
    *map(instantiate_zeros, cts)
)
batch_rules[optimization_barrier_p] = lambda vals, dims: (optimization_barrier_p.bind(*vals), dims)
lowering_rules[optimization_barrier_p] = OnHost("nothing is fused across a barrier")


def optimization_barrier(operand: Any) -> Any:
    """`operand`, a pytree of arrays, all of which are computed before anything that uses one of them."""
    leaves, tree = tree_flatten(operand)
    return tree_unflatten(tree, optimization_barrier_p.bind(*leaves))
