"""`jax.checkpoint_policies`: which results of a forward pass may be kept for the backward pass.

A policy is a function that is called with each primitive, and returns whether its results may be kept.
(JAX's third answer, to keep a result in another memory, is a yes here.)

Source: https://docs.jax.dev/en/latest/gradient-checkpointing.html
"""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from tinyjax.compile.kernel.rules import Elementwise, lowering_rules
from tinyjax.core.array import ShapedArray
from tinyjax.core.bind import Primitive, abstract_eval_rules, impl_rules
from tinyjax.core.facts import MOVES
from tinyjax.core.tree_util.pytrees import tree_map
from tinyjax.transform.batching import defvectorized
from tinyjax.transform.jvp import jvp_rules
from tinyjax.transform.remat.policies import (
    Answer,
    Offloadable,
    Policy,
    Recompute,
    Saveable,
    nothing_saveable,
)

name_p = Primitive("name", axes="elementwise", **MOVES)  # parameter: name
impl_rules[name_p] = lambda x, *, name: x
abstract_eval_rules[name_p] = lambda x, *, name: x
# The tangent needs no name: policies decide only about values known in the forward pass.
jvp_rules[name_p] = lambda primals, tangents, *, name: (
    name_p.bind(*primals, name=name),
    tangents[0],
)
defvectorized(name_p)
lowering_rules[name_p] = Elementwise(lambda ctx, x, *, name: x, cost=0)


def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, a pytree of arrays, with a name for policies such as save_only_these_names."""
    return tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


# ---- policies: which results may be kept ----


def everything_saveable(*_: Any, **__: Any) -> bool:
    """Keeps all that the backward pass needs, as if there were no jax.checkpoint."""
    return True


def dots_saveable(primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
    """Keeps the results of matrix products: the costliest to compute again."""
    return primitive.name in ("dot_general", "conv_general_dilated")


def dots_with_no_batch_dims_saveable(
    primitive: Primitive, *avals: ShapedArray, **params: Any
) -> bool:
    """Keeps the results of matrix products that are not batched."""
    return primitive.name == "dot_general" and not any(params["dimension_numbers"][1])


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Keeps the values that checkpoint_name has given one of these names, and nothing else."""
    names = frozenset(names_which_can_be_saved)

    def policy(primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        return primitive is name_p and params["name"] in names

    return policy


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Keeps the values that checkpoint_name has given any other name, and nothing else."""
    names = frozenset(names_not_to_save)

    def policy(primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        return primitive is name_p and params["name"] not in names

    return policy


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Keeps everything. As in JAX, that includes values with one of these names, as the operand of
    checkpoint_name, which has no name yet, may be kept."""
    return lambda *_, **__: True


def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
    """Keeps values that either of the policies keeps."""

    def policy(primitive: Primitive, *avals: ShapedArray, **params: Any) -> bool:
        answers = policy_1(primitive, *avals, **params), policy_2(primitive, *avals, **params)
        if not all(isinstance(answer, bool) for answer in answers):
            raise ValueError(
                "The return value of the policies should be a boolean. Got: "
                f"{answers[0]} and {answers[1]}: write a policy that calls both, and combines their results"
            )
        return any(answers)

    return policy


def offload_dot_with_no_batch_dims(offload_src: Any, offload_dst: Any) -> Policy:
    """Like dots_with_no_batch_dims_saveable, with the products offloaded to another memory.

    A device of tinyjax has one memory: the products are saved, and stay where they are."""

    def policy(primitive: Primitive, *avals: ShapedArray, **params: Any) -> Answer:
        if dots_with_no_batch_dims_saveable(primitive, *avals, **params):
            return Offloadable(offload_src, offload_dst)
        return Recompute

    return policy


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Iterable[str],
    names_which_can_be_offloaded: Iterable[str],
    offload_src: Any,
    offload_dst: Any,
) -> Policy:
    """Like save_only_these_names with both, with the second names' values offloaded to another memory.

    A device of tinyjax has one memory: the values are saved, and stay where they are.
    Raises ValueError for a name that is in both."""
    saved, offloaded = set(names_which_can_be_saved), set(names_which_can_be_offloaded)
    if both := saved & offloaded:
        raise ValueError(
            "The names should be exclusive: a value is saved or offloaded. Got names_which_can_be_saved="
            f"{saved} and names_which_can_be_offloaded={offloaded}, which both have {both}"
        )

    def policy(primitive: Primitive, *avals: ShapedArray, **params: Any) -> Answer:
        name = params["name"] if primitive is name_p else None
        if name in offloaded:
            return Offloadable(offload_src, offload_dst)
        return Saveable if name in saved else Recompute

    return policy


checkpoint_policies = SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
)
