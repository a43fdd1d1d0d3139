"""From an optimizer of one array to one of a tree of arrays, and its state.

The state of each leaf of the parameters is kept as flat lists, so that it goes through jit and scan, and can
be saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, NamedTuple

from tinyjax.core.tree_util.pytrees import (
    PyTreeDef,
    register_pytree_node,
    tree_flatten,
    tree_unflatten,
)


class Optimizer(NamedTuple):
    """The three functions that an optimizer is.

    init_fn(params) gives the first state, update_fn(i, grads, state) the next one (`i` counts the
    steps from 0, and `grads` has the tree of params), and params_fn(state) the parameters in it."""

    init_fn: Callable[[Any], Any]
    update_fn: Callable[[Any, Any, Any], Any]
    params_fn: Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """What an optimizer knows between two steps, as flat lists.

    There are two levels of trees: that of the parameters (`tree_def`), and for each leaf of it the
    tree of what is kept for this one array (`subtree_defs`), the leaves of which are in `packed_state`."""

    packed_state: tuple[list[Any], ...]
    tree_def: PyTreeDef
    subtree_defs: tuple[PyTreeDef, ...]


register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda trees, children: OptimizerState(children[0], *trees),
)


# ---- from one array to a tree of them ----


def optimizer(opt_maker: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Lets an optimizer that is written for one array update a whole tree of them.

    `opt_maker` returns (init, update, get_params): `init(x)` is the state of one array x, any pytree;
    `update(i, g, state)` the state after step i with the gradient g; `get_params(state)` is x. The
    decorated function returns the same three for pytrees, whose state is an OptimizerState.
    Its update raises TypeError where grads and params are of different trees, or where `update`
    changes the state's tree."""

    @wraps(opt_maker)
    def tree_opt_maker(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        @wraps(init)
        def tree_init(params: Any) -> OptimizerState:
            leaves, tree = tree_flatten(params)
            return _packed([init(x) for x in leaves], tree)

        @wraps(update)
        def tree_update(i: Any, grads: Any, opt_state: OptimizerState) -> OptimizerState:
            grad_leaves, grad_tree = tree_flatten(grads)
            if grad_tree != opt_state.tree_def:
                raise TypeError(
                    "an optimizer's update was given gradients of another tree than that of the "
                    f"parameters which its state began with: {grad_tree} instead of "
                    f"{opt_state.tree_def}"
                )
            states = _states_of_leaves(opt_state)
            new = _packed([update(i, g, s) for g, s in zip(grad_leaves, states)], grad_tree)
            for before, after in zip(opt_state.subtree_defs, new.subtree_defs):
                if before != after:
                    raise TypeError(
                        "an optimizer's update must return a state of the tree that it takes: it "
                        f"took {before} and returned {after}"
                    )
            return new

        @wraps(get_params)
        def tree_get_params(opt_state: OptimizerState) -> Any:
            params = [get_params(state) for state in _states_of_leaves(opt_state)]
            return tree_unflatten(opt_state.tree_def, params)

        return Optimizer(tree_init, tree_update, tree_get_params)

    return tree_opt_maker


def _packed(states: Sequence[Any], tree: PyTreeDef) -> OptimizerState:
    """The states of all leaves of a tree, as one OptimizerState."""
    flat = [tree_flatten(state) for state in states]
    return OptimizerState(tuple(leaves for leaves, _ in flat), tree, tuple(d for _, d in flat))


def _states_of_leaves(opt_state: OptimizerState) -> list[Any]:
    return [
        tree_unflatten(subtree, leaves)
        for subtree, leaves in zip(opt_state.subtree_defs, opt_state.packed_state)
    ]


# ---- states to be saved ----


class JoinPoint:
    """A leaf of the parameters' tree, with the state of it: where an inner tree begins."""

    def __init__(self, subtree: Any):
        self.subtree = subtree

    def __iter__(self) -> Iterator[Any]:  # as in JAX: what walks through containers finds the state
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The state as a tree like that of the parameters, with a JoinPoint for each leaf: to be saved."""
    points = [JoinPoint(state) for state in _states_of_leaves(opt_state)]
    return tree_unflatten(opt_state.tree_def, points)


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """What unpack_optimizer_state gave, as an OptimizerState again.

    Raises TypeError for a leaf that is no JoinPoint."""
    points, tree = tree_flatten(marked_pytree)
    for point in points:
        if not isinstance(point, JoinPoint):
            raise TypeError(
                "pack_optimizer_state takes a tree of JoinPoints, as unpack_optimizer_state gives "
                f"it, but found a leaf of type {type(point)}"
            )
    return _packed([point.subtree for point in points], tree)
