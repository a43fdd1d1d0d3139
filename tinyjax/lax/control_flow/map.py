"""A function applied to one slice after the other: `map`, a scan without a carry.

`vmap` applies a function to all slices at once, `map` to one at a time, and `map` with a batch_size to some
at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax.core.debug_info import DebugInfo
from tinyjax.core.lists import drop, merge_lists, pick
from tinyjax.core.tree_util.pytrees import (
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from tinyjax.lax.control_flow.scan import scan
from tinyjax.lax.joining import concatenate
from tinyjax.transform.batching import vmap
from tinyjax.transform.custom.custom_vmap import custom_vmap


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """`f(x)` for each slice `x` along axis 0 of the arrays in `xs`, one after the other, stacked.

    Results are those of `vmap(f)(xs)`. With `batch_size`, vmap(f) gets that many slices at a time; the
    remainder makes a smaller batch at the end (0: all in one batch).
    Raises ValueError for axes of different lengths."""
    if batch_size is None:
        info = DebugInfo(
            f, (), tree_structure(((xs,), {})), traced_for="lax.map", roles=("one slice of xs",)
        )
        return scan(lambda _, x: ((), f(x)), (), xs, _debug_info=info)[1]
    leaves = tree_leaves(xs)
    length = leaves[0].shape[0] if leaves else 0
    num_batches = length // batch_size if batch_size else 0
    if num_batches == 0:
        return vmap(f)(tree_map(lambda x: x[0:], xs))
    whole = num_batches * batch_size
    batches = tree_map(lambda x: x[:whole].reshape(num_batches, batch_size, *x.shape[1:]), xs)
    rest = tree_map(lambda x: x[whole:], xs) if whole < length else None
    _, stacked = scan(lambda _, x: ((), vmap(f)(x)), (), batches)
    if rest is None:
        return tree_map(_flatten, stacked)
    end = vmap(f)(rest)
    return tree_map(lambda y, z: concatenate([_flatten(y), z], 0), stacked, end)


def _flatten(y: Any) -> Any:
    """Merges the two leading axes, batches and examples."""
    return y.reshape(-1, *y.shape[2:])


def sequential_vmap(fun: Callable) -> custom_vmap:
    """`fun`, called for one example after the other (by lax.map) where vmap would batch it."""
    function = custom_vmap(fun)

    @function.def_vmap
    def rule(axis_size: int, in_batched: list, *args: Any) -> Any:
        leaves, tree = tree_flatten(list(args))
        flags = tree_flatten(in_batched)[0]

        def one_example(mapped: list[Any]) -> Any:
            return function(*tree_unflatten(tree, merge_lists(flags, drop(leaves, flags), mapped)))

        out = map(one_example, pick(leaves, flags))
        return out, tree_map(lambda _: True, out)

    return function
